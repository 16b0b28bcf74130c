// That the tests of a steady state (kernels/against_reference_test.h, compiler/compiled_models_ci_test.cpp)
// can fail.
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/testing/steady_state.h"

namespace assay::backend {
namespace {

TEST(SteadyState, AllocationsAreCounted) {
  if (!counts_allocations()) GTEST_SKIP() << "sanitizers have an operator new of their own";
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const uint64_t before = allocations();
  const std::vector<int> several(1000);
  const auto line = std::make_unique<Line>();
  EXPECT_EQ(allocations() - before, 2u) << several.size() << line.get();
}

}  // namespace
}  // namespace assay::backend
