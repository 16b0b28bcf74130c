// What a core needs for the parts of a step, by the clock, without data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backend/compiler/options.h"
#include "backend/simulator/timing/clock.h"
#include "core/graph/graph.h"
#include "models/parallel/gla_parts.h"

namespace assay::cli::laplace {

// A graph as one Program, and node by node.
struct PartCost {
  double seconds = 0;  // compiled; without launch, and without start and stop of the kernel
  double eager_s = 0;  // with the launch of every node
  int64_t nodes = 0, launches = 0;
  uint64_t instructions = 0, matrix_flops = 0;
  double tensor_s = 0, vector_s = 0, dma_s = 0;  // in which the engines, or any DMA engine, were busy
};

// A layer and what is around it, for one core.
struct TrainingParts {
  PartCost embedding, embedding_backward, attention, attention_backward, mlp, mlp_backward, head,
      head_backward;
  int64_t saved_layer = 0, saved_head = 0;  // bytes for the backward pass
};
struct DecodeParts {
  PartCost embedding, attention, mlp, head;
};
// What a core is given: sequences, tokens of each, and among how many ranks the model is divided.
struct Work {
  int64_t batch = 1, length = 1, tp = 1;
};
models::GlaPart part_of(const models::GlaConfig& config, const Work& work);  // bf16

class PartClock {
 public:
  // `active_cores` stream from the chip's HBM; node-by-node costs are left out without `eager`. With `lnc` 2
  // the core is a logical one of two, among which the compiler divides every kernel
  // (backend/compiler/core_split.h); engine times are then those of its first core, instructions those of
  // both.
  PartClock(const backend::CoreDescription& core, int active_cores, bool eager, int lnc = 1);

  PartCost cost(const Graph& graph);
  // The same `repeats` times, every one timed in full: seconds of all of them.
  double in_full_s(const Graph& graph, int64_t repeats);

  // Throw Error{invalid_argument} where tp does not divide heads or MLP. Equal questions are answered once.
  const TrainingParts& training(const models::GlaConfig& config, const Work& work);
  // Attention of it alone, not remembered: forward, backward.
  std::array<PartCost, 2> attention(const models::GlaConfig& config, const Work& work);
  const DecodeParts& decode(const models::GlaConfig& config, const Work& work);
  // Five steps of Newton and Schulz on a bf16 matrix.
  const PartCost& orthogonalise(const Shape& matrix);
  // Momentum, decay and update of so many elements by Muon, and an AdamW step: f32, then rounded to bf16.
  const PartCost& muon_elements(int64_t elements);
  const PartCost& adamw_elements(int64_t elements);

  const backend::CoreDescription& core() const { return core_; }
  int lnc() const { return options_.lnc; }
  uint64_t timed_instructions() const { return timed_; }

 private:
  double eager_call_s(const Graph& graph, const Node& node, bool& launched);

  const backend::CoreDescription& core_;
  backend::CompileOptions options_;
  backend::Clock clock_;
  bool eager_;
  uint64_t timed_ = 0;
  std::map<std::string, double> calls_;  // seconds by signature; negative: no instructions
  std::map<std::string, TrainingParts> training_;
  std::map<std::string, DecodeParts> decode_;
  std::map<std::string, PartCost> optimiser_;
};

}  // namespace assay::cli::laplace
