#include "models/gla/gla.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/error.h"
#include "models/testing/finite_differences_test.h"

namespace assay::models {
namespace {

using reference::Wide;
using ::testing::HasSubstr;
using Tensors = std::map<std::string, Tensor>;

// flash-linear-attention's presets, and what a 3B configuration may look like.
TEST(GlaConfig, CountsParametersAndStates) {
  GlaConfig small;
  small.hidden_size = 1024;
  small.tie_word_embeddings = true;
  EXPECT_EQ(small.parameters(), 341'707'776);
  EXPECT_EQ(small.state_elements() * 4, 12'582'912);
  EXPECT_EQ(GlaConfig().parameters(), 1'365'514'240);
  GlaConfig large;
  large.hidden_size = 4096;
  large.num_hidden_layers = large.num_heads = 32;
  large.num_kv_heads = 8;
  large.expand_k = 1;
  large.intermediate_size = 14336;
  large.use_output_gate = false;
  EXPECT_EQ(large.parameters(), 7'244'390'400);
  GlaConfig three;
  three.hidden_size = 2560;
  three.num_hidden_layers = 36;
  three.num_heads = 16;
  EXPECT_EQ(three.parameters(), 3'021'038'720);
  EXPECT_EQ(three.state_elements() * 4, 29'491'200);
}

std::string refusal(const GlaConfig& config) {
  try {
    config.check();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(GlaConfig, RefusesWhatDoesNotDivide) {
  GlaConfig config;
  config.num_heads = 3;
  EXPECT_THAT(refusal(config),
              HasSubstr("hidden_size * expand_k is 1024, which num_heads = 3 does not divide"));
  config = {};
  config.num_kv_heads = 3;
  EXPECT_THAT(refusal(config), HasSubstr("num_heads is 4, which num_kv_heads = 3"));
  config = {};
  config.chunk_size = 0;
  EXPECT_THAT(refusal(config), HasSubstr("chunk_size is 0"));
  config = {};
  config.hidden_act = "gelu";
  EXPECT_THAT(refusal(config), HasSubstr("hidden_act is 'gelu'"));
}

GlaConfig tiny() {
  GlaConfig config;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_heads = 2;
  config.vocab_size = 5;
  config.intermediate_size = 6;
  config.gate_low_rank_dim = 3;
  config.gate_logit_normalizer = 2;
  config.chunk_size = 4;
  return config;
}

std::vector<Tensor> run(const Graph& graph, const Tensors& given) {
  std::vector<Tensor> outputs;
  for (const Wide& output : in_float128(graph, inputs_of(graph, given))) outputs.push_back(output.rounded());
  return outputs;
}

Tensor rows_of(const Tensor& x, int64_t start, int64_t end) {
  Shape shape = x.shape();
  const int64_t row = element_count(shape) / shape[1];
  const std::vector<double> all = x.to_doubles();
  shape[1] = end - start;
  return Tensor::from_doubles(x.dtype(), shape,
                              {all.begin() + start * row, all.begin() + end * row});  // batch 1
}

void expect_near(const Tensor& got, const Tensor& want, double tolerance = 1e-12) {
  ASSERT_EQ(got.shape(), want.shape());
  const auto a = got.to_doubles(), b = want.to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "element " << i;
}

GlaGraph f64(int64_t length, GlaForm form = GlaForm::fused) {
  GlaGraph graph;
  graph.length = length;
  graph.dtype = DType::f64;
  graph.form = form;
  return graph;
}

std::vector<GlaConfig> variants() {
  std::vector<GlaConfig> all{tiny(), tiny(), tiny(), tiny()};
  all[1].num_kv_heads = 1;
  all[1].feature_map = "relu";
  all[2].use_short_conv = true;
  all[2].expand_v = 0.5;
  all[3].clamp_min = -0.3;
  all[3].use_output_gate = false;
  all[3].elementwise_affine = false;
  return all;
}

TEST(GlaLayer, FormsAgree) {
  for (const GlaConfig& config : variants()) {
    const auto want = run(gla_layer_graph(config, f64(11, GlaForm::recurrent)), {});
    for (const GlaForm form : {GlaForm::fused, GlaForm::chunked}) {
      const auto got = run(gla_layer_graph(config, f64(11, form)), {});
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) expect_near(got[i], want[i]);
    }
  }
}

// Prefill, then token after token, equals prefill of all; the state's size does not depend on the length.
TEST(GlaLayer, DecodeEqualsPrefill) {
  for (const GlaConfig& config : variants()) {
    const Tensor x = drawn("x", {1, 10, config.hidden_size});
    const auto all = run(gla_layer_graph(config, f64(10)), {{"x", x}});
    GlaGraph one = f64(1);
    one.state = true;
    const Graph step = gla_layer_graph(config, one);
    for (const int64_t prefill : {0, 1, 3, 4, 9}) {
      auto last = run(gla_layer_graph(config, f64(prefill)), {{"x", rows_of(x, 0, prefill)}});
      for (int64_t t = prefill; t < 10; ++t) {
        Tensors given{{"x", rows_of(x, t, t + 1)}, {"state", last[1]}};
        const char* convolutions[] = {"conv_q", "conv_k", "conv_v"};
        for (std::size_t i = 2; i < last.size(); ++i) given[convolutions[i - 2]] = last[i];
        const auto next = run(step, given);
        expect_near(next[0], rows_of(all[0], t, t + 1));
        for (std::size_t i = 1; i < next.size(); ++i) EXPECT_EQ(next[i].bytes(), last[i].bytes());
        last = next;
      }
      for (std::size_t i = 1; i < last.size(); ++i) expect_near(last[i], all[i]);
    }
  }
}

TEST(GlaLayer, PackedSequencesAreSeparateOnes) {
  const GlaConfig config = tiny();
  const Tensor x = drawn("x", {1, 12, 8});
  for (const GlaForm form : {GlaForm::fused, GlaForm::chunked, GlaForm::recurrent}) {
    GlaGraph packed = f64(12, form);
    packed.offsets = {0, 5, 5, 12};
    const auto together = run(gla_layer_graph(config, packed), {{"x", x}});
    const auto first = run(gla_layer_graph(config, f64(5)), {{"x", rows_of(x, 0, 5)}});
    const auto last = run(gla_layer_graph(config, f64(7)), {{"x", rows_of(x, 5, 12)}});
    expect_near(rows_of(together[0], 0, 5), first[0]);
    expect_near(rows_of(together[0], 5, 12), last[0]);
    const auto states = together[1].to_doubles();
    for (std::size_t i = 0; i < 48; ++i) {
      const double of_first = first[1].to_doubles().at(i % 16), of_last = last[1].to_doubles().at(i % 16);
      EXPECT_NEAR(states.at(i), i < 16 ? of_first : i < 32 ? 0 : of_last, 1e-12) << "state " << i / 16;
    }
  }
}

// Padded rows leave the state alone, wherever they are, and get no gradient.
TEST(GlaLayer, PaddingIsNoStep) {
  for (const GlaConfig& config : variants()) {
    if (config.use_short_conv) continue;  // a convolution sees padded rows as rows of zeros
    const Tensor x = drawn("x", {1, 9, 8});
    GlaGraph padded = f64(9);
    padded.mask = true;
    const Tensor left = Tensor::from_ints(DType::boolean, {1, 9}, {0, 0, 1, 1, 1, 1, 1, 1, 1});
    const Tensor right = Tensor::from_ints(DType::boolean, {1, 9}, {1, 1, 1, 1, 1, 1, 1, 0, 0});
    const Graph graph = gla_layer_graph(config, padded);
    const auto with_left = run(graph, {{"x", x}, {"mask", left}});
    const auto with_right = run(graph, {{"x", x}, {"mask", right}});
    const auto without_left = run(gla_layer_graph(config, f64(7)), {{"x", rows_of(x, 2, 9)}});
    const auto without_right = run(gla_layer_graph(config, f64(7)), {{"x", rows_of(x, 0, 7)}});
    expect_near(with_left[1], without_left[1]);
    expect_near(rows_of(with_left[0], 2, 9), without_left[0]);
    expect_near(with_right[1], without_right[1]);
    expect_near(rows_of(with_right[0], 0, 7), without_right[0]);
  }
}

TEST(GlaModel, GradientsMatchFiniteDifferences) {
  GlaConfig config = tiny();
  config.num_hidden_layers = 1;
  config.hidden_size = 4;
  config.intermediate_size = 3;
  for (const GlaForm form : {GlaForm::fused, GlaForm::chunked, GlaForm::recurrent}) {
    GlaGraph graph = f64(6, form);
    graph.loss = true;
    const Graph forward = gla_model_graph(config, graph);
    const Tensors given{{"input_ids", Tensor::from_ints(DType::i64, {1, 6}, {0, 4, 2, 2, 1, 3})},
                        {"labels", Tensor::from_ints(DType::i64, {1, 6}, {4, 2, -100, 1, 3, 0})}};
    JointOptions options;
    options.outputs = {0};
    FiniteDifferences(forward, inputs_of(forward, given), options).expect_gradients(1e-8);
  }
}

TEST(GlaModel, TrainingGraphHasAGradientForEveryParameter) {
  GlaConfig config = tiny();
  config.tie_word_embeddings = true;
  GlaGraph graph;
  graph.batch = 2;
  graph.length = 5;
  graph.dtype = DType::bf16;
  for (const GlaForm form : {GlaForm::fused, GlaForm::chunked}) {
    graph.form = form;
    const Graph joint = gla_gradient_graph(config, graph);
    std::size_t parameters = 0, backward = 0;
    for (const GraphInput& input : joint.inputs) parameters += input.kind == InputKind::parameter ? 1 : 0;
    for (const Node& node : joint.nodes) backward += node.op == "assay::gla_chunk_backward.default" ? 1 : 0;
    EXPECT_EQ(joint.outputs.size(), 1 + 2 + parameters);
    EXPECT_EQ(backward, form == GlaForm::fused ? 2u : 0u);
    EXPECT_EQ(joint.values.at(static_cast<std::size_t>(joint.outputs[0].value)).dtype, DType::f32);
  }
}

TEST(GlaModel, SharesStatesOverLayersAndDecodes) {
  const GlaConfig config = tiny();
  const std::vector<int64_t> tokens{0, 4, 2, 2, 1, 3};
  const auto all =
      run(gla_model_graph(config, f64(6)), {{"input_ids", Tensor::from_ints(DType::i64, {1, 6}, tokens)}});
  const auto before = run(gla_model_graph(config, f64(5)),
                          {{"input_ids", Tensor::from_ints(DType::i64, {1, 5}, {0, 4, 2, 2, 1})}});
  GlaGraph one = f64(1);
  one.state = true;
  const auto next =
      run(gla_model_graph(config, one), {{"input_ids", Tensor::from_ints(DType::i64, {1, 1}, {3})},
                                         {"state_0", before[1]},
                                         {"state_1", before[2]}});
  expect_near(next[0], rows_of(all[0], 5, 6));
  expect_near(next[1], all[1]);
  expect_near(next[2], all[2]);
}

}  // namespace
}  // namespace assay::models
