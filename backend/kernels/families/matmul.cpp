// mm, bmm, addmm, baddbmm.
#include "backend/kernels/composed.h"
#include "backend/kernels/gemm.h"
#include "backend/kernels/region.h"

namespace assay::backend {
namespace {

Epilogue rounded(KernelContext& ctx) {
  return [&ctx](const ProductTile& t) { ctx.b.tensor_copy(t.out, t.sum, engine_for(t.out.dtype)); };
}

void product_of(KernelContext& ctx, const View& a, const View& b, const View& out, const Epilogue& epilogue,
                int64_t first_row = 0) {
  if (is_integral(out.dtype) && out.dtype != DType::boolean) return integer_gemm(ctx, a, b, out, epilogue);
  require_matmul_dtype(ctx, out.dtype);
  gemm(ctx, a, b, out, epilogue, first_row);
}

// The matrices of a batch that the call, or the region's part of it, computes. A region's rows lie in one.
struct Matrices {
  int64_t first, end;
};
Matrices matrices_of(const KernelContext& ctx, const View& out) {
  if (ctx.region == nullptr || ctx.region->then) return {0, out.shape[0]};
  const int64_t i = ctx.region->row / out.shape[1];
  return {i, i + 1};
}

Epilogue added_integers(KernelContext& ctx, const View& self, int64_t alpha, int64_t beta) {
  return [&ctx, self, alpha, beta](const ProductTile& t) {
    ctx.b.tensor_scalar_int(t.out, t.sum, AluOp::multiply, alpha);
    if (beta == 0) return;
    const int64_t columns = t.out.sizes[0];
    const AccessPattern bias = ctx.b.sbuf(self.dtype, t.out.partitions, {columns});
    ctx.b.dma_copy(
        bias, hbm_tile(self.dtype, self.tensor, self.offset + t.m0 * self.strides[0] + t.n0 * self.strides[1],
                       t.out.partitions, self.strides[0], {columns}, {self.strides[1]}));
    ctx.b.tensor_scalar_int(bias, bias, AluOp::multiply, beta);
    ctx.b.tensor_tensor(t.out, t.out, bias, AluOp::add, Engine::gpsimd);
  };
}

// beta * self + alpha * product; with beta 0 `self` is not read.
Epilogue added(KernelContext& ctx, const View& self, const Scalar& alpha, const Scalar& beta) {
  if (is_integral(self.dtype)) return added_integers(ctx, self, alpha.as_int(), beta.as_int());
  const auto a = static_cast<float>(alpha.as_double()), b = static_cast<float>(beta.as_double());
  return [&ctx, self, a, b](const ProductTile& t) {
    if (b == 0) {
      ctx.b.tensor_scalar(t.out, t.sum, AluOp::multiply, a);
      return;
    }
    const int64_t columns = t.out.sizes[0];
    const AccessPattern bias = ctx.b.sbuf(self.dtype, t.out.partitions, {columns});
    ctx.b.dma_copy(
        bias, hbm_tile(self.dtype, self.tensor, self.offset + t.m0 * self.strides[0] + t.n0 * self.strides[1],
                       t.out.partitions, self.strides[0], {columns}, {self.strides[1]}));
    if (a == 1 && b == 1) {
      ctx.b.tensor_tensor(t.out, t.sum, bias, AluOp::add);
      return;
    }
    const AccessPattern scaled = ctx.b.sbuf(DType::f32, t.out.partitions, {columns});
    ctx.b.tensor_scalar(scaled, bias, AluOp::multiply, b);
    ctx.b.scalar_tensor_tensor(t.out, t.sum, AluOp::multiply, a, AluOp::add, scaled);
  };
}

// With alpha 0 the factors are not read, either (BLAS): a product over no k is zero.
struct Factors {
  View a, b;
};
Factors read_factors(const View& a, const View& b, const Scalar& alpha) {
  if (alpha.as_double() != 0) return {a, b};
  return {a.narrowed(1, 0, 0), b.narrowed(0, 0, 0)};
}

void mm(KernelContext& ctx) {
  product_of(ctx, ctx.input("self"), ctx.input("mat2"), ctx.output(), rounded(ctx));
}

void bmm(KernelContext& ctx) {
  const View a = ctx.input("self"), b = ctx.input("mat2"), out = ctx.output();
  const Matrices matrices = matrices_of(ctx, out);
  for (int64_t i = matrices.first; i < matrices.end; ++i) {
    product_of(ctx, a.selected(0, i), b.selected(0, i), out.selected(0, i), rounded(ctx), i * out.shape[1]);
  }
}

void addmm(KernelContext& ctx) {
  const View out = ctx.output();
  const Factors factors = read_factors(ctx.input("mat1"), ctx.input("mat2"), ctx.call.scalar("alpha"));
  product_of(ctx, factors.a, factors.b, out,
             added(ctx, ctx.input("self").broadcast_to(out.shape), ctx.call.scalar("alpha"),
                   ctx.call.scalar("beta")));
}

void baddbmm(KernelContext& ctx) {
  const View a = ctx.input("batch1"), b = ctx.input("batch2"), out = ctx.output();
  const View self = ctx.input("self").broadcast_to(out.shape);
  const Matrices matrices = matrices_of(ctx, out);
  for (int64_t i = matrices.first; i < matrices.end; ++i) {
    const Factors factors = read_factors(a.selected(0, i), b.selected(0, i), ctx.call.scalar("alpha"));
    product_of(ctx, factors.a, factors.b, out.selected(0, i),
               added(ctx, self.selected(0, i), ctx.call.scalar("alpha"), ctx.call.scalar("beta")),
               i * out.shape[1]);
  }
}

// The call with its integers as fp32: what implicit_integer_downcast permits.
void through_floats(KernelContext& ctx) {
  Composition c(ctx);
  std::vector<NamedArgument> arguments = c.arguments();
  for (NamedArgument& argument : arguments) {
    if (auto* value = std::get_if<ValueArg>(&argument.value)) value->id = c.cast(value->id, DType::f32);
  }
  const std::string op = ctx.call.op().substr(std::string_view("aten::").size());
  // By way of i64: conversion of floats to i32 saturates, products wrap.
  const ValueId whole = c.cast(c.node(op, std::move(arguments)), DType::i64);
  c.builder.output(c.cast(whole, ctx.call.output(0).dtype));
  c.run();
}

Kernel product(void (*exact)(KernelContext&)) {
  return [exact](KernelContext& ctx) {
    const DType dtype = ctx.call.output(0).dtype;
    const bool wide = dtype == DType::i32 || dtype == DType::i64;
    (wide && ctx.options.integer_downcast ? through_floats : exact)(ctx);
  };
}

}  // namespace

void register_matmul(KernelTable& table) {
  table.add("aten::mm.default", product(mm));
  table.add("aten::bmm.default", product(bmm));
  table.add("aten::addmm.default", product(addmm));
  table.add("aten::baddbmm.default", product(baddbmm));
}

}  // namespace assay::backend
