// The catalogue's models on the emulated fp32 device: no false alarm, and a defect in one node is found.
#include <gtest/gtest.h>

#include <filesystem>

#include "core/io/model.h"
#include "core/io/safetensors.h"
#include "harness/judge/testing/cases.h"

namespace assay {
namespace {

using emulation::DeviceOptions;
using emulation::judge_emulated;
using emulation::JudgedCase;
using emulation::text_of;

namespace fs = std::filesystem;

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "sweeps/catalogue/models")) {
    const std::string name = entry.path().filename().string();
    names.push_back(name.substr(0, name.find('.')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

JudgedCase load(const std::string& name, uint64_t seed) {
  const Model model =
      read_model((fs::path(ASSAY_SOURCE_DIR) / "sweeps/catalogue/models" / (name + ".json.zst")).string());
  JudgedCase c;
  c.graph = std::make_shared<const Graph>(model.graph);
  for (const GraphInput& input : model.graph.inputs) {
    if (input.value < 0) continue;
    c.inputs.push_back(input.kind == InputKind::user
                           ? materialise(model.inputs.at(input.target), "input:" + input.target, seed)
                           : model.weights.at(input.target));
  }
  return c;
}

class Catalogue : public ::testing::TestWithParam<std::string> {};

TEST_P(Catalogue, RightDevicesPass) {
  for (uint64_t seed = 0; seed < 2; ++seed) {
    const JudgedCase c = load(GetParam(), seed);
    for (const bool eager : {true, false}) {
      DeviceOptions device;
      device.seed = seed;
      device.local_pass = eager;
      const Verdict verdict = judge_emulated(c, device, seed);
      EXPECT_EQ(verdict.status, Status::pass)
          << "seed " << seed << (eager ? " eager " : " compile ") << text_of(verdict);
      EXPECT_LT(verdict.gates.at("end_to_end").value.value_or(0), 6.5);
      if (verdict.first_bad_node) {
        ADD_FAILURE() << verdict.first_bad_node->name << " " << verdict.first_bad_node->op;
      }
    }
  }
}

TEST_P(Catalogue, AgreesWithItsGoldenSlice) {
  const JudgedCase c = load(GetParam(), 0);
  const fs::path golden =
      fs::path(ASSAY_SOURCE_DIR) / "sweeps/catalogue/golden" / (GetParam() + ".safetensors");
  for (const bool eager : {true, false}) {
    JudgeRequest request;
    request.case_id = "models/" + GetParam();
    request.graph = c.graph;
    request.inputs = c.inputs;
    request.expected = read_safetensors(golden.string()).tensors;
    request.expected_source = "golden:" + GetParam() + ".safetensors";
    request.contract = emulation::emulated_contract();
    request.mode = eager ? "eager" : "compile";
    Judge judge(std::move(request));
    const std::vector<Tensor> chain = judge.chain();
    DeviceOptions device;
    device.local_pass = eager;
    const Verdict verdict = judge.judge(emulation::run_emulated(*c.graph, c.inputs, chain, device));
    EXPECT_EQ(verdict.status, Status::pass) << (eager ? "eager " : "compile ") << text_of(verdict);
    EXPECT_EQ(verdict.witness, "golden:" + GetParam() + ".safetensors");
  }
}

TEST_P(Catalogue, ADefectInOneNodeIsNamed) {
  const JudgedCase c = load(GetParam(), 0);
  std::string last, mutant;  // the last product or convolution: nothing before it is touched
  for (const Node& node : c.graph->nodes) {
    const bool product =
        node.op == "aten::addmm.default" || node.op == "aten::mm.default" || node.op == "aten::bmm.default";
    if (!product && node.op != "aten::convolution.default") continue;
    last = node.name;
    mutant = product ? "last_k_dropped" : "tf32_operands";
  }
  DeviceOptions device;
  device.mutant = mutant;
  device.mutant_node = last;
  const Verdict verdict = judge_emulated(c, device);
  EXPECT_TRUE(is_failure(verdict.status)) << text_of(verdict);
  ASSERT_TRUE(verdict.first_bad_node.has_value());
  EXPECT_EQ(verdict.first_bad_node->name, last);
}

INSTANTIATE_TEST_SUITE_P(Models, Catalogue, ::testing::ValuesIn(architectures()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace assay
