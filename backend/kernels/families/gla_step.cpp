// assay::gla_recurrent_step (core/opset/gla.h): one row of every head. Keys lie on partitions, so that decay
// and write are three whole-tile instructions for a group of heads; reads are products over the keys.
#include <algorithm>

#include "backend/kernels/composed.h"
#include "backend/kernels/gla.h"
#include "backend/kernels/tiles.h"
#include "core/opset/gla.h"

namespace assay::backend {
namespace {

class GlaStep {
 public:
  explicit GlaStep(KernelContext& ctx)
      : ctx_(ctx), b_(ctx.b), gla_(gla_step_call(ctx.call)), heads_(gla_.batch * gla_.heads) {
    // A group's state, what is written to it and values, twice each because they may be converted.
    const int64_t head = key_tiles() * gla_.value * 4 * 6 + 64;
    group_ = std::min(heads_, (b_.sbuf_free_bytes() - 8192) / head);
  }

  bool fits() const {
    const DType dtype = ctx_.call.input(ctx_.call.tensor("q")).dtype;
    return dtype != DType::f64 && group_ >= 1 && key_tiles() <= kBanks;
  }

  void run() {
    for (int64_t first = 0; first < heads_; first += group_) {
      const ProgramBuilder::Mark mark = b_.mark();
      group(first, std::min(group_, heads_ - first));
      b_.release(mark);
    }
  }

 private:
  static constexpr int64_t kBanks = 8;
  static constexpr int64_t kWidth = 512;  // values of one product: a PSUM bank

  int64_t key_tiles() const { return (gla_.key + kPartitions - 1) / kPartitions; }

  // Keys key .. of heads first .. on partitions: [keys, heads].
  AccessPattern keys(std::string_view name, int64_t first, int64_t count, int64_t key, int partitions) {
    const View x = ctx_.input(name);
    const AccessPattern tile = b_.sbuf(x.dtype, partitions, {count});
    b_.dma_copy(tile,
                hbm_tile(x.dtype, x.tensor, first * gla_.key + key, partitions, 1, {count}, {gla_.key}));
    return converted(ctx_, tile, DType::f32);
  }

  // State or next state: [keys, heads, V].
  AccessPattern state_hbm(int32_t tensor, DType dtype, int64_t first, int64_t count, int64_t key,
                          int partitions) const {
    return hbm_tile(dtype, tensor, (first * gla_.key + key) * gla_.value, partitions, gla_.value,
                    {count, gla_.value}, {gla_.key * gla_.value, 1});
  }

  void group(int64_t first, int64_t count) {
    const View v = ctx_.input("v"), state = ctx_.input("state");
    std::vector<AccessPattern> next, q;
    for (int64_t key = 0; key < gla_.key; key += kPartitions) {
      const auto partitions = static_cast<int>(std::min(kPartitions, gla_.key - key));
      const AccessPattern s = b_.sbuf(state.dtype, partitions, {count, gla_.value});
      b_.dma_copy(s, state_hbm(state.tensor, state.dtype, first, count, key, partitions));
      // Every partition gets the values.
      const AccessPattern values = b_.sbuf(v.dtype, partitions, {count, gla_.value});
      b_.dma_copy(values, hbm_tile(v.dtype, v.tensor, first * gla_.value, partitions, 0, {count, gla_.value},
                                   {gla_.value, 1}));
      const AccessPattern written = b_.sbuf(DType::f32, partitions, {count, gla_.value});
      const auto along_values = [&](const AccessPattern& x) { return x.unsqueezed(1, gla_.value); };
      b_.tensor_tensor(written, values, along_values(keys("k", first, count, key, partitions)),
                       AluOp::multiply, Engine::gpsimd);
      const AccessPattern decay = b_.sbuf(DType::f32, partitions, {count});
      b_.activation(decay, keys("g", first, count, key, partitions), Activation::exp, {.no_nan = true});
      const AccessPattern sum = b_.sbuf(DType::f32, partitions, {count, gla_.value});
      b_.tensor_tensor(sum, s, along_values(decay), AluOp::multiply);
      b_.tensor_tensor(sum, sum, written, AluOp::add);
      next.push_back(sum);
      q.push_back(keys("q", first, count, key, partitions));
      if (ctx_.outputs.at(1) >= 0) {
        AccessPattern result = sum;
        if (gla_.state != DType::f32) {
          result = b_.sbuf(gla_.state, partitions, {count, gla_.value});
          b_.tensor_copy(result, sum, Engine::scalar);
        }
        b_.dma_copy(state_hbm(ctx_.outputs[1], gla_.state, first, count, key, partitions), result);
      }
    }
    if (ctx_.outputs.at(0) >= 0) read(first, count, next, q);
  }

  // scale * q^T S of each head, on one partition.
  void read(int64_t first, int64_t count, const std::vector<AccessPattern>& state,
            const std::vector<AccessPattern>& q) {
    const View out = ctx_.output(0);
    for (int64_t h = 0; h < count; ++h) {
      const ProgramBuilder::Mark mark = b_.mark();
      const AccessPattern row = b_.sbuf(out.dtype, 1, {gla_.value});
      for (int64_t w = 0; w < gla_.value; w += kWidth) {
        const ProgramBuilder::Mark inner = b_.mark();
        const int64_t width = std::min(kWidth, gla_.value - w);
        const AccessPattern sum = b_.psum(DType::f32, 1, {width});
        for (std::size_t t = 0; t < state.size(); ++t) {
          b_.nc_matmul(sum, q[t].slice(0, h, 1), state[t].select(0, h).slice(0, w, width), t > 0);
        }
        b_.tensor_scalar(row.slice(0, w, width), sum, AluOp::multiply, static_cast<float>(gla_.scale));
        b_.release(inner);
      }
      b_.dma_copy(hbm_tile(out.dtype, out.tensor, (first + h) * gla_.value, 1, gla_.value, {gla_.value}, {1}),
                  row);
      b_.release(mark);
    }
  }

  KernelContext& ctx_;
  ProgramBuilder& b_;
  const GlaCall gla_;
  int64_t heads_, group_ = 0;
};

void gla_recurrent_step(KernelContext& ctx) {
  GlaStep step(ctx);
  if (step.fits()) return step.run();
  refuse_nan_gates(ctx, gla_step_call(ctx.call));
  run_decomposition(ctx);
}

}  // namespace

void register_gla_step(KernelTable& table) {
  table.add("assay::gla_recurrent_step.default", gla_recurrent_step);
}

}  // namespace assay::backend
