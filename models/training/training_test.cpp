// What a training run is made of: batches inside the graph, the softmax transformer beside the GLA model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "core/error.h"
#include "models/gla/gla.h"
#include "models/testing/finite_differences_test.h"
#include "models/training/batches.h"
#include "models/transformer/transformer.h"

namespace assay::models {
namespace {

using ::testing::HasSubstr;

TransformerConfig small_transformer() {
  TransformerConfig config;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_heads = 2;
  config.intermediate_size = 6;
  config.vocab_size = 5;
  config.max_positions = 6;
  return config;
}

TransformerGraph rows(int64_t batch, int64_t length, bool loss = false, int64_t batches = 0) {
  TransformerGraph graph;
  graph.batch = batch;
  graph.length = length;
  graph.dtype = DType::f64;
  graph.loss = loss;
  graph.batches = batches;
  return graph;
}

Tensor symbols(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::from_ints(DType::i64, shape, values);
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(Transformer, CountsItsParameters) {
  const TransformerConfig config = small_transformer();
  int64_t counted = 0;
  const Graph graph = transformer_graph(config, rows(1, 4));
  for (const GraphInput& input : graph.inputs) {
    if (input.kind == InputKind::parameter) {
      counted += element_count(graph.values.at(static_cast<std::size_t>(input.value)).shape);
    }
  }
  EXPECT_EQ(config.parameters(), counted);
  EXPECT_EQ(config.cache_elements(100), 2 * 2 * 8 * 100);
}

TEST(Transformer, RefusesWhatDoesNotFit) {
  TransformerConfig config = small_transformer();
  config.num_heads = 3;
  EXPECT_THAT(refused([&] { config.check(); }),
              HasSubstr("hidden_size is 8, which num_heads = 3 does not divide"));
  config = small_transformer();
  config.vocab_size = 0;
  EXPECT_THAT(refused([&] { config.check(); }), HasSubstr("vocab_size is 0"));
  EXPECT_THAT(refused([] { transformer_graph(small_transformer(), rows(1, 7)); }),
              HasSubstr("at most max_positions = 6"));
}

TEST(Transformer, LooksBackOnly) {
  const Graph graph = transformer_graph(small_transformer(), rows(1, 5));
  const auto logits = [&](int64_t last) {
    return in_float128(graph, inputs_of(graph, {{"input_ids", symbols({1, 5}, {1, 0, 3, 2, last})}}))[0].real;
  };
  const auto a = logits(4), b = logits(1);
  ASSERT_EQ(a.size(), 25u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(a[i], b[i]) << "row " << i / 5;
  EXPECT_NE(a[20], b[20]);
}

TEST(Transformer, GradientsAreThoseOfFiniteDifferences) {
  const Graph graph = transformer_graph(small_transformer(), rows(2, 3, true));
  const std::vector<Tensor> inputs = inputs_of(graph, {{"input_ids", symbols({2, 3}, {1, 0, 3, 2, 2, 4})},
                                                       {"labels", symbols({2, 3}, {0, 3, 1, 2, 4, 0})}});
  FiniteDifferences(graph, inputs).expect_gradients(1e-8);
}

// The batch with the given number, and labels one symbol ahead, as if they had been inputs.
template <class Make>
void expect_batches_are_read(const Make& loss_graph, const char* model) {
  const std::vector<int64_t> all{0, 1, 2, 3, 3, 2, 1, 0, 4, 4, 0, 1, 1, 2, 4, 3};  // [2, 2, 4]
  const Graph joined = loss_graph(2), plain = loss_graph(0);
  for (const int64_t n : {0, 1}) {
    std::vector<int64_t> ids, labels;
    for (const int64_t row : {0, 1}) {
      for (int64_t i = 0; i < 3; ++i) {
        ids.push_back(all[static_cast<std::size_t>(8 * n + 4 * row + i)]);
        labels.push_back(all[static_cast<std::size_t>(8 * n + 4 * row + i + 1)]);
      }
    }
    const auto by_number = in_float128(
        joined, inputs_of(joined, {{kBatches, symbols({2, 2, 4}, all)}, {kBatchNumber, symbols({1}, {n})}}));
    const auto given = in_float128(
        plain, inputs_of(plain, {{"input_ids", symbols({2, 3}, ids)}, {"labels", symbols({2, 3}, labels)}}));
    EXPECT_EQ(by_number.at(0).real, given.at(0).real) << model << ", batch " << n;
  }
}

TEST(Batches, AreReadByNumber) {
  expect_batches_are_read(
      [](int64_t batches) { return transformer_graph(small_transformer(), rows(2, 3, true, batches)); },
      "transformer");
  expect_batches_are_read(
      [](int64_t batches) {
        GlaConfig config;
        config.hidden_size = 8;
        config.num_hidden_layers = 1;
        config.num_heads = 2;
        config.vocab_size = 5;
        config.intermediate_size = 6;
        GlaGraph graph;
        graph.batch = 2;
        graph.length = 3;
        graph.dtype = DType::f64;
        graph.loss = true;
        graph.batches = batches;
        return gla_model_graph(config, graph);
      },
      "gla");
}

TEST(Batches, AdvanceFromStepToStep) {
  TransformerGraph graph = rows(2, 3, true, 2);
  graph.dtype = DType::f32;
  TrainingStep step = training_step(transformer_gradient_graph(small_transformer(), graph), {});
  const std::size_t before = step.graph.outputs.size();
  advance_batch(step);
  ASSERT_EQ(step.graph.outputs.size(), before + 1);
  EXPECT_EQ(step.carry.back(), (std::pair<int, std::string>(static_cast<int>(before), kBatchNumber)));
  const ValueId next = step.graph.outputs.back().value;
  EXPECT_EQ(step.graph.values.at(static_cast<std::size_t>(next)).dtype, DType::i64);

  graph.batches = 0;
  TrainingStep without = training_step(transformer_gradient_graph(small_transformer(), graph), {});
  EXPECT_THAT(refused([&] { advance_batch(without); }), HasSubstr("reads no batches by number"));
}

}  // namespace
}  // namespace assay::models
