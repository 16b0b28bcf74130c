#include "harness/case/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "core/error.h"
#include "core/philox.h"

namespace assay {
namespace {

// Models draw by input name and the run's seed alone, so that seed 0 is what their golden files were made
// from and equal models have equal inputs. Cases of a suite differ by id, so that a sweep over an operator's
// cases sees different numbers in each.
bool draws_as_model(const Case& c) { return c.load_weights || !c.golden.empty() || !c.file.empty(); }

void check_shape(const Case& c, const GraphInput& input, const Tensor& tensor) {
  const Value& value = c.graph->values.at(static_cast<std::size_t>(input.value));
  if (tensor.dtype() == value.dtype && tensor.shape() == value.shape) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: input \"{}\" is {}{}, but the graph declares {}{}", c.id, input.target,
                          name_of(tensor.dtype()), to_string(tensor.shape()), name_of(value.dtype),
                          to_string(value.shape)));
}

}  // namespace

uint64_t case_hash(const std::string& id) { return fnv1a64(id); }

void set_graph_error(Case& c, const Error& error) {
  c.graph = nullptr;
  c.graph_error = error.what();
  c.unsupported_file = error.code() == ErrorCode::unsupported;
  if (error.code() == ErrorCode::unknown_operator) {
    c.graph_error_reason = "unknown_operator";
  } else if (c.unsupported_file) {
    const auto says = [&](const char* words) { return c.graph_error.find(words) != std::string::npos; };
    c.graph_error_reason = says("depends on data") ? "dynamic_shape"
                           : says("symbolic")      ? "symbolic_sizes"
                                                   : "unsupported_layout";
  } else {
    c.graph_error_reason = "malformed";
  }
}

bool has_drawn_inputs(const Case& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(),
                     [](const auto& input) { return !std::holds_alternative<Tensor>(input.second.source); });
}

uint64_t draw_seed(const Case& c, uint64_t seed) {
  return draws_as_model(c) ? seed : fnv1a64(c.id + "#" + std::to_string(seed));
}

std::vector<Tensor> materialise_inputs(const Case& c, uint64_t seed) {
  if (!c.graph) throw Error(ErrorCode::invalid_argument, c.id + ": no graph: " + c.graph_error);
  const std::map<std::string, Tensor> weights =
      c.load_weights ? c.load_weights() : std::map<std::string, Tensor>{};
  const uint64_t stream_seed = draw_seed(c, seed);
  std::vector<Tensor> tensors;
  for (const GraphInput& input : c.graph->inputs) {
    if (input.value < 0) continue;
    Tensor tensor;
    if (input.kind == InputKind::user) {
      const auto recipe = c.inputs.find(input.target);
      if (recipe == c.inputs.end()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: nothing says what input \"{}\" holds; give it with --inputs", c.id,
                                input.target));
      }
      tensor = materialise(recipe->second, "input:" + input.target, stream_seed);
    } else {
      const auto weight = weights.find(input.target);
      if (weight == weights.end()) {
        throw Error(ErrorCode::malformed_file,
                    fmt::format("{}: the model's file has no weight \"{}\", which the graph reads", c.id,
                                input.target));
      }
      tensor = weight->second;
    }
    check_shape(c, input, tensor);
    tensors.push_back(tensor.contiguous());
  }
  return tensors;
}

}  // namespace assay
