// Views and copies: data movement by DMA alone, bits unchanged. Results never alias inputs, so a view is a
// copy here.
#include <algorithm>
#include <numeric>

#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

void same_order(KernelContext& ctx) {
  const View out = ctx.output();
  const char* argument = ctx.call.schema().arguments.front().name.c_str();
  copy(ctx, out, ctx.input(argument).reshaped(out.shape));
}

void permute(KernelContext& ctx) {
  const View in = ctx.input("self");
  std::vector<int64_t> dims = ctx.call.integers("dims");
  for (int64_t& dim : dims) dim = normalise_dim(dim, in.rank(), ctx.call);
  copy(ctx, ctx.output(), in.permuted(dims));
}

void transpose(KernelContext& ctx) {
  View in = ctx.input("self");
  if (in.rank() > 0) {
    const auto a = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim0"), in.rank(), ctx.call));
    const auto b = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim1"), in.rank(), ctx.call));
    std::swap(in.shape[a], in.shape[b]);
    std::swap(in.strides[a], in.strides[b]);
  }
  copy(ctx, ctx.output(), in);
}

void t(KernelContext& ctx) {
  View in = ctx.input("self");
  std::reverse(in.shape.begin(), in.shape.end());
  std::reverse(in.strides.begin(), in.strides.end());
  copy(ctx, ctx.output(), in);
}

void expand(KernelContext& ctx) {
  const View out = ctx.output();
  copy(ctx, out, ctx.input("self").broadcast_to(out.shape));
}

void select_index(KernelContext& ctx) {
  const View in = ctx.input("self");
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call);
  const int64_t size = in.shape[static_cast<std::size_t>(dim)];
  int64_t index = ctx.call.integer("index");
  if (index < 0) index += size;
  copy(ctx, ctx.output(), in.selected(dim, index));
}

void slice(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call);
  const int64_t size = in.shape[static_cast<std::size_t>(dim)];
  int64_t start = ctx.call.integer_opt("start").value_or(0);
  if (start < 0) start += size;
  start = std::clamp<int64_t>(start, 0, size);
  copy(ctx, out, in.narrowed(dim, start, out.shape[static_cast<std::size_t>(dim)], ctx.call.integer("step")));
}

// Consecutive pieces of one dimension, sized as the results are.
void split_sizes(KernelContext& ctx) {
  const View in = ctx.input("self");
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call);
  int64_t start = 0;
  for (std::size_t i = 0; i < ctx.outputs.size(); ++i) {
    const View out = ctx.output(static_cast<int>(i));
    const int64_t size = out.shape[static_cast<std::size_t>(dim)];
    copy(ctx, out, in.narrowed(dim, start, size));
    start += size;
  }
}

void unbind(KernelContext& ctx) {
  const View in = ctx.input("self");
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call);
  for (std::size_t i = 0; i < ctx.outputs.size(); ++i) {
    copy(ctx, ctx.output(static_cast<int>(i)), in.selected(dim, static_cast<int64_t>(i)));
  }
}

// Tiles of one dimension cover the result side by side; tensors of shape [0] count as nothing (PyTorch).
void cat(KernelContext& ctx) {
  const View out = ctx.output();
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), out.rank(), ctx.call);
  int64_t start = 0;
  for (int i : ctx.call.tensors("tensors")) {
    View in = ctx.input(i);
    if (in.count() == 0) continue;
    const int64_t size = in.shape[static_cast<std::size_t>(dim)];
    const View part = out.narrowed(dim, start, size);
    start += size;
    if (in.dtype == out.dtype) {
      copy(ctx, part, in);
      continue;
    }
    const View views[] = {in, part};
    for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
      ctx.b.dma_copy(tile.hbm[1],
                     converted(ctx, load(ctx, tile.hbm[0], tile.partitions, tile.free), out.dtype));
    });
  }
}

void stack(KernelContext& ctx) {
  const View out = ctx.output();
  const int64_t dim = normalise_dim(ctx.call.integer("dim"), out.rank(), ctx.call);
  int64_t index = 0;
  for (int i : ctx.call.tensors("tensors")) copy(ctx, out.selected(dim, index++), ctx.input(i));
}

// Every repetition is one more dimension of stride 0 before the repeated one.
void repeat(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  const std::vector<int64_t> repeats = ctx.call.integers("repeats");
  View from = in, to = out;
  from.shape.clear();
  from.strides.clear();
  to.shape.clear();
  to.strides.clear();
  const std::size_t lead = repeats.size() - in.shape.size();
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    const int64_t size = d < lead ? 1 : in.shape[d - lead];
    from.shape.insert(from.shape.end(), {repeats[d], size});
    from.strides.insert(from.strides.end(), {0, d < lead ? 0 : in.strides[d - lead]});
    to.shape.insert(to.shape.end(), {repeats[d], size});
    to.strides.insert(to.strides.end(), {size * out.strides[d], out.strides[d]});
  }
  copy(ctx, to, from);
}

void flip(KernelContext& ctx) {
  View in = ctx.input("self");
  for (int64_t given : ctx.call.integers("dims")) {
    const auto d = static_cast<std::size_t>(normalise_dim(given, in.rank(), ctx.call));
    if (in.rank() == 0 || in.shape[d] == 0) continue;
    in.offset += (in.shape[d] - 1) * in.strides[d];
    in.strides[d] = -in.strides[d];
  }
  copy(ctx, ctx.output(), in);
}

// Strides and offset count elements of the contiguous tensor.
void as_strided(KernelContext& ctx) {
  View in = ctx.input("self");
  in.shape = ctx.call.integers("size");
  in.strides = ctx.call.integers("stride");
  in.offset += ctx.call.integer_opt("storage_offset").value_or(0);
  copy(ctx, ctx.output(), in);
}

// Windows of `size` elements every `step` elements; a window's elements are the new last dimension.
void unfold(KernelContext& ctx) {
  View in = ctx.input("self");
  const View out = ctx.output();
  const int64_t step = ctx.call.integer("step");
  if (in.rank() == 0) return copy(ctx, out, in.reshaped(out.shape));
  const auto dim =
      static_cast<std::size_t>(normalise_dim(ctx.call.integer("dimension"), in.rank(), ctx.call));
  const int64_t stride = in.strides[dim];
  in.strides[dim] = stride * step;
  in.strides.push_back(stride);
  in.shape = out.shape;
  copy(ctx, out, in);
}

void diagonal(KernelContext& ctx) {
  View in = ctx.input("self");
  const View out = ctx.output();
  const int64_t offset = ctx.call.integer("offset");
  const auto a = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim1"), in.rank(), ctx.call));
  const auto b = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim2"), in.rank(), ctx.call));
  in.offset += offset >= 0 ? offset * in.strides[b] : -offset * in.strides[a];
  const int64_t stride = in.strides[a] + in.strides[b];
  for (const std::size_t d : {std::max(a, b), std::min(a, b)}) {
    in.strides.erase(in.strides.begin() + static_cast<std::ptrdiff_t>(d));
  }
  in.strides.push_back(stride);
  in.shape = out.shape;
  copy(ctx, out, in);
}

// Nothing to do on the device: shapes and dtypes were checked when the node was compiled.
void assertion(KernelContext&) {}

}  // namespace

void register_views(KernelTable& table) {
  for (const char* op :
       {"view.default", "_unsafe_view.default", "reshape.default", "alias.default", "clone.default",
        "unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims", "contiguous.default",
        "detach.default", "flatten.using_ints", "unflatten.int"}) {
    table.add(std::string("aten::") + op, same_order);
  }
  table.add("aten::permute.default", permute);
  table.add("aten::transpose.int", transpose);
  table.add("aten::t.default", t);
  table.add("aten::expand.default", expand);
  table.add("aten::select.int", select_index);
  table.add("aten::slice.Tensor", slice);
  table.add("aten::split.Tensor", split_sizes);
  table.add("aten::split_with_sizes.default", split_sizes);
  table.add("aten::unbind.int", unbind);
  table.add("aten::cat.default", cat);
  table.add("aten::stack.default", stack);
  table.add("aten::repeat.default", repeat);
  table.add("aten::flip.default", flip);
  table.add("aten::as_strided.default", as_strided);
  table.add("aten::unfold.default", unfold);
  table.add("aten::diagonal.default", diagonal);
  table.add("aten::_assert_tensor_metadata.default", assertion);
}

}  // namespace assay::backend
