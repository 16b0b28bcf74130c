// Pointwise and special functions against PyTorch's fp64 answers
// (core/decompose/testdata/pointwise_calls.py), by kernel or by decomposition.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/decompose/decompose.h"
#include "reference/call_text_test.h"
#include "reference/evaluate.h"

namespace assay::reference {
namespace {

TEST(Pointwise, AgreeWithPyTorch) {
  std::set<std::string> seen;
  for (const Json& call : calls_in("pointwise_calls.json")) {
    const std::string op = call.at(0).get<std::string>();
    SCOPED_TRACE(call.dump().substr(0, 400));
    seen.insert(op);
    Composite composite(call);
    if (!has_operator(op)) decompose(composite.graph);
    const std::vector<Tensor> got = composite.run();
    // PyTorch's rational approximations are good to some 1e-14 of the largest term.
    expect_expected(composite, got, 2e-12);
  }
  EXPECT_GE(seen.size(), 50u);
}

}  // namespace
}  // namespace assay::reference
