// assay::muon_orthogonalize (formula: core/opset/rules/muon.cpp): products of X with itself.
//
// X is [m, n], m <= n, and lies in HBM as it is and turned. Of A = X X^T and B = b A + c A A, which are
// symmetric, tiles on and above the diagonal are computed and the others are those turned; both are their own
// stationary operand, so no load is turned. X = a X + B X.
#include <algorithm>

#include "backend/kernels/composed.h"
#include "backend/kernels/gemm.h"
#include "core/decompose/decompose.h"

namespace assay::backend {
namespace {

// A matrix in HBM, row-major.
struct MuonMatrix {
  int32_t tensor;
  int64_t rows, columns;
};

class NewtonSchulz {
 public:
  explicit NewtonSchulz(KernelContext& ctx) : ctx_(ctx), b_(ctx.b) {
    const TensorMeta& self = ctx.call.input(ctx.call.tensor("self"));
    dtype_ = self.dtype;
    tall_ = self.shape[0] > self.shape[1];
    rows_ = std::min(self.shape[0], self.shape[1]);
    columns_ = std::max(self.shape[0], self.shape[1]);
  }

  bool fits() const {
    const bool known = dtype_ == DType::f32 || dtype_ == DType::bf16 || dtype_ == DType::f16;
    return known && rows_ > 0 && ctx_.call.integer("steps") > 0 && strip_columns() > 0;
  }

  void run() {
    const int64_t steps = ctx_.call.integer("steps");
    const int64_t count = rows_ * columns_;
    MuonMatrix x[2], turned[2];
    for (int i = 0; i < 2; ++i) {
      x[i] = {b_.scratch("x", dtype_, count), rows_, columns_};
      turned[i] = {b_.scratch("x turned", dtype_, count), columns_, rows_};
    }
    const MuonMatrix a{b_.scratch("a", dtype_, rows_ * rows_), rows_, rows_};
    const MuonMatrix b{b_.scratch("b", dtype_, rows_ * rows_), rows_, rows_};
    normalise(x[0].tensor);
    turn(x[0], turned[0]);
    for (int64_t step = 0; step < steps; ++step) {
      const int from = static_cast<int>(step % 2), to = 1 - from;
      const bool last = step + 1 == steps;
      if (last) (tall_ ? turned : x)[to].tensor = ctx_.outputs[0];
      product(turned[from], turned[from], a, a, 0, 1);
      product(a, a, b, b, ctx_.call.floating("b"), ctx_.call.floating("c"));
      const MuonMatrix none{-1, 0, 0};
      product(b, x[from], last && tall_ ? none : x[to], last && !tall_ ? none : turned[to],
              ctx_.call.floating("a"), 1);
    }
  }

 private:
  // Columns of the moving operand that stay in SBUF with all their rows, with as many as one product needs of
  // the stationary one, which is loaded again for each such strip; 0 if they do not fit. Three banks of PSUM
  // are left to what is turned.
  int64_t strip_columns() const {
    const int64_t tiles = (columns_ + kPartitions - 1) / kPartitions;
    const auto bytes = static_cast<int64_t>(size_of(dtype_));
    for (const int64_t columns : {5 * kBank, 4 * kBank, 2 * kBank, kBank}) {
      if (tiles * (columns + 2 * kPartitions) * bytes + 4 * columns * 4 <= b_.sbuf_free_bytes())
        return columns;
    }
    return 0;
  }

  // self / (|self| + eps), by the kernels of those operators.
  void normalise(int32_t to) {
    KernelContext part{ctx_.call, b_, ctx_.options, ctx_.inputs, {to}};
    Composition c(part);
    const ValueId wide = c.cast(c.input("self"), DType::f32);
    const double eps = ctx_.call.floating("eps");
    const ValueId norm = c.node("linalg_vector_norm", {{"self", ValueArg{wide}}, {"ord", int64_t{2}}});
    const ValueId divisor =
        ctx_.call.boolean("clamp_norm") ? c.clamp(norm, eps, NoneArg{}) : c.binary("add.Tensor", norm, eps);
    ValueId x = c.cast(c.binary("div.Tensor", wide, ValueArg{divisor}), dtype_);
    if (tall_) x = c.node("permute", {{"self", ValueArg{x}}, {"dims", IntListArg{{1, 0}, {}}}});
    c.builder.output(x);
    Graph graph = c.builder.build();
    decompose(graph);
    c.run(graph);
  }

  AccessPattern hbm(const MuonMatrix& x, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    return hbm_tile(dtype_, x.tensor, row * x.columns + column, static_cast<int>(rows), x.columns, {columns},
                    {1});
  }

  void turn(const MuonMatrix& from, const MuonMatrix& to) {
    for (int64_t row = 0; row < from.rows; row += kPartitions) {
      const int64_t rows = std::min(kPartitions, from.rows - row);
      for (int64_t column = 0; column < from.columns; column += kBank) {
        const ProgramBuilder::Mark mark = b_.mark();
        const int64_t columns = std::min(kBank, from.columns - column);
        const AccessPattern tile = b_.sbuf(dtype_, static_cast<int>(rows), {columns});
        b_.dma_copy(tile, hbm(from, row, rows, column, columns));
        store_turned(tile, to, row, column);
        b_.release(mark);
      }
    }
  }

  // tile[r, c], which belongs to row + r and column + c, to `to`[column + c, row + r].
  void store_turned(const AccessPattern& tile, const MuonMatrix& to, int64_t row, int64_t column) {
    const int rows = tile.partitions;
    for (int64_t c = 0; c < tile.sizes[0]; c += kPartitions) {
      const ProgramBuilder::Mark mark = b_.mark();
      const auto count = static_cast<int>(std::min<int64_t>(kPartitions, tile.sizes[0] - c));
      const AccessPattern turned = b_.psum(b_.core().exact_transpose ? dtype_ : DType::f32, count, {rows});
      b_.nc_transpose(turned, tile.slice(0, c, count));
      const AccessPattern copy = b_.sbuf(dtype_, count, {rows});
      b_.tensor_copy(copy, turned, Engine::scalar);
      b_.dma_copy(hbm(to, column + c, count, row, rows), copy);
      b_.release(mark);
    }
  }

  // Rows of x by tiles of 128, `columns` of their columns: each tile [rows, columns].
  std::vector<AccessPattern> strip(const MuonMatrix& x, int64_t column, int64_t columns) {
    std::vector<AccessPattern> tiles;
    const int64_t full = x.rows / kPartitions, rest = x.rows % kPartitions;
    const auto load = [&](int64_t first, int64_t count, int64_t rows) {
      const AccessPattern all = b_.sbuf(dtype_, static_cast<int>(rows), {count, columns});
      b_.dma_copy(all,
                  hbm_tile(dtype_, x.tensor, first * kPartitions * x.columns + column, static_cast<int>(rows),
                           x.columns, {count, columns}, {kPartitions * x.columns, 1}));
      for (int64_t t = 0; t < count; ++t) tiles.push_back(all.select(0, t));
    };
    if (full > 0) load(0, full, kPartitions);
    if (rest > 0) load(full, 1, rest);
    return tiles;
  }

  // out = beta right + alpha left^T right, and `turned` is it turned. Where both are one matrix the product
  // is symmetric: left^T right of equal operands, or of symmetric ones that commute.
  void product(const MuonMatrix& left, const MuonMatrix& right, const MuonMatrix& out,
               const MuonMatrix& turned, double beta, double alpha) {
    const bool symmetric = left.tensor == right.tensor;
    const int64_t width = strip_columns();
    for (int64_t n0 = 0; n0 < right.columns; n0 += width) {
      const ProgramBuilder::Mark mark = b_.mark();
      const int64_t nn = std::min(width, right.columns - n0);
      const std::vector<AccessPattern> moving = strip(right, n0, nn);
      const int64_t rows = symmetric ? std::min(left.columns, n0 + nn) : left.columns;
      for (int64_t m0 = 0; m0 < rows; m0 += kPartitions) {
        const ProgramBuilder::Mark inner = b_.mark();
        const int64_t mm = std::min(kPartitions, left.columns - m0);
        const std::vector<AccessPattern> stationary = strip(left, m0, mm);
        const int64_t skipped = symmetric ? std::max<int64_t>(m0 - n0, 0) : 0;
        std::vector<std::pair<int64_t, AccessPattern>> sums;  // by bank: first column of the strip
        for (int64_t c = skipped; c < nn; c += kBank) {
          sums.emplace_back(c, b_.psum(DType::f32, static_cast<int>(mm), {std::min(kBank, nn - c)}));
        }
        for (std::size_t t = 0; t < moving.size(); ++t) {
          for (const auto& [c, sum] : sums)
            b_.nc_matmul(sum, stationary[t], moving[t].slice(0, c, sum.sizes[0]), t > 0);
        }
        for (const auto& [c, sum] : sums) {
          const AccessPattern result = b_.sbuf(dtype_, sum.partitions, {sum.sizes[0]});
          finish(result, sum, moving, m0, c, beta, alpha);
          if (out.tensor >= 0) b_.dma_copy(hbm(out, m0, mm, n0 + c, sum.sizes[0]), result);
          if (turned.tensor < 0) continue;
          // The diagonal tile holds both halves.
          const int64_t own = symmetric && n0 + c == m0 ? mm : 0;
          if (own < sum.sizes[0])
            store_turned(result.slice(0, own, sum.sizes[0] - own), turned, m0, n0 + c + own);
        }
        b_.release(inner);
      }
      b_.release(mark);
    }
  }

  // The strip's tile of rows m0 .. is what beta multiplies.
  void finish(const AccessPattern& result, const AccessPattern& sum, const std::vector<AccessPattern>& moving,
              int64_t m0, int64_t column, double beta, double alpha) {
    if (beta == 0 && alpha == 1) return b_.tensor_copy(result, sum);
    AccessPattern scaled = sum;
    if (alpha != 1) {
      scaled = b_.sbuf(DType::f32, sum.partitions, {sum.sizes[0]});
      b_.tensor_scalar(scaled, sum, AluOp::multiply, static_cast<float>(alpha), false, AluOp::none, 0.0f,
                       false, Engine::scalar);
    }
    const AccessPattern own =
        moving[static_cast<std::size_t>(m0 / kPartitions)].slice(0, column, sum.sizes[0]);
    b_.scalar_tensor_tensor(result, own, AluOp::multiply, static_cast<float>(beta), AluOp::add, scaled);
  }

  static constexpr int64_t kBank = 512;  // fp32 numbers of a PSUM bank

  KernelContext& ctx_;
  ProgramBuilder& b_;
  DType dtype_ = DType::f32;
  bool tall_ = false;
  int64_t rows_ = 0, columns_ = 0;
};

void muon_orthogonalize(KernelContext& ctx) {
  NewtonSchulz kernel(ctx);
  if (kernel.fits()) return kernel.run();
  run_decomposition(ctx);
}

}  // namespace

void register_muon(KernelTable& table) { table.add("assay::muon_orthogonalize.default", muon_orthogonalize); }

}  // namespace assay::backend
