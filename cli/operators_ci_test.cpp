// The whole operator suite on both of Assay's backends: no false alarm, and nothing that is quietly left out.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kShards = 20;
#else
constexpr int kShards = 1;
#endif

class OperatorSuite : public ProgramTest {
 protected:
  // At least `passed` of all cases; what is skipped has a reason that its backend may have.
  void expect_no_failure(const std::string& backend, int passed, const std::vector<std::string>& reasons) {
    const ProgramResult r = assay({"run", "ops", "--backend", backend, "--shard",
                                   "1/" + std::to_string(kShards), "--quiet", "--out", "o"});
    EXPECT_EQ(r.status, 0) << r;
    EXPECT_THAT(r.out, testing::HasSubstr(", 0 failed, ")) << r;
    int count = 0;
    for (const auto& [key, record] : records("o")) {
      if (is_pass(record.status)) {
        ++count;
        continue;
      }
      EXPECT_TRUE(is_skip(record.status)) << record.id << ": " << record.detail;
      EXPECT_THAT(reasons, testing::Contains(record.reason)) << record.id << ": " << record.detail;
    }
    EXPECT_GE(count * kShards, passed);
  }
};

TEST_F(OperatorSuite, PassesOnTheSimulatedDevice) {
  expect_no_failure("trainium", 44'000,
                    {"float64", "complex", "dynamic_shape", "dtype", "optional_operator"});
}

TEST_F(OperatorSuite, PassesOnTheReference) { expect_no_failure("reference", 62'000, {"dynamic_shape"}); }

}  // namespace
}  // namespace assay::cli
