// `assay check` on models as users bring them (sweeps/export/testdata): decomposed and raw exports with
// inputs and expected outputs beside them.
#include <gmock/gmock.h>

#include <cmath>

#include "cli/testing/run_program.h"
#include "core/io/safetensors.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Check : public ProgramTest {
 protected:
  static std::string source(const std::string& file) {
    return std::string(ASSAY_SOURCE_DIR "/sweeps/export/testdata/") + file;
  }
  static std::vector<std::string> models() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(ASSAY_SOURCE_DIR "/sweeps/export/testdata")) {
      if (entry.path().extension() == ".pt2") names.push_back(entry.path().stem().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // A copy under another name, without the files beside it.
  std::string copy(const std::string& model, const std::string& as) const {
    fs::create_directories((folder_ / as).parent_path());
    fs::copy_file(source(model + ".pt2"), folder_ / (as + ".pt2"));
    return path(as + ".pt2");
  }
  static std::map<std::string, Tensor> tensors(const std::string& file) {
    return read_safetensors(file).tensors;
  }
  void write_tensors(const std::string& name, const std::map<std::string, Tensor>& tensors) const {
    fs::create_directories((folder_ / name).parent_path());
    write_safetensors(path(name), TensorFile{tensors, {}});
  }
};

TEST_F(Check, ModelsAreRightOnEveryBackend) {
  ASSERT_GE(models().size(), 13u);
  for (const std::string backend : {"trainium", "trainium:trn1", "trainium:trn3", "reference"}) {
    const std::string modes = backend == "reference" ? "eager,compile" : "eager";
    const auto run = assay({"check", ASSAY_SOURCE_DIR "/sweeps/export/testdata", "--backend", backend,
                            "--mode", modes, "--out", "out-" + backend, "--jobs", "2"});
    EXPECT_EQ(run.status, 0) << backend << run;
    const auto found = records("out-" + backend);
    EXPECT_EQ(found.size(), (backend == "reference" ? 2 : 1) * models().size());
    for (const auto& [key, record] : found) {
      EXPECT_TRUE(record.status == Status::pass || record.status == Status::pass_with_fallback)
          << backend << " " << key << ": " << record.detail;
      if (record.phases.steady_s.empty()) continue;
      // What was compiled while the nodes were planned is no part of the first run.
      ASSERT_TRUE(record.phases.first_run_s.has_value()) << backend << " " << key;
      EXPECT_GT(*record.phases.first_run_s, 0) << backend << " " << key;
    }
  }
}

// The largest element of every float output, by a thousandth.
TEST_F(Check, AnExpectedValueThatMovedIsWrong) {
  std::size_t moved = 0;
  for (const std::string& model : models()) {
    if (model == "mlp_bf16") continue;  // a thousandth is below bf16's unit roundoff
    const auto expected = tensors(source(model + ".out.safetensors"));
    for (const auto& [output, tensor] : expected) {
      if (tensor.dtype() != DType::f64 || tensor.count() == 0) continue;
      std::vector<double> values = tensor.to_doubles();
      const auto larger = [](double a, double b) {
        return (std::isfinite(a) ? std::abs(a) : 0) < (std::isfinite(b) ? std::abs(b) : 0);
      };
      double& largest = *std::max_element(values.begin(), values.end(), larger);
      if (largest == 0 || !std::isfinite(largest)) continue;
      largest *= 1.001;
      auto changed = expected;
      changed[output] = Tensor::from_doubles(DType::f64, tensor.shape(), values);
      const std::string name = "moved/" + std::to_string(moved++) + "_" + model;
      copy(model, name);
      fs::copy_file(source(model + ".in.safetensors"), folder_ / (name + ".in.safetensors"));
      write_tensors(name + ".out.safetensors", changed);
    }
  }
  ASSERT_GE(moved, 15u);
  const auto run = assay({"check", "moved", "--out", "out", "--jobs", "2"});
  EXPECT_EQ(run.status, 1) << run;
  const auto found = records("out");
  EXPECT_EQ(found.size(), moved);
  for (const auto& [key, record] : found) {
    EXPECT_EQ(record.status, Status::wrong) << key << ": " << record.detail;
    EXPECT_EQ(record.witness, "expected_file") << key;
  }
}

TEST_F(Check, FilesThatDoNotFitTheGraph) {
  const Tensor x = tensors(source("mlp.in.safetensors")).at("x");
  const Tensor y = tensors(source("mlp.out.safetensors")).at("0");
  const auto zeros = [](DType dtype, Shape shape) { return Tensor(dtype, std::move(shape)); };
  struct Misfit {
    const char* suffix;
    std::map<std::string, Tensor> tensors;
    const char* says;
  };
  const std::vector<Misfit> misfits = {
      {".in.safetensors", {}, "input 'x' is missing"},
      {".in.safetensors", {{"x", x}, {"z", x}}, "tensor 'z' is no input of the graph; its user inputs are x"},
      {".in.safetensors", {{"x", zeros(DType::f32, {3, 9})}}, "the graph wants f32[3, 8]"},
      {".in.safetensors", {{"x", zeros(DType::f32, {24})}}, "the graph wants f32[3, 8]"},
      {".in.safetensors", {{"x", zeros(DType::f64, {3, 8})}}, "is f64[3, 8]; the graph wants f32[3, 8]"},
      {".out.safetensors", {{"1", y}}, "tensor '1' is no output of the graph; expected names are 0"},
      {".out.safetensors", {{"0", y}, {"buffer:up", y}}, "'buffer:up' is no output of the graph"},
      {".out.safetensors", {{"0", zeros(DType::f64, {4, 3})}}, "the graph's output is f32[3, 4]"},
      {".out.safetensors",
       {{"0", zeros(DType::i64, {3, 4})}},
       "is i64[3, 4]; the graph's output is f32[3, 4]"},
  };
  for (std::size_t i = 0; i < misfits.size(); ++i) {
    const std::string name = "models/m" + std::to_string(i);
    const std::string file = copy("mlp", name);
    write_tensors(name + misfits[i].suffix, misfits[i].tensors);
    const auto run = assay({"check", file, "--out", "single" + std::to_string(i)});
    EXPECT_EQ(run.status, 2) << run;
    EXPECT_THAT(run.err, HasSubstr(misfits[i].says));
    EXPECT_THAT(run.err, HasSubstr(path(name + misfits[i].suffix)));
  }
  copy("mlp", "models/right");
  const auto run = assay({"check", "models", "--out", "folder"});
  EXPECT_EQ(run.status, 1) << run;
  auto found = records("folder");
  EXPECT_EQ(found.size(), misfits.size() + 1);
  EXPECT_EQ(found.at("right eager").status, Status::pass);
  for (std::size_t i = 0; i < misfits.size(); ++i) {
    const Record& record = found.at("m" + std::to_string(i) + " eager");
    EXPECT_EQ(record.status, Status::malformed_file) << record.id;
    EXPECT_THAT(record.detail, HasSubstr(misfits[i].says));
  }
}

TEST_F(Check, FlagsNameTheFiles) {
  const std::string model = copy("mlp", "elsewhere/model");
  auto run = assay({"check", model, "--inputs", source("mlp.in.safetensors"), "--expect",
                    source("mlp.out.safetensors"), "--out", "right"});
  EXPECT_EQ(run.status, 0) << run;
  EXPECT_EQ(records("right").at("model eager").witness, "expected_file");

  auto expected = tensors(source("mlp.out.safetensors"));
  std::vector<double> values = expected.at("0").to_doubles();
  values[5] += 0.01;
  expected["0"] = Tensor::from_doubles(DType::f64, {3, 4}, values);
  write_tensors("moved.safetensors", expected);
  run = assay({"check", model, "--inputs", source("mlp.in.safetensors"), "--expect", "moved.safetensors",
               "--out", "moved"});
  EXPECT_EQ(run.status, 1) << run;
  const Record wrong = records("moved").at("model eager");
  EXPECT_EQ(wrong.status, Status::wrong);
  ASSERT_TRUE(wrong.worst.has_value());
  EXPECT_EQ(wrong.worst->index, (Shape{1, 1}));

  run = assay({"check", model, "--inputs", "absent.safetensors", "--out", "absent"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("absent.safetensors"));
  run = assay({"check", "elsewhere", "--inputs", source("mlp.in.safetensors"), "--out", "folder"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("go with a single file"));
}

TEST_F(Check, InputsAreDrawnTheSameEveryTime) {
  for (const std::string model : {"mlp", "raw_composites", "raw_buffer_mutation"})
    copy(model, "models/" + model);
  std::map<std::string, std::string> texts[2];
  for (const int i : {0, 1}) {
    const std::string out = "out" + std::to_string(i);
    const auto run = assay({"check", "models", "--out", out, "--jobs", i == 0 ? "1" : "2"});
    EXPECT_EQ(run.status, 0) << run;
    for (const auto& [key, record] : records(out)) {
      EXPECT_EQ(record.witness, "reference") << key;
      texts[i][key] = without_times(record);
    }
  }
  EXPECT_EQ(texts[0].size(), 3u);
  EXPECT_EQ(texts[0], texts[1]);
}

TEST_F(Check, SymbolicSizesNeedInputs) {
  const std::string model = copy("mlp_dynamic", "models/dynamic");
  auto run = assay({"check", model, "--out", "without"});
  EXPECT_EQ(run.status, 2) << run;
  EXPECT_THAT(run.err, HasSubstr("--inputs"));
  run = assay({"check", "models", "--out", "folder"});
  EXPECT_EQ(run.status, 3) << run;
  EXPECT_EQ(records("folder").at("dynamic eager").status, Status::skip_eligibility);
  write_tensors("five.safetensors", {{"x", Tensor(DType::f32, {5, 8})}});
  run = assay({"check", model, "--inputs", "five.safetensors", "--out", "with"});
  EXPECT_EQ(run.status, 0) << run;
}

}  // namespace
}  // namespace assay::cli
