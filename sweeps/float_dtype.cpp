// Models of a catalogue in another floating dtype.
#include "core/graph/float_dtype.h"

#include <fmt/format.h>

#include "core/error.h"
#include "sweeps/sources.h"

namespace assay::sweeps {
namespace {

Tensor in_dtype(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() != DType::f32) return tensor;
  return Tensor::from_doubles(dtype, tensor.shape(), tensor.to_doubles());
}

void convert(Case& c, DType dtype) {
  c.suite = fmt::format("models-{}", name_of(dtype));
  c.id = c.suite + c.id.substr(c.id.find('/'));
  c.golden.clear();
  if (!c.graph) return;
  try {
    c.graph = std::make_shared<const Graph>(with_float_dtype(*c.graph, dtype));
  } catch (const Error& error) {
    c.graph = nullptr;
    set_graph_error(c, error);
    return;
  }
  for (auto& [name, recipe] : c.inputs) {
    if (recipe.dtype == DType::f32) recipe.dtype = dtype;
    if (auto* stored = std::get_if<Tensor>(&recipe.source)) *stored = in_dtype(*stored, dtype);
  }
  c.load_weights = [load = std::move(c.load_weights), dtype] {
    std::map<std::string, Tensor> weights = load();
    for (auto& [name, tensor] : weights) tensor = in_dtype(tensor, dtype);
    return weights;
  };
  c.weights_key += fmt::format(" in {}", name_of(dtype));
}

}  // namespace

std::vector<Case> in_float_dtype(std::vector<Case> cases, DType dtype) {
  for (Case& c : cases) convert(c, dtype);
  return cases;
}

}  // namespace assay::sweeps
