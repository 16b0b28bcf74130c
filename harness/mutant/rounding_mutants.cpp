// Defects of rounding and storing.
#include <cmath>

#include "harness/mutant/families.h"

namespace assay {
namespace {

bool narrow_float(DType dtype) { return dtype == DType::bf16 || dtype == DType::f16 || dtype == DType::f32; }

// Computes and rounds floats into the first output.
bool rounds(const OpCall& call) {
  return first_output_is_float(call) && narrow_float(call.output(0).dtype) && !moves_bits(call) &&
         !call.inputs().empty();
}

double towards_zero(const FloatFormat& format, double v) {
  if (!std::isfinite(v)) return v;
  const Neighbours n = neighbours(format, v);
  return v < 0 ? n.above : n.below;
}

double ties_away(const FloatFormat& format, double v) {
  if (!std::isfinite(v)) return v;
  const Neighbours n = neighbours(format, v);
  const bool tie = n.above != n.below && v - n.below == n.above - v;
  if (!tie) return round_to(format, v);
  return v < 0 ? n.below : n.above;
}

template <class Round>
void store_with(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                Round&& round) {
  std::vector<double> values = exact_values(call, inputs);
  const FloatFormat& format = float_format(outputs[0].dtype());
  for (double& v : values) v = round(format, v);
  std::vector<Tensor> wrong = outputs;
  wrong[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), values);
  adopt(call, inputs, outputs, wrong);
}

}  // namespace

void add_rounding_mutants(std::vector<Mutant>& table) {
  table.push_back({"truncated_result", "the result is cut off instead of rounded to nearest", rounds,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     store_with(call, inputs, outputs, towards_zero);
                   },
                   Effect::result, nullptr, Allowance::last_bits});
  table.push_back({"ties_away_from_zero", "ties are rounded away from zero instead of to even",
                   [](const OpCall& call) { return rounds(call) && call.output(0).dtype != DType::f32; },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     store_with(call, inputs, outputs, ties_away);
                   },
                   Effect::result, nullptr, Allowance::tie_break});
  table.push_back({"rounded_twice", "the result is rounded to two more bits first, then to its dtype",
                   [](const OpCall& call) { return rounds(call) && call.output(0).dtype != DType::f32; },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     store_with(call, inputs, outputs, [](const FloatFormat& format, double v) {
                       FloatFormat wider = format;
                       wider.precision += 2;
                       return round_to(format, round_to(wider, v));
                     });
                   },
                   Effect::result, nullptr, Allowance::tie_break});
  table.push_back({"stored_in_bf16", "the result passes through bf16 before it is stored in its dtype",
                   [](const OpCall& call) { return rounds(call) && call.output(0).dtype == DType::f32; },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     edit_floats(outputs, [](std::vector<double>& values) {
                       for (double& v : values) v = round_to(DType::bf16, v);
                     });
                   }});
  table.push_back({"subnormals_flushed", "subnormal results become 0 though the Contract does not say so",
                   rounds,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     const double smallest = float_format(outputs[0].dtype()).smallest_normal();
                     edit_floats(outputs, [smallest](std::vector<double>& values) {
                       for (double& v : values) v = std::fabs(v) < smallest ? std::copysign(0.0, v) : v;
                     });
                   },
                   Effect::result, nullptr, Allowance::subnormals});
  table.push_back(
      {"wrong_dtype", "the output is returned in another float dtype",
       [](const OpCall& call) { return first_output_is_float(call) && call.output(0).dtype != DType::f64; },
       [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
         outputs[0] = Tensor::from_doubles(DType::f64, outputs[0].shape(), outputs[0].to_doubles());
       }});
}

}  // namespace assay
