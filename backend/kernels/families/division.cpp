// div with rounding_mode.
#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

using Tiles = std::span<const AccessPattern>;

AccessPattern tile_like(KernelContext& ctx, const AccessPattern& t, DType dtype) {
  return ctx.b.sbuf(dtype, t.partitions, {t.free_elements()});
}

// PyTorch's floor division (c10::div_floor_floating), which is exact where a / b rounds across an integer:
// m = fmod(a, b); q = (a - m) / b, one less if m and b differ in sign; then the nearest integer. b = 0 gives
// a / b.
void floor_quotient(KernelContext& ctx, const AccessPattern& a, const AccessPattern& b,
                    const AccessPattern& out) {
  const AccessPattern m = tile_like(ctx, out, DType::f32), q = tile_like(ctx, out, DType::f32);
  const AccessPattern u = tile_like(ctx, out, DType::f32), v = tile_like(ctx, out, DType::f32);
  const AccessPattern zero = tile_like(ctx, out, DType::u8);
  ctx.b.math(m, a, b, MathFunction::fmod);
  ctx.b.tensor_tensor(q, a, m, AluOp::subtract);
  ctx.b.tensor_tensor(q, q, b, AluOp::divide);
  ctx.b.tensor_scalar(u, m, AluOp::is_lt, 0.0f);
  ctx.b.tensor_scalar(v, b, AluOp::is_lt, 0.0f);
  ctx.b.tensor_tensor(u, u, v, AluOp::is_ne);
  ctx.b.tensor_scalar(v, m, AluOp::is_ne, 0.0f);
  ctx.b.tensor_tensor(u, u, v, AluOp::multiply);
  ctx.b.tensor_tensor(q, q, u, AluOp::subtract);
  ctx.b.math(q, q, MathFunction::round);
  ctx.b.tensor_tensor(u, a, b, AluOp::divide);
  ctx.b.tensor_scalar(zero, b, AluOp::is_eq, 0.0f);
  ctx.b.copy_predicated(q, u, zero);
  ctx.b.tensor_copy(out, q);
}

void divide_rounded(KernelContext& ctx) {
  const std::optional<std::string> mode = ctx.call.string_opt("rounding_mode");
  const DType dtype = ctx.output().dtype;
  const Operand operands[] = {operand(ctx, "self"), operand(ctx, "other")};
  const bool floor = mode == "floor";
  if (dtype == DType::boolean) ctx.unsupported(ASSAY_REASON_DTYPE, "bools have no rounded quotient");
  elementwise(ctx, ctx.output(), operands, is_float(dtype) ? DType::f32 : dtype,
              [&](Tiles in, const AccessPattern& out) {
                if (is_integral(dtype)) {
                  ctx.b.tensor_tensor(out, in[0], in[1], floor ? AluOp::divide_floor : AluOp::divide_trunc,
                                      Engine::gpsimd);
                  return;
                }
                if (!mode) return ctx.b.tensor_tensor(out, in[0], in[1], AluOp::divide);
                const auto as_float = [&](const AccessPattern& t) {
                  return is_float(t.dtype) ? t : converted(ctx, t, DType::f32);
                };
                if (floor) return floor_quotient(ctx, as_float(in[0]), as_float(in[1]), out);
                const AccessPattern q = tile_like(ctx, out, DType::f32);
                ctx.b.tensor_tensor(q, in[0], in[1], AluOp::divide);
                ctx.b.math(out, q, MathFunction::trunc);
              },
              {.materialise = true});
}

}  // namespace

void register_division(KernelTable& table) {
  table.add("aten::div.Tensor_mode", divide_rounded);
  table.add("aten::div.Scalar_mode", divide_rounded);
}

}  // namespace assay::backend
