#include "suites/training/training_suite.h"

#include <map>
#include <string>
#include <utility>

#include "models/gla/gla.h"
#include "models/training/batches.h"
#include "models/transformer/transformer.h"
#include "suites/graph_case.h"
#include "suites/training/start.h"
#include "suites/training/text.h"

namespace assay::suites {
namespace {

// A training run: the model, how much it reads in a step, for how long.
struct TrainingRun {
  const char* size;  // "mini", "1m"
  int64_t hidden, layers, heads, mlp;
  int64_t batch, length;
};
constexpr TrainingRun kMini{"mini", 32, 2, 2, 48, 2, 24};
// 1.08 and 1.06 million parameters.
constexpr TrainingRun kMillion{"1m", 128, 4, 4, 512, 4, 64};

// The DTYPE of a case's id: what a model computes in, and what its parameters and optimiser states are held
// in.
struct Numbers {
  const char* name;
  DType computed, held;
};
constexpr Numbers kInF32{"f32", DType::f32, DType::f32};
constexpr Numbers kInBf16{"bf16", DType::bf16, DType::bf16};
// As 16-bit models are trained: every step reads f32 parameters as bf16, and the optimisers add to the f32
// ones, of which a bf16 number would lose what is less than its last digit.
constexpr Numbers kInMixed{"mixed", DType::bf16, DType::f32};

// Fields that both models have.
template <class Config>
Config config_of(const TrainingRun& run) {
  Config config;
  config.hidden_size = run.hidden;
  config.num_hidden_layers = run.layers;
  config.num_heads = run.heads;
  config.intermediate_size = run.mlp;
  config.vocab_size = kSymbols;
  return config;
}

Graph gradient_graph_of(const std::string& model, const TrainingRun& run, const Numbers& numbers,
                        int64_t batches) {
  const auto sized = [&](auto graph) {
    graph.batch = run.batch;
    graph.length = run.length;
    graph.dtype = numbers.computed;
    graph.parameters = numbers.held;
    graph.batches = batches;
    return graph;
  };
  if (model == "transformer") {
    auto config = config_of<models::TransformerConfig>(run);
    config.max_positions = run.length;
    return transformer_gradient_graph(config, sized(models::TransformerGraph()));
  }
  models::GlaGraph graph = sized(models::GlaGraph());
  graph.form = model == "gla" ? models::GlaForm::fused : models::GlaForm::chunked;
  return gla_gradient_graph(config_of<models::GlaConfig>(run), graph);
}

// What is asked of a run.
struct Asked {
  const char* name;
  int steps = 6;
  double descends = 0;
  bool resumes = false, unobserved = false;
};

Case training_case(const std::string& model, const TrainingRun& run, const Numbers& numbers,
                   const Asked& asked) {
  models::TrainingOptions options = training_options(0.02, 3e-3);
  // As published; elsewhere the iterations are in the parameters' dtype.
  if (numbers.computed != numbers.held) options.muon.iterate_in = numbers.computed;
  models::TrainingStep step = training_step(gradient_graph_of(model, run, numbers, asked.steps), options);
  advance_batch(step);
  std::map<std::string, TensorRecipe> inputs;
  for (const GraphInput& input : step.graph.inputs) {
    const Value& value = step.graph.values.at(static_cast<std::size_t>(input.value));
    if (value.name == models::kBatches) {
      inputs[value.name] = {value.dtype, value.shape, text_batches(asked.steps, run.batch, run.length)};
    } else if (value.name == models::kBatchNumber) {
      inputs[value.name] = {value.dtype, value.shape, Tensor::from_ints(DType::i64, {1}, {0})};
    } else {
      inputs[value.name] = initial_recipe(value);
    }
  }
  Case c = case_of_graph("training/" + model + "/" + numbers.name + "/" + run.size + "/" + asked.name, model,
                         std::move(step.graph), std::move(inputs));
  c.steps = asked.steps;
  if (asked.steps > 1) c.carry = std::move(step.carry);
  c.checks.descends = asked.descends;
  c.checks.resumes = asked.resumes;
  c.checks.unobserved = asked.unobserved;
  return c;
}

class TrainingSuite : public Suite {
 public:
  std::string name() const override { return "training"; }
  std::string description() const override {
    return "language models train: one step, short runs, 200 steps of 1 million parameters";
  }
  void make_cases(uint64_t /*seed*/, const CaseSink& sink) const override {
    for (const char* model : {"gla", "gla-parts", "transformer"}) {
      for (const Numbers& numbers : {kInF32, kInBf16, kInMixed}) {
        sink(training_case(model, kMini, numbers, {"step", 1}));
        sink(training_case(model, kMini, numbers, {"6-steps"}));
        if (std::string_view(model) == "gla-parts") continue;
        sink(training_case(model, kMini, numbers, {"resume", 6, 0, true, false}));
        sink(training_case(model, kMini, numbers, {"log-every-step", 6, 0, false, true}));
      }
    }
    // Long runs are of f32: among the roundings of bf16 a curve does not tell a wrong optimiser from a right
    // one.
    for (const char* model : {"gla", "transformer"}) {
      sink(training_case(model, kMini, kInF32, {"60-steps", 60, 0.8}));
      sink(training_case(model, kMillion, kInF32, {"20-steps", 20, 0.7}));
      sink(training_case(model, kMillion, kInF32, {"200-steps", 200, 0.5, true, true}));
    }
  }
};

}  // namespace

std::unique_ptr<Suite> make_training_suite() { return std::make_unique<TrainingSuite>(); }

}  // namespace assay::suites
