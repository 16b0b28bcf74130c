#include "harness/contracts/contracts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace assay {
namespace {

const std::vector<std::string> kSource{std::string(ASSAY_SOURCE_DIR) + "/harness/contracts"};

TEST(Contracts, EveryFileOfTheFolderIsAContract) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSource[0])) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_NO_THROW(Contract::parse(text, entry.path().string())) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 1);
}

TEST(Contracts, TorchCpuDeclaresWhatItsKernelsDo) {
  const auto contract = default_contract("torch:cpu", kSource);
  ASSERT_TRUE(contract.has_value());
  const Precision mm = contract->precision("aten::mm.default", DType::bf16, "eager");
  EXPECT_EQ(mm.accumulator, DType::f32);
  EXPECT_EQ(mm.order, ReductionOrder::any);
  EXPECT_TRUE(mm.ftz_in);
  EXPECT_FALSE(contract->precision("aten::mm.default", DType::f32, "eager").ftz_in);
  EXPECT_TRUE(contract->precision("aten::add.Tensor", DType::f32, "eager").correctly_rounded);
  EXPECT_FALSE(contract->precision("aten::sqrt.default", DType::f32, "eager").correctly_rounded);
  EXPECT_EQ(contract->precision("aten::exp.default", DType::f64, "eager").intermediate, DType::f64);
  const Precision gelu = contract->precision("aten::gelu.default", DType::f32, "eager");
  EXPECT_GT(gelu.function("erf").abs, 0);
  EXPECT_EQ(contract->precision("aten::gelu.default", DType::f64, "eager").function("erf").abs, 0);
}

TEST(Contracts, AnIndexedDeviceIsOfItsKind) {
  const auto contract = default_contract("torch:cpu:0", kSource);
  ASSERT_TRUE(contract.has_value());
  EXPECT_EQ(contract->name(), "torch:cpu");
}

TEST(Contracts, AbsentAndHostileNames) {
  EXPECT_FALSE(default_contract("torch:quux", kSource).has_value());
  EXPECT_THROW(default_contract("../../etc/passwd", kSource), Error);
  EXPECT_THROW(default_contract("", kSource), Error);
}

TEST(Contracts, AMalformedFileIsNamed) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "assay_contracts_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "broken.json") << R"({"name": "broken", "rules": [{"accumulator": "f33"}]})";
  try {
    default_contract("broken", {folder.string()});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("broken.json"), std::string::npos) << error.what();
  }
  std::filesystem::remove_all(folder);
}

TEST(Contracts, ABuildTreeFindsTheSourcesAndTheVariableComesFirst) {
  ASSERT_EQ(setenv("ASSAY_SHARE_DIR", ASSAY_SOURCE_DIR, 1), 0);
  const std::vector<std::string> folders = contract_folders();
  unsetenv("ASSAY_SHARE_DIR");
  ASSERT_FALSE(folders.empty());
  EXPECT_EQ(folders[0], kSource[0]);
}

}  // namespace
}  // namespace assay
