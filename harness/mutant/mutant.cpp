#include "harness/mutant/mutant.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "core/opset/shapes.h"
#include "harness/mutant/families.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

std::vector<reference::Wide> evaluate_wide(const OpCall& call, const std::vector<Tensor>& inputs) {
  std::vector<reference::Wide> wide;
  std::vector<const reference::Wide*> pointers;
  for (const Tensor& input : inputs) wide.push_back(reference::Wide::from(input));
  for (const reference::Wide& input : wide) pointers.push_back(&input);
  return reference::evaluate(call, pointers);
}

std::vector<Mutant> make_table() {
  std::vector<Mutant> table;
  add_element_mutants(table);
  add_rounding_mutants(table);
  add_operand_mutants(table);
  add_algorithm_mutants(table);
  add_value_mutants(table);
  add_argument_mutants(table);
  add_execution_mutants(table);
  add_family_mutants(table);
  add_integer_mutants(table);
  add_interface_mutants(table);
  std::sort(table.begin(), table.end(), [](const Mutant& a, const Mutant& b) { return a.name < b.name; });
  return table;
}

}  // namespace

const std::vector<Mutant>& all_mutants() {
  static const std::vector<Mutant> table = make_table();
  return table;
}

const Mutant* find_mutant(std::string_view name) {
  for (const Mutant& mutant : all_mutants()) {
    if (mutant.name == name) return &mutant;
  }
  return nullptr;
}

bool plant_mutant(std::string_view name, const OpCall& call, const std::vector<Tensor>& inputs,
                  std::vector<Tensor>& outputs) {
  const Mutant* mutant = find_mutant(name);
  if (mutant == nullptr) {
    std::string names;
    for (const Mutant& known : all_mutants()) names += (names.empty() ? "" : ", ") + known.name;
    throw Error(ErrorCode::invalid_argument, fmt::format("no mutant \"{}\"; there are {}", name, names));
  }
  if (mutant->effect != Effect::result) return false;
  std::vector<Tensor> given = inputs;
  const std::vector<Tensor> before;
  Execution execution{call, given, outputs, before, 0};
  return plant_mutant(*mutant, execution);
}

bool plant_mutant(const Mutant& mutant, Execution& execution) {
  if (!mutant.applies(execution.call)) return false;
  // A result that the graph leaves out has no bits to change.
  if (!execution.outputs.empty() && !execution.outputs[0].defined()) return false;
  try {
    if (mutant.effect == Effect::result) {
      mutant.plant(execution.call, execution.inputs, execution.outputs);
    } else if (mutant.disturb) {
      mutant.disturb(execution);
    }
    return true;
  } catch (const Error& error) {
    // A changed argument or index may be one that the operator refuses: no kernel computes that.
    if (error.code() == ErrorCode::internal) throw;
    return false;
  }
}

bool is_one_of(const OpCall& call, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), without_overload(call.op())) != names.end();
}

bool is_matmul(const OpCall& call) {
  return is_one_of(call,
                   {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::matmul", "aten::linear"});
}

bool is_convolution(const OpCall& call) {
  return is_one_of(call, {"aten::convolution", "aten::conv1d", "aten::conv2d"});
}

bool first_output_is_float(const OpCall& call) {
  return !call.outputs().empty() && is_float(call.output(0).dtype);
}

bool moves_bits(const OpCall& call) {
  return is_one_of(call, {"aten::view",          "aten::_unsafe_view",
                          "aten::reshape",       "aten::permute",
                          "aten::transpose",     "aten::t",
                          "aten::expand",        "aten::alias",
                          "aten::clone",         "aten::slice",
                          "aten::select",        "aten::squeeze",
                          "aten::unsqueeze",     "aten::cat",
                          "aten::split",         "aten::split_with_sizes",
                          "aten::index",         "aten::gather",
                          "aten::embedding",     "aten::repeat",
                          "aten::full",          "aten::full_like",
                          "aten::scalar_tensor", "aten::where"});
}

std::vector<std::byte> packed(const Tensor& tensor) {
  const Tensor whole = tensor.contiguous();
  std::vector<std::byte> bytes(whole.bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), whole.data(), bytes.size());
  return bytes;
}

Tensor like(const Tensor& tensor, const std::vector<std::byte>& bytes) {
  return Tensor::from_bytes(tensor.dtype(), tensor.shape(), bytes.data(), bytes.size());
}

std::vector<Tensor> recompute(const OpCall& call, const std::vector<Tensor>& inputs) {
  // Kernels trust the shapes that the call was checked with.
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    const TensorMeta given =
        i < inputs.size() ? TensorMeta{inputs[i].dtype(), inputs[i].shape()} : TensorMeta{};
    if (given == call.inputs()[i]) continue;
    throw Error(ErrorCode::internal,
                fmt::format("{}: input {} is {} {}, the call says {} {}", call.op(), i, name_of(given.dtype),
                            to_string(given.shape), name_of(call.inputs()[i].dtype),
                            to_string(call.inputs()[i].shape)));
  }
  std::vector<Tensor> outputs;
  for (const reference::Wide& output : evaluate_wide(call, inputs)) outputs.push_back(output.rounded());
  return outputs;
}

std::vector<Tensor> recompute_with(const OpCall& call, const std::vector<Tensor>& inputs,
                                   const std::string& argument, const Argument& value) {
  std::vector<NamedArgument> arguments = call.arguments();
  for (NamedArgument& given : arguments) {
    if (given.name == argument) given.value = value;
  }
  // The shape rules say what the wrong call returns: kernels trust the shapes that they are given.
  const auto results = infer(OpCall(call.op(), call.inputs(), arguments));
  if (!results || *results != call.outputs()) return {};
  return recompute(OpCall(call.op(), call.inputs(), arguments, *results), inputs);
}

Tensor* input_of(const OpCall& call, std::vector<Tensor>& inputs, std::string_view argument) {
  if (call.schema().find(argument) == nullptr || call.is_none(argument)) return nullptr;
  if (call.schema().find(argument)->type.base != BaseType::tensor ||
      call.schema().find(argument)->type.list) {
    return nullptr;
  }
  const auto number = call.tensor_opt(argument);
  return number ? &inputs.at(static_cast<std::size_t>(*number)) : nullptr;
}

void adopt(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
           const std::vector<Tensor>& wrong) {
  if (wrong.empty()) return;
  const std::vector<Tensor> right = recompute(call, inputs);
  for (std::size_t k = 0; k < outputs.size() && k < wrong.size() && k < right.size(); ++k) {
    const auto comparable = [&](const Tensor& other) {
      return other.dtype() == outputs[k].dtype() && other.shape() == outputs[k].shape();
    };
    if (!outputs[k].defined() || !comparable(wrong[k]) || !comparable(right[k])) continue;
    const Tensor a = wrong[k].contiguous(), b = right[k].contiguous(), mine = outputs[k].contiguous();
    std::vector<std::byte> bytes(mine.bytes());
    if (bytes.empty()) continue;
    std::memcpy(bytes.data(), mine.data(), bytes.size());
    const std::size_t size = size_of(mine.dtype());
    // Which NaN it is says nothing.
    const bool floats = is_float(mine.dtype());
    const std::vector<double> x = floats ? a.to_doubles() : std::vector<double>();
    const std::vector<double> y = floats ? b.to_doubles() : std::vector<double>();
    for (std::size_t i = 0; i < bytes.size(); i += size) {
      if (floats && std::isnan(x[i / size]) && std::isnan(y[i / size])) continue;
      if (std::memcmp(a.data() + i, b.data() + i, size) != 0) std::memcpy(&bytes[i], a.data() + i, size);
    }
    outputs[k] = Tensor::from_bytes(mine.dtype(), mine.shape(), bytes.data(), bytes.size());
  }
}

std::vector<double> exact_values(const OpCall& call, const std::vector<Tensor>& inputs) {
  return evaluate_wide(call, inputs).at(0).real;
}

}  // namespace assay
