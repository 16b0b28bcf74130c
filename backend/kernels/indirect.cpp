#include "backend/kernels/indirect.h"

#include <algorithm>

namespace assay::backend {
namespace {

enum class Direction { gather, scatter, scatter_add };

View shaped(View view, const Shape& sizes, const Shape& strides) {
  view.shape = sizes;
  view.strides = strides;
  return view;
}

AccessPattern pattern_of(const View& view) {
  const std::span<const int64_t> sizes(view.shape), strides(view.strides);
  return hbm_tile(view.dtype, view.tensor, view.offset, static_cast<int>(view.shape[0]), view.strides[0],
                  sizes.subspan(1), strides.subspan(1));
}

AccessPattern sbuf_like(KernelContext& ctx, const AccessPattern& hbm) {
  const Shape sizes(hbm.sizes.begin(), hbm.sizes.begin() + hbm.rank);
  return ctx.b.sbuf(hbm.dtype, hbm.partitions, Sizes(sizes));
}

// The leading dimension lies on partitions; the others fit into one.
void move_rows(KernelContext& ctx, Direction direction, const Indirect& g) {
  const int64_t rows = g.elements.shape[0];
  for (int64_t i = 0; i < rows; i += kPartitions) {
    const int64_t n = std::min(kPartitions, rows - i);
    const Indirect part = g.with([&](const View& v) { return v.narrowed(0, i, n); });
    const AccessPattern elements = pattern_of(part.elements), table = pattern_of(part.table);
    // Trailing dimensions that share an index need it only once.
    AccessPattern at = pattern_of(part.index);
    while (at.rank > 0 && at.strides[static_cast<std::size_t>(at.rank - 1)] == 0) {
      at = at.select(at.rank - 1, 0);
    }
    const ProgramBuilder::Mark mark = ctx.b.mark();
    const AccessPattern indices = sbuf_like(ctx, at), tile = sbuf_like(ctx, elements);
    ctx.b.dma_copy(indices, at);
    IndirectOptions options;
    options.index_stride = g.stride;
    options.bound = g.bound;
    options.dma.accumulate = direction == Direction::scatter_add;
    if (direction == Direction::gather) {
      ctx.b.dma_gather(tile, table, indices, options);
      ctx.b.dma_copy(elements, tile);
    } else {
      ctx.b.dma_copy(tile, elements);
      ctx.b.dma_scatter(table, tile, indices, options);
    }
    ctx.b.release(mark);
  }
}

void move(KernelContext& ctx, Direction direction, const Indirect& given) {
  if (given.elements.count() == 0) return;
  const bool arithmetic = direction == Direction::scatter_add;
  const View views[] = {arithmetic ? given.elements : raw(given.elements),
                        arithmetic ? given.table : raw(given.table), given.index};
  const IterationSpace space = collapse(views);
  const Indirect g{shaped(views[0], space.sizes, space.strides[0]),
                   shaped(views[1], space.sizes, space.strides[1]),
                   shaped(views[2], space.sizes, space.strides[2]), given.stride, given.bound};
  const std::size_t rank = space.sizes.size();
  if (rank == 0) {
    move_rows(ctx, direction, g.with([](const View& v) { return shaped(v, {1}, {0}); }));
  } else if (rank == 1) {
    // As rows, so that all partitions are used, and what is left over.
    const int64_t n = space.sizes[0], row = std::clamp<int64_t>(n / kPartitions, 1, kTileFree);
    move_rows(ctx, direction, g.with([&](const View& v) {
      return shaped(v, {n / row, row}, {row * v.strides[0], v.strides[0]});
    }));
    if (n % row != 0) {
      move_rows(ctx, direction, g.with([&](const View& v) { return v.narrowed(0, n / row * row, n % row); }));
    }
  } else if (rank > kDmaRank || g.elements.count() / space.sizes[0] > kTileFree) {
    for (int64_t i = 0; i < space.sizes[0]; ++i) {
      move(ctx, direction, g.with([&](const View& v) { return v.selected(0, i); }));
    }
  } else {
    move_rows(ctx, direction, g);
  }
}

// sum_j wrap(index_j) * stride_j, -1 where any index is out of bounds, so that the gather traps.
View linear_index(KernelContext& ctx, const View& in, const std::vector<std::pair<std::size_t, View>>& given,
                  const Shape& shape) {
  const View out =
      contiguous_view(ctx.b.scratch("linear index", DType::i64, element_count(shape)), DType::i64, shape);
  std::vector<Operand> operands;
  for (const auto& [dim, view] : given) operands.push_back({view, {}});
  elementwise(
      ctx, out, operands, DType::i64, [&](std::span<const AccessPattern> tiles, const AccessPattern& sum) {
        const auto tile = [&] { return ctx.b.sbuf(DType::i64, sum.partitions, {sum.free_elements()}); };
        const AccessPattern t = tile(), bad = tile();
        const auto integer = [&](const AccessPattern& dst, const AccessPattern& src, AluOp op0, int64_t x,
                                 AluOp op1 = AluOp::none,
                                 int64_t y = 0) { ctx.b.tensor_scalar_int(dst, src, op0, x, false, op1, y); };
        const auto combine = [&](const AccessPattern& dst, const AccessPattern& a, const AccessPattern& b,
                                 AluOp op) { ctx.b.tensor_tensor(dst, a, b, op, Engine::gpsimd); };
        for (std::size_t j = 0; j < given.size(); ++j) {
          const AccessPattern& index = tiles[j];
          const int64_t size = in.shape[given[j].first], stride = in.strides[given[j].first];
          integer(t, index, AluOp::is_lt, 0, AluOp::multiply, size);
          combine(index, index, t, AluOp::add);  // negative indices count from the end
          integer(t, index, AluOp::is_lt, 0);
          if (j == 0) {
            integer(bad, t, AluOp::add, 0);
          } else {
            combine(bad, bad, t, AluOp::max);
          }
          integer(t, index, AluOp::is_ge, size);
          combine(bad, bad, t, AluOp::max);
          integer(t, index, AluOp::multiply, stride);
          if (j == 0) {
            integer(sum, t, AluOp::add, 0);
          } else {
            combine(sum, sum, t, AluOp::add);
          }
        }
        // (sum + 1) * (1 - bad) - 1
        integer(bad, bad, AluOp::multiply, -1, AluOp::add, 1);
        integer(sum, sum, AluOp::add, 1);
        combine(sum, sum, bad, AluOp::multiply);
        integer(sum, sum, AluOp::subtract, 1);
      });
  return out;
}

}  // namespace

void gather(KernelContext& ctx, const Indirect& indirect) { move(ctx, Direction::gather, indirect); }

void scatter(KernelContext& ctx, const Indirect& indirect, bool accumulate) {
  move(ctx, accumulate ? Direction::scatter_add : Direction::scatter, indirect);
}

void require_index_dtype(const KernelContext& ctx, const View& index, const char* name) {
  if (index.dtype != DType::i32 && index.dtype != DType::i64) {
    ctx.unsupported(ASSAY_REASON_DTYPE, std::string(name) + " must be int32 or int64");
  }
}

// An index exists, but nothing that it could address.
void require_not_empty(const KernelContext& ctx, int64_t bound) {
  if (bound <= 0) ctx.unsupported(ASSAY_REASON_SHAPE, "indices into a dimension of size 0");
}

Indexed indexed(KernelContext& ctx, const View& in, const std::vector<int>& numbers, const Shape& result) {
  std::vector<std::pair<std::size_t, View>> given;
  Shape shape;
  for (std::size_t d = 0; d < numbers.size(); ++d) {
    if (numbers[d] < 0) continue;
    const View index = ctx.input(numbers[d]);
    if (index.dtype == DType::boolean || index.dtype == DType::u8) {
      ctx.unsupported(ASSAY_REASON_DYNAMIC_SHAPE, "indices: with a mask, the result's shape depends on data");
    }
    require_index_dtype(ctx, index, "indices");
    given.emplace_back(d, index);
    // Broadcast of all index shapes.
    Shape wider(std::max(shape.size(), index.shape.size()), 1);
    const auto merge = [&](const Shape& s) {
      for (std::size_t k = 0; k < s.size(); ++k) {
        int64_t& size = wider[wider.size() - s.size() + k];
        if (size == 1) size = s[k];
      }
    };
    merge(shape);
    merge(index.shape);
    shape = wider;
  }
  for (const auto& [d, view] : given) require_not_empty(ctx, in.shape[d]);
  // Where the result's index dimensions go: in place if the indexed dimensions are adjacent, else first.
  const std::size_t first = given.front().first, last = given.back().first;
  const bool adjacent = last - first + 1 == given.size();
  const std::size_t place = adjacent ? first : 0;
  View table = in, at = in;
  table.shape = at.shape = result;
  at.dtype = DType::i64;
  at.offset = 0;
  table.strides.clear();
  at.strides.clear();
  const Shape index_strides = contiguous_strides(shape);
  const auto insert_index = [&] {
    table.strides.insert(table.strides.end(), shape.size(), 0);
    at.strides.insert(at.strides.end(), index_strides.begin(), index_strides.end());
  };
  int64_t bound = 1;
  for (std::size_t d = 0; d < in.shape.size(); ++d) {
    if (d == place) insert_index();
    const bool indexed = std::any_of(given.begin(), given.end(), [d](const auto& g) { return g.first == d; });
    if (indexed) {
      bound += (in.shape[d] - 1) * in.strides[d];
    } else {
      table.strides.push_back(in.strides[d]);
      at.strides.push_back(0);
    }
  }
  at.tensor = linear_index(ctx, in, given, shape).tensor;
  return {table, at, bound};
}

}  // namespace assay::backend
