// full, full_like, scalar_tensor, arange, zeros, ones, and casts.
#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

// Every element of the result is `value`: one filled tile, stored as often as needed.
void constant(KernelContext& ctx, const Scalar& value) {
  const View out = ctx.output();
  if (out.count() == 0) return;
  const View views[] = {out};
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    const AccessPattern t = ctx.b.sbuf(out.dtype, tile.partitions, {tile.free});
    fill(ctx, t, value);
    ctx.b.dma_copy(tile.hbm[0], t);
  });
}

Kernel filled(const char* argument) {
  return [argument](KernelContext& ctx) { constant(ctx, ctx.call.scalar(argument)); };
}

Kernel filled_with(int64_t value) {
  return [value](KernelContext& ctx) {
    constant(ctx, Scalar{Scalar::Kind::integer, value, static_cast<double>(value)});
  };
}

// start + step * i. Integers exactly on GpSimd; floats in fp32 from an exact i.
void arange(KernelContext& ctx) {
  const View out = ctx.output();
  const Scalar start = ctx.call.scalar("start"), step = ctx.call.scalar("step");
  int64_t first = 0;
  const View views[] = {out};
  if (out.count() == 0) return;
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    const AccessPattern t = ctx.b.sbuf(out.dtype, tile.partitions, {tile.free});
    if (is_integral(out.dtype)) {
      const int64_t s = step.as_int(), pattern[] = {s};
      ctx.b.iota(t, start.as_int() + s * first, s * tile.free, pattern);
    } else {
      const int64_t pattern[] = {1};
      const AccessPattern i = ctx.b.sbuf(DType::i64, tile.partitions, {tile.free});
      ctx.b.iota(i, first, tile.free, pattern);
      const AccessPattern f = converted(ctx, i, DType::f32);
      ctx.b.tensor_scalar(t, f, AluOp::multiply, static_cast<float>(step.as_double()), false, AluOp::add,
                          static_cast<float>(start.as_double()));
    }
    ctx.b.dma_copy(tile.hbm[0], t);
    first += tile.partitions * tile.free;
  });
}

void cast(KernelContext& ctx) {
  const View out = ctx.output(), in = ctx.input("self");
  if (in.dtype == out.dtype) return copy(ctx, out, in);
  if (out.count() == 0) return;
  if (ctx.region != nullptr && is_float(in.dtype) && is_float(out.dtype)) {
    const Operand operands[] = {operand(ctx, "self")};
    return elementwise(ctx, out, operands, DType::f32,
                       [&](std::span<const AccessPattern> x, const AccessPattern& result) {
                         convert_into(ctx, result, x[0]);
                       });
  }
  const View views[] = {in, out};
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    ctx.b.dma_copy(tile.hbm[1],
                   converted(ctx, load(ctx, tile.hbm[0], tile.partitions, tile.free), out.dtype));
  });
}

}  // namespace

void register_factories(KernelTable& table) {
  table.add("aten::full.default", filled("fill_value"));
  table.add("aten::full_like.default", filled("fill_value"));
  table.add("aten::fill.Scalar", filled("value"));
  table.add("aten::scalar_tensor.default", filled("s"));
  table.add("aten::zeros.default", filled_with(0));
  table.add("aten::zeros_like.default", filled_with(0));
  table.add("aten::ones.default", filled_with(1));
  table.add("aten::ones_like.default", filled_with(1));
  // Undefined contents: something definite is as good as anything.
  table.add("aten::empty.memory_format", filled_with(0));
  table.add("aten::empty_permuted.default", filled_with(0));
  table.add("aten::empty_strided.default", filled_with(0));
  table.add("aten::arange.start_step", arange);
  table.add("aten::_to_copy.default", cast);
  table.add("aten::to.dtype", cast);
}

}  // namespace assay::backend
