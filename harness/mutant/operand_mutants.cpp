// Defects of operands: narrowed, dropped or confused. The right formula is evaluated on the wrong inputs.
#include <optional>

#include "harness/mutant/families.h"

namespace assay {
namespace {

bool multiplies(const OpCall& call) {
  return first_output_is_float(call) && (is_matmul(call) || is_convolution(call));
}

// Inputs that are factors of the product: all float tensors except addend and bias.
std::vector<std::string_view> factors(const OpCall& call) {
  if (is_one_of(call, {"aten::addmm"})) return {"mat1", "mat2"};
  if (is_one_of(call, {"aten::baddbmm"})) return {"batch1", "batch2"};
  if (is_one_of(call, {"aten::mm", "aten::bmm"})) return {"self", "mat2"};
  if (is_one_of(call, {"aten::matmul"})) return {"self", "other"};
  return {"input", "weight"};
}

Tensor narrowed(const Tensor& tensor, const FloatFormat& format) {
  std::vector<double> values = tensor.to_doubles();
  for (double& v : values) v = round_to(format, v);
  return Tensor::from_doubles(tensor.dtype(), tensor.shape(), values);
}

FloatFormat tf32() {
  FloatFormat format = float_format(DType::f32);
  format.precision = 11;
  return format;
}

void with_narrow_factors(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                         const FloatFormat& format) {
  std::vector<Tensor> changed = inputs;
  for (const std::string_view name : factors(call)) {
    Tensor& factor = changed[static_cast<std::size_t>(call.tensor(name))];
    factor = narrowed(factor, format);
  }
  adopt(call, inputs, outputs, recompute(call, changed));
}

// The addend of a matrix product or a normalisation: nullopt if there is none.
std::optional<int> bias_of(const OpCall& call) {
  if (is_one_of(call, {"aten::addmm", "aten::baddbmm"})) return call.tensor_opt("self");
  if (is_convolution(call) || is_one_of(call, {"aten::linear", "aten::native_layer_norm", "aten::layer_norm",
                                               "aten::native_group_norm", "aten::group_norm"})) {
    return call.tensor_opt("bias");
  }
  return std::nullopt;
}

}  // namespace

void add_operand_mutants(std::vector<Mutant>& table) {
  const auto f32_product = [](const OpCall& call) {
    return multiplies(call) && call.output(0).dtype == DType::f32;
  };
  table.push_back({"tf32_operands", "fp32 factors are read with 11 bits", f32_product,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     with_narrow_factors(call, inputs, outputs, tf32());
                   },
                   Effect::result, nullptr, Allowance::operands});
  table.push_back({"bf16_operands", "fp32 factors are read as bf16", f32_product,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     with_narrow_factors(call, inputs, outputs, float_format(DType::bf16));
                   },
                   Effect::result, nullptr, Allowance::operands});
  table.push_back({"last_k_dropped", "the last term of every dot product is left out",
                   [](const OpCall& call) {
                     return first_output_is_float(call) &&
                            is_one_of(call, {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"}) &&
                            call.input(call.tensor(factors(call)[0])).shape.back() >= 1;
                   },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     std::vector<Tensor> changed = inputs;
                     Tensor& factor = changed[static_cast<std::size_t>(call.tensor(factors(call)[0]))];
                     std::vector<double> values = factor.to_doubles();
                     const auto k = static_cast<std::size_t>(factor.shape().back());
                     for (std::size_t i = k - 1; i < values.size(); i += k) values[i] = 0;
                     factor = Tensor::from_doubles(factor.dtype(), factor.shape(), values);
                     adopt(call, inputs, outputs, recompute(call, changed));
                   }});
  table.push_back(
      {"bias_dropped", "the addend (beta C, bias) is not added",
       [](const OpCall& call) { return first_output_is_float(call) && bias_of(call).has_value(); },
       [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
         std::vector<Tensor> changed = inputs;
         Tensor& bias = changed[static_cast<std::size_t>(*bias_of(call))];
         bias = Tensor(bias.dtype(), bias.shape());
         adopt(call, inputs, outputs, recompute(call, changed));
       }});
  table.push_back({"second_operand_ignored", "a binary operation returns its first operand",
                   [](const OpCall& call) {
                     return first_output_is_float(call) && call.inputs().size() == 2 &&
                            is_one_of(call, {"aten::add", "aten::sub", "aten::mul", "aten::div"}) &&
                            call.input(0).shape == call.output(0).shape &&
                            call.input(0).dtype == call.output(0).dtype;
                   },
                   [](const OpCall&, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     outputs[0] = inputs[0].clone();
                   }});
  table.push_back({"branches_swapped", "where takes the other branch",
                   [](const OpCall& call) {
                     return is_one_of(call, {"aten::where"}) && call.inputs().size() == 3 &&
                            call.input(1) == call.input(2);
                   },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     adopt(call, inputs, outputs, recompute(call, {inputs[0], inputs[2], inputs[1]}));
                   }});
}

}  // namespace assay
