// Attention in the manner of FlashAttention: 128 queries stay on the partitions while blocks of 512 keys pass
// by, an online softmax keeps the largest score, the sum and the weighted values so far.
#include <algorithm>
#include <limits>

#include "backend/kernels/gemm.h"
#include "core/opset/attention.h"

namespace assay::backend {
namespace {

constexpr int64_t kQueries = 128;
constexpr int64_t kKeys = 512;   // of a block: one PSUM bank of scores
constexpr int64_t kWidth = 512;  // of values a product
constexpr int64_t kContraction = 128;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Extra { none, weights, logsumexp };

// A matrix of an operand, row-major.
struct Matrix {
  int32_t tensor;
  DType dtype;
  int64_t offset, columns;
};

class Attention {
 public:
  Attention(KernelContext& ctx, Extra extra)
      : ctx_(ctx), b_(ctx.b), a_(attention_call(ctx.call)), extra_(extra) {
    dtype_ = ctx.call.input(a_.query).dtype;
    if (a_.mask) {
      Shape scores = a_.batch;
      scores.insert(scores.end(), {a_.rows, a_.keys});
      mask_ = ctx.input(*a_.mask).broadcast_to(scores);
    }
  }

  void run() {
    for (int64_t m = 0; m < a_.matrices(); ++m) {
      query_ = matrix(a_.query, m, a_.rows, a_.depth);
      key_ = matrix(a_.key, m, a_.keys, a_.depth);
      value_ = matrix(a_.value, m, a_.keys, a_.width);
      if (a_.mask) select_mask(m);
      for (int64_t q = 0; q < a_.rows; q += kQueries) {
        const ProgramBuilder::Mark mark = b_.mark();
        queries(m, q, std::min(kQueries, a_.rows - q));
        b_.release(mark);
      }
    }
  }

 private:
  Matrix matrix(int input, int64_t index, int64_t rows, int64_t columns) const {
    const View view = ctx_.input(input);
    const Shape leading(view.shape.begin(), view.shape.end() - 2);
    return {view.tensor, view.dtype, matrix_of(leading, a_.batch, index) * rows * columns, columns};
  }

  void select_mask(int64_t index) {
    mask_offset_ = mask_.offset;
    for (std::size_t d = a_.batch.size(); d-- > 0; index /= a_.batch[d]) {
      mask_offset_ += index % a_.batch[d] * mask_.strides[d];
    }
  }

  AccessPattern column(int64_t partitions) { return b_.sbuf(DType::f32, static_cast<int>(partitions), {1}); }

  // Rows first .. first + count - 1 with their elements on partitions: tiles of 128 elements.
  std::vector<AccessPattern> turned(const Matrix& x, int64_t first, int64_t count) {
    std::vector<AccessPattern> tiles;
    for (int64_t e = 0; e < a_.depth; e += kContraction) {
      const int64_t n = std::min(kContraction, a_.depth - e);
      const AccessPattern tile = b_.sbuf(x.dtype, static_cast<int>(n), {count});
      b_.dma_copy(tile, hbm_tile(x.dtype, x.tensor, x.offset + first * x.columns + e, static_cast<int>(n), 1,
                                 {count}, {x.columns}));
      tiles.push_back(matmul_operand(ctx_, tile));
    }
    return tiles;
  }

  bool hidden_from_all(int64_t q, int64_t rows, int64_t k) const {
    return a_.diagonal && k > q + rows - 1 + *a_.diagonal;
  }

  // Scores of the block, scaled, capped and masked: fp32 [rows, keys].
  AccessPattern scores(int64_t q, int64_t rows, const std::vector<AccessPattern>& query, int64_t k,
                       int64_t keys) {
    AccessPattern s = b_.sbuf(DType::f32, static_cast<int>(rows), {keys});
    if (query.empty()) {
      b_.memset(s, 0.0f);
    } else {
      const AccessPattern product = b_.psum(DType::f32, static_cast<int>(rows), {keys});
      const std::vector<AccessPattern> key = turned(key_, k, keys);
      for (std::size_t t = 0; t < key.size(); ++t) b_.nc_matmul(product, query[t], key[t], t > 0);
      b_.tensor_scalar(s, product, AluOp::multiply, static_cast<float>(a_.scale));
    }
    if (a_.softcap > 0) {
      const auto cap = static_cast<float>(a_.softcap);
      b_.tensor_scalar(s, s, AluOp::divide, cap);
      b_.activation(s, s, Activation::tanh);
      b_.tensor_scalar(s, s, AluOp::multiply, cap);
    }
    if (a_.mask) s = masked(s, q, k);
    if (a_.diagonal && k + keys - 1 > q + *a_.diagonal) {
      const AccessPattern open = b_.sbuf(DType::f32, static_cast<int>(rows), {keys});
      const int64_t step[] = {-1};
      b_.affine_select(open, s, AluOp::is_ge, q + *a_.diagonal - k, 1, step, -kInfinity);
      s = open;
    }
    return s;
  }

  AccessPattern masked(const AccessPattern& s, int64_t q, int64_t k) {
    const int64_t keys = s.sizes[0];
    const int64_t row = mask_.strides[mask_.strides.size() - 2], step = mask_.strides.back();
    const AccessPattern mask = b_.sbuf(mask_.dtype, s.partitions, {keys});
    b_.dma_copy(mask, hbm_tile(mask_.dtype, mask_.tensor, mask_offset_ + q * row + k * step, s.partitions,
                               row, {keys}, {step}));
    const AccessPattern out = b_.sbuf(DType::f32, s.partitions, {keys});
    if (mask_.dtype == DType::boolean) {
      b_.select(out, mask, s, -kInfinity);
    } else {
      b_.tensor_tensor(out, s, mask, AluOp::add);
    }
    return out;
  }

  // Keys on partitions, ready to be multiplied. A transposition by an identity product would carry a NaN of
  // one query to all others; there the weights take the way through HBM.
  AccessPattern turned_weights(const AccessPattern& p, int64_t first, int64_t keys) {
    const AccessPattern part = p.slice(0, first, keys);
    const auto partitions = static_cast<int>(keys);
    const AccessPattern out = b_.sbuf(p.dtype, partitions, {p.partitions});
    if (b_.core().exact_transpose || ctx_.options.trusts_transpose) {
      const DType dtype = b_.core().exact_transpose ? p.dtype : DType::f32;
      const AccessPattern transposed = b_.psum(dtype, partitions, {p.partitions});
      b_.nc_transpose(transposed, part);
      b_.tensor_copy(out, transposed);
    } else {
      if (scratch_ < 0) scratch_ = b_.scratch("weights", p.dtype, kQueries * kContraction);
      b_.dma_copy(hbm_tile(p.dtype, scratch_, 0, p.partitions, keys, {keys}, {1}), part);
      b_.dma_copy(out, hbm_tile(p.dtype, scratch_, 0, partitions, 1, {p.partitions}, {keys}));
    }
    return matmul_operand(ctx_, out);
  }

  // sum = sum * factor + weights values; `factor` is absent for the first block.
  void add_values(const AccessPattern& sum, const std::optional<AccessPattern>& factor,
                  const AccessPattern& p, int64_t k) {
    const int64_t keys = p.sizes[0];
    std::vector<AccessPattern> turned;
    for (int64_t c = 0; c < keys; c += kContraction) {
      const int psum = b_.mark().psum_banks;
      turned.push_back(turned_weights(p, c, std::min(kContraction, keys - c)));
      b_.release({b_.mark().sbuf_bytes, psum});
    }
    for (int64_t w = 0; w < a_.width; w += kWidth) {
      const int64_t width = std::min(kWidth, a_.width - w);
      const ProgramBuilder::Mark mark = b_.mark();
      const AccessPattern product = b_.psum(DType::f32, p.partitions, {width});
      for (std::size_t t = 0; t < turned.size(); ++t) {
        const int rows = turned[t].partitions;
        const AccessPattern v = b_.sbuf(value_.dtype, rows, {width});
        const int64_t first = k + static_cast<int64_t>(t) * kContraction;
        b_.dma_copy(v, hbm_tile(value_.dtype, value_.tensor, value_.offset + first * a_.width + w, rows,
                                a_.width, {width}, {1}));
        b_.nc_matmul(product, turned[t], matmul_operand(ctx_, v), t > 0);
      }
      const AccessPattern part = sum.slice(0, w, width);
      if (factor) {
        b_.scalar_tensor_tensor(part, part, AluOp::multiply, *factor, AluOp::add, product);
      } else {
        b_.tensor_copy(part, product);
      }
      b_.release(mark);
    }
  }

  void queries(int64_t m, int64_t q, int64_t rows) {
    const auto partitions = static_cast<int>(rows);
    const AccessPattern largest = column(rows), sum = column(rows);
    const AccessPattern values = b_.sbuf(DType::f32, partitions, {std::max<int64_t>(a_.width, 1)});
    // Not -infinity: a row without an open key then has weights exp(-infinity) = 0 instead of NaN.
    b_.memset(largest, -std::numeric_limits<float>::max());
    b_.memset(sum, 0.0f);
    b_.memset(values, 0.0f);
    const std::vector<AccessPattern> query = turned(query_, q, rows);
    for (int64_t k = 0; k < a_.keys && !hidden_from_all(q, rows, k); k += kKeys) {
      const ProgramBuilder::Mark mark = b_.mark();
      const AccessPattern s = scores(q, rows, query, k, std::min(kKeys, a_.keys - k));
      const AccessPattern part = column(rows), now = column(rows), negative = column(rows);
      b_.tensor_reduce(part, s, AluOp::max);
      b_.tensor_tensor(now, largest, part, AluOp::max);
      b_.tensor_scalar(negative, now, AluOp::multiply, -1.0f);
      const AccessPattern p = b_.sbuf(dtype_, partitions, {s.sizes[0]});
      ActivationOptions options;
      options.bias = negative;
      std::optional<AccessPattern> factor;
      if (k > 0) {
        factor = column(rows);
        b_.activation(*factor, largest, Activation::exp, options);
      }
      options.reduce = part;
      b_.activation(p, s, Activation::exp, options);
      if (factor) {
        b_.scalar_tensor_tensor(sum, sum, AluOp::multiply, *factor, AluOp::add, part);
      } else {
        b_.tensor_copy(sum, part);
      }
      b_.tensor_copy(largest, now);
      if (a_.width > 0) add_values(values, factor, p, k);
      b_.release(mark);
    }
    finish(m, q, rows, query, largest, sum, values);
  }

  void finish(int64_t m, int64_t q, int64_t rows, const std::vector<AccessPattern>& query,
              const AccessPattern& largest, const AccessPattern& sum, const AccessPattern& values) {
    const auto partitions = static_cast<int>(rows);
    // At least the largest score's own weight, 1; 0 only where no key is open, and 0 / tiny = 0.
    const AccessPattern divisor = column(rows);
    b_.tensor_scalar(divisor, sum, AluOp::max, std::numeric_limits<float>::min());
    const int64_t first = m * a_.rows + q;
    if (a_.width > 0) {
      const AccessPattern out = b_.sbuf(dtype_, partitions, {a_.width});
      b_.tensor_scalar(out, values, AluOp::divide, divisor);
      b_.dma_copy(
          hbm_tile(dtype_, ctx_.output(0).tensor, first * a_.width, partitions, a_.width, {a_.width}, {1}),
          out);
    }
    if (extra_ == Extra::logsumexp) {
      const View lse = ctx_.output(1);
      const AccessPattern logarithm = column(rows), out = b_.sbuf(lse.dtype, partitions, {1});
      b_.activation(logarithm, sum, Activation::log);
      b_.tensor_tensor(out, logarithm, largest, AluOp::add);
      b_.dma_copy(hbm_tile(lse.dtype, lse.tensor, first, partitions, 1, {1}, {1}), out);
    } else if (extra_ == Extra::weights) {
      weights(first, q, rows, query, largest, divisor);
    }
  }

  void weights(int64_t first, int64_t q, int64_t rows, const std::vector<AccessPattern>& query,
               const AccessPattern& largest, const AccessPattern& divisor) {
    const View out = ctx_.output(1);
    const auto partitions = static_cast<int>(rows);
    ActivationOptions options;
    options.bias = column(rows);
    b_.tensor_scalar(*options.bias, largest, AluOp::multiply, -1.0f);
    for (int64_t k = 0; k < a_.keys; k += kKeys) {
      const ProgramBuilder::Mark mark = b_.mark();
      const int64_t keys = std::min(kKeys, a_.keys - k);
      const AccessPattern p = b_.sbuf(out.dtype, partitions, {keys});
      const AccessPattern s = scores(q, rows, query, k, keys);
      b_.activation(s, s, Activation::exp, options);
      b_.tensor_scalar(p, s, AluOp::divide, divisor);
      b_.dma_copy(hbm_tile(out.dtype, out.tensor, first * a_.keys + k, partitions, a_.keys, {keys}, {1}), p);
      b_.release(mark);
    }
  }

  KernelContext& ctx_;
  ProgramBuilder& b_;
  const AttentionCall a_;
  const Extra extra_;
  DType dtype_ = DType::f32;
  Matrix query_{}, key_{}, value_{};
  View mask_;
  int64_t mask_offset_ = 0;
  int32_t scratch_ = -1;
};

Kernel attention(Extra extra) {
  return [extra](KernelContext& ctx) {
    const DType dtype = ctx.call.input(ctx.call.tensor("query")).dtype;
    if (dtype != DType::f32 && dtype != DType::bf16 && dtype != DType::f16) {
      ctx.unsupported(ASSAY_REASON_DTYPE, "the device computes attention in f32, bf16 and f16, not in " +
                                              std::string(name_of(dtype)));
    }
    if (ctx.call.schema().find("dropout_p") != nullptr && ctx.call.floating("dropout_p") != 0) {
      ctx.unsupported(ASSAY_REASON_ARGUMENT, "dropout_p must be 0");
    }
    if (ctx.call.schema().find("dropout_mask") != nullptr && !ctx.call.is_none("dropout_mask")) {
      ctx.unsupported(ASSAY_REASON_ARGUMENT, "dropout_mask must be None");
    }
    Attention(ctx, extra).run();
  };
}

}  // namespace

void register_attention(KernelTable& table) {
  table.add("aten::scaled_dot_product_attention.default", attention(Extra::none));
  table.add("aten::_scaled_dot_product_attention_math.default", attention(Extra::weights));
  table.add("aten::_scaled_dot_product_flash_attention_for_cpu.default", attention(Extra::logsumexp));
  table.add("assay::scaled_dot_product_attention.default", attention(Extra::logsumexp));
}

}  // namespace assay::backend
