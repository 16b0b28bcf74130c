// Attention of a vision transformer's block as one kernel. docs/custom_kernel.md walks through it.
#include <algorithm>
#include <array>
#include <cstddef>

#include "backend/kernels/custom.h"

namespace assay::backend {
namespace {

// 1. What to look for in a graph in bf16, whose softmax is in fp32: q, k and v as the projections leave them,
// [batch, tokens, heads, depth]. What graphs hold besides (view, expand, clone of equal shapes) changes no
// element and is looked through.
Pattern attention_pattern() {
  Pattern p("vit_attention");
  const PatternValue q = p.input("q"), k = p.input("k"), v = p.input("v");
  const PatternValue scale = p.attribute("scale", "float");
  const auto permuted = [&](PatternValue x, std::vector<int64_t> dims) {
    return p.call("aten::permute.default", {{"self", x}, {"dims", IntListArg{std::move(dims), {}}}});
  };
  const PatternValue queries = permuted(q, {0, 2, 1, 3});
  const PatternValue keys = permuted(permuted(k, {0, 2, 1, 3}), {0, 1, 3, 2});
  const PatternValue values = permuted(v, {0, 2, 1, 3});
  const PatternValue scores = p.call("aten::bmm.default", {{"self", queries}, {"mat2", keys}});
  const PatternValue scaled = p.call("aten::mul.Tensor", {{"self", scores}, {"other", scale}});
  const auto cast = [&](PatternValue x, DType dtype) {
    return p.call("aten::_to_copy.default", {{"self", x}, {"dtype", DTypeArg{dtype}}});
  };
  const PatternValue softmax =
      p.call("aten::_softmax.default",
             {{"self", cast(scaled, DType::f32)}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  const PatternValue weights = cast(softmax, DType::bf16);
  const PatternValue context = p.call("aten::bmm.default", {{"self", weights}, {"mat2", values}});
  p.returns(permuted(context, {0, 2, 1, 3}));
  return p;
}

// 2. Which calls the kernel takes; all others are left to the device's own kernels.
bool accepts(const OpCall& call, const CoreDescription& core) {
  const TensorMeta& q = call.input(call.tensor("q"));
  if (!(q == call.input(call.tensor("k"))) || !(q == call.input(call.tensor("v"))) || q.shape.size() != 4)
    return false;
  const int64_t tokens = q.shape[1], heads = q.shape[2], depth = q.shape[3];
  // Some heads fill the 128 partitions; all scores of a row fit into a bank of PSUM.
  const bool fits = (depth == 32 || depth == 64 || depth == 128) && heads * depth % kPartitions == 0 &&
                    heads * depth <= 4096 && tokens > 0 && tokens * 4 <= kPsumBankBytes;
  return core.exact_transpose && q.dtype == DType::bf16 && fits;
}

// Tiles that are used in turn, so that a head can begin while the one before still uses its own.
template <std::size_t N>
class Turn {
 public:
  template <typename Make>
  explicit Turn(const Make& make) {
    for (AccessPattern& tile : tiles_) tile = make();
  }
  const AccessPattern& next() { return tiles_[at_++ % N]; }

 private:
  std::array<AccessPattern, N> tiles_;
  std::size_t at_ = 0;
};

// 3. The instructions.
class VitAttention {
 public:
  explicit VitAttention(KernelContext& ctx)
      : b_(ctx.b),
        shape_(ctx.output().shape),
        dtype_(ctx.output().dtype),
        tokens_(shape_[1]),
        depth_(shape_[3]),
        width_(shape_[2] * shape_[3]),
        tiles_((tokens_ + kPartitions - 1) / kPartitions),
        scale_(static_cast<float>(ctx.call.floating("scale"))),
        q_(ctx.input("q")),
        k_(ctx.input("k")),
        v_(ctx.input("v")),
        y_(ctx.output()) {}

  void write() {
    for (int64_t item = 0; item < shape_[0]; ++item) {
      const AccessPattern q = rows(q_, item), k = rows(k_, item), v = rows(v_, item);
      const AccessPattern y = b_.sbuf(dtype_, kPartitions, {tiles_, width_});
      for (int64_t column = 0; column < width_; column += kPartitions) {
        const AccessPattern queries = turned(q, column), keys = turned(k, column);
        for (int64_t at = 0; at < kPartitions; at += depth_) {
          const auto part = [&](const AccessPattern& x) {
            return x.partition_slice(static_cast<int>(at), static_cast<int>(depth_));
          };
          for (int64_t t = 0; t < tiles_; ++t) head(part(queries), part(keys), v, y, column + at, t);
        }
      }
      for (int64_t t = 0; t < tiles_; ++t) {
        b_.dma_copy(in_hbm(y_, item, t), y.select(0, t).partition_slice(0, count(t)));
      }
    }
  }

 private:
  int count(int64_t tile) const {
    return static_cast<int>(std::min(kPartitions, tokens_ - tile * kPartitions));
  }
  AccessPattern in_hbm(const View& x, int64_t item, int64_t tile) const {
    return hbm_tile(x.dtype, x.tensor, x.offset + (item * tokens_ + tile * kPartitions) * width_, count(tile),
                    width_, {width_}, {1});
  }
  // Tokens on partitions, as they lie in HBM: long pieces, no element by itself.
  AccessPattern rows(const View& x, int64_t item) {
    const AccessPattern out = b_.sbuf(dtype_, kPartitions, {tiles_, width_});
    for (int64_t t = 0; t < tiles_; ++t)
      b_.dma_copy(out.select(0, t).partition_slice(0, count(t)), in_hbm(x, item, t));
    return out;
  }
  // 128 columns of them on partitions, turned by the Tensor engine: what a product contracts over.
  AccessPattern turned(const AccessPattern& x, int64_t column) {
    const AccessPattern& bank = turning_.next();
    for (int64_t t = 0; t < tiles_; ++t) {
      b_.nc_transpose(bank.slice(0, t * kPartitions, count(t)),
                      x.select(0, t).partition_slice(0, count(t)).slice(0, column, kPartitions));
    }
    const AccessPattern& out = turned_.next();
    b_.tensor_copy(out, bank.slice(0, 0, tokens_));
    return out;
  }

  // softmax(scale q k') v of one head and 128 queries.
  void head(const AccessPattern& queries, const AccessPattern& keys, const AccessPattern& v,
            const AccessPattern& y, int64_t column, int64_t tile) {
    const int n = count(tile);
    const auto of = [&](const AccessPattern& x) { return x.partition_slice(0, n); };
    const AccessPattern scores = of(scores_.next()), largest = of(column_.next()), bias = of(column_.next());
    b_.nc_matmul(scores, queries.slice(0, tile * kPartitions, n), keys, false);
    b_.tensor_reduce(largest.select(0, 0), scores, AluOp::max);
    b_.tensor_scalar(bias, largest, AluOp::multiply, -scale_);
    // exp(scale * score - scale * largest) and the sum of a row, in one instruction.
    const AccessPattern weights = of(weights_.next()), sum = of(column_.next());
    ActivationOptions options;
    options.scale = scale_;
    options.bias = bias;
    options.reduce = sum;
    b_.activation(weights, scores, Activation::exp, options);
    // Keys on partitions, for the product with the values, which lie so already.
    const AccessPattern &bank = turning_weights_.next(), &turned = turned_weights_.next();
    const AccessPattern context = of(context_.next());
    for (int64_t t = 0; t < tiles_; ++t) {
      const AccessPattern to = bank.partition_slice(0, count(t)).slice(0, t * kPartitions, n);
      const AccessPattern key_rows = turned.partition_slice(0, count(t)).slice(0, t * kPartitions, n);
      b_.nc_transpose(to, weights.slice(0, t * kPartitions, count(t)));
      if (t % 2 == 0) {
        b_.activation(key_rows, to, Activation::copy);
      } else {
        b_.tensor_copy(key_rows, to);
      }
      b_.nc_matmul(context, key_rows, v.select(0, t).partition_slice(0, count(t)).slice(0, column, depth_),
                   t > 0);
    }
    b_.tensor_scalar(of(y).select(0, tile).slice(0, column, depth_), context, AluOp::divide, sum);
  }

  AccessPattern bank(DType dtype, int64_t columns) { return b_.psum(dtype, kPartitions, {columns}); }
  AccessPattern tile(DType dtype, int64_t columns) { return b_.sbuf(dtype, kPartitions, {columns}); }

  ProgramBuilder& b_;
  Shape shape_;
  DType dtype_;
  int64_t tokens_, depth_, width_, tiles_;
  float scale_;
  View q_, k_, v_, y_;
  Turn<2> turning_{[&] { return bank(dtype_, tiles_ * kPartitions); }};
  Turn<2> scores_{[&] { return bank(DType::f32, tokens_); }};
  Turn<2> turning_weights_{[&] { return bank(dtype_, tiles_ * kPartitions); }};
  Turn<2> context_{[&] { return bank(DType::f32, depth_); }};
  Turn<4> turned_{[&] { return tile(dtype_, tokens_); }};
  Turn<4> weights_{[&] { return tile(dtype_, tokens_); }};
  Turn<4> turned_weights_{[&] { return tile(dtype_, tiles_ * kPartitions); }};
  Turn<12> column_{[&] { return tile(DType::f32, 1); }};
};

}  // namespace

// 4. The name follows the file's: assay_trainium_kernels() calls it.
void register_vit_attention(CustomKernels& kernels) {
  kernels.fuse(
      attention_pattern(), [](KernelContext& ctx) { VitAttention(ctx).write(); }, accepts);
}

}  // namespace assay::backend
