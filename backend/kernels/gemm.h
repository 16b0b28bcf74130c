// Tiled matrix product on the Tensor engine (integers: on GpSimd), shared by mm, bmm, addmm and baddbmm.
#pragma once

#include <functional>

#include "backend/kernels/tiles.h"

namespace assay::backend {

// Operand of the Tensor engine: f32 is rounded to CompileOptions::matmult_cast where that is set. Keeps the
// tile's sizes.
AccessPattern matmul_operand(KernelContext& ctx, const AccessPattern& tile);

// The dtypes that the Tensor engine multiplies; throws Unsupported for others.
void require_matmul_dtype(const KernelContext& ctx, DType dtype);

// Rows m0 .. m0+m-1, columns n0 .. n0+n-1 of the product lie in `sum` [m, n], fp32; writes `out` [m, n].
struct ProductTile {
  int64_t m0, n0;
  AccessPattern sum, out;
};
using Epilogue = std::function<void(const ProductTile&)>;

// out[M, N] = epilogue(a[M, K] b[K, N]); any strides, any sizes, K = 0 gives zeros. fp32 accumulation in
// ascending order of k. In a region (region.h), `first_row` is the number of out's first row; a's rows may be
// held by the region, which asks for exact transposes on the device.
void gemm(KernelContext& ctx, const View& a, const View& b, const View& out, const Epilogue& epilogue,
          int64_t first_row = 0);

// The same of integers of out's dtype, modulo 2^w, on GpSimd; `sum` has out's dtype.
void integer_gemm(KernelContext& ctx, const View& a, const View& b, const View& out,
                  const Epilogue& epilogue);

}  // namespace assay::backend
