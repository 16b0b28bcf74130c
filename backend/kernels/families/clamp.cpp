// Clamps, leaky_relu, sign, classification, fmod and remainder, atan and atan2, tril and triu.
#include <cmath>

#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

bool given(const KernelContext& ctx, std::string_view name) { return !ctx.call.is_none(name); }

// min(max(x, lo), hi); NaN in any of them stays (the ALU's max and min keep it).
void clamp_between(KernelContext& ctx, std::string_view low, std::string_view high) {
  const View out = ctx.output();
  std::vector<Operand> operands{operand(ctx, "self")};
  std::vector<AluOp> steps;
  if (!low.empty() && given(ctx, low)) {
    operands.push_back(operand(ctx, low));
    steps.push_back(AluOp::max);
  }
  if (!high.empty() && given(ctx, high)) {
    operands.push_back(operand(ctx, high));
    steps.push_back(AluOp::min);
  }
  const DType domain = domain_of(out.dtype);
  const Engine engine = engine_for(domain);
  elementwise(ctx, out, operands, domain,
              [&](std::span<const AccessPattern> in, const AccessPattern& result) {
                AccessPattern x = in[0];
                for (std::size_t k = 0; k < steps.size(); ++k) {
                  const AccessPattern to =
                      k + 1 == steps.size() ? result
                                            : ctx.b.sbuf(domain, result.partitions, {result.free_elements()});
                  ctx.b.tensor_tensor(to, x, in[k + 1], steps[k], engine);
                  x = to;
                }
                if (steps.empty()) ctx.b.tensor_copy(result, x, engine);
              },
              {.materialise = true});
}

void leaky_relu(KernelContext& ctx) {
  const auto slope = static_cast<float>(ctx.call.scalar("negative_slope").as_double());
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, DType::f32,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                const AccessPattern scaled = ctx.b.sbuf(DType::f32, out.partitions, {out.free_elements()});
                const AccessPattern negative = ctx.b.sbuf(DType::u8, out.partitions, {out.free_elements()});
                ctx.b.tensor_scalar(scaled, in[0], AluOp::multiply, slope);
                ctx.b.tensor_scalar(negative, in[0], AluOp::is_lt, 0.0f);
                ctx.b.tensor_copy(out, in[0]);
                ctx.b.copy_predicated(out, scaled, negative);
              });
}

// scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1)).
void elu(KernelContext& ctx) {
  const auto factor = [&](const char* name) { return static_cast<float>(ctx.call.scalar(name).as_double()); };
  const float scale = factor("scale"), inner = factor("input_scale");
  const auto outer =
      static_cast<float>(ctx.call.scalar("alpha").as_double() * ctx.call.scalar("scale").as_double());
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, DType::f32,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                const auto tile = [&](DType dtype) {
                  return ctx.b.sbuf(dtype, out.partitions, {out.free_elements()});
                };
                const AccessPattern low = tile(DType::f32), negative = tile(DType::u8);
                ctx.b.tensor_scalar(low, in[0], AluOp::multiply, inner);
                ctx.b.math(low, low, MathFunction::expm1);
                ctx.b.tensor_scalar(low, low, AluOp::multiply, outer);
                ctx.b.tensor_scalar(negative, in[0], AluOp::is_le, 0.0f);
                ctx.b.tensor_scalar(out, in[0], AluOp::multiply, scale);
                ctx.b.copy_predicated(out, low, negative);
              });
}

// (x > 0) - (x < 0); a NaN stays one.
void sign(KernelContext& ctx) {
  const View out = ctx.output();
  const DType domain = out.dtype == DType::boolean ? DType::f32 : domain_of(out.dtype);
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(
      ctx, out, operands, domain, [&](std::span<const AccessPattern> in, const AccessPattern& result) {
        if (out.dtype == DType::boolean) return ctx.b.tensor_copy(result, in[0]);
        if (is_float(domain)) {
          activate(ctx, result, in[0], Activation::sign);
          const AccessPattern zero = ctx.b.sbuf(DType::u8, result.partitions, {result.free_elements()});
          ctx.b.tensor_scalar(zero, in[0], AluOp::is_eq, 0.0f);
          ctx.b.copy_predicated(result, in[0], zero);  // keeps -0
          return;
        }
        const AccessPattern below = ctx.b.sbuf(domain, result.partitions, {result.free_elements()});
        ctx.b.tensor_scalar_int(below, in[0], AluOp::is_lt, 0);
        ctx.b.tensor_scalar_int(result, in[0], AluOp::is_gt, 0);
        ctx.b.tensor_tensor(result, result, below, AluOp::subtract, Engine::gpsimd);
      });
}

Kernel classify(MathFunction function) {
  return [function](KernelContext& ctx) {
    const Operand operands[] = {operand(ctx, "self")};
    const bool integers = is_integral(ctx.input("self").dtype);
    elementwise(ctx, ctx.output(), operands, DType::f32,
                [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                  if (integers) return ctx.b.memset_int(out, 0);
                  ctx.b.math(out, in[0], function);
                });
  };
}

// Two operands of a GpSimd function, floats only.
void math_of_two(KernelContext& ctx, MathFunction function) {
  const DType common = ctx.output().dtype;
  const Operand operands[] = {held_operand(ctx, "self", common), held_operand(ctx, "other", common)};
  elementwise(ctx, ctx.output(), operands, DType::f32,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                const auto as_float = [&](const AccessPattern& t) {
                  return is_float(t.dtype) ? held(ctx, t, common) : converted(ctx, t, DType::f32);
                };
                ctx.b.math(out, as_float(in[0]), as_float(in[1]), function);
              },
              {.materialise = true});
}

Kernel modulo(MathFunction function, AluOp of_integers) {
  return [function, of_integers](KernelContext& ctx) {
    const DType dtype = ctx.output().dtype;
    if (is_float(dtype)) return math_of_two(ctx, function);
    if (dtype == DType::boolean) ctx.unsupported(ASSAY_REASON_DTYPE, "bools have no remainder");
    const Operand operands[] = {operand(ctx, "self"), operand(ctx, "other")};
    elementwise(ctx, ctx.output(), operands, dtype,
                [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                  ctx.b.tensor_tensor(out, in[0], in[1], of_integers, Engine::gpsimd);
                },
                {.materialise = true});
  };
}

void atan(KernelContext& ctx) {
  const Operand operands[] = {operand(ctx, "self")};
  elementwise(ctx, ctx.output(), operands, DType::f32,
              [&](std::span<const AccessPattern> in, const AccessPattern& out) {
                const AccessPattern one = ctx.b.sbuf(DType::f32, out.partitions, {out.free_elements()});
                ctx.b.memset(one, 1.0f);
                const AccessPattern x = is_float(in[0].dtype) ? in[0] : converted(ctx, in[0], DType::f32);
                ctx.b.math(out, x, one, MathFunction::atan2);
              });
}

// What lies on the other side of the diagonal becomes zero; rows of one matrix on partitions.
void triangle(KernelContext& ctx, bool lower) {
  const View in = ctx.input("self"), out = ctx.output();
  if (out.count() == 0) return;
  const int64_t diagonal = ctx.call.integer("diagonal");
  const int64_t rows = in.shape[in.shape.size() - 2], columns = in.shape.back();
  const int64_t matrices = in.count() / (rows * columns);
  const View x = in.reshaped({matrices, rows, columns}), y = out.reshaped({matrices, rows, columns});
  const DType domain = DType::i64;
  const AluOp compare = lower ? AluOp::is_ge : AluOp::is_le;
  for (int64_t m = 0; m < matrices; ++m) {
    for (int64_t row = 0; row < rows; row += 128) {
      for (int64_t column = 0; column < columns; column += kTileFree) {
        const int64_t p = std::min<int64_t>(128, rows - row), n = std::min(kTileFree, columns - column);
        const ProgramBuilder::Mark mark = ctx.b.mark();
        const auto part = [&](const View& v) {
          return hbm_tile(v.dtype, v.tensor, v.offset + (m * rows + row) * columns + column,
                          static_cast<int>(p), columns, {n}, {1});
        };
        const AccessPattern tile = load(ctx, part(raw(x)), static_cast<int>(p), n);
        const auto new_tile = [&](DType dtype) { return ctx.b.sbuf(dtype, static_cast<int>(p), {n}); };
        // row + diagonal - column
        const AccessPattern distance = new_tile(domain), keep = new_tile(DType::u8),
                            zero = new_tile(tile.dtype);
        const int64_t pattern[] = {-1};
        ctx.b.iota(distance, row + diagonal - column, 1, pattern);
        ctx.b.tensor_scalar_int(keep, distance, compare, 0);
        ctx.b.memset_int(zero, 0, Engine::gpsimd);
        ctx.b.copy_predicated(zero, tile, keep, Engine::gpsimd);
        ctx.b.dma_copy(part(raw(y)), zero);
        ctx.b.release(mark);
      }
    }
  }
}

}  // namespace

void register_clamp(KernelTable& table) {
  table.add("aten::clamp.default", [](KernelContext& c) { clamp_between(c, "min", "max"); });
  table.add("aten::clamp.Tensor", [](KernelContext& c) { clamp_between(c, "min", "max"); });
  table.add("aten::clamp_min.default", [](KernelContext& c) { clamp_between(c, "min", ""); });
  table.add("aten::clamp_max.default", [](KernelContext& c) { clamp_between(c, "", "max"); });
  table.add("aten::hardtanh.default", [](KernelContext& c) { clamp_between(c, "min_val", "max_val"); });
  table.add("aten::leaky_relu.default", leaky_relu);
  table.add("aten::elu.default", elu);
  table.add("aten::sign.default", sign);
  table.add("aten::isnan.default", classify(MathFunction::is_nan));
  table.add("aten::isinf.default", classify(MathFunction::is_inf));
  table.add("aten::atan.default", atan);
  table.add("aten::atan2.default", [](KernelContext& c) { math_of_two(c, MathFunction::atan2); });
  for (const char* overload : {".Tensor", ".Scalar"}) {
    table.add(std::string("aten::fmod") + overload, modulo(MathFunction::fmod, AluOp::mod_trunc));
    table.add(std::string("aten::remainder") + overload, modulo(MathFunction::remainder, AluOp::mod));
  }
  table.add("aten::tril.default", [](KernelContext& c) { triangle(c, true); });
  table.add("aten::triu.default", [](KernelContext& c) { triangle(c, false); });
}

}  // namespace assay::backend
