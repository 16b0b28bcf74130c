#include "backend/kernels/tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/kernels/region.h"
#include "core/error.h"
#include "core/opset/number_checks.h"

namespace assay::backend {
namespace {

// 8- and 16-bit integers and bools are exact in fp32, so any engine may read and write them.
bool is_narrow(DType dtype) { return size_of(dtype) <= 2; }

// Elements of one HBM-to-HBM DMA, and of the least one that is worth another for a second core.
constexpr int64_t kCopyElements = int64_t{1} << 24, kSmallCopyElements = int64_t{1} << 17;

}  // namespace

DType raw_dtype(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return DType::u8;
    case 2:
      return DType::i16;
    case 4:
      return DType::i32;
    default:
      return DType::i64;
  }
}

View raw(View view) {
  view.dtype = raw_dtype(view.dtype);
  return view;
}

int64_t even_tiles(const KernelContext& ctx, int64_t units, int64_t max_units, int64_t elements) {
  constexpr int64_t kWorthwhile = 256;
  if (ctx.options.lnc == 1 || units * elements < kWorthwhile) return max_units;
  const int64_t tiles = (units + max_units - 1) / max_units, even = tiles + tiles % 2;
  return (units + even - 1) / even;
}

void for_each_tile(KernelContext& ctx, std::span<const View> views, int64_t max_free,
                   const std::function<void(const Tile&)>& body) {
  const IterationSpace space = collapse(views);
  const ProgramBuilder::Mark mark = ctx.b.mark();
  bool odd = false;
  max_free = even_tiles(ctx, (element_count(space.sizes) + kPartitions - 1) / kPartitions, max_free);
  for (const TileBox& box : split_into_tiles(space.sizes, max_free, kDmaRank)) {
    Tile tile{box.partitions, box.free, {}};
    for (std::size_t v = 0; v < views.size(); ++v) {
      tile.hbm.push_back(pattern_of(views[v], space.strides[v], box.box));
    }
    body(tile);
    if (odd) ctx.b.release(mark);
    odd = !odd;
  }
  ctx.b.release(mark);
}

AccessPattern load(KernelContext& ctx, const AccessPattern& hbm, int partitions, int64_t free) {
  const AccessPattern tile = ctx.b.sbuf(hbm.dtype, partitions, {free});
  ctx.b.dma_copy(tile, hbm);
  return tile;
}

void convert_into(KernelContext& ctx, const AccessPattern& dst, const AccessPattern& tile) {
  const DType from = tile.dtype, to = dst.dtype;
  if (to == DType::boolean && from != DType::boolean) {
    if (is_float(from)) {
      ctx.b.tensor_scalar(dst, tile, AluOp::is_ne, 0.0f);
    } else {
      ctx.b.tensor_scalar_int(dst, tile, AluOp::is_ne, 0);
    }
  } else if ((is_float(from) || is_narrow(from)) && is_float(to)) {
    ctx.b.tensor_copy(dst, tile);
  } else {
    ctx.b.cast(dst, tile);
  }
}

AccessPattern converted(KernelContext& ctx, const AccessPattern& tile, DType to) {
  if (tile.dtype == to) return tile;
  const AccessPattern out = ctx.b.sbuf(to, tile.partitions, {tile.free_elements()});
  convert_into(ctx, out, tile);
  return out;
}

Operand operand(const KernelContext& ctx, std::string_view argument) {
  if (ctx.call.is_number(argument)) return {std::nullopt, ctx.call.scalar(argument)};
  return {ctx.input(argument), {}};
}

Operand held_operand(const KernelContext& ctx, std::string_view argument, DType common) {
  Operand result = operand(ctx, argument);
  if (result.view) return result;
  Scalar& number = result.scalar;
  if (is_float(common)) {
    number = {Scalar::Kind::floating, 0, round_to(common, number.as_double())};
  } else if (number.kind == Scalar::Kind::integer && common != DType::boolean) {
    const int shift = 64 - 8 * static_cast<int>(size_of(common));
    const uint64_t bits = static_cast<uint64_t>(number.i) << shift;
    number.i =
        common == DType::u8 ? static_cast<int64_t>(bits >> shift) : static_cast<int64_t>(bits) >> shift;
    number.f = static_cast<double>(number.i);
  }
  return result;
}

AccessPattern held(KernelContext& ctx, const AccessPattern& tile, DType common) {
  const bool finer = tile.defined() && is_float(common) && is_float(tile.dtype) &&
                     float_format(tile.dtype).precision > float_format(common).precision;
  return finer ? converted(ctx, tile, common) : tile;
}

void fill(KernelContext& ctx, const AccessPattern& tile, const Scalar& value) {
  if (is_float(tile.dtype)) {
    ctx.b.memset(tile, static_cast<float>(value.as_double()));
  } else {
    ctx.b.memset_int(tile, converted_to_integer(value, tile.dtype),
                     size_of(tile.dtype) == 8 ? Engine::gpsimd : Engine::vector);
  }
}

namespace {

// One row of a column, as often as the result has columns.
AccessPattern along_columns(const AccessPattern& tile, int64_t columns) {
  return tile.free_elements() == columns ? tile : tile.reshaped({1}).broadcast(0, columns);
}

// What a body gets of its operands: tensors' tiles, which load(view) gives, in the domain; numbers as tiles
// [partitions, free] where it asks for them.
template <typename Load>
std::vector<AccessPattern> operand_tiles(KernelContext& ctx, std::span<const Operand> operands, DType domain,
                                         const ElementwiseOptions& options, int partitions, int64_t free,
                                         Load load) {
  std::vector<AccessPattern> in;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Operand& o = operands[k];
    AccessPattern t;
    if (o.view) {
      t = load(*o.view);
      const bool as_it_is = static_cast<int>(k) == options.as_it_is ||
                            (is_float(domain) && (is_float(t.dtype) || is_narrow(t.dtype)));
      if (!as_it_is) t = converted(ctx, t, domain);
    } else if (options.materialise) {
      t = ctx.b.sbuf(domain, partitions, {free});
      fill(ctx, t, o.scalar);
    }
    in.push_back(t);
  }
  return in;
}

void elementwise_in_region(KernelContext& ctx, const View& out, std::span<const Operand> operands,
                           DType domain, const ElementwiseBody& body, const ElementwiseOptions& options) {
  const AccessPattern result = *ctx.region->tile(out.tensor);
  const int64_t columns = result.free_elements();
  const auto in =
      operand_tiles(ctx, operands, domain, options, result.partitions, columns, [&](const View& view) {
        const AccessPattern* held = ctx.region->tile(view.tensor);
        return held ? along_columns(*held, columns) : load_rows(ctx, view.broadcast_to(out.shape));
      });
  body(in, result);
  store_rows(ctx, out);
}

}  // namespace

void elementwise(KernelContext& ctx, const View& out, std::span<const Operand> operands, DType domain,
                 const ElementwiseBody& body, const ElementwiseOptions& options) {
  if (out.count() == 0) return;
  if (ctx.region != nullptr) return elementwise_in_region(ctx, out, operands, domain, body, options);
  std::vector<View> views;
  for (const Operand& o : operands) {
    if (o.view) views.push_back(o.view->broadcast_to(out.shape));
  }
  views.push_back(out);
  for_each_tile(ctx, views, options.max_free, [&](const Tile& tile) {
    std::size_t v = 0;
    const auto in =
        operand_tiles(ctx, operands, domain, options, tile.partitions, tile.free,
                      [&](const View&) { return load(ctx, tile.hbm[v++], tile.partitions, tile.free); });
    const AccessPattern result = ctx.b.sbuf(out.dtype, tile.partitions, {tile.free});
    body(in, result);
    ctx.b.dma_copy(tile.hbm.back(), result);
  });
}

void activate(KernelContext& ctx, const AccessPattern& dst, const AccessPattern& src, Activation function) {
  const AccessPattern bias = ctx.b.sbuf(DType::f32, src.partitions, {1});
  ctx.b.memset(bias, -0.0f);
  ActivationOptions options;
  options.bias = bias;
  ctx.b.activation(dst, src, function, options);
}

void copy(KernelContext& ctx, const View& dst, const View& src) {
  if (dst.count() == 0) return;
  const View views[] = {raw(src), raw(dst)};
  const IterationSpace space = collapse(views);
  int64_t elements = kCopyElements;
  if (ctx.options.lnc == 2) elements = std::clamp((dst.count() + 1) / 2, kSmallCopyElements, kCopyElements);
  for (const Box& box : split(space.sizes, elements, kDmaRank)) {
    ctx.b.dma_copy(pattern_of(views[1], space.strides[1], box), pattern_of(views[0], space.strides[0], box));
  }
}

}  // namespace assay::backend
