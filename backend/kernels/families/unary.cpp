// Elementwise functions of one tensor, and pow.
#include <cmath>
#include <cstdlib>

#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

using Body = std::function<void(KernelContext&, const AccessPattern& out, const AccessPattern& in)>;

// A function computed in fp32; integers are converted first.
void floating(KernelContext& ctx, const Body& body) {
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, DType::f32,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) { body(ctx, out, in[0]); });
}

Kernel activation(Activation function) {
  return [function](KernelContext& ctx) {
    floating(ctx, [function](KernelContext& c, const AccessPattern& out, const AccessPattern& in) {
      activate(c, out, in, function);
    });
  };
}

Kernel gpsimd_math(MathFunction function) {
  return [function](KernelContext& ctx) {
    floating(ctx, [function](KernelContext& c, const AccessPattern& out, const AccessPattern& in) {
      c.b.math(out, is_float(in.dtype) ? in : converted(c, in, DType::f32), function);
    });
  };
}

// One ALU operator on floats (Vector) or integers (GpSimd, exact).
Kernel alu(AluOp op) {
  return [op](KernelContext& ctx) {
    const DType result = ctx.output().dtype;
    const Operand operands[] = {operand(ctx, "self")};
    elementwise(ctx, ctx.output(), operands, domain_of(result),
                [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                  if (is_float(result)) {
                    ctx.b.tensor_scalar(out, in[0], op, 0.0f);
                  } else {
                    ctx.b.tensor_scalar_int(out, in[0], op, 0);
                  }
                });
  };
}

void negate(KernelContext& ctx) {
  const DType result = ctx.output().dtype;
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, domain_of(result),
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                if (is_float(result)) {
                  ctx.b.tensor_scalar(out, in[0], AluOp::multiply, -1.0f);
                } else {
                  ctx.b.tensor_scalar_int(out, in[0], AluOp::multiply, -1);
                }
              });
}

void relu(KernelContext& ctx) {
  const DType result = ctx.output().dtype;
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, domain_of(result),
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                if (is_float(result)) {
                  ctx.b.tensor_scalar(out, in[0], AluOp::relu, 0.0f);
                } else {
                  ctx.b.tensor_scalar_int(out, in[0], AluOp::max, 0);
                }
              });
}

// floor, ceil, ...: integers are their own result.
Kernel rounding(MathFunction function) {
  return [function](KernelContext& ctx) {
    if (is_integral(ctx.output().dtype)) return copy(ctx, ctx.output(), ctx.input("self"));
    gpsimd_math(function)(ctx);
  };
}

// The activation tables of log and sqrt do not cover all of fp32. Arguments below `low` and above `high` are
// brought inside by an exact power of two, and the result is corrected.
struct Rescale {
  Activation function;
  float low, low_scale, high, high_scale;
};

struct Rescaled {
  AccessPattern value, small, large;  // f(x * s), and where s was low_scale or high_scale
};

Rescaled rescaled(KernelContext& ctx, const AccessPattern& in, const Rescale& r) {
  const auto tile = [&](DType dtype) { return ctx.b.sbuf(dtype, in.partitions, {in.free_elements()}); };
  const AccessPattern x = tile(DType::f32), moved = tile(DType::f32);
  const Rescaled out{tile(DType::f32), tile(DType::u8), tile(DType::u8)};
  ctx.b.tensor_copy(x, in);
  ctx.b.tensor_scalar(out.small, x, AluOp::is_lt, r.low);
  ctx.b.tensor_scalar(out.large, x, AluOp::is_gt, r.high);
  ctx.b.tensor_scalar(moved, in, AluOp::multiply, r.low_scale);
  ctx.b.copy_predicated(x, moved, out.small);
  ctx.b.tensor_scalar(moved, in, AluOp::multiply, r.high_scale);
  ctx.b.copy_predicated(x, moved, out.large);
  activate(ctx, out.value, x, r.function);
  return out;
}

void sqrt(KernelContext& ctx, const AccessPattern& out, const AccessPattern& in) {
  if (!ctx.options.range_reduction) return activate(ctx, out, in, Activation::sqrt);
  const Rescaled r = rescaled(ctx, in, {Activation::sqrt, 0x1p-100f, 0x1p64f, 0x1p100f, 0x1p-64f});
  const AccessPattern moved = ctx.b.sbuf(DType::f32, in.partitions, {in.free_elements()});
  ctx.b.tensor_scalar(moved, r.value, AluOp::multiply, 0x1p-32f);
  ctx.b.copy_predicated(r.value, moved, r.small);
  ctx.b.tensor_scalar(moved, r.value, AluOp::multiply, 0x1p32f);
  ctx.b.copy_predicated(r.value, moved, r.large);
  ctx.b.tensor_copy(out, r.value);
}

// log(x) = log(x 2^k) - k ln 2, k ln 2 in two parts.
void log(KernelContext& ctx, const AccessPattern& out, const AccessPattern& in) {
  if (!ctx.options.range_reduction) return activate(ctx, out, in, Activation::log);
  const Rescaled r = rescaled(ctx, in, {Activation::log, 0x1p-60f, 0x1p100f, 0x1p60f, 0x1p-100f});
  const AccessPattern moved = ctx.b.sbuf(DType::f32, in.partitions, {in.free_elements()});
  const double shift = 100 * std::log(2.0);
  const auto high = static_cast<float>(shift);
  const auto low = static_cast<float>(shift - static_cast<double>(high));
  ctx.b.tensor_scalar(moved, r.value, AluOp::subtract, low, false, AluOp::subtract, high);
  ctx.b.copy_predicated(r.value, moved, r.small);
  ctx.b.tensor_scalar(moved, r.value, AluOp::add, low, false, AluOp::add, high);
  ctx.b.copy_predicated(r.value, moved, r.large);
  ctx.b.tensor_copy(out, r.value);
}

void gelu(KernelContext& ctx) {
  const bool tanh = ctx.call.string("approximate") == "tanh";
  activation(tanh ? Activation::gelu_apprx_tanh : Activation::gelu)(ctx);
}

void bitwise_not(KernelContext& ctx) {
  const DType dtype = ctx.output().dtype;
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, dtype,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                if (dtype == DType::boolean) {
                  ctx.b.tensor_scalar(out, in[0], AluOp::logical_not, 0.0f);
                } else {
                  ctx.b.tensor_scalar_int(out, in[0], AluOp::bitwise_not, 0);
                }
              });
}

void logical_not(KernelContext& ctx) {
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, DType::boolean,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                ctx.b.tensor_scalar(out, in[0], AluOp::logical_not, 0.0f);
              });
}

// Whole powers of integers by squaring, modulo 2^w.
void integer_power(KernelContext& ctx, int64_t exponent) {
  if (exponent < 0) ctx.unsupported(ASSAY_REASON_ARGUMENT, "exponent: integers to negative powers");
  const DType dtype = ctx.output().dtype;
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, dtype,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                ctx.b.memset_int(out, 1, Engine::gpsimd);
                for (int64_t e = exponent; e > 0; e >>= 1) {
                  if (e & 1) ctx.b.tensor_tensor(out, out, in[0], AluOp::multiply, Engine::gpsimd);
                  if (e > 1) ctx.b.tensor_tensor(in[0], in[0], in[0], AluOp::multiply, Engine::gpsimd);
                }
              });
}

void power(KernelContext& ctx) {
  const Operand operands[] = {operand(ctx, "self"), operand(ctx, "exponent")};
  if (is_integral(ctx.output().dtype)) {
    if (operands[1].view) {
      const DType dtype = ctx.output().dtype;
      return elementwise(ctx, ctx.output(), operands, dtype,
                         [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                           ctx.b.tensor_tensor(out, in[0], in[1], AluOp::pow, Engine::gpsimd);
                         },
                         {.materialise = true});
    }
    return integer_power(ctx, operands[1].scalar.as_int());
  }
  elementwise(ctx, ctx.output(), operands, DType::f32,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                if (in[0].defined() && in[1].defined()) {
                  ctx.b.tensor_tensor(out, in[0], in[1], AluOp::pow);
                } else {
                  const std::size_t number = in[0].defined() ? 1 : 0;
                  ctx.b.tensor_scalar(out, in[1 - number], AluOp::pow,
                                      static_cast<float>(operands[number].scalar.as_double()), number == 0);
                }
              });
}

// sin = tan * cos, both GpSimd routines that reduce any argument: the ACT table ends at pi.
void sin(KernelContext& ctx, const AccessPattern& out, const AccessPattern& in) {
  if (!ctx.options.range_reduction) return activate(ctx, out, in, Activation::sin);
  const AccessPattern x = is_float(in.dtype) ? in : converted(ctx, in, DType::f32);
  const AccessPattern t = ctx.b.sbuf(DType::f32, in.partitions, {in.free_elements()});
  const AccessPattern c = ctx.b.sbuf(DType::f32, in.partitions, {in.free_elements()});
  ctx.b.math(t, x, MathFunction::tan);
  ctx.b.math(c, x, MathFunction::cos);
  ctx.b.tensor_tensor(out, t, c, AluOp::multiply);
}

Kernel of(void (*body)(KernelContext&, const AccessPattern&, const AccessPattern&)) {
  return [body](KernelContext& ctx) { floating(ctx, body); };
}

}  // namespace

void register_unary(KernelTable& table) {
  const std::pair<const char*, Activation> activations[] = {
      {"exp", Activation::exp}, {"sigmoid", Activation::sigmoid}, {"tanh", Activation::tanh},
      {"erf", Activation::erf}, {"silu", Activation::silu},
  };
  for (const auto& [name, function] : activations) {
    table.add(std::string("aten::") + name + ".default", activation(function));
  }
  const std::pair<const char*, MathFunction> routines[] = {
      {"cos", MathFunction::cos},       {"tan", MathFunction::tan},       {"asin", MathFunction::asin},
      {"acos", MathFunction::acos},     {"sinh", MathFunction::sinh},     {"cosh", MathFunction::cosh},
      {"asinh", MathFunction::asinh},   {"acosh", MathFunction::acosh},   {"atanh", MathFunction::atanh},
      {"exp2", MathFunction::exp2},     {"expm1", MathFunction::expm1},   {"log2", MathFunction::log2},
      {"log10", MathFunction::log10},   {"log1p", MathFunction::log1p},   {"erfc", MathFunction::erfc},
      {"erfinv", MathFunction::erfinv}, {"lgamma", MathFunction::lgamma}, {"digamma", MathFunction::digamma},
  };
  for (const auto& [name, function] : routines) {
    table.add(std::string("aten::") + name + ".default", gpsimd_math(function));
  }
  table.add("aten::floor.default", rounding(MathFunction::floor));
  table.add("aten::ceil.default", rounding(MathFunction::ceil));
  table.add("aten::trunc.default", rounding(MathFunction::trunc));
  table.add("aten::round.default", rounding(MathFunction::round));
  table.add("aten::abs.default", alu(AluOp::abs));
  table.add("aten::neg.default", negate);
  table.add("aten::relu.default", relu);
  table.add("aten::sqrt.default", of(sqrt));
  table.add("aten::log.default", of(log));
  table.add("aten::sin.default", of(sin));
  table.add("aten::rsqrt.default",
            of([](KernelContext& c, const AccessPattern& out, const AccessPattern& in) {
              c.b.tensor_scalar(out, in, AluOp::rsqrt, 0.0f);
            }));
  table.add("aten::reciprocal.default",
            of([](KernelContext& c, const AccessPattern& out, const AccessPattern& in) {
              c.b.tensor_scalar(out, in, AluOp::divide, 1.0f, true);
            }));
  table.add("aten::gelu.default", gelu);
  table.add("aten::bitwise_not.default", bitwise_not);
  table.add("aten::logical_not.default", logical_not);
  table.add("aten::pow.Tensor_Scalar", power);
  table.add("aten::pow.Tensor_Tensor", power);
  table.add("aten::pow.Scalar", power);
}

}  // namespace assay::backend
