// embedding, gather, index.Tensor, index_select: indirect DMA. An index out of bounds traps.
#include "backend/kernels/indirect.h"

namespace assay::backend {
namespace {

void embedding(KernelContext& ctx) {
  const View weight = ctx.input("weight"), indices = ctx.input("indices"), out = ctx.output();
  if (out.count() == 0) return;
  require_index_dtype(ctx, indices, "indices");
  require_not_empty(ctx, weight.shape[0]);
  View table = out;
  table.tensor = weight.tensor;
  table.strides.assign(out.shape.size(), 0);
  table.strides.back() = 1;
  gather(ctx, {out, table, indices.unsqueezed(indices.rank()).broadcast_to(out.shape), weight.shape[1],
               weight.shape[0]});
}

void gather_along(KernelContext& ctx) {
  const View in = ctx.input("self"), index = ctx.input("index"), out = ctx.output();
  if (out.count() == 0) return;
  require_index_dtype(ctx, index, "index");
  if (out.rank() == 0) {
    gather(ctx, {out, in, index.reshaped({}), 1, 1});
    return;
  }
  const auto dim = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim"), out.rank(), ctx.call));
  require_not_empty(ctx, in.shape[dim]);
  View table = in;
  table.shape = out.shape;
  table.strides[dim] = 0;
  gather(ctx, {out, table, index, in.strides[dim], in.shape[dim]});
}

void index_select(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  View index = ctx.input("index");
  if (out.count() == 0) return;
  require_index_dtype(ctx, index, "index");
  if (in.rank() == 0) {
    gather(ctx, {out, in, index.reshaped({}), 1, 1});
    return;
  }
  const auto dim = static_cast<std::size_t>(normalise_dim(ctx.call.integer("dim"), in.rank(), ctx.call));
  require_not_empty(ctx, in.shape[dim]);
  View table = in, at = out;
  table.shape = out.shape;
  table.strides[dim] = 0;
  at.tensor = index.tensor;
  at.dtype = index.dtype;
  at.strides.assign(out.shape.size(), 0);
  at.strides[dim] = 1;
  gather(ctx, {out, table, at, in.strides[dim], in.shape[dim]});
}

void index_tensor(KernelContext& ctx) {
  const View out = ctx.output();
  if (out.count() == 0) return;
  const Indexed i = indexed(ctx, ctx.input("self"), ctx.call.tensors("indices"), out.shape);
  gather(ctx, {out, i.table, i.index, 1, i.bound});
}

}  // namespace

void register_indexing(KernelTable& table) {
  table.add("aten::embedding.default", embedding);
  table.add("aten::gather.default", gather_along);
  table.add("aten::index_select.default", index_select);
  table.add("aten::index.Tensor", index_tensor);
}

}  // namespace assay::backend
