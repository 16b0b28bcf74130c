// Which cases run, and which need not because an equal one does.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/case/case.h"
#include "harness/run/options.h"

namespace assay {

struct PlannedCase {
  std::shared_ptr<const Case> c;
  std::string mode;
  std::string same_as;  // id of an earlier case of the plan with equal graph, inputs and checks; "" if none
};

// Filter, shard, modes, duplicates; in the order of `cases`, all modes of a case together. What the plan is
// depends on the cases and the options only, never on what ran before. Throws Error{invalid_argument} if two
// cases have one id.
std::vector<PlannedCase> make_plan(std::vector<Case> cases, const RunOptions& options);

// A key that is equal for cases whose outcome must be equal; "" for a case that is nobody's duplicate.
std::string duplicate_key(const Case& c, uint64_t seed);

}  // namespace assay
