// What writes into a copy of a tensor: slice_scatter, select_scatter, copy, constant_pad_nd, scatter,
// scatter_add, scatter_reduce, index_put, masked_fill.
#include <algorithm>
#include <cmath>

#include "backend/kernels/indirect.h"
#include "backend/kernels/rows.h"

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

// The sources of each destination added up. Without self, destinations start from 0.
void scatter_sum(KernelContext& ctx, bool mean, bool include_self) {
  const View self = ctx.input("self"), index = ctx.input("index"), out = ctx.output();
  accumulate_into(ctx, self, out, [&](const View& sums) {
    const auto number = [&](int64_t i, const Shape& shape) {
      return number_view(ctx, {Scalar::Kind::integer, i, static_cast<double>(i)}, sums.dtype, shape);
    };
    if (!include_self) scatter_to(ctx, sums, index, number(0, index.shape), false);
    scatter_to(ctx, sums, index, in_dtype(ctx, ctx.input("src"), sums.dtype), true);
    if (!mean) return;
    // Where there is no source, the count becomes 1. Means of integers are rounded down.
    const View count =
        contiguous_view(ctx.b.scratch("count", sums.dtype, out.count()), sums.dtype, out.shape);
    copy(ctx, count, number(include_self ? 1 : 0, out.shape));
    scatter_to(ctx, count, index, number(1, index.shape), true);
    const View views[] = {sums, count};
    for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
      const AccessPattern totals = load(ctx, tile.hbm[0], tile.partitions, tile.free);
      const AccessPattern counts = load(ctx, tile.hbm[1], tile.partitions, tile.free);
      if (is_float(sums.dtype)) {
        ctx.b.tensor_scalar(counts, counts, AluOp::max, 1.0f);
        ctx.b.tensor_tensor(totals, totals, counts, AluOp::divide, Engine::vector);
      } else {
        ctx.b.tensor_scalar_int(counts, counts, AluOp::max, 1);
        ctx.b.tensor_tensor(totals, totals, counts, AluOp::divide_floor, Engine::gpsimd);
      }
      ctx.b.dma_copy(tile.hbm[0], totals);
    });
  });
}

// What leaves every number as it is under max, min or multiply.
Scalar neutral(AluOp op, DType dtype) {
  if (op == AluOp::multiply) return {Scalar::Kind::integer, 1, 1};
  const bool lowest = op == AluOp::max;
  if (is_float(dtype)) return {Scalar::Kind::floating, 0, lowest ? -HUGE_VAL : HUGE_VAL};
  const int bits = 8 * static_cast<int>(size_of(dtype));
  const bool sign = dtype != DType::u8 && dtype != DType::boolean;
  const int64_t largest = dtype == DType::boolean ? 1
                          : sign                  ? static_cast<int64_t>(~uint64_t{0} >> (65 - bits))
                                                  : (int64_t{1} << bits) - 1;
  const int64_t value = !lowest ? largest : sign ? -largest - 1 : 0;
  return {Scalar::Kind::integer, value, static_cast<double>(value)};
}

// y[i] = x[j] op .. op x[i], j the first element of i's run of equal keys, in log2(n) steps: elements that
// are 1, 2, 4, ... apart are combined where their keys are equal.
void fold_runs(KernelContext& ctx, const AccessPattern& x, const AccessPattern& keys, AluOp op) {
  const int64_t n = x.free_elements();
  const AccessPattern combined = ctx.b.sbuf(x.dtype, x.partitions, {n}),
                      same = ctx.b.sbuf(DType::u8, x.partitions, {n});
  const Engine engine = engine_for(x.dtype);
  for (int64_t apart = 1; apart < n; apart *= 2) {
    const int64_t rest = n - apart;
    const AccessPattern later = x.slice(0, apart, rest), t = combined.slice(0, 0, rest),
                        equal = same.slice(0, 0, rest);
    ctx.b.tensor_tensor(t, x.slice(0, 0, rest), later, op, engine);
    ctx.b.tensor_tensor(equal, keys.slice(0, 0, rest), keys.slice(0, apart, rest), AluOp::is_eq,
                        Engine::gpsimd);
    ctx.b.copy_predicated(later, t, equal, engine);
  }
}

// Products and extremes. GpSimd sorts each row of sources by destination; the last of those with one
// destination has all of them folded, and is the one that stays when they are scattered.
void scatter_fold(KernelContext& ctx, AluOp op, bool include_self) {
  View self = ctx.input("self"), index = ctx.input("index"), src = ctx.input("src"), out = ctx.output();
  if (self.rank() == 0) {
    for (View* view : {&self, &index, &src, &out}) *view = view->unsqueezed(0);
  }
  const int64_t dim = self.rank() == 1 ? 0 : normalise_dim(ctx.call.integer("dim"), self.rank(), ctx.call);
  const auto d = static_cast<std::size_t>(dim);
  const int64_t length = self.shape[d], sources = index.shape[d];
  require_not_empty(ctx, length);
  copy(ctx, out, self);
  const DType type = is_float(out.dtype) ? DType::f32 : out.dtype;
  const auto width = static_cast<int64_t>(size_of(type));
  const int64_t bytes = length * (2 * width + 8) + sources * (4 * width + 24);
  if (bytes > ctx.b.sbuf_free_bytes() - 1024) {
    ctx.unsupported(ASSAY_REASON_SHAPE, "rows of " + std::to_string(length) + " and " +
                                            std::to_string(sources) + " elements do not fit a partition");
  }
  const int64_t last[] = {dim};
  src.shape = index.shape;  // src may be larger: only index's part is read
  View rows = out;          // of the destinations that index addresses
  rows.shape = index.shape;
  const View first = with_last(rows, last).selected(self.rank() - 1, 0);
  const RowViews views{{with_last(index, last), with_last(src, last)},
                       {first},
                       static_cast<std::size_t>(self.rank() - 1),
                       sources,
                       1};
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const Box& all = tile.pieces().front();
    AccessPattern home = tile.hbm(0);
    home = home.unsqueezed(home.rank, length);
    home.strides[static_cast<std::size_t>(home.rank - 1)] = out.strides[d];
    const auto row = [&](DType dtype, int64_t n) { return ctx.b.sbuf(dtype, tile.partitions, {n}); };
    const AccessPattern at = row(index.dtype, sources), keys = row(index.dtype, sources),
                        order = row(DType::i32, sources), given = row(src.dtype, sources),
                        values = row(type, sources), stored = row(out.dtype, length);
    ctx.b.dma_copy(at, tile.hbm(0, all));
    ctx.b.dma_copy(given, tile.hbm(1, all));
    ctx.b.dma_copy(stored, home);
    ctx.b.sort(keys, order, at, false);
    ctx.b.local_gather(values, converted(ctx, given, type), order);
    fold_runs(ctx, values, keys, op);
    const AccessPattern result = converted(ctx, stored, type);
    if (include_self) {
      const AccessPattern folded = row(type, length);
      fill(ctx, folded, neutral(op, type));
      ctx.b.local_scatter(folded, values, keys);
      ctx.b.tensor_tensor(result, result, folded, op, engine_for(type));
    } else {
      ctx.b.local_scatter(result, values, keys);
    }
    ctx.b.dma_copy(home, converted(ctx, result, out.dtype));
  });
}

void scatter_reduce(KernelContext& ctx) {
  const View index = ctx.input("index");
  const std::string reduce = ctx.call.string("reduce");
  const bool include_self = ctx.call.boolean("include_self");
  require_index_dtype(ctx, index, "index");
  if (index.count() == 0) return copy(ctx, ctx.output(), ctx.input("self"));
  if (reduce == "sum" || reduce == "mean") return scatter_sum(ctx, reduce == "mean", include_self);
  scatter_fold(ctx,
               reduce == "amax"   ? AluOp::max
               : reduce == "amin" ? AluOp::min
                                  : AluOp::multiply,
               include_self);
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
