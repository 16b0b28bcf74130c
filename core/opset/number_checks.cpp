#include "core/opset/number_checks.h"

#include <cmath>

#include "core/opset/checks.h"

namespace assay {
namespace {

bool is_within_integers(const Scalar& value, DType dtype) {
  if (value.kind == Scalar::Kind::floating) {
    const auto low = static_cast<double>(int_min(dtype)), high = static_cast<double>(int_max(dtype));
    return value.f >= low && (dtype == DType::i64 ? value.f < high : value.f <= high);
  }
  const int64_t low = dtype == DType::u8 ? -int_max(dtype) : int_min(dtype);
  return value.i >= low && value.i <= int_max(dtype);
}

bool is_within_floats(double value, DType dtype) {
  if (std::isnan(value)) return true;
  const FloatFormat& format = float_format(dtype);
  if (std::isinf(value)) return format.has_infinity;
  return std::fabs(value) <= format.max;
}

}  // namespace

int64_t converted_to_integer(const Scalar& value, DType dtype) {
  if (dtype == DType::boolean) return value.as_double() != 0 ? 1 : 0;
  return value.kind == Scalar::Kind::floating ? static_cast<int64_t>(value.f) : value.i;
}

namespace rules {

void require_number(const OpCall& call, std::string_view name, DType dtype) {
  const Scalar value = call.scalar(name);
  if (dtype == DType::boolean || is_complex(dtype)) return;
  if (is_float(dtype) ? is_within_floats(value.as_double(), dtype) : is_within_integers(value, dtype)) return;
  fail(call, "{} is {}; it must be a number that {} can hold", name, value.as_double(), name_of(dtype));
}

}  // namespace rules
}  // namespace assay
