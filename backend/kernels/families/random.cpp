// Random operators: words of Philox from GpSimd (isa/gpsimd.md), one stream a node, keyed by the device's
// seed and the node's name. Floats have as many random digits as their dtype holds, so that rounding cannot
// reach the upper end of [0, 1).
#include <cmath>
#include <numbers>

#include "backend/kernels/tiles.h"

namespace assay::backend {
namespace {

int digits_of(DType dtype) { return is_float(dtype) ? std::min(24, float_format(dtype).precision) : 24; }

// Streams of one node: each tile takes the words that follow those of the one before.
class Words {
 public:
  explicit Words(KernelContext& ctx) : ctx_(ctx) {}

  AccessPattern next(int partitions, int64_t free) {
    const AccessPattern words = ctx_.b.sbuf(DType::i32, partitions, {free});
    ctx_.b.philox(words, ctx_.options.draw_key, ctx_.options.draw_seed, next_);
    next_ += partitions * free;
    return words;
  }

  // The upper `digits` bits as integers, then times 2^-digits plus `shift`: fp32, exact.
  AccessPattern uniform(int partitions, int64_t free, int digits, float shift = 0) {
    const AccessPattern words = next(partitions, free);
    const AccessPattern bits = ctx_.b.sbuf(DType::i32, partitions, {free});
    ctx_.b.tensor_scalar_int(bits, words, AluOp::shift_right, 32 - digits, false, AluOp::bitwise_and,
                             (int64_t{1} << digits) - 1);
    const AccessPattern u = converted(ctx_, bits, DType::f32);
    const AccessPattern out = ctx_.b.sbuf(DType::f32, partitions, {free});
    ctx_.b.tensor_scalar(out, u, AluOp::multiply, std::ldexp(1.0f, -digits), false, AluOp::add, shift);
    return out;
  }

  // sqrt(-2 log u) cos(2 pi v), u in (0, 1).
  AccessPattern normal(int partitions, int64_t free) {
    const AccessPattern u = uniform(partitions, free, 24, 0x1p-25f);
    const AccessPattern v = uniform(partitions, free, 24);
    const AccessPattern log2 = ctx_.b.sbuf(DType::f32, partitions, {free});
    ctx_.b.math(log2, u, MathFunction::log2);
    const AccessPattern radius = ctx_.b.sbuf(DType::f32, partitions, {free});
    ctx_.b.tensor_scalar(radius, log2, AluOp::multiply, static_cast<float>(-2 * std::numbers::ln2));
    activate(ctx_, radius, radius, Activation::sqrt);
    const AccessPattern turn = ctx_.b.sbuf(DType::f32, partitions, {free});
    ctx_.b.tensor_scalar(turn, v, AluOp::multiply, static_cast<float>(2 * std::numbers::pi));
    ctx_.b.math(turn, turn, MathFunction::cos);
    const AccessPattern out = ctx_.b.sbuf(DType::f32, partitions, {free});
    ctx_.b.tensor_tensor(out, radius, turn, AluOp::multiply);
    return out;
  }

 private:
  KernelContext& ctx_;
  int64_t next_ = 0;
};

// Each tile of the result, written by `body` from an fp32 or integer tile that it draws.
using Draw = std::function<AccessPattern(Words&, int partitions, int64_t free)>;
void fill_with(KernelContext& ctx, const Draw& draw) {
  const View out = ctx.output();
  if (out.count() == 0) return;
  Words words(ctx);
  const View views[] = {out};
  for_each_tile(ctx, views, kTileFree / 2, [&](const Tile& tile) {
    ctx.b.dma_copy(tile.hbm[0], converted(ctx, draw(words, tile.partitions, tile.free), out.dtype));
  });
}

void between(KernelContext& ctx, double from, double to) {
  const int digits = digits_of(ctx.output().dtype);
  fill_with(ctx, [&](Words& words, int partitions, int64_t free) {
    const AccessPattern u = words.uniform(partitions, free, digits);
    if (from == 0 && to == 1) return u;
    ctx.b.tensor_scalar(u, u, AluOp::multiply, static_cast<float>(to - from), false, AluOp::add,
                        static_cast<float>(from));
    return u;
  });
}

void rand(KernelContext& ctx) { between(ctx, 0, 1); }
void uniform(KernelContext& ctx) { between(ctx, ctx.call.floating("from"), ctx.call.floating("to")); }

void gaussian(KernelContext& ctx, double mean, double deviation) {
  fill_with(ctx, [&](Words& words, int partitions, int64_t free) {
    const AccessPattern z = words.normal(partitions, free);
    if (mean != 0 || deviation != 1) {
      ctx.b.tensor_scalar(z, z, AluOp::multiply, static_cast<float>(deviation), false, AluOp::add,
                          static_cast<float>(mean));
    }
    return z;
  });
}
void randn(KernelContext& ctx) { gaussian(ctx, 0, 1); }
void normal(KernelContext& ctx) { gaussian(ctx, ctx.call.floating("mean"), ctx.call.floating("std")); }

// -log(u) / lambda.
void exponential(KernelContext& ctx) {
  const double factor = -std::numbers::ln2 / ctx.call.floating("lambd");
  fill_with(ctx, [&](Words& words, int partitions, int64_t free) {
    const AccessPattern u = words.uniform(partitions, free, 24, 0x1p-25f);
    ctx.b.math(u, u, MathFunction::log2);
    ctx.b.tensor_scalar(u, u, AluOp::multiply, static_cast<float>(factor));
    return u;
  });
}

// 1.0 where u < p: exact for p = 0 and p = 1.
AccessPattern chance(KernelContext& ctx, Words& words, int partitions, int64_t free, double p) {
  const AccessPattern u = words.uniform(partitions, free, 24);
  ctx.b.tensor_scalar(u, u, AluOp::is_lt, static_cast<float>(p));
  return u;
}
void bernoulli(KernelContext& ctx) {
  const double p = ctx.call.floating("p");
  fill_with(ctx, [&](Words& words, int partitions, int64_t free) {
    return chance(ctx, words, partitions, free, p);
  });
}

// low + floor(word (high - low) / 2^32), in 64-bit integers.
void randint(KernelContext& ctx) {
  const int64_t low = ctx.call.schema().find("low") != nullptr ? ctx.call.integer("low") : 0;
  const int64_t width = ctx.call.integer("high") - low;
  if (width > (int64_t{1} << 31)) ctx.unsupported(ASSAY_REASON_ARGUMENT, "high: more than 2^31 numbers");
  fill_with(ctx, [&](Words& words, int partitions, int64_t free) {
    const AccessPattern drawn = words.next(partitions, free);
    const AccessPattern wide = ctx.b.sbuf(DType::i64, partitions, {free});
    ctx.b.cast(wide, drawn);
    ctx.b.tensor_scalar_int(wide, wide, AluOp::bitwise_and, 0xffffffff, false, AluOp::multiply, width);
    ctx.b.tensor_scalar_int(wide, wide, AluOp::shift_right, 32, false, AluOp::add, low);
    return wide;
  });
}

// The order that sorts random words, of one row.
void randperm(KernelContext& ctx) {
  const View out = ctx.output();
  const int64_t n = out.count();
  if (n == 0) return;
  if (n > kTileFree) ctx.unsupported(ASSAY_REASON_SHAPE, "n: the routine sorts at most 2048 elements");
  Words words(ctx);
  const AccessPattern keys = words.next(1, n);
  const AccessPattern sorted = ctx.b.sbuf(DType::i32, 1, {n}), order = ctx.b.sbuf(DType::i32, 1, {n});
  ctx.b.sort(sorted, order, keys, false);
  const View views[] = {out.reshaped({1, n})};
  for_each_tile(ctx, views, kTileFree,
                [&](const Tile& tile) { ctx.b.dma_copy(tile.hbm[0], converted(ctx, order, out.dtype)); });
}

// (x / (1 - p) where u < 1 - p, else 0; the mask). Dropped infinities give 0.
void native_dropout(KernelContext& ctx) {
  const View in = ctx.input("input"), out = ctx.output(0), mask = ctx.output(1);
  if (out.count() == 0) return;
  const double p = ctx.call.floating("p");
  const bool train = ctx.call.is_none("train") || ctx.call.boolean("train");
  const double keep = train ? 1 - p : 1, scale = train && p < 1 ? 1 / (1 - p) : 1;
  Words words(ctx);
  const View views[] = {in, out, mask};
  for_each_tile(ctx, views, kTileFree / 2, [&](const Tile& tile) {
    const AccessPattern x = load(ctx, tile.hbm[0], tile.partitions, tile.free);
    const AccessPattern kept = chance(ctx, words, tile.partitions, tile.free, keep);
    const AccessPattern y = ctx.b.sbuf(DType::f32, tile.partitions, {tile.free});
    ctx.b.tensor_scalar(y, x, AluOp::multiply, static_cast<float>(scale));
    const AccessPattern result = ctx.b.sbuf(out.dtype, tile.partitions, {tile.free});
    ctx.b.select(result, kept, y, 0.0f);
    ctx.b.dma_copy(tile.hbm[1], result);
    ctx.b.dma_copy(tile.hbm[2], converted(ctx, kept, DType::boolean));
  });
}

}  // namespace

void register_random(KernelTable& table) {
  table.add("aten::rand.default", rand);
  table.add("aten::rand_like.default", rand);
  table.add("aten::uniform.default", uniform);
  table.add("aten::randn.default", randn);
  table.add("aten::randn_like.default", randn);
  table.add("aten::normal_functional.default", normal);
  table.add("aten::exponential.default", exponential);
  table.add("aten::bernoulli.p", bernoulli);
  for (const char* name :
       {"randint.default", "randint.low", "randint_like.default", "randint_like.low_dtype"}) {
    table.add(std::string("aten::") + name, randint);
  }
  table.add("aten::randperm.default", randperm);
  table.add("aten::native_dropout.default", native_dropout);
}

}  // namespace assay::backend
