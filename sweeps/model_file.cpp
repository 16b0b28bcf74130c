// Cases from `.pt2` files.
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/io/expected.h"
#include "core/io/input_ranges.h"
#include "core/io/model.h"
#include "core/io/safetensors.h"
#include "sweeps/sources.h"

namespace assay::sweeps {
namespace {

namespace fs = std::filesystem;

std::string without_suffix(const std::string& path) {
  for (const char* suffix : {".pt2", ".json.zst"}) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - std::string(suffix).size());
  }
  return path;
}

std::optional<std::string> beside(const std::string& path, const char* suffix) {
  const std::string candidate = without_suffix(path) + suffix;
  if (fs::exists(candidate)) return candidate;
  return std::nullopt;
}

std::string listing(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

std::vector<std::string> user_inputs(const Graph& graph) {
  std::vector<std::string> names;
  for (const GraphInput& input : graph.inputs) {
    if (input.kind == InputKind::user && input.value >= 0) names.push_back(input.target);
  }
  return names;
}

// safetensors has no complex dtypes: a complex input is a real view whose last dim of 2 holds re and im.
void join_complex_inputs(const Graph& graph, TensorFile& file) {
  for (const GraphInput& input : graph.inputs) {
    if (input.kind != InputKind::user || input.value < 0) continue;
    const DType wanted = graph.values.at(static_cast<std::size_t>(input.value)).dtype;
    const auto found = file.tensors.find(input.target);
    if (!is_complex(wanted) || found == file.tensors.end()) continue;
    const Tensor parts = found->second.contiguous();
    const bool pairs = !parts.shape().empty() && parts.shape().back() == 2;
    if (!pairs || is_complex(parts.dtype()) || 2 * size_of(parts.dtype()) != size_of(wanted) ||
        is_integral(parts.dtype()))
      continue;
    found->second = Tensor::from_bytes(wanted, Shape(parts.shape().begin(), parts.shape().end() - 1),
                                       parts.data(), parts.bytes());
  }
}

// Files of inputs hold tensors; a number that a graph's sizes follow has no place in them.
void refuse_symbolic_numbers(const Graph& graph, const std::string& origin) {
  for (const GraphInput& input : graph.inputs) {
    if (input.kind != InputKind::user || input.value < 0) continue;
    if (graph.values.at(static_cast<std::size_t>(input.value)).kind == ValueKind::tensor) continue;
    throw Error(ErrorCode::unsupported, origin + ": user input '" + input.target +
                                            "' is a symbolic number; export it as a constant or a tensor");
  }
}

// Given inputs must be exactly the graph's user inputs, by name, dtype and (for plain sizes) shape.
void check_inputs(const Graph& graph, const TensorFile& file, const std::string& path) {
  const auto names = user_inputs(graph);
  for (const auto& [name, tensor] : file.tensors) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(
          ErrorCode::malformed_file,
          path + ": tensor '" + name + "' is no input of the graph; its user inputs are " + listing(names));
    }
  }
  for (const GraphInput& input : graph.inputs) {
    if (input.kind != InputKind::user || input.value < 0) continue;
    const auto found = file.tensors.find(input.target);
    if (found == file.tensors.end()) {
      throw Error(
          ErrorCode::malformed_file,
          path + ": input '" + input.target + "' is missing; the graph's user inputs are " + listing(names));
    }
    const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
    const Tensor& tensor = found->second;
    bool fits = tensor.dtype() == value.dtype && tensor.shape().size() == value.shape.size();
    for (std::size_t i = 0; fits && i < value.shape.size(); ++i) {
      fits = value.shape[i] < 0 || value.shape[i] == tensor.shape()[i];
    }
    if (!fits) {
      throw Error(ErrorCode::malformed_file,
                  path + ": input '" + input.target + "' is " + std::string(name_of(tensor.dtype())) +
                      to_string(tensor.shape()) + "; the graph wants " + std::string(name_of(value.dtype)) +
                      to_string(value.shape) + (graph.has_symbols() ? " (-1: any size)" : "") +
                      (is_complex(value.dtype) ? ", as a real view with a last dim of 2" : ""));
    }
  }
}

bool has_symbolic_inputs(const Graph& graph) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const GraphInput& input) {
    if (input.kind != InputKind::user || input.value < 0) return false;
    const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
    return value.kind != ValueKind::tensor ||
           std::any_of(value.symbols.begin(), value.symbols.end(), [](const auto& s) { return !s.empty(); });
  });
}

// With plain sizes wherever the inputs decide them.
Graph specialised(Model& model, const std::optional<TensorFile>& inputs) {
  Graph graph = std::move(model.graph);
  if (!graph.has_symbols()) return graph;
  std::map<std::string, TensorMeta> metas;
  if (inputs) {
    for (const auto& [name, tensor] : inputs->tensors) metas[name] = {tensor.dtype(), tensor.shape()};
  } else if (has_symbolic_inputs(graph)) {
    throw Error(ErrorCode::unsupported, model.origin +
                                            ": the graph has symbolic sizes; give their values by adding "
                                            "--inputs FILE.safetensors (or a NAME.in.safetensors beside it)");
  } else {
    for (const GraphInput& input : graph.inputs) {
      if (input.kind != InputKind::user || input.value < 0) continue;
      const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
      metas[input.target] = {value.dtype, value.shape};
    }
  }
  return specialise(graph, metas);
}

// The first result whose size is known only once its data is.
std::optional<std::string> data_dependent(const Graph& graph, const std::string& origin) {
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id < 0) continue;
      const Shape& shape = graph.values.at(static_cast<std::size_t>(id)).shape;
      if (std::find(shape.begin(), shape.end(), -1) == shape.end()) continue;
      return origin + ": node '" + node.name + "' (" + node.op + ") gives a tensor of shape " +
             to_string(shape) +
             ", whose size (-1) depends on data; a device is given graphs of known shapes. Use a form of "
             "known "
             "size (torch.where, nonzero_static, a mask as factor) or end the model before this node";
    }
  }
  return std::nullopt;
}

}  // namespace

Case read_model_file(const std::string& path, const std::optional<std::string>& inputs,
                     const std::optional<std::string>& expected) {
  Model model = read_model(path);
  refuse_symbolic_numbers(model.graph, model.origin);
  const auto inputs_path = inputs ? inputs : beside(path, ".in.safetensors");
  const auto expected_path = expected ? expected : beside(path, ".out.safetensors");

  std::optional<TensorFile> given;
  if (inputs_path) {
    given = read_safetensors(*inputs_path);
    join_complex_inputs(model.graph, *given);
    check_inputs(model.graph, *given, *inputs_path);
  }

  Case c;
  c.id = fs::path(without_suffix(path)).filename().string();
  c.suite = "check";
  c.subject = c.id;
  c.file = path;
  if (given) {
    for (auto& [name, tensor] : given->tensors)
      c.inputs[name] = TensorRecipe{tensor.dtype(), tensor.shape(), tensor};
  } else {
    c.inputs = model.inputs.empty() ? default_input_recipes(model) : model.inputs;
  }
  Graph graph = specialised(model, given);
  if (const auto why = data_dependent(graph, model.origin)) {
    set_graph_error(c, Error(ErrorCode::unsupported, *why));
    return c;
  }
  decompose(graph);  // into operators that backends run
  c.graph = std::make_shared<const Graph>(std::move(graph));
  // Large weights stay on disk until the case is run.
  c.load_weights = [path] { return read_model(path).weights; };
  if (expected_path) {
    check_expected(*c.graph, read_safetensors(*expected_path).tensors, *expected_path);
    c.expected_source = "expected_file";
    c.load_expected = [file = *expected_path] { return read_safetensors(file).tensors; };
  }
  return c;
}

std::vector<Case> read_model_folder(const std::string& folder) {
  std::error_code problem;
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    if (it->path().extension() == ".pt2" && it->is_regular_file(problem))
      files.push_back(it->path().string());
  }
  if (problem) throw Error(ErrorCode::io, folder + ": cannot be read: " + problem.message());
  std::sort(files.begin(), files.end());

  std::vector<Case> cases;
  for (const std::string& file : files) {
    const std::string id = without_suffix(fs::relative(file, folder).generic_string());
    Case c;
    try {
      c = read_model_file(file);
    } catch (const Error& error) {
      set_graph_error(c, error);
      c.suite = "check";
      c.file = file;
    }
    c.id = id;
    c.subject = id;
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace assay::sweeps
