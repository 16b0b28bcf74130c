// The suite `selftest`: does the rest of Assay find anything? Pairs of a planted defect and an operator, each
// tried on cases of the other suites.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/opset/call.h"
#include "harness/case/case.h"

namespace assay::suites {

// A defect that workers can plant (harness/mutant).
struct Defect {
  std::string name;
  std::function<bool(const OpCall& call)> applies;  // it can exist in a kernel for this call
};

// The cases of an operator of few elements (its smallest one if all have many), from the most telling on: the
// first ones together show every dtype, keyword, class of edge values and rank that the operator's cases
// have, the next ones show what is left of them once more, and so on.
std::vector<std::shared_ptr<const Case>> ranked_cases(const std::vector<std::shared_ptr<const Case>>& cases);

// One case "selftest/OPERATOR/DEFECT" for each operator of `sources` and each defect that one of its cases
// could have, tried on the most telling of these: of one node and with right input. The suites must outlive
// the result.
std::unique_ptr<Suite> make_selftest_suite(std::vector<const Suite*> sources, std::vector<Defect> defects);

}  // namespace assay::suites
