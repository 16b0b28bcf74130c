// Models from files: `.pt2` archives and catalogue files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "core/graph/graph.h"
#include "core/opset/call.h"

namespace assay {

// How a tensor comes about without being stored (sweeps/export/weights.md).
struct UniformDraw {
  double center = 0;
  double scale = 1;
};
struct IntegerDraw {
  int64_t low = 0;
  int64_t high = 1;  // exclusive
};
struct TensorRecipe {
  DType dtype = DType::f32;
  Shape shape;
  std::variant<UniformDraw, IntegerDraw, Tensor> source;
};

// Draws by name and seed: weights use their FQN and seed 0, inputs "input:" + name and the run's seed.
Tensor materialise(const TensorRecipe& recipe, std::string_view stream, uint64_t seed);

struct Model {
  Graph graph;
  std::string origin;                     // file, for messages
  std::map<std::string, Tensor> weights;  // by FQN (GraphInput::target); ties share storage; all materialised
  std::map<std::string, TensorRecipe> inputs;  // catalogue files only; by user input name
};

// By content: a zip is a `.pt2`, a zstd frame is a catalogue file. Throws Error (malformed_file,
// unknown_operator, unsupported, io). Never reads pickles: a state dict stored as a pickle is refused with
// the advice to re-export.
Model read_model(const std::string& path);
Model parse_pt2(std::string_view bytes, const std::string& origin);
Model parse_catalogue(std::string_view bytes, const std::string& origin);

// Replaces symbolic sizes by those of the given user inputs and re-infers all shapes. Throws Error if an
// input is missing, of the wrong rank or dtype, or contradicts a plain size or another use of the same
// symbol.
Graph specialise(const Graph& graph, const std::map<std::string, TensorMeta>& inputs);

}  // namespace assay
