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

// PyTorch's rational approximations are good to some 1e-14 of the largest term.
bool close(double got, double want) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  return std::abs(got - want) <= 2e-12 * std::max(1.0, std::abs(want));
}

TEST(Pointwise, AgreeWithPyTorch) {
  std::set<std::string> seen;
  for (const Json& call : calls_in("pointwise_calls.json")) {
    const std::string op = call.at(0).get<std::string>();
    SCOPED_TRACE(call.dump().substr(0, 400));
    seen.insert(op);
    Composite composite(call);
    if (!has_operator(op)) decompose(composite.graph);
    const std::vector<Tensor> got = composite.run();
    ASSERT_EQ(got.size(), composite.expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Tensor& want = composite.expected[i];
      EXPECT_EQ(got[i].dtype(), want.dtype());
      ASSERT_EQ(got[i].shape(), want.shape());
      const auto values = got[i].to_doubles(), wanted = want.to_doubles();
      for (std::size_t n = 0; n < values.size(); ++n) {
        EXPECT_TRUE(close(values[n], wanted[n]))
            << "result " << i << " element " << n << ": " << values[n] << ", PyTorch " << wanted[n];
      }
    }
  }
  EXPECT_GE(seen.size(), 50u);
}

}  // namespace
}  // namespace assay::reference
