// Products of integer matrices: GpSimd multiplies a row of `a` by columns of `b` and adds, exactly.
#include <algorithm>

#include "backend/kernels/gemm.h"

namespace assay::backend {
namespace {

constexpr int64_t kRows = 128;
// Products a partition at a time.
constexpr int64_t kProducts = 2048;

}  // namespace

void integer_gemm(KernelContext& ctx, const View& a, const View& b, const View& out,
                  const Epilogue& epilogue) {
  const int64_t m = out.shape[0], n = out.shape[1], k = a.shape[1];
  if (m == 0 || n == 0) return;
  const int64_t depth = std::clamp<int64_t>(k, 1, 256), columns = std::min(n, kProducts / depth);
  const ProgramBuilder::Mark start = ctx.b.mark();
  for (int64_t m0 = 0; m0 < m; m0 += kRows) {
    const auto rows = static_cast<int>(std::min(kRows, m - m0));
    for (int64_t n0 = 0; n0 < n; n0 += columns) {
      const int64_t nn = std::min(columns, n - n0);
      const auto tile = [&](std::initializer_list<int64_t> sizes) {
        return ctx.b.sbuf(out.dtype, rows, sizes);
      };
      const AccessPattern sum = tile({nn}), part = tile({nn}), result = tile({nn});
      if (k == 0) ctx.b.memset_int(sum, 0, Engine::gpsimd);
      for (int64_t k0 = 0; k0 < k; k0 += depth) {
        const int64_t kk = std::min(depth, k - k0);
        const ProgramBuilder::Mark mark = ctx.b.mark();
        const AccessPattern left = tile({kk}), right = tile({nn, kk});
        ctx.b.dma_copy(left, hbm_tile(a.dtype, a.tensor, a.offset + m0 * a.strides[0] + k0 * a.strides[1],
                                      rows, a.strides[0], {kk}, {a.strides[1]}));
        // Every partition reads the same part of b.
        ctx.b.dma_copy(right, hbm_tile(b.dtype, b.tensor, b.offset + k0 * b.strides[0] + n0 * b.strides[1],
                                       rows, 0, {nn, kk}, {b.strides[1], b.strides[0]}));
        ctx.b.tensor_tensor(right, right, left.unsqueezed(0, nn), AluOp::multiply, Engine::gpsimd);
        ctx.b.tensor_reduce(k0 == 0 ? sum : part, right, AluOp::add, 1, false, Engine::gpsimd);
        if (k0 > 0) ctx.b.tensor_tensor(sum, sum, part, AluOp::add, Engine::gpsimd);
        ctx.b.release(mark);
      }
      epilogue({m0, n0, sum, result});
      ctx.b.dma_copy(hbm_tile(out.dtype, out.tensor, out.offset + m0 * out.strides[0] + n0 * out.strides[1],
                              rows, out.strides[0], {nn}, {out.strides[1]}),
                     result);
      ctx.b.release(start);
    }
  }
}

}  // namespace assay::backend
