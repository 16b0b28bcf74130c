// Sums, means, extremes, products, any/all, vector norms.
#include <cmath>
#include <limits>

#include "backend/kernels/rows.h"

namespace assay::backend {
namespace {

struct Reduction {
  AluOp op = AluOp::add;
  DType accumulator = DType::f32;
  double empty = 0;  // result of no elements
  // Maps a piece [P, rows, n] into accumulator's dtype; null: conversion only.
  std::function<AccessPattern(KernelContext&, const AccessPattern&)> map;
  // Writes `out` [P, rows] from the reduced [P, rows]; null: conversion only.
  std::function<void(KernelContext&, const AccessPattern& out, const AccessPattern& reduced)> finish;
};

AccessPattern like(KernelContext& ctx, const AccessPattern& tile, DType dtype) {
  const Shape sizes(tile.sizes.begin(), tile.sizes.begin() + tile.rank);
  return ctx.b.sbuf(dtype, tile.partitions, Sizes(sizes));
}

// Floats to an engine as they are; everything else converted to the accumulator.
AccessPattern accumulable(KernelContext& ctx, const AccessPattern& tile, DType accumulator) {
  if (tile.dtype == accumulator) return tile;
  if (is_float(accumulator)) return as_float(ctx, tile);
  const AccessPattern out = like(ctx, tile, accumulator);
  convert_into(ctx, out, tile);
  return out;
}

// With `dtype` given, PyTorch converts the elements to it first: to bool those that are not 0 are 1, and what
// a narrower float cannot hold is infinite.
AccessPattern accumulable(KernelContext& ctx, const AccessPattern& tile, DType accumulator, DType result) {
  const bool to_bool = result == DType::boolean;
  const bool narrower = is_float(result) && is_float(tile.dtype) &&
                        float_format(result).precision < float_format(tile.dtype).precision;
  if (tile.dtype == result || !(to_bool || narrower)) return accumulable(ctx, tile, accumulator);
  const AccessPattern converted = like(ctx, tile, result);
  convert_into(ctx, converted, tile);
  return accumulable(ctx, converted, accumulator);
}

void reduce(KernelContext& ctx, const View& in, std::vector<int64_t> dims, const View& out,
            const Reduction& r) {
  for (int64_t& dim : dims) dim = normalise_dim(dim, in.rank(), ctx.call);
  if (in.rank() == 0) dims.clear();
  Shape kept;
  for (int64_t d : other_dims(in.rank(), dims)) kept.push_back(in.shape[static_cast<std::size_t>(d)]);
  if (out.count() == 0) return;
  RowViews views{{with_last(in, dims)}, {out.reshaped(kept)}, kept.size()};
  const Engine engine = engine_for(r.accumulator);
  for_each_row_tile(ctx, views, [&](const RowTile& tile) {
    const AccessPattern total = per_row_tile(ctx, r.accumulator, tile);
    bool first = true;
    for (const Box& piece : tile.pieces()) {
      const ProgramBuilder::Mark mark = ctx.b.mark();
      AccessPattern x = load(ctx, tile, 0, piece);
      x = r.map ? r.map(ctx, x) : accumulable(ctx, x, r.accumulator, out.dtype);
      const AccessPattern part = first ? total : per_row_tile(ctx, r.accumulator, tile);
      ctx.b.tensor_reduce(part, x, r.op, 1, false, engine);
      if (!first) ctx.b.tensor_tensor(total, total, part, r.op, engine);
      first = false;
      ctx.b.release(mark);
    }
    if (first) fill(ctx, total, Scalar{Scalar::Kind::floating, 0, r.empty});
    const AccessPattern result = result_tile(ctx, tile, 0);
    if (r.finish) {
      r.finish(ctx, result, total);
    } else if (result.dtype == total.dtype) {
      ctx.b.tensor_copy(result, total, engine);
    } else {
      convert_into(ctx, result, total);
    }
    store(ctx, tile, 0, result);
  });
}

std::vector<int64_t> all_dims(const View& in) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < in.rank(); ++d) out.push_back(d);
  return out;
}

// An int[]? argument; None and the empty list mean all.
std::vector<int64_t> dims_of(const KernelContext& ctx, const View& in) {
  if (ctx.call.schema().find("dim") == nullptr || ctx.call.is_none("dim")) return all_dims(in);
  std::vector<int64_t> dims = ctx.call.integers("dim");
  return dims.empty() ? all_dims(in) : dims;
}

int64_t reduced_count(const View& in, const View& out) {
  return out.count() == 0 ? 0 : in.count() / out.count();
}

void sum(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  Reduction r;
  r.accumulator = is_float(out.dtype) ? DType::f32 : DType::i64;
  reduce(ctx, in, dims_of(ctx, in), out, r);
}

void mean(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  const auto n = static_cast<float>(reduced_count(in, out));
  Reduction r;
  r.finish = [n](KernelContext& c, const AccessPattern& result, const AccessPattern& total) {
    c.b.tensor_scalar(result, total, AluOp::divide, n);
  };
  reduce(ctx, in, dims_of(ctx, in), out, r);
}

Kernel extreme(AluOp op) {
  return [op](KernelContext& ctx) {
    const View in = ctx.input("self"), out = ctx.output();
    Reduction r;
    r.op = op;
    r.accumulator = is_float(out.dtype) ? DType::f32 : out.dtype == DType::boolean ? DType::u8 : out.dtype;
    reduce(ctx, in, dims_of(ctx, in), out, r);
  };
}

void product(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  std::vector<int64_t> dims = all_dims(in);
  if (ctx.call.schema().find("dim") != nullptr) dims = {ctx.call.integer("dim")};
  Reduction r;
  r.op = AluOp::multiply;
  r.accumulator = is_float(out.dtype) ? DType::f32 : DType::i64;
  r.empty = 1;
  reduce(ctx, in, dims, out, r);
}

Kernel truth(AluOp op) {
  return [op](KernelContext& ctx) {
    const View in = ctx.input("self"), out = ctx.output();
    Reduction r;
    r.op = op;
    r.accumulator = DType::f32;
    r.empty = op == AluOp::logical_and ? 1 : 0;
    r.map = [](KernelContext& c, const AccessPattern& x) {
      if (x.dtype == DType::boolean) return x;
      const AccessPattern t = like(c, x, DType::boolean);
      convert_into(c, t, x);
      return t;
    };
    std::vector<int64_t> dims = all_dims(in);
    if (const SchemaArgument* dim = ctx.call.schema().find("dim")) {
      // Unlike elsewhere an empty list reduces nothing; None reduces all.
      const auto list = dim->type.list ? ctx.call.integers_opt("dim") : std::nullopt;
      if (list && list->empty()) {
        dims.clear();
      } else {
        dims = dim->type.list ? dims_of(ctx, in) : std::vector<int64_t>{ctx.call.integer("dim")};
      }
    }
    reduce(ctx, in, dims, out, r);
  };
}

// (sum |x|^p)^(1/p), and its limits p = 0, inf and -inf.
void vector_norm(KernelContext& ctx) {
  const View in = ctx.input("self"), out = ctx.output();
  const double p = ctx.call.scalar("ord").as_double();
  Reduction r;
  const auto mapped = [](AluOp op, AluOp then, float with) {
    return [=](KernelContext& c, const AccessPattern& x) {
      const AccessPattern y = like(c, x, DType::f32);
      c.b.tensor_scalar(y, as_float(c, x), op, 0.0f, false, then, with);
      return y;
    };
  };
  if (p == 2) {
    r.map = mapped(AluOp::square, AluOp::none, 0);
    r.finish = [](KernelContext& c, const AccessPattern& result, const AccessPattern& total) {
      activate(c, result, total, Activation::sqrt);
    };
  } else if (p == 1) {
    r.map = mapped(AluOp::abs, AluOp::none, 0);
  } else if (p == 0) {
    r.map = mapped(AluOp::is_ne, AluOp::none, 0);
  } else if (std::isinf(p)) {
    r.op = p > 0 ? AluOp::max : AluOp::min;
    r.map = mapped(AluOp::abs, AluOp::none, 0);
  } else {
    r.map = mapped(AluOp::abs, AluOp::pow, static_cast<float>(p));
    const auto inverse = static_cast<float>(1 / p);
    r.finish = [inverse](KernelContext& c, const AccessPattern& result, const AccessPattern& total) {
      c.b.tensor_scalar(result, total, AluOp::pow, inverse);
    };
  }
  reduce(ctx, in, dims_of(ctx, in), out, r);
}

}  // namespace

void register_reductions(KernelTable& table) {
  table.add("aten::sum.dim_IntList", sum);
  table.add("aten::sum.default", sum);
  table.add("aten::mean.dim", mean);
  table.add("aten::mean.default", mean);
  table.add("aten::amax.default", extreme(AluOp::max));
  table.add("aten::amin.default", extreme(AluOp::min));
  table.add("aten::max.default", extreme(AluOp::max));
  table.add("aten::min.default", extreme(AluOp::min));
  table.add("aten::prod.default", product);
  table.add("aten::prod.dim_int", product);
  for (const char* overload : {".default", ".dim", ".dims"}) {
    table.add(std::string("aten::any") + overload, truth(AluOp::logical_or));
    table.add(std::string("aten::all") + overload, truth(AluOp::logical_and));
  }
  table.add("aten::_is_all_true.default", truth(AluOp::logical_and));
  table.add("aten::linalg_vector_norm.default", vector_norm);
}

}  // namespace assay::backend
