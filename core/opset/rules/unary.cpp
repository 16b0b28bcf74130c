// Pointwise functions of one tensor.
#include "core/opset/checks.h"
#include "core/opset/number_checks.h"

namespace assay {
namespace {

using namespace rules;

enum class UnaryResult { same, inexact, boolean, real };

struct Unary {
  const char* name;
  unsigned kinds;  // of self
  UnaryResult result;
};

constexpr Unary kUnary[] = {
    {"aten::abs.default", kNoBool, UnaryResult::real},
    {"aten::acos.default", kAny, UnaryResult::inexact},
    {"aten::acosh.default", kAny, UnaryResult::inexact},
    {"aten::alias.default", kAny, UnaryResult::same},
    {"aten::asin.default", kAny, UnaryResult::inexact},
    {"aten::asinh.default", kAny, UnaryResult::inexact},
    {"aten::atan.default", kAny, UnaryResult::inexact},
    {"aten::atanh.default", kAny, UnaryResult::inexact},
    {"aten::bitwise_not.default", kIntegral, UnaryResult::same},
    {"aten::ceil.default", kReal, UnaryResult::same},
    {"aten::clone.default", kAny, UnaryResult::same},
    {"aten::contiguous.default", kAny, UnaryResult::same},
    {"aten::cos.default", kAny, UnaryResult::inexact},
    {"aten::cosh.default", kAny, UnaryResult::inexact},
    {"aten::detach.default", kAny, UnaryResult::same},
    {"aten::elu.default", kFloat, UnaryResult::same},
    {"aten::erf.default", kNoComplex, UnaryResult::inexact},
    {"aten::exp.default", kAny, UnaryResult::inexact},
    {"aten::exp2.default", kAny, UnaryResult::inexact},
    {"aten::expm1.default", kAny, UnaryResult::inexact},
    {"aten::floor.default", kReal, UnaryResult::same},
    {"aten::hardsigmoid.default", kFloat, UnaryResult::same},
    {"aten::hardswish.default", kFloat, UnaryResult::same},
    {"aten::isinf.default", kAny, UnaryResult::boolean},
    {"aten::isnan.default", kAny, UnaryResult::boolean},
    {"aten::leaky_relu.default", kFloat, UnaryResult::same},
    {"aten::lift_fresh_copy.default", kAny, UnaryResult::same},
    {"aten::log.default", kAny, UnaryResult::inexact},
    {"aten::log10.default", kAny, UnaryResult::inexact},
    {"aten::log1p.default", kAny, UnaryResult::inexact},
    {"aten::log2.default", kAny, UnaryResult::inexact},
    {"aten::logical_not.default", kAny, UnaryResult::boolean},
    {"aten::mish.default", kFloat, UnaryResult::same},
    {"aten::neg.default", kNoBool, UnaryResult::same},
    {"aten::reciprocal.default", kAny, UnaryResult::inexact},
    {"aten::relu.default", kReal, UnaryResult::same},
    {"aten::relu6.default", kReal, UnaryResult::same},
    {"aten::relu_.default", kReal, UnaryResult::same},
    {"aten::round.default", kReal, UnaryResult::same},
    {"aten::rsqrt.default", kAny, UnaryResult::inexact},
    {"aten::selu.default", kFloat, UnaryResult::same},
    {"aten::sigmoid.default", kAny, UnaryResult::inexact},
    {"aten::sign.default", kNoComplex, UnaryResult::same},
    {"aten::silu.default", kInexact, UnaryResult::same},
    {"aten::sin.default", kAny, UnaryResult::inexact},
    {"aten::sinh.default", kAny, UnaryResult::inexact},
    {"aten::softplus.default", kFloat, UnaryResult::same},
    {"aten::sqrt.default", kAny, UnaryResult::inexact},
    {"aten::tan.default", kAny, UnaryResult::inexact},
    {"aten::tanh.default", kAny, UnaryResult::inexact},
    {"aten::trunc.default", kReal, UnaryResult::same},
};

DType result_of(UnaryResult result, DType dtype) {
  switch (result) {
    case UnaryResult::same:
      return dtype;
    case UnaryResult::inexact:
      return inexact(dtype);
    case UnaryResult::boolean:
      return DType::boolean;
    case UnaryResult::real:
      return real_part(dtype);
  }
  return dtype;
}

Metas gelu(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  require_word(call, "approximate", call.string("approximate"), {"none", "tanh"});
  return {self};
}

Metas hardtanh(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kReal);
  for (const char* name : {"min_val", "max_val"}) {
    const double limit = call.scalar(name).as_double();
    if (self.dtype == DType::u8 && limit <= -1)
      fail(call, "self has dtype u8; min_val and max_val must not be negative");
    // Limits of integers become i64 first: what lies between -1 and 0 is 0.
    if (!(is_integral(self.dtype) && limit > -1 && limit < 0)) require_number(call, name, self.dtype);
  }
  return {self};
}

Metas fill(const OpCall& call) {
  require_number(call, "value", meta(call, "self").dtype);
  return {meta(call, "self")};
}

Metas to_copy(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{call.dtype_opt("dtype").value_or(self.dtype), self.shape}};
}

// self to the power of 2, an integer.
Metas square(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{result_type({self}, {Scalar{Scalar::Kind::integer, 2, 2}}), self.shape}};
}

Metas type_as(const OpCall& call) { return {{meta(call, "other").dtype, meta(call, "self").shape}}; }

// Random zeroing; the mask is true where an element is kept.
Metas dropout_of(const OpCall& call, std::string_view name) {
  const TensorMeta& input = meta(call, name);
  require_kind(call, name, input.dtype, kInexact);
  const double p = call.floating("p");
  if (!(p >= 0 && p <= 1)) fail(call, "p is {}; a probability must be within [0, 1]", p);
  return {input, {DType::boolean, input.shape}};
}
Metas native_dropout(const OpCall& call) { return dropout_of(call, "input"); }
Metas dropout(const OpCall& call) { return {native_dropout(call)[0]}; }
Metas feature_dropout(const OpCall& call) {
  const Metas out = dropout(call);
  if (rank(out[0]) < 2)
    fail(call, "input has shape {}; it must have at least 2 dims", to_string(out[0].shape));
  return out;
}

}  // namespace

void register_unary(ShapeTable& table) {
  for (const Unary& entry : kUnary) {
    table.add(entry.name, [entry](const OpCall& call) -> Metas {
      const TensorMeta& self = meta(call, "self");
      require_kind(call, "self", self.dtype, entry.kinds);
      return {{result_of(entry.result, self.dtype), self.shape}};
    });
  }
  table.add("aten::gelu.default", gelu);
  table.add("aten::hardtanh.default", hardtanh);
  table.add("aten::fill.Scalar", fill);
  table.add("aten::_to_copy.default", to_copy);
  table.add("aten::to.dtype", to_copy);
  table.add("aten::to.device", to_copy);
  table.add("aten::to.dtype_layout", to_copy);
  table.add("aten::square.default", square);
  table.add("aten::type_as.default", type_as);
  table.add("aten::native_dropout.default", native_dropout);
  table.add("aten::dropout.default", dropout);
  table.add("aten::dropout_.default", [](const OpCall& call) { return Metas{dropout_of(call, "self")[0]}; });
  table.add("aten::feature_dropout.default", feature_dropout);
}

}  // namespace assay
