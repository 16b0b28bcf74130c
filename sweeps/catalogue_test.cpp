// Catalogue tables: what they name is hostile until checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/io/safetensors.h"
#include "sweeps/sources.h"

namespace assay::sweeps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Catalogue : public testing::Test {
 protected:
  Catalogue() {
    std::string pattern = testing::TempDir() + "/assay-sweeps-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Catalogue() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  void model(const std::string& as, const std::string& name = "mlp") const {
    fs::copy_file(std::string(ASSAY_SOURCE_DIR "/sweeps/export/testdata/") + name + ".pt2", folder_ / as);
  }
  fs::path folder_;
};

TEST_F(Catalogue, RowsBecomeCases) {
  model("mlp.pt2");
  const Source source = read_catalogue(write("c.csv", "id,model,file,golden\na,Mlp,mlp.pt2,\nb,,mlp.pt2,\n"));
  ASSERT_EQ(source.cases.size(), 2u);
  EXPECT_EQ(source.cases[0].id, "models/a");
  EXPECT_EQ(source.cases[0].subject, "Mlp");
  EXPECT_EQ(source.cases[1].subject, "b");
  ASSERT_NE(source.cases[0].graph, nullptr);
  EXPECT_FALSE(source.cases[0].load_weights().empty());
}

// Duplicates are found by what weights are, not by where they are said to come from.
TEST_F(Catalogue, EqualWeightsHaveEqualKeys) {
  model("one.pt2");
  model("same.pt2");
  model("bf16.pt2", "mlp_bf16");
  const Source source = read_catalogue(write("c.csv", "id,file\na,one.pt2\nb,same.pt2\nc,bf16.pt2\n"));
  ASSERT_EQ(source.cases.size(), 3u);
  EXPECT_FALSE(source.cases[0].weights_key.empty());
  EXPECT_EQ(source.cases[0].weights_key, source.cases[1].weights_key);
  EXPECT_NE(source.cases[0].weights_key, source.cases[2].weights_key);
}

TEST_F(Catalogue, FilesThatCannotBeReadAreCasesThatSaySo) {
  write("rubbish.pt2", "rubbish");
  const Source source = read_catalogue(
      write("c.csv", "id,file\na,absent.json.zst\nb,rubbish.pt2\nc,../c.csv\nd,/etc/passwd\ne,\n"));
  ASSERT_EQ(source.cases.size(), 5u);
  for (const Case& c : source.cases) {
    EXPECT_EQ(c.graph, nullptr) << c.id;
    EXPECT_FALSE(c.graph_error.empty()) << c.id;
  }
  EXPECT_THAT(source.cases[0].graph_error, HasSubstr("absent.json.zst"));
  EXPECT_THAT(source.cases[2].graph_error, HasSubstr("c.csv: row 4: '../c.csv' is no path below"));
  EXPECT_THAT(source.cases[3].graph_error, HasSubstr("is no path below"));
}

TEST_F(Catalogue, IdsAreThereAndUnique) {
  for (const auto& [text, says] :
       std::map<std::string, std::string>{{"id,file\na,x\na,y\n", "row 3: id 'a' stands there twice"},
                                          {"id,file\n,x\n", "row 2: the id is empty"},
                                          {"id\na\n", "column 'file' is missing"}}) {
    try {
      read_catalogue(write("c.csv", text));
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::malformed_file);
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  }
}

TEST_F(Catalogue, WhatWasNotExportedIsListed) {
  write("not_exported.csv", "id,kind,model,attention,reason\nz,text,Big,sdpa,\"fails, always\"\n");
  const Source source = read_catalogue(write("c.csv", "id,file\n"));
  EXPECT_TRUE(source.cases.empty());
  ASSERT_EQ(source.not_exported.size(), 1u);
  EXPECT_EQ(source.not_exported[0].reason, "fails, always");
}

TEST_F(Catalogue, FoldersAreReadInOrderAndFaultByFault) {
  fs::create_directories(folder_ / "sub");
  model("b.pt2");
  model("sub/a.pt2");
  write("c.pt2", "rubbish");
  write("b.in.safetensors", "rubbish");
  const auto cases = read_model_folder(folder_.string());
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].id, "b");
  EXPECT_THAT(cases[0].graph_error, HasSubstr("b.in.safetensors"));
  EXPECT_EQ(cases[1].id, "c");
  EXPECT_EQ(cases[1].graph_error_reason, "malformed");
  EXPECT_EQ(cases[2].id, "sub/a");
  EXPECT_NE(cases[2].graph, nullptr);
  EXPECT_THROW(read_model_folder((folder_ / "absent").string()), Error);
}

// With or without inputs and an expected file: what the device is asked to do is the same.
TEST_F(Catalogue, SizesThatDependOnDataAreUnsupportedWithTheNode) {
  const std::string model_file = (folder_ / "masked.pt2").string();
  fs::copy_file(ASSAY_SOURCE_DIR "/core/io/testdata/masked.pt2", model_file);
  for (const bool given : {false, true}) {
    if (given) {
      const Tensor x = Tensor::from_doubles(DType::f32, {2, 3}, {-1, 2, 3, -4, 5, 6});
      TensorFile inputs, outputs;
      inputs.tensors["x"] = x;
      outputs.tensors["0"] = Tensor::from_doubles(DType::f32, {}, {16});
      write_safetensors((folder_ / "masked.in.safetensors").string(), inputs);
      write_safetensors((folder_ / "masked.out.safetensors").string(), outputs);
    }
    const Case c = read_model_file(model_file);
    EXPECT_EQ(c.graph, nullptr);
    EXPECT_TRUE(c.unsupported_file);
    EXPECT_EQ(c.graph_error_reason, "dynamic_shape");
    EXPECT_THAT(c.graph_error, HasSubstr("(aten::"));
    EXPECT_THAT(c.graph_error, HasSubstr("depends on data"));
  }
}

TEST_F(Catalogue, ModelsOfAnotherDtypeAreNotCalledBf16) {
  model("a.pt2");
  model("b.pt2", "mlp_bf16");
  const std::vector<Case> cases =
      in_float_dtype(read_catalogue(write("c.csv", "id,file\na,a.pt2\nb,b.pt2\n")).cases, DType::f16);
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_NE(cases[0].graph, nullptr);
  EXPECT_EQ(cases[1].graph, nullptr);
  EXPECT_THAT(cases[1].graph_error, HasSubstr("nothing would change"));
}

// Every model that ships, as if it had been exported in bf16.
TEST(ShippedCatalogue, CanBeHadInBf16) {
  const std::vector<Case> cases = in_float_dtype(
      read_catalogue(ASSAY_SOURCE_DIR "/sweeps/catalogue/architectures.csv").cases, DType::bf16);
  ASSERT_EQ(cases.size(), 24u);
  for (const Case& c : cases) {
    ASSERT_NE(c.graph, nullptr) << c.id << ": " << c.graph_error;
    EXPECT_TRUE(c.id.starts_with("models-bf16/")) << c.id;
    EXPECT_EQ(c.golden, "") << c.id;
    int converted = 0;
    for (const auto& [name, tensor] : c.load_weights()) {
      EXPECT_NE(tensor.dtype(), DType::f32) << c.id << " " << name;
      converted += tensor.dtype() == DType::bf16 ? 1 : 0;
    }
    EXPECT_GT(converted, 0) << c.id;
    EXPECT_NO_THROW(materialise_inputs(c, 0)) << c.id;
  }
}

}  // namespace
}  // namespace assay::sweeps
