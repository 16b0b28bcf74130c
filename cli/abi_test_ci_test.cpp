// assay abi-test.
#include <gmock/gmock.h>

#include "cli/testing/run_program.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class AbiTestVerb : public ProgramTest {};

TEST_F(AbiTestVerb, ShippedPluginsKeepTheAbi) {
  for (const char* name : {"null", "reference", "trainium"}) {
    const ProgramResult r = assay({"abi-test", ASSAY_BINARY_DIR "/lib/assay_" + std::string(name) + ".so"});
    EXPECT_EQ(r.status, 0) << name << "\n" << r;
    EXPECT_THAT(r.last_line(), MatchesRegex("[1-9][0-9]+ passed, 0 failed, 0 skipped")) << name;
    EXPECT_THAT(r.out, HasSubstr("pass  describe: short struct: ")) << name;
  }
}

TEST_F(AbiTestVerb, ABadPluginFailsCheckByCheck) {
  ::setenv("ASSAY_TEST_MISBEHAVIOUR", "", 1);
  const ProgramResult r =
      assay({"abi-test", ASSAY_BINARY_DIR "/lib/assay_misbehaving.so", "--timeout", "20"});
  EXPECT_EQ(r.status, 1) << r;
  EXPECT_THAT(r.out, HasSubstr("FAIL  "));
  EXPECT_THAT(r.out, HasSubstr("pass  "));
  EXPECT_THAT(r.out, HasSubstr("was killed by"));
  EXPECT_THAT(r.last_line(), MatchesRegex("[1-9][0-9]* passed, [1-9][0-9]* failed, 0 skipped"));
}

}  // namespace
}  // namespace assay::cli
