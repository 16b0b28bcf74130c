// Nearest and linear resampling. Source positions are computed when the Program is written, in single
// precision as PyTorch does.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "backend/kernels/indirect.h"

namespace assay::backend {
namespace {

constexpr int64_t kBandBytes = 120 * 1024;

// One resampled dimension; `factor` is the scale factor where the caller gave one.
struct Resized {
  int64_t in, out;
  std::optional<double> factor;
  float step(bool align) const {
    if (align) return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
    return factor ? static_cast<float>(1.0 / *factor) : static_cast<float>(in) / static_cast<float>(out);
  }
};

std::vector<Resized> resized_dims(KernelContext& ctx, const View& in, const View& out) {
  const std::size_t spatial = in.shape.size() - 2;
  const auto factors = ctx.call.schema().find("scale_factors") != nullptr
                           ? ctx.call.floats_opt("scale_factors")
                           : std::nullopt;
  std::vector<Resized> dims;
  for (std::size_t d = 0; d < spatial; ++d) {
    Resized dim{in.shape[2 + d], out.shape[2 + d], {}};
    if (factors) dim.factor = factors->at(d);
    const std::string letter(1, "dhw"[3 - spatial + d]);
    for (const std::string& name : {"scales_" + letter, std::string("scales")}) {
      if (ctx.call.schema().find(name) != nullptr && !ctx.call.is_none(name))
        dim.factor = ctx.call.scalar(name).as_double();
    }
    if (dim.factor && !(*dim.factor > 0)) dim.factor.reset();
    dims.push_back(dim);
  }
  return dims;
}

View image(KernelContext& ctx) {
  return ctx.input(ctx.call.schema().find("input") != nullptr ? "input" : "self");
}

// By whole factors every element is repeated: one copy. Else a gather whose indices are a constant.
void upsample_nearest(KernelContext& ctx, bool centred) {
  const View in = image(ctx), out = ctx.output();
  if (out.count() == 0) return;
  const std::vector<Resized> dims = resized_dims(ctx, in, out);
  std::vector<std::vector<int64_t>> sources;
  bool repeats = true;
  for (const Resized& dim : dims) {
    std::vector<int64_t> source;
    for (int64_t o = 0; o < dim.out; ++o) {
      const float at = static_cast<float>(o) + (centred ? 0.5f : 0.0f);
      const int64_t i = std::min(static_cast<int64_t>(std::floor(at * dim.step(false))), dim.in - 1);
      repeats = repeats && dim.out % dim.in == 0 && i == o / (dim.out / dim.in);
      source.push_back(i);
    }
    sources.push_back(std::move(source));
  }
  if (repeats) {
    Shape apart{in.shape[0], in.shape[1]}, single = apart;
    for (const Resized& dim : dims) {
      apart.insert(apart.end(), {dim.in, dim.out / dim.in});
      single.insert(single.end(), {dim.in, 1});
    }
    return copy(ctx, out.reshaped(apart), in.reshaped(single).broadcast_to(apart));
  }
  std::vector<int32_t> flat{0};
  int64_t area = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    std::vector<int32_t> longer;
    for (const int32_t offset : flat) {
      for (const int64_t i : sources[d]) longer.push_back(static_cast<int32_t>(offset * dims[d].in + i));
    }
    flat = std::move(longer);
    area *= dims[d].in;
  }
  const int32_t number = ctx.b.constant("sources", DType::i32, std::as_bytes(std::span(flat)));
  const Shape places(out.shape.begin() + 2, out.shape.end());
  View table = in;
  for (std::size_t d = 2; d < table.shape.size(); ++d) {
    table.shape[d] = out.shape[d];
    table.strides[d] = 0;
  }
  gather(ctx, {out, table, contiguous_view(number, DType::i32, places).broadcast_to(out.shape), 1, area});
}

// The two input elements beside a position, and their weights.
struct Neighbours {
  int64_t low, high;
  float low_weight, high_weight;
};
std::vector<Neighbours> neighbours(const Resized& dim, bool align) {
  std::vector<Neighbours> result;
  const float step = dim.step(align);
  for (int64_t o = 0; o < dim.out; ++o) {
    const auto index = static_cast<float>(o);
    const float position = align ? index * step : std::max(0.0f, (index + 0.5f) * step - 0.5f);
    const int64_t low = std::min(static_cast<int64_t>(position), dim.in - 1);
    const float weight = position - static_cast<float>(low);
    result.push_back({low, std::min(low + 1, dim.in - 1), 1.0f - weight, weight});
  }
  return result;
}

// dst = a * low_weight + b * high_weight, with the first product in `partial`.
void weigh(KernelContext& ctx, const AccessPattern& dst, const AccessPattern& partial,
           const AccessPattern& low, const AccessPattern& high, const Neighbours& n) {
  ctx.b.tensor_scalar(partial, low, AluOp::multiply, n.low_weight);
  ctx.b.scalar_tensor_tensor(dst, high, AluOp::multiply, n.high_weight, AluOp::add, partial);
}

// Planes on partitions: columns of the rows that a band needs first, then rows.
void upsample_linear(KernelContext& ctx) {
  const View in = image(ctx), out = ctx.output();
  if (out.count() == 0) return;
  if (!is_float(in.dtype)) ctx.unsupported(ASSAY_REASON_DTYPE, "8-bit images");
  const bool align = ctx.call.boolean("align_corners");
  std::vector<Resized> dims = resized_dims(ctx, in, out);
  const bool one_row = dims.size() == 1;
  if (one_row) dims.insert(dims.begin(), Resized{1, 1, {}});
  const std::vector<Neighbours> rows = neighbours(dims[0], align), columns = neighbours(dims[1], align);
  const int64_t width = dims[1].in, wide = dims[1].out, area_in = dims[0].in * width,
                area_out = dims[0].out * wide, planes = in.shape[0] * in.shape[1];
  const auto element = static_cast<int64_t>(size_of(in.dtype));
  const auto rows_under = [&](int64_t row, int64_t count) {
    return rows[static_cast<std::size_t>(row + count - 1)].high - rows[static_cast<std::size_t>(row)].low + 1;
  };
  const auto fits = [&](int64_t row, int64_t count) {
    return rows_under(row, count) * (width * element + wide * 4) + count * wide * (4 + element) <= kBandBytes;
  };
  const ProgramBuilder::Mark mark = ctx.b.mark();
  for (int64_t first = 0; first < planes; first += kPartitions) {
    const auto n = static_cast<int>(std::min(kPartitions, planes - first));
    for (int64_t row = 0, count = 0; row < dims[0].out; row += count) {
      count = dims[0].out - row;
      while (count > 1 && !fits(row, count)) count = (count + 1) / 2;
      const int64_t top = rows[static_cast<std::size_t>(row)].low, under = rows_under(row, count);
      const AccessPattern x = ctx.b.sbuf(in.dtype, n, {under, width});
      ctx.b.dma_copy(x, hbm_tile(in.dtype, in.tensor, in.offset + first * area_in + top * width, n, area_in,
                                 {under, width}, {width, 1}));
      const AccessPattern stretched = ctx.b.sbuf(DType::f32, n, {under, wide});
      for (int64_t o = 0; o < wide; ++o) {
        const Neighbours& c = columns[static_cast<std::size_t>(o)];
        const AccessPattern dst = stretched.slice(1, o, 1);
        weigh(ctx, dst, dst, x.slice(1, c.low, 1), x.slice(1, c.high, 1), c);
      }
      const AccessPattern partial = ctx.b.sbuf(DType::f32, n, {1, wide});
      const AccessPattern result = ctx.b.sbuf(out.dtype, n, {count, wide});
      if (one_row) ctx.b.tensor_copy(result, stretched);
      for (int64_t o = 0; !one_row && o < count; ++o) {
        const Neighbours& r = rows[static_cast<std::size_t>(row + o)];
        weigh(ctx, result.slice(0, o, 1), partial, stretched.slice(0, r.low - top, 1),
              stretched.slice(0, r.high - top, 1), r);
      }
      ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + first * area_out + row * wide, n, area_out,
                              {count, wide}, {wide, 1}),
                     result);
      ctx.b.release(mark);
    }
  }
}

}  // namespace

void register_resampling(KernelTable& table) {
  for (const char* overload : {".default", ".vec"}) {
    for (const char* dims : {"1d", "2d", "3d"}) {
      table.add(std::string("aten::upsample_nearest") + dims + overload,
                [](KernelContext& ctx) { upsample_nearest(ctx, false); });
      table.add(std::string("aten::_upsample_nearest_exact") + dims + overload,
                [](KernelContext& ctx) { upsample_nearest(ctx, true); });
    }
    table.add(std::string("aten::upsample_linear1d") + overload, upsample_linear);
    table.add(std::string("aten::upsample_bilinear2d") + overload, upsample_linear);
  }
}

}  // namespace assay::backend
