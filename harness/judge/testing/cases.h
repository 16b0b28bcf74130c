// One-node cases and small models that tests judge with the emulated device.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/judge/testing/emulated_device.h"
#include "harness/judge/testing/graphs.h"

namespace assay::emulation {

struct JudgedCase {
  std::shared_ptr<const Graph> graph;
  std::vector<Tensor> inputs;
  Checks checks;
};

// Judges the emulated device on a case, defect and all.
inline Verdict judge_emulated(const JudgedCase& c, const DeviceOptions& device = {}, uint64_t seed = 0,
                              std::map<std::string, Tensor> expected = {}) {
  JudgeRequest request;
  request.case_id = "test/" + c.graph->id;
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.expected = std::move(expected);
  request.expected_source = request.expected.empty() ? "" : "expected_file";
  request.checks = c.checks;
  request.contract = emulated_contract();
  request.mode = device.local_pass ? "eager" : "compile";
  request.seed = seed;
  Judge judge(std::move(request));
  const std::vector<Tensor> chain = judge.chain();
  return judge.judge(run_emulated(*c.graph, c.inputs, chain, device));
}

inline std::string text_of(const Verdict& verdict) {
  std::string text = std::string(name_of(verdict.status)) + " " + verdict.reason + ": " + verdict.detail;
  if (verdict.margin) text += " (margin " + std::to_string(*verdict.margin) + ")";
  return text;
}

// One-node cases over the families, suite-drawn.
inline std::vector<JudgedCase> operator_cases(uint64_t seed, DType dtype = DType::f32) {
  std::vector<JudgedCase> cases;
  const auto add = [&](const OneNode& spec, double scale = 2) {
    JudgedCase c;
    c.graph = one_node(spec);
    c.inputs = draw_inputs(*c.graph, seed, scale);
    c.checks.suite_drawn = true;
    cases.push_back(std::move(c));
  };
  const TensorMeta square{dtype, {24, 24}};
  add({"aten::mm.default", {{dtype, {24, 96}}, {dtype, {96, 24}}}, {"self", "mat2"}, {}});
  add({"aten::bmm.default", {{dtype, {2, 16, 40}}, {dtype, {2, 40, 16}}}, {"self", "mat2"}, {}});
  add({"aten::addmm.default",
       {{dtype, {24}}, {dtype, {24, 64}}, {dtype, {64, 24}}},
       {"self", "mat1", "mat2"},
       {}});
  add({"aten::_softmax.default",
       {{dtype, {16, 33}}},
       {"self"},
       {int_arg("dim", -1), bool_arg("half_to_float", false)}},
      8);
  add({"aten::native_layer_norm.default",
       {{dtype, {20, 48}}, {dtype, {48}}, {dtype, {48}}},
       {"input", "weight", "bias"},
       {ints_arg("normalized_shape", {48}), float_arg("eps", 1e-5)}});
  add({"aten::convolution.default",
       {{dtype, {2, 3, 9, 9}}, {dtype, {4, 3, 3, 3}}, {dtype, {4}}},
       {"input", "weight", "bias"},
       {ints_arg("stride", {1, 1}), ints_arg("padding", {1, 1}), ints_arg("dilation", {1, 1}),
        bool_arg("transposed", false), ints_arg("output_padding", {0, 0}), int_arg("groups", 1)}});
  for (const char* op : {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::div.Tensor"}) {
    add({op, {square, square}, {"self", "other"}, {}});
  }
  for (const char* op :
       {"aten::exp.default", "aten::tanh.default", "aten::sigmoid.default", "aten::relu.default"}) {
    add({op, {square}, {"self"}, {}}, 6);
  }
  add({"aten::gelu.default", {square}, {"self"}, {}}, 4);
  add({"aten::topk.default", {{dtype, {8, 20}}}, {"self"}, {int_arg("k", 5)}});
  add({"aten::where.self", {{DType::boolean, {24, 24}}, square, square}, {"condition", "self", "other"}, {}});
  add({"aten::ge.Tensor", {square, square}, {"self", "other"}, {}});
  add({"aten::mul.Tensor", {{DType::i64, {6, 6}}, {DType::i64, {6, 6}}}, {"self", "other"}, {}});
  add({"aten::permute.default", {square}, {"self"}, {ints_arg("dims", {1, 0})}});
  return cases;
}

// layer_norm -> two products with gelu between -> residual -> softmax: what a transformer's block has.
inline std::shared_ptr<const Graph> small_model(DType dtype = DType::f32, int layers = 2) {
  GraphBuilder b("small_model");
  ValueId x = b.input("x", dtype, {6, 32});
  for (int layer = 0; layer < layers; ++layer) {
    const std::string n = std::to_string(layer);
    const ValueId w = b.input("norm_weight" + n, dtype, {32}), c = b.input("norm_bias" + n, dtype, {32});
    const ValueId w1 = b.input("up" + n, dtype, {32, 48}), w2 = b.input("down" + n, dtype, {48, 32});
    const ValueId b1 = b.input("up_bias" + n, dtype, {48});
    const ValueId normed =
        b.node("aten::native_layer_norm.default", {arg("input", x), ints_arg("normalized_shape", {32}),
                                                   arg("weight", w), arg("bias", c), float_arg("eps", 1e-5)});
    const ValueId up = b.node("aten::addmm.default", {arg("self", b1), arg("mat1", normed), arg("mat2", w1)});
    const ValueId act = b.node("aten::gelu.default", {arg("self", up)});
    const ValueId down = b.node("aten::mm.default", {arg("self", act), arg("mat2", w2)});
    x = b.node("aten::add.Tensor", {arg("self", x), arg("other", down)});
  }
  const ValueId probabilities = b.node(
      "aten::_softmax.default", {arg("self", x), int_arg("dim", -1), bool_arg("half_to_float", false)});
  b.output(x);
  b.output(probabilities);
  return b.build();
}

}  // namespace assay::emulation
