// Defects of integers, casts and division.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/mutant/families.h"

namespace assay {
namespace {

bool integers(const OpCall& call) {
  return !call.outputs().empty() && is_integral(call.output(0).dtype) &&
         call.output(0).dtype != DType::boolean;
}

bool is_cast(const OpCall& call) { return is_one_of(call, {"aten::_to_copy", "aten::to"}); }

struct Range {
  int64_t low, high;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return {0, 255};
    case DType::i8:
      return {-128, 127};
    case DType::i16:
      return {-32768, 32767};
    case DType::i32:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

// Both operands have the result's shape and dtype.
bool plain_binary(const OpCall& call) {
  return call.inputs().size() == 2 && call.input(0) == call.output(0) && call.input(1) == call.output(0);
}

void store_ints(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
                const std::vector<int64_t>& values) {
  std::vector<Tensor> wrong = outputs;
  wrong[0] = Tensor::from_ints(outputs[0].dtype(), outputs[0].shape(), values);
  adopt(call, inputs, outputs, wrong);
}

void saturating_arithmetic(const OpCall& call, const std::vector<Tensor>& inputs,
                           std::vector<Tensor>& outputs) {
  const std::vector<int64_t> a = inputs[0].to_ints(), b = inputs[1].to_ints();
  const Range range = range_of(outputs[0].dtype());
  const int64_t alpha = call.schema().find("alpha") != nullptr ? call.scalar("alpha").as_int() : 1;
  std::vector<int64_t> values(a.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    __int128 wide = is_one_of(call, {"aten::mul"}) ? static_cast<__int128>(a[i]) * b[i]
                                                   : static_cast<__int128>(b[i]) * alpha;
    if (is_one_of(call, {"aten::add"})) wide = a[i] + wide;
    if (is_one_of(call, {"aten::sub"})) wide = a[i] - wide;
    values[i] = wide < range.low ? range.low : wide > range.high ? range.high : static_cast<int64_t>(wide);
  }
  store_ints(call, inputs, outputs, values);
}

// The quotient is what `other` of the operator's two conventions makes of it.
double with_other_sign(const OpCall& call, double a, double b) {
  if (is_one_of(call, {"aten::floor_divide", "aten::div"})) return std::trunc(a / b);
  if (is_one_of(call, {"aten::fmod"})) return a - b * std::floor(a / b);
  return std::fmod(a, b);
}

}  // namespace

void add_integer_mutants(std::vector<Mutant>& table) {
  table.push_back({"integers_saturate", "integers that overflow stop at the limit instead of wrapping around",
                   [](const OpCall& call) {
                     return integers(call) && plain_binary(call) &&
                            is_one_of(call, {"aten::add", "aten::sub", "aten::mul"});
                   },
                   saturating_arithmetic});
  table.push_back({"integer_cast_saturates", "integers cast to a narrower type stop at its limits",
                   [](const OpCall& call) {
                     return integers(call) && is_cast(call) && is_integral(call.input(0).dtype) &&
                            (range_of(call.input(0).dtype).low < range_of(call.output(0).dtype).low ||
                             range_of(call.input(0).dtype).high > range_of(call.output(0).dtype).high);
                   },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     const Range range = range_of(outputs[0].dtype());
                     std::vector<int64_t> values = inputs[0].to_ints();
                     for (int64_t& v : values) v = std::clamp(v, range.low, range.high);
                     store_ints(call, inputs, outputs, values);
                   }});
  table.push_back(
      {"cast_rounds_to_nearest", "floats are rounded to integers instead of cut off",
       [](const OpCall& call) { return integers(call) && is_cast(call) && is_float(call.input(0).dtype); },
       [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
         std::vector<int64_t> values = outputs[0].to_ints();
         const std::vector<double> given = inputs[0].to_doubles();
         for (std::size_t i = 0; i < values.size(); ++i) {
           const double near = std::nearbyint(given[i]);
           if (std::fabs(given[i]) < 0x1p31) values[i] = static_cast<int64_t>(near);
         }
         store_ints(call, inputs, outputs, values);
       }});
  table.push_back(
      {"half_rounds_away", "round() takes halves away from zero instead of to even",
       [](const OpCall& call) { return first_output_is_float(call) && call.op() == "aten::round.default"; },
       [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
         std::vector<double> values = inputs[0].to_doubles();
         for (double& v : values) v = std::round(v);
         std::vector<Tensor> wrong = outputs;
         wrong[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), values);
         adopt(call, inputs, outputs, wrong);
       }});
  table.push_back(
      {"division_of_negatives",
       "quotients of negative numbers are rounded the wrong way, remainders have the wrong sign",
       [](const OpCall& call) {
         if (call.outputs().empty() || !plain_binary(call) || call.output(0).dtype == DType::boolean)
           return false;
         if (is_one_of(call, {"aten::div"})) {
           return call.schema().find("rounding_mode") != nullptr &&
                  call.string_opt("rounding_mode") == "floor";
         }
         return is_one_of(call, {"aten::floor_divide", "aten::remainder", "aten::fmod"});
       },
       [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
         const std::vector<double> a = inputs[0].to_doubles(), b = inputs[1].to_doubles();
         std::vector<double> values = outputs[0].to_doubles();
         for (std::size_t i = 0; i < values.size(); ++i) {
           if (b[i] != 0 && std::isfinite(a[i]) && std::isfinite(b[i]) && std::fabs(a[i]) < 0x1p52)
             values[i] = with_other_sign(call, a[i], b[i]);
         }
         std::vector<Tensor> wrong = outputs;
         if (is_float(outputs[0].dtype())) {
           wrong[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), values);
         } else {
           wrong[0] = Tensor::from_ints(outputs[0].dtype(), outputs[0].shape(),
                                        std::vector<int64_t>(values.begin(), values.end()));
         }
         adopt(call, inputs, outputs, wrong);
       }});
  table.push_back({"shift_is_logical", "bits that are shifted in are 0 for negative numbers",
                   [](const OpCall& call) {
                     return integers(call) && plain_binary(call) && call.output(0).dtype != DType::u8 &&
                            is_one_of(call, {"aten::bitwise_right_shift", "aten::__rshift__"});
                   },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     const std::vector<int64_t> a = inputs[0].to_ints(), b = inputs[1].to_ints();
                     std::vector<int64_t> values = outputs[0].to_ints();
                     const auto width = static_cast<int64_t>(size_of(outputs[0].dtype()) * 8);
                     const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
                     for (std::size_t i = 0; i < values.size(); ++i) {
                       if (a[i] >= 0 || b[i] <= 0 || b[i] >= width) continue;
                       values[i] = static_cast<int64_t>((static_cast<uint64_t>(a[i]) & mask) >> b[i]);
                     }
                     store_ints(call, inputs, outputs, values);
                   }});
  table.push_back({"boolean_inverted", "true and false are exchanged in one element",
                   [](const OpCall& call) {
                     return !call.outputs().empty() && call.output(0).dtype == DType::boolean &&
                            element_count(call.output(0).shape) >= 1;
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     std::vector<int64_t> values = outputs[0].to_ints();
                     values.back() = values.back() == 0 ? 1 : 0;
                     outputs[0] = Tensor::from_ints(DType::boolean, outputs[0].shape(), values);
                   }});
}

}  // namespace assay
