#include "harness/mutant/mutant.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "harness/mutant/families.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

std::string_view without_overload(std::string_view op) { return op.substr(0, op.find('.')); }

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
  if (!mutant->applies(call)) return false;
  mutant->plant(call, inputs, outputs);
  return true;
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

std::vector<Tensor> recompute(const OpCall& call, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs;
  for (const reference::Wide& output : evaluate_wide(call, inputs)) outputs.push_back(output.rounded());
  return outputs;
}

std::vector<double> exact_values(const OpCall& call, const std::vector<Tensor>& inputs) {
  return evaluate_wide(call, inputs).at(0).real;
}

}  // namespace assay
