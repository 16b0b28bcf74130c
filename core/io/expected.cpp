#include "core/io/expected.h"

#include <fmt/format.h>

#include "core/error.h"

namespace assay {
namespace {

// Names that may be used, with the value each is about; -1 for an output that is a constant.
std::map<std::string, ValueId> expected_names(const Graph& graph) {
  std::map<std::string, ValueId> names;
  int number = 0;
  for (const GraphOutput& output : graph.outputs) {
    switch (output.kind) {
      case OutputKind::user:
        names[std::to_string(number++)] = output.value;
        break;
      case OutputKind::buffer_mutation:
        names["buffer:" + output.target] = output.value;
        break;
      case OutputKind::user_input_mutation:
        names["input:" + output.target] = output.value;
        break;
    }
  }
  return names;
}

std::string usable(const std::map<std::string, ValueId>& names) {
  std::string text;
  for (const auto& [name, id] : names) {
    if (id >= 0) text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace

void check_expected(const Graph& graph, const std::map<std::string, Tensor>& tensors,
                    const std::string& place) {
  const auto names = expected_names(graph);
  for (const auto& [name, tensor] : tensors) {
    const auto found = names.find(name);
    if (found == names.end() || found->second < 0) {
      throw Error(ErrorCode::malformed_file,
                  fmt::format("{}: tensor '{}' is no output of the graph; expected names are {}", place, name,
                              usable(names)));
    }
    const Value& value = graph.values.at(static_cast<std::size_t>(found->second));
    Shape want = value.shape;
    if (is_complex(value.dtype) && !is_complex(tensor.dtype())) want.push_back(2);
    if (tensor.shape() != want || is_integral(tensor.dtype()) != is_integral(value.dtype)) {
      throw Error(ErrorCode::malformed_file,
                  fmt::format("{}: tensor '{}' is {}{}; the graph's output is {}{}", place, name,
                              name_of(tensor.dtype()), to_string(tensor.shape()), name_of(value.dtype),
                              to_string(want)));
    }
  }
}

}  // namespace assay
