#include "suites/training/recall.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/philox.h"
#include "models/gla/gla.h"
#include "models/transformer/transformer.h"
#include "suites/training/start.h"

namespace assay::suites {
namespace {

constexpr int64_t kHidden = 32, kMlp = 64, kValueSize = 32;
constexpr int64_t kNothingAsked = -100;

// Integers below a limit, one after the other.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t number) : key_(key_of_name(fmt::format("recall {}", number))), seed_(seed) {}
  int64_t below(int64_t limit) { return draw_integer(key_, seed_, next_++, 0, limit); }
  int64_t one_of(const std::vector<int64_t>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int64_t>(list.size())))];
  }

 private:
  PhiloxKey key_;
  uint64_t seed_, next_ = 0;
};

template <class Config>
Config recall_config(const RecallTask& task) {
  Config config;
  config.hidden_size = kHidden;
  config.num_hidden_layers = 1;
  config.num_heads = 1;
  config.intermediate_size = kMlp;
  config.vocab_size = task.symbols();
  return config;
}
models::GlaConfig gla_config(const RecallTask& task, const RecallModel& model) {
  auto config = recall_config<models::GlaConfig>(task);
  config.set_head_sizes(model.head_key, model.head_value);
  return config;
}
models::TransformerConfig transformer_config(const RecallTask& task) {
  auto config = recall_config<models::TransformerConfig>(task);
  config.max_positions = task.longest();
  return config;
}

template <class Sized>
Sized sized(const RecallTask& task, int64_t rows) {
  Sized graph;
  graph.batch = rows;
  graph.length = task.longest();
  return graph;
}

}  // namespace

int64_t RecallTask::longest() const { return *std::max_element(lengths.begin(), lengths.end()); }

RecallBatch recall_batch(const RecallTask& task, int64_t rows, int64_t pairs, int64_t length, uint64_t seed,
                         uint64_t number) {
  Draws draws(seed, number);
  const int64_t longest = task.longest();
  const auto size = static_cast<std::size_t>(rows * longest);
  std::vector<int64_t> symbols(size, task.symbols() - 1), labels(size, kNothingAsked);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t count = pairs > 0 ? pairs : draws.one_of(task.pairs);
    const int64_t reach = length > 0 ? length : draws.one_of(task.lengths);
    if (count > task.keys || count + task.queries > reach || reach > longest) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("recall: {} pairs of {} keys and {} queries in {} of {} symbols", count,
                              task.keys, task.queries, reach, longest));
    }
    std::vector<int64_t> keys, values;
    for (int64_t key = 0; key < task.keys; ++key) keys.push_back(key);
    const auto place = [&](int64_t i) { return static_cast<std::size_t>((row + 1) * longest - reach + i); };
    for (int64_t i = 0; i < count; ++i) {  // Fisher and Yates, as far as needed
      std::swap(keys[static_cast<std::size_t>(i)],
                keys[static_cast<std::size_t>(i + draws.below(task.keys - i))]);
      values.push_back(draws.below(task.values));
      symbols[place(i)] = keys[static_cast<std::size_t>(i)] * task.values + values.back();
    }
    for (int64_t q = reach - task.queries; q < reach; ++q) {
      const auto pair = static_cast<std::size_t>(draws.below(count));
      symbols[place(q)] = task.keys * task.values + keys[pair];
      labels[place(q)] = values[pair];
    }
  }
  return {Tensor::from_ints(DType::i64, {rows, longest}, symbols),
          Tensor::from_ints(DType::i64, {rows, longest}, labels)};
}

int64_t RecallModel::memory_bytes(int64_t length) const {
  return 4 * (softmax ? 2 * kHidden * length : head_key * head_value);
}

std::vector<RecallModel> recall_models() {
  std::vector<RecallModel> models;
  for (const int64_t key : {4, 8, 16}) models.push_back({fmt::format("gla-{}", key), false, key, kValueSize});
  models.push_back({"transformer", true, kHidden, kHidden});
  return models;
}

models::TrainingStep recall_step(const RecallTask& task, const RecallModel& model) {
  const models::TrainingOptions options = training_options(0.01, 1e-2);
  if (model.softmax) {
    return training_step(transformer_gradient_graph(transformer_config(task),
                                                    sized<models::TransformerGraph>(task, task.batch)),
                         options);
  }
  return training_step(gla_gradient_graph(gla_config(task, model), sized<models::GlaGraph>(task, task.batch)),
                       options);
}

Graph recall_answers(const RecallTask& task, const RecallModel& model, int64_t rows) {
  Graph graph = model.softmax
                    ? transformer_graph(transformer_config(task), sized<models::TransformerGraph>(task, rows))
                    : gla_model_graph(gla_config(task, model), sized<models::GlaGraph>(task, rows));
  graph.outputs.resize(1);
  for (GraphInput& input : graph.inputs) {
    if (input.kind != InputKind::parameter) continue;
    input.kind = InputKind::user;
    input.target = graph.values.at(static_cast<std::size_t>(input.value)).name;
  }
  return graph;
}

int64_t recall_parameters(const RecallTask& task, const RecallModel& model) {
  return model.softmax ? transformer_config(task).parameters() : gla_config(task, model).parameters();
}

RecallScore recall_score(const Tensor& logits, const Tensor& labels) {
  const std::vector<double> numbers = logits.to_doubles();
  const std::vector<int64_t> wanted = labels.to_ints();
  const std::size_t symbols = numbers.size() / wanted.size();
  RecallScore score;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == kNothingAsked) continue;
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(i * symbols);
    const auto largest = std::max_element(first, first + static_cast<std::ptrdiff_t>(symbols));
    ++score.asked;
    // NaN is nobody's answer.
    if (largest - first == wanted[i] && !std::isnan(*largest)) ++score.right;
  }
  return score;
}

}  // namespace assay::suites
