// Pointwise functions of several operands, broadcast and promoted.
#include "core/opset/checks.h"
#include "core/opset/number_checks.h"

namespace assay {
namespace {

using namespace rules;

enum class BinaryResult { promoted, inexact, boolean };

struct Binary {
  const char* name;
  const char* first;
  const char* second;
  unsigned kinds;  // of the promoted operands
  BinaryResult result;
};

constexpr Binary kBinary[] = {
    {"aten::__and__.Tensor", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::__or__.Tensor", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::atan2.default", "self", "other", kNoComplex, BinaryResult::inexact},
    {"aten::bitwise_and.Scalar", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::bitwise_and.Tensor", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::bitwise_or.Scalar", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::bitwise_or.Tensor", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::bitwise_xor.Scalar", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::bitwise_xor.Tensor", "self", "other", kIntegral, BinaryResult::promoted},
    {"aten::clamp_max.default", "self", "max", kNoComplex, BinaryResult::promoted},
    {"aten::clamp_min.default", "self", "min", kNoComplex, BinaryResult::promoted},
    {"aten::div.Scalar", "self", "other", kAny, BinaryResult::inexact},
    {"aten::div.Tensor", "self", "other", kAny, BinaryResult::inexact},
    {"aten::eq.Scalar", "self", "other", kAny, BinaryResult::boolean},
    {"aten::eq.Tensor", "self", "other", kAny, BinaryResult::boolean},
    {"aten::fmod.Scalar", "self", "other", kReal, BinaryResult::promoted},
    {"aten::fmod.Tensor", "self", "other", kReal, BinaryResult::promoted},
    {"aten::gcd.default", "self", "other", kInt, BinaryResult::promoted},
    {"aten::ge.Scalar", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::ge.Tensor", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::gt.Scalar", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::gt.Tensor", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::lcm.default", "self", "other", kInt, BinaryResult::promoted},
    {"aten::le.Scalar", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::le.Tensor", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::logical_and.default", "self", "other", kAny, BinaryResult::boolean},
    {"aten::logical_or.default", "self", "other", kAny, BinaryResult::boolean},
    {"aten::logical_xor.default", "self", "other", kAny, BinaryResult::boolean},
    {"aten::lt.Scalar", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::lt.Tensor", "self", "other", kNoComplex, BinaryResult::boolean},
    {"aten::maximum.default", "self", "other", kNoComplex, BinaryResult::promoted},
    {"aten::minimum.default", "self", "other", kNoComplex, BinaryResult::promoted},
    {"aten::mul.Scalar", "self", "other", kAny, BinaryResult::promoted},
    {"aten::mul.Tensor", "self", "other", kAny, BinaryResult::promoted},
    {"aten::ne.Scalar", "self", "other", kAny, BinaryResult::boolean},
    {"aten::ne.Tensor", "self", "other", kAny, BinaryResult::boolean},
    {"aten::remainder.Scalar", "self", "other", kReal, BinaryResult::promoted},
    {"aten::remainder.Tensor", "self", "other", kReal, BinaryResult::promoted},
};

void require_promoted_kind(const OpCall& call, DType dtype, unsigned kinds) {
  require_kind(call, "the promoted type of the operands", dtype, kinds);
}

// Of alpha and beta: a factor that the computation's dtype can hold.
void require_factor(const OpCall& call, std::string_view name, DType dtype) {
  const Scalar factor = call.scalar(name);
  if (is_integral(dtype) && factor.kind == Scalar::Kind::floating) {
    fail(call, "{} is the float {}; it must be an integer where the operands are {}", name, factor.f,
         name_of(dtype));
  }
  if (dtype != DType::boolean && factor.kind == Scalar::Kind::boolean) {
    fail(call, "{} is a bool; it must be a number where the operands are {}", name, name_of(dtype));
  }
}

Metas add(const OpCall& call) {
  const Operands in = operands(call, {"self", "other"});
  require_factor(call, "alpha", in.type());
  return {{in.type(), in.shape}};
}

Metas sub(const OpCall& call) {
  const Metas out = add(call);
  const auto is_bool = [&](std::string_view name) {
    return call.is_number(name) ? call.scalar(name).kind == Scalar::Kind::boolean
                                : meta(call, name).dtype == DType::boolean;
  };
  if (is_bool("self") || is_bool("other")) {
    fail(call, "an operand is bool; subtraction of bools is not defined, use bitwise_xor or logical_xor");
  }
  return out;
}

Metas div_mode(const OpCall& call) {
  const Operands in = operands(call, {"self", "other"});
  const std::optional<std::string> mode = call.string_opt("rounding_mode");
  if (!mode) return {{inexact(in.type()), in.shape}};
  require_word(call, "rounding_mode", *mode, {"floor", "trunc"});
  require_promoted_kind(call, in.type(), kReal);
  return {{in.type(), in.shape}};
}

Metas pow(const OpCall& call) {
  const Operands in = operands(call, {"self", "exponent"});
  const DType type = in.type();
  if (in.scalars.empty() && type == DType::boolean)
    fail(call, "self and exponent are both bool; one must be a number");
  if (is_integral(type) && call.is_number("exponent") && call.scalar("exponent").as_double() < 0) {
    fail(call, "exponent is {}; an integer cannot be raised to a negative power", call.scalar("exponent").i);
  }
  return {{type, in.shape}};
}

// The dtype and shape of the first operand stay: the result is written into it.
Metas in_place(const OpCall& call, const Metas& result) {
  const TensorMeta& self = meta(call, "self");
  if (result[0].shape != self.shape) {
    fail(call, "self has shape {}; the result has shape {} and cannot be written into it",
         to_string(self.shape), to_string(result[0].shape));
  }
  const auto category = [](DType d) {
    return is_complex(d) ? 3 : is_float(d) ? 2 : d == DType::boolean ? 0 : 1;
  };
  if (category(result[0].dtype) > category(self.dtype)) {
    fail(call, "self has dtype {}; the result has dtype {} and cannot be written into it",
         name_of(self.dtype), name_of(result[0].dtype));
  }
  return {self};
}

Metas add_in_place(const OpCall& call) { return in_place(call, add(call)); }
Metas mul_in_place(const OpCall& call) {
  const Operands in = operands(call, {"self", "other"});
  return in_place(call, {{in.type(), in.shape}});
}
// dtypes are converted, so only the shapes count.
Metas copy(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (!call.is_number("src")) require_expands(call, "src", meta(call, "src").shape, self.shape);
  return {self};
}
Metas atan2_out(const OpCall& call) {
  const Operands in = operands(call, {"self", "other"});
  require_promoted_kind(call, in.type(), kNoComplex);
  const TensorMeta& out = meta(call, "out");
  require_kind(call, "out", out.dtype, kInexact);
  return {{out.dtype, in.shape}};  // out is resized
}

Metas clamp(const OpCall& call) {
  if (call.is_none("min") && call.is_none("max")) fail(call, "min and max are both None; one must be given");
  const Operands in = operands(call, {"self", "min", "max"});
  require_promoted_kind(call, in.type(), kNoComplex);
  // One tensor bound is an extremum, which bool has; PyTorch has no other clamp of bool.
  const bool extremum = call.schema().overload == "Tensor" && (call.is_none("min") || call.is_none("max"));
  if (!extremum) require_promoted_kind(call, in.type(), kNoBool);
  return {{in.type(), in.shape}};
}

Metas where(const OpCall& call) {
  const TensorMeta& condition = meta(call, "condition");
  if (condition.dtype != DType::boolean && condition.dtype != DType::u8) {
    fail(call, "condition has dtype {}; it must be bool", name_of(condition.dtype));
  }
  const Operands in = operands(call, {"self", "other"});
  return {{in.type(), in.tensors.empty() ? condition.shape : broadcast(condition.shape, in.shape, call)}};
}

// self + value * tensor1 (* or /) tensor2
Metas fused_multiply(const OpCall& call, bool divides) {
  const Operands in = operands(call, {"self", "tensor1", "tensor2"});
  if (divides && is_integral(meta(call, "tensor1").dtype) && is_integral(meta(call, "tensor2").dtype)) {
    fail(call, "tensor1 and tensor2 are integers; one must have a float dtype");
  }
  require_promoted_kind(call, in.type(), kNoBool);
  require_factor(call, "value", in.type());
  return {{in.type(), in.shape}};
}

Metas masked_fill(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "mask", meta(call, "mask").dtype, kBool);
  if (call.tensor_opt("value")) {
    const TensorMeta& value = meta(call, "value");
    if (!value.shape.empty())
      fail(call, "value has shape {}; it must be a 0-d tensor", to_string(value.shape));
  } else {
    require_number(call, "value", self.dtype);
  }
  return {{self.dtype, operands(call, {"self", "mask"}).shape}};
}

Metas masked_scatter(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "mask", meta(call, "mask").dtype, kBool);
  require_same_dtype(call, "source", "self");
  return {{self.dtype, operands(call, {"self", "mask"}).shape}};
}

Metas polar(const OpCall& call) {
  const Operands in = operands(call, {"abs", "angle"});
  require_complex_part(call, "abs");
  require_same_dtype(call, "angle", "abs");
  return {{complex_of(in.type()), in.shape}};
}

// Gradients of pointwise functions: grad_output and what the forward pass kept.
struct Gradient {
  const char* name;
  const char* kept;
};
constexpr Gradient kGradients[] = {
    {"aten::gelu_backward.default", "self"},      {"aten::sigmoid_backward.default", "output"},
    {"aten::silu_backward.default", "self"},      {"aten::tanh_backward.default", "output"},
    {"aten::threshold_backward.default", "self"}, {"aten::native_dropout_backward.default", "mask"},
};

}  // namespace

void register_binary(ShapeTable& table) {
  for (const Binary& entry : kBinary) {
    table.add(entry.name, [entry](const OpCall& call) -> Metas {
      const Operands in = operands(call, {entry.first, entry.second});
      const DType type = in.type();
      require_promoted_kind(call, type, entry.kinds);
      return {{entry.result == BinaryResult::boolean   ? DType::boolean
               : entry.result == BinaryResult::inexact ? inexact(type)
                                                       : type,
               in.shape}};
    });
  }
  for (const Gradient& entry : kGradients) {
    table.add(entry.name, [entry](const OpCall& call) -> Metas {
      const Operands in = operands(call, {"grad_output", entry.kept});
      if (call.schema().find("approximate") != nullptr)
        require_word(call, "approximate", call.string("approximate"), {"none", "tanh"});
      require_kind(call, "grad_output", meta(call, "grad_output").dtype, kInexact);
      return {{in.type(), in.shape}};
    });
  }
  table.add("aten::add.Tensor", add);
  table.add("aten::add.Scalar", add);
  table.add("aten::sub.Tensor", sub);
  table.add("aten::sub.Scalar", sub);
  table.add("aten::rsub.Scalar", sub);
  table.add("aten::add_.Tensor", add_in_place);
  table.add("aten::mul_.Tensor", mul_in_place);
  table.add("aten::copy.default", copy);
  table.add("aten::copy_.default", copy);
  table.add("aten::atan2.out", atan2_out);
  table.add("aten::div.Tensor_mode", div_mode);
  table.add("aten::div.Scalar_mode", div_mode);
  table.add("aten::pow.Tensor_Tensor", pow);
  table.add("aten::pow.Tensor_Scalar", pow);
  table.add("aten::pow.Scalar", pow);
  table.add("aten::clamp.default", clamp);
  table.add("aten::clamp.Tensor", clamp);
  table.add("aten::where.self", where);
  table.add("aten::where.Scalar", where);
  table.add("aten::where.ScalarOther", where);
  table.add("aten::where.ScalarSelf", where);
  table.add("aten::addcmul.default", [](const OpCall& call) { return fused_multiply(call, false); });
  table.add("aten::addcdiv.default", [](const OpCall& call) { return fused_multiply(call, true); });
  table.add("aten::masked_fill.Scalar", masked_fill);
  table.add("aten::masked_fill.Tensor", masked_fill);
  table.add("aten::masked_fill_.Scalar",
            [](const OpCall& call) { return in_place(call, masked_fill(call)); });
  table.add("aten::masked_scatter.default", masked_scatter);
  table.add("aten::polar.default", polar);
}

}  // namespace assay
