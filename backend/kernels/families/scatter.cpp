// What writes into a copy of a tensor: slice_scatter, select_scatter, copy, constant_pad_nd, scatter,
// scatter_add, scatter_reduce, index_put, masked_fill.
#include <algorithm>

#include "backend/kernels/indirect.h"

namespace assay::backend {
namespace {

// dst = src converted to dst's dtype; src broadcasts.
void assign(KernelContext& ctx, const View& dst, const View& src) {
  const View from = src.broadcast_to(dst.shape);
  if (from.dtype == dst.dtype) return copy(ctx, dst, from);
  if (dst.count() == 0) return;
  const View views[] = {from, dst};
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    ctx.b.dma_copy(tile.hbm[1],
                   converted(ctx, load(ctx, tile.hbm[0], tile.partitions, tile.free), dst.dtype));
  });
}

// One element in HBM, as a view of any shape.
View number_view(KernelContext& ctx, const Scalar& value, DType dtype, const Shape& shape) {
  const int32_t tensor = ctx.b.scratch("value", dtype, 1);
  const AccessPattern tile = ctx.b.sbuf(dtype, 1, {1});
  fill(ctx, tile, value);
  ctx.b.dma_copy(hbm_tile(dtype, tensor, 0, 1, 0, {1}, {1}), tile);
  return contiguous_view(tensor, dtype, {}).broadcast_to(shape);
}

void copy_from(KernelContext& ctx) { assign(ctx, ctx.output(), ctx.input("src")); }

void slice_scatter(KernelContext& ctx) {
  const View self = ctx.input("self"), src = ctx.input("src"), out = ctx.output();
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), self.rank(), ctx.call);
  const int64_t size = self.shape[static_cast<std::size_t>(dim)];
  int64_t start = ctx.call.integer_opt("start").value_or(0);
  if (start < 0) start += size;
  start = std::clamp<int64_t>(start, 0, size);
  copy(ctx, out, self);
  assign(ctx, out.narrowed(dim, start, src.shape[static_cast<std::size_t>(dim)], ctx.call.integer("step")),
         src);
}

void select_scatter(KernelContext& ctx) {
  const View self = ctx.input("self"), out = ctx.output();
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), self.rank(), ctx.call);
  int64_t index = ctx.call.integer("index");
  if (index < 0) index += self.shape[static_cast<std::size_t>(dim)];
  copy(ctx, out, self);
  assign(ctx, out.selected(dim, index), ctx.input("src"));
}

// pad lists (before, after) from the last dimension; negative widths crop.
void constant_pad(KernelContext& ctx) {
  View in = ctx.input("self"), out = ctx.output();
  if (out.count() == 0) return;
  const std::vector<int64_t> pad = ctx.call.integers("pad");
  const View views[] = {out};
  const Scalar value = ctx.call.scalar("value");
  if (std::any_of(pad.begin(), pad.end(), [](int64_t p) { return p > 0; })) {
    for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
      const AccessPattern t = ctx.b.sbuf(out.dtype, tile.partitions, {tile.free});
      fill(ctx, t, value);
      ctx.b.dma_copy(tile.hbm[0], t);
    });
  }
  for (std::size_t i = 0; i + 1 < pad.size(); i += 2) {
    const int64_t dim = in.rank() - 1 - static_cast<int64_t>(i / 2);
    const auto d = static_cast<std::size_t>(dim);
    const int64_t crop = std::max<int64_t>(-pad[i], 0);
    const int64_t kept = in.shape[d] - crop - std::max<int64_t>(-pad[i + 1], 0);
    if (kept <= 0) return;
    in = in.narrowed(dim, crop, kept);
    out = out.narrowed(dim, std::max<int64_t>(pad[i], 0), kept);
  }
  copy(ctx, out, in);
}

View in_dtype(KernelContext& ctx, const View& view, DType dtype) {
  if (view.dtype == dtype) return view;
  const View out = contiguous_view(ctx.b.scratch("converted", dtype, view.count()), dtype, view.shape);
  assign(ctx, out, view);
  return out;
}

// DMA adds in memory and would round every sum to 16 bits: narrow floats are added in fp32.
DType accumulator_of(DType dtype) { return is_float(dtype) ? DType::f32 : dtype; }

// out = self with body(out, of accumulator_of(out's dtype)) done to it.
void accumulate_into(KernelContext& ctx, const View& self, const View& out,
                     const std::function<void(const View&)>& body) {
  const DType dtype = accumulator_of(out.dtype);
  if (dtype == out.dtype) {
    copy(ctx, out, self);
    return body(out);
  }
  const View sums = contiguous_view(ctx.b.scratch("sums", dtype, out.count()), dtype, out.shape);
  assign(ctx, sums, self);
  body(sums);
  assign(ctx, out, sums);
}

// target[..., index, ...] = src, or += src, along the argument dim.
void scatter_to(KernelContext& ctx, const View& target, const View& index, View src, bool accumulate) {
  if (target.rank() == 0) {
    scatter(ctx, {src.reshaped({}), target, index.reshaped({}), 1, 1}, accumulate);
    return;
  }
  const auto dim = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim"), target.rank(), ctx.call));
  require_not_empty(ctx, target.shape[dim]);
  View table = target;
  table.shape = src.shape = index.shape;  // src may be larger: only index's part is read
  table.strides[dim] = 0;
  scatter(ctx, {src, table, index, target.strides[dim], target.shape[dim]}, accumulate);
}

// out = self with out[..., index, ...] = src along dim.
void scatter_along(KernelContext& ctx, bool accumulate) {
  const View self = ctx.input("self"), index = ctx.input("index"), out = ctx.output();
  require_index_dtype(ctx, index, "index");
  if (accumulate && index.count() > 0) {
    return accumulate_into(ctx, self, out, [&](const View& sums) {
      scatter_to(ctx, sums, index, in_dtype(ctx, ctx.input("src"), sums.dtype), true);
    });
  }
  copy(ctx, out, self);
  if (index.count() == 0) return;
  scatter_to(ctx, out, index,
             ctx.call.schema().find("value") != nullptr
                 ? number_view(ctx, ctx.call.scalar("value"), out.dtype, index.shape)
                 : ctx.input("src"),
             false);
}

// Sums and means of the sources of each destination. Without self, destinations start from 0.
void scatter_reduce(KernelContext& ctx) {
  const View self = ctx.input("self"), index = ctx.input("index"), out = ctx.output();
  const std::string reduce = ctx.call.string("reduce");
  const bool mean = reduce == "mean", include_self = ctx.call.boolean("include_self");
  if (reduce != "sum" && !mean) {
    ctx.unsupported(ASSAY_REASON_ARGUMENT, "reduce = " + reduce + ": DMA adds to memory, nothing else");
  }
  if (mean && !is_float(out.dtype)) {
    ctx.unsupported(ASSAY_REASON_DTYPE, "means of " + std::string(name_of(out.dtype)) + " by index");
  }
  require_index_dtype(ctx, index, "index");
  if (index.count() == 0) return copy(ctx, out, self);
  accumulate_into(ctx, self, out, [&](const View& sums) {
    const auto number = [&](int64_t i, const Shape& shape) {
      return number_view(ctx, {Scalar::Kind::integer, i, static_cast<double>(i)}, sums.dtype, shape);
    };
    if (!include_self) scatter_to(ctx, sums, index, number(0, index.shape), false);
    scatter_to(ctx, sums, index, in_dtype(ctx, ctx.input("src"), sums.dtype), true);
    if (!mean) return;
    // Where there is no source, the count becomes 1.
    const View count =
        contiguous_view(ctx.b.scratch("count", sums.dtype, out.count()), sums.dtype, out.shape);
    copy(ctx, count, number(include_self ? 1 : 0, out.shape));
    scatter_to(ctx, count, index, number(1, index.shape), true);
    const View views[] = {sums, count};
    for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
      const AccessPattern totals = load(ctx, tile.hbm[0], tile.partitions, tile.free);
      const AccessPattern counts = load(ctx, tile.hbm[1], tile.partitions, tile.free);
      ctx.b.tensor_scalar(counts, counts, AluOp::max, 1.0f);
      ctx.b.tensor_tensor(totals, totals, counts, AluOp::divide, Engine::vector);
      ctx.b.dma_copy(tile.hbm[0], totals);
    });
  });
}

// Where a mask is the only index, its true elements take one value, or values that broadcast over them.
// Values of their own need to know how many elements were true before: a size that depends on data.
void masked_put(KernelContext& ctx, std::size_t first, const View& mask) {
  const View self = ctx.input("self"), out = ctx.output();
  const std::size_t masked = mask.shape.size();
  View chosen = mask;
  for (std::size_t d = first + masked; d < self.shape.size(); ++d) chosen = chosen.unsqueezed(chosen.rank());
  View values = ctx.input("values");
  const std::size_t after = self.shape.size() - first - masked;
  if (values.shape.size() > after) {
    // Right-aligned to [dims before, number of true elements, dims after].
    const std::size_t number = values.shape.size() - after - 1;
    if (values.shape[number] != 1) {
      ctx.unsupported(ASSAY_REASON_DYNAMIC_SHAPE,
                      "values: one for each true element of a mask; how many there are depends on data");
    }
    for (std::size_t d = 1; d < masked; ++d) values = values.unsqueezed(static_cast<int64_t>(number));
  }
  const bool accumulate = ctx.call.boolean("accumulate");
  const Operand operands[] = {{self, {}}, {chosen, {}}, {values, {}}};
  const DType domain = is_float(out.dtype) ? DType::f32 : out.dtype;
  elementwise(ctx, out, operands, domain,
              [&](std::span<const AccessPattern> in, const AccessPattern& result) {
                const Engine engine = engine_for(out.dtype);
                if (accumulate) ctx.b.tensor_tensor(in[2], in[0], in[2], AluOp::add, engine);
                ctx.b.select(result, in[1], in[2], in[0], engine);
              },
              {.materialise = true, .as_it_is = 1});
}

void index_put(KernelContext& ctx) {
  const View self = ctx.input("self"), out = ctx.output();
  const std::vector<int> numbers = ctx.call.tensors("indices");
  const auto given = std::find_if(numbers.begin(), numbers.end(), [](int number) { return number >= 0; });
  const bool alone = given != numbers.end() && std::count_if(numbers.begin(), numbers.end(),
                                                             [](int number) { return number >= 0; }) == 1;
  if (alone && ctx.input(*given).dtype == DType::boolean) {
    if (out.count() == 0) return;
    return masked_put(ctx, static_cast<std::size_t>(given - numbers.begin()), ctx.input(*given));
  }
  const bool accumulate = ctx.call.boolean("accumulate");
  if (out.count() == 0) return;
  if (!accumulate) copy(ctx, out, self);
  // The shape that index.Tensor would give.
  Shape index_shape, rest;
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < self.shape.size(); ++d) {
    if (d >= numbers.size() || numbers[d] < 0) continue;
    dims.push_back(d);
    const Shape& shape = ctx.call.input(numbers[d]).shape;
    const std::size_t rank = std::max(index_shape.size(), shape.size());
    index_shape.insert(index_shape.begin(), rank - index_shape.size(), 1);
    for (std::size_t k = 0; k < shape.size(); ++k) {
      int64_t& size = index_shape[rank - shape.size() + k];
      if (size == 1) size = shape[k];
    }
  }
  if (dims.empty()) return assign(ctx, out, ctx.input("values"));
  const bool adjacent = dims.back() - dims.front() + 1 == dims.size();
  Shape result;
  for (std::size_t d = 0; d < self.shape.size(); ++d) {
    if (d == (adjacent ? dims.front() : 0))
      result.insert(result.end(), index_shape.begin(), index_shape.end());
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) result.push_back(self.shape[d]);
  }
  if (element_count(result) == 0) return accumulate ? copy(ctx, out, self) : void();
  const auto put = [&](const View& target) {
    const Indexed i = indexed(ctx, target, numbers, result);
    const View values = in_dtype(ctx, ctx.input("values"), target.dtype).broadcast_to(result);
    scatter(ctx, {values, i.table, i.index, 1, i.bound}, accumulate);
  };
  if (!accumulate) return put(out);
  accumulate_into(ctx, self, out, put);
}

void masked_fill(KernelContext& ctx) {
  const View out = ctx.output();
  const Operand operands[] = {operand(ctx, "self"), operand(ctx, "mask"), operand(ctx, "value")};
  elementwise(ctx, out, operands, is_float(out.dtype) ? DType::f32 : out.dtype,
              [&](std::span<const AccessPattern> in, const AccessPattern& result) {
                ctx.b.select(result, in[1], in[2], in[0], engine_for(out.dtype));
              },
              {.materialise = true, .as_it_is = 1});
}

}  // namespace

void register_scatter(KernelTable& table) {
  table.add("aten::copy.default", copy_from);
  table.add("aten::slice_scatter.default", slice_scatter);
  table.add("aten::select_scatter.default", select_scatter);
  table.add("aten::constant_pad_nd.default", constant_pad);
  table.add("aten::scatter.src", [](KernelContext& c) { scatter_along(c, false); });
  table.add("aten::scatter.value", [](KernelContext& c) { scatter_along(c, false); });
  table.add("aten::scatter_add.default", [](KernelContext& c) { scatter_along(c, true); });
  table.add("aten::scatter_reduce.two", scatter_reduce);
  table.add("aten::index_put.default", index_put);
  table.add("aten::masked_fill.Scalar", masked_fill);
  table.add("aten::masked_fill.Tensor", masked_fill);
}

}  // namespace assay::backend
