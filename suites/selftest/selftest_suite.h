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

// The cases that stand for their operator: of one node, right input, few elements; together they show every
// dtype, keyword, class of edge values and rank that the operator's cases have, `limit` cases at most.
std::vector<std::shared_ptr<const Case>> representative_cases(
    const std::vector<std::shared_ptr<const Case>>& cases, std::size_t limit);

// One case "selftest/OPERATOR/DEFECT" for each operator of `sources` and each defect that one of its
// representative cases could have. The suites must outlive the result.
std::unique_ptr<Suite> make_selftest_suite(std::vector<const Suite*> sources, std::vector<Defect> defects);

}  // namespace assay::suites
