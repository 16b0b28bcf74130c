// Workloads of whole layers: convolution, gated MLP, projection, normalisation.
#include <algorithm>
#include <array>
#include <vector>

#include "backend/calibration/parameters.h"
#include "backend/isa/builder.h"

namespace assay::backend {
namespace {

constexpr int64_t kTile = 128;           // partitions, and columns of a stationary operand
constexpr int64_t kMovingColumns = 512;  // of a moving operand
constexpr DmaOptions kStores{.engine = Engine::scalar, .queue = -1, .accumulate = false};

// PSUM to SBUF, on Vector and Scalar in turn.
class Evictor {
 public:
  explicit Evictor(ProgramBuilder& b) : b_(b) {}
  void operator()(const AccessPattern& dst, const AccessPattern& src) {
    b_.tensor_copy(dst, src, odd_ ? Engine::scalar : Engine::vector);
    odd_ = !odd_;
  }

 private:
  ProgramBuilder& b_;
  bool odd_ = false;
};

// Transposes [rows, columns] into dst [columns, rows]; dst lies in SBUF.
void transpose(ProgramBuilder& b, Evictor& evict, const AccessPattern& bank, const AccessPattern& dst,
               const AccessPattern& src) {
  const auto columns = static_cast<int>(src.free_elements());
  AccessPattern sum = bank.partition_slice(0, columns).slice(0, 0, src.partitions);
  b.nc_transpose(sum, src);
  evict(dst, sum);
}

// What a transpose by the Tensor engine writes.
DType transposed_dtype(const CoreDescription& core, DType dtype) {
  return core.exact_transpose ? dtype : DType::f32;
}

void require_tiles(const WorkloadParameters& p, int64_t value, const char* name) {
  if (value % kTile != 0) p.fail(std::string(name) + " must be a multiple of 128");
}

int64_t share(WorkloadParameters& p, int64_t value, int64_t cores, const char* name) {
  if (value % cores != 0) p.fail(std::string(name) + " must be a multiple of cores");
  return value / cores;
}

// Physical cores of the logical one that the kernel is for.
int cores_of(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t cores = p.integer("cores", 1, 1);
  if (cores > (core.generation == Generation::trn1 ? 1 : kMaxCores))
    p.fail(std::string("cores must be 1, or 2 where there is LNC 2; ") + core.name + " was asked for " +
           std::to_string(cores));
  return static_cast<int>(cores);
}

}  // namespace

// Weights are loaded and transposed once; rows of the image, with the kernel's halo, stream past them.
// Pooling takes the largest of pool x pool results.
BuiltWorkload convolution(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t in = p.integer("in"), out = p.integer("out"), height = p.integer("height"),
                width = p.integer("width");
  const int64_t kernel = p.integer("kernel", 1, 3), pool = p.integer("pool", 1, 1);
  const DType dtype = p.dtype("dtype", DType::f16);
  p.finish();
  require_tiles(p, in, "in");
  require_tiles(p, out, "out");
  const int64_t rows = height - kernel + 1, columns = width - kernel + 1;
  const int64_t block = std::max<int64_t>(pool, 2);  // rows of results at a time
  if (rows < 1 || columns < 1 || columns > kMovingColumns)
    p.fail("the result must be 1 to 512 wide and at least 1 high");
  if (rows % block != 0 || columns % pool != 0)
    p.fail("the result must be a multiple of 2 and of pool high and wide");
  const int64_t in_tiles = in / kTile, out_tiles = out / kTile, taps = kernel * kernel;

  ProgramBuilder b(core);
  Evictor evict(b);
  const int32_t x = b.input("x", dtype, in * height * width), w = b.input("w", dtype, out * in * taps);
  const int32_t bias = b.input("bias", dtype, out);
  const int64_t pooled_rows = rows / pool, pooled_columns = columns / pool;
  const int32_t y = b.output("y", dtype, out * pooled_rows * pooled_columns);

  // [in on partitions, out tile, tap, in tile, out]
  const AccessPattern weights = b.sbuf(dtype, kTile, {out_tiles * in_tiles * taps, kTile});
  const auto weight = [&](int64_t o, int64_t i, int64_t tap) {
    return weights.select(0, (o * in_tiles + i) * taps + tap);
  };
  const AccessPattern biases = b.sbuf(dtype, kTile, {out_tiles, 1});
  const AccessPattern banks[2] = {b.psum(transposed_dtype(core, dtype), kTile, {kTile}),
                                  b.psum(transposed_dtype(core, dtype), kTile, {kTile})};
  std::size_t turn = 0;
  for (int64_t o = 0; o < out_tiles; ++o) {
    b.dma_copy(biases.select(0, o), hbm_tile(dtype, bias, o * kTile, kTile, 1, {1}, {1}));
    const ProgramBuilder::Mark mark = b.mark();
    const AccessPattern raw = b.sbuf(dtype, kTile, {in, taps});
    b.dma_copy(raw, hbm_tile(dtype, w, o * kTile * in * taps, kTile, in * taps, {in, taps}, {taps, 1}));
    for (int64_t i = 0; i < in_tiles; ++i) {
      for (int64_t tap = 0; tap < taps; ++tap, turn ^= 1) {
        transpose(b, evict, banks[turn], weight(o, i, tap), raw.slice(0, i * kTile, kTile).select(1, tap));
      }
    }
    b.release(mark);
  }

  std::array<std::vector<AccessPattern>, 2> images;
  std::array<AccessPattern, 2> sums, results, pooled;
  for (std::size_t k = 0; k < 2; ++k) {
    for (int64_t i = 0; i < in_tiles; ++i)
      images[k].push_back(b.sbuf(dtype, kTile, {block + kernel - 1, width}));
    sums[k] = b.psum(DType::f32, kTile, {columns});
    results[k] = b.sbuf(dtype, kTile, {block, columns});
    pooled[k] = b.sbuf(dtype, kTile, {block, pooled_columns});
  }
  std::size_t image = 0, sum = 0, result = 0;
  for (int64_t r0 = 0; r0 < rows; r0 += block, image ^= 1) {
    for (int64_t i = 0; i < in_tiles; ++i) {
      b.dma_copy(images[image][static_cast<std::size_t>(i)],
                 hbm_tile(dtype, x, i * kTile * height * width + r0 * width, kTile, height * width,
                          {block + kernel - 1, width}, {width, 1}));
    }
    for (int64_t o = 0; o < out_tiles; ++o, result ^= 1) {
      for (int64_t r = 0; r < block; ++r, sum ^= 1) {
        bool first = true;
        for (int64_t i = 0; i < in_tiles; ++i) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            const AccessPattern pixels = images[image][static_cast<std::size_t>(i)]
                                             .select(0, r + tap / kernel)
                                             .slice(0, tap % kernel, columns);
            b.nc_matmul(sums[sum], weight(o, i, tap), pixels, !first);
            first = false;
          }
        }
        b.activation(results[result].select(0, r), sums[sum], Activation::copy,
                     {.scale = 1.0f, .bias = biases.select(0, o), .reduce = {}, .slope = 0});
      }
      AccessPattern done = results[result];
      if (pool > 1) {
        for (int64_t r = 0; r < block / pool; ++r) {
          const AccessPattern into = pooled[result].select(0, r);
          for (int64_t q = 0; q < pool * pool; ++q) {
            const AccessPattern from =
                results[result].select(0, r * pool + q / pool).slice(0, q % pool, pooled_columns, pool);
            q == 0 ? b.tensor_copy(into, from) : b.tensor_tensor(into, into, from, AluOp::max);
          }
        }
        done = pooled[result].slice(0, 0, block / pool);
      }
      const int64_t stored = block / pool;
      b.dma_copy(hbm_tile(dtype, y, (o * kTile * pooled_rows + r0 / pool) * pooled_columns, kTile,
                          pooled_rows * pooled_columns, {stored, pooled_columns}, {pooled_columns, 1}),
                 done, kStores);
    }
  }
  return {b.finish(), 1};
}

// Tokens in tiles of 128. RMSNorm's factor commutes with the products and is applied to their results; its
// weight is folded into the projections. Two cores share the tokens.
BuiltWorkload mlp_context(const CoreDescription& core, WorkloadParameters& p) {
  constexpr int64_t kPiece = 1024;  // columns of an activation that are moved at a time
  const int64_t tokens = p.integer("tokens"), hidden = p.integer("hidden"), inner = p.integer("intermediate");
  const int cores = cores_of(core, p);
  p.finish();
  require_tiles(p, share(p, tokens, cores, "tokens"), "tokens of a core");
  if (hidden % kPiece != 0) p.fail("hidden must be a multiple of 1024");
  if (inner > kMovingColumns) p.fail("intermediate must be at most 512");
  const int64_t steps = hidden / kTile, inner_tiles = (inner + kTile - 1) / kTile;
  const DType t = DType::bf16;

  ProgramBuilder b(core, cores);
  const int32_t x = b.input("x", t, tokens * hidden), gate = b.input("gate", t, hidden * inner);
  const int32_t up = b.input("up", t, hidden * inner), down = b.input("down", t, inner * hidden);
  const int32_t y = b.output("y", t, tokens * hidden);
  for (int c = 0; c < cores; ++c) {
    b.set_core(c);
    Evictor evict(b);
    const AccessPattern gates = b.sbuf(t, kTile, {steps, inner}), ups = b.sbuf(t, kTile, {steps, inner});
    std::vector<AccessPattern> downs;
    const auto project = [&](const AccessPattern& tile, int32_t tensor) {
      b.dma_copy(tile, hbm_tile(t, tensor, 0, kTile, inner, {steps, inner}, {kTile * inner, 1}));
    };
    project(gates, gate);
    project(ups, up);
    for (int64_t i = 0; i < inner_tiles; ++i) {
      const auto rows = static_cast<int>(std::min(kTile, inner - i * kTile));
      downs.push_back(b.sbuf(t, rows, {hidden}));
      b.dma_copy(downs.back(), hbm_tile(t, down, i * kTile * hidden, rows, hidden, {hidden}, {1}));
    }
    const AccessPattern turned = b.sbuf(t, kTile, {steps, kTile});
    const AccessPattern act = b.sbuf(t, kTile, {inner}), silu = b.sbuf(t, kTile, {inner});
    std::vector<AccessPattern> act_turned;
    for (int64_t i = 0; i < inner_tiles; ++i)
      act_turned.push_back(b.sbuf(t, static_cast<int>(std::min(kTile, inner - i * kTile)), {kTile}));
    const AccessPattern squares = b.sbuf(DType::f32, kTile, {hidden / kPiece}),
                        norm = b.sbuf(DType::f32, kTile, {1});
    std::array<AccessPattern, 2> pieces, outs, banks, sums;
    for (std::size_t k = 0; k < 2; ++k) {
      pieces[k] = b.sbuf(t, kTile, {kPiece});
      outs[k] = b.sbuf(t, kTile, {kPiece});
      banks[k] = b.psum(transposed_dtype(core, t), kTile, {kTile});
      sums[k] = b.psum(DType::f32, kTile, {kMovingColumns});
    }
    const AccessPattern gated = b.psum(DType::f32, kTile, {inner}),
                        upped = b.psum(DType::f32, kTile, {inner});
    const AccessPattern scratch = b.psum(t, kTile, {kPiece});
    std::size_t piece = 0, bank = 0, sum = 0, out = 0;
    for (int64_t token = c * tokens / cores; token < (c + 1) * tokens / cores; token += kTile) {
      for (int64_t h = 0; h < hidden; h += kPiece, piece ^= 1) {
        b.dma_copy(pieces[piece], hbm_tile(t, x, token * hidden + h, kTile, hidden, {kPiece}, {1}));
        b.activation(scratch, pieces[piece], Activation::square,
                     {.scale = 1.0f, .bias = {}, .reduce = squares.slice(0, h / kPiece, 1), .slope = 0});
        for (int64_t c = 0; c < kPiece; c += kTile, bank ^= 1) {
          transpose(b, evict, banks[bank], turned.select(0, (h + c) / kTile),
                    pieces[piece].slice(0, c, kTile));
        }
      }
      b.tensor_reduce(norm, squares, AluOp::add);
      b.tensor_scalar(norm, norm, AluOp::multiply, 1.0f / static_cast<float>(hidden), false, AluOp::add,
                      1e-6f);
      b.activation(norm, norm, Activation::rsqrt);
      for (int64_t s = 0; s < steps; ++s) {
        b.nc_matmul(gated, turned.select(0, s), gates.select(0, s), s > 0);
        b.nc_matmul(upped, turned.select(0, s), ups.select(0, s), s > 0);
      }
      b.activation(silu, gated, Activation::silu, {.scale = norm, .bias = {}, .reduce = {}, .slope = 0});
      b.scalar_tensor_tensor(act, upped, AluOp::multiply, norm, AluOp::multiply, silu);
      for (int64_t i = 0; i < inner_tiles; ++i, bank ^= 1) {
        const AccessPattern& to = act_turned[static_cast<std::size_t>(i)];
        transpose(b, evict, banks[bank], to, act.slice(0, i * kTile, to.partitions));
      }
      for (int64_t h = 0; h < hidden; h += kPiece, out ^= 1) {
        for (int64_t c = 0; c < kPiece; c += kMovingColumns, sum ^= 1) {
          for (std::size_t i = 0; i < downs.size(); ++i) {
            b.nc_matmul(sums[sum], act_turned[i], downs[i].slice(0, h + c, kMovingColumns), i > 0);
          }
          evict(outs[out].slice(0, c, kMovingColumns), sums[sum]);
        }
        b.dma_copy(hbm_tile(t, y, token * hidden + h, kTile, hidden, {kPiece}, {1}), outs[out], kStores);
      }
    }
  }
  return {b.finish(), 1};
}

namespace {

// x [tokens, hidden] with hidden on partitions, [128, steps, tokens]: row h = p * steps + s lies in partition
// p, so that a partition's rows of a weight are contiguous.
AccessPattern load_tokens(ProgramBuilder& b, int32_t x, int64_t tokens, int64_t hidden) {
  const int64_t steps = hidden / kTile;
  const AccessPattern raw = b.sbuf(DType::bf16, kTile, {tokens, steps});
  b.dma_copy(raw, hbm_tile(DType::bf16, x, 0, kTile, steps, {tokens, steps}, {hidden, 1}));
  return raw;
}

// The sum of squares over partitions is a product with ones; the factor comes back on all partitions.
AccessPattern root_mean_square(ProgramBuilder& b, const AccessPattern& x, int64_t tokens, int64_t hidden) {
  const int64_t steps = hidden / kTile;
  const AccessPattern squares = b.sbuf(DType::bf16, kTile, {tokens, steps});
  b.activation(squares, x, Activation::square);
  const AccessPattern sums = b.sbuf(DType::f32, kTile, {tokens}),
                      narrow = b.sbuf(DType::bf16, kTile, {tokens});
  b.tensor_reduce(sums, squares, AluOp::add);
  b.tensor_copy(narrow, sums);
  const AccessPattern ones = b.sbuf(DType::bf16, kTile, {kTile});
  b.memset(ones, 1.0f);
  const AccessPattern total = b.psum(DType::f32, kTile, {tokens});
  b.nc_matmul(total, ones, narrow, false);
  const AccessPattern factor = b.sbuf(DType::f32, kTile, {tokens});
  b.tensor_scalar(factor, total, AluOp::multiply, 1.0f / static_cast<float>(hidden), false, AluOp::add,
                  1e-6f);
  b.activation(factor, factor, Activation::rsqrt);
  const AccessPattern out = b.sbuf(DType::bf16, kTile, {tokens, steps});
  b.tensor_tensor(out, x, factor.unsqueezed(1).broadcast(1, steps), AluOp::multiply);
  return out;
}

// dst [columns on partitions, tokens] = weight tiles^T x for the steps first .. first + count - 1, or adds
// it.
void accumulate(ProgramBuilder& b, const std::vector<AccessPattern>& sums, const AccessPattern& weights,
                const AccessPattern& x, int64_t first, int64_t count, bool add) {
  for (int64_t s = 0; s < count; ++s) {
    int64_t column = 0;
    for (const AccessPattern& sum : sums) {
      b.nc_matmul(sum, weights.select(0, s).slice(0, column, sum.partitions), x.select(1, first + s),
                  add || s > 0);
      column += sum.partitions;
    }
  }
}

std::vector<AccessPattern> column_sums(const AccessPattern& bank, int64_t columns, int64_t tokens) {
  std::vector<AccessPattern> out;
  for (int64_t c = 0; c < columns; c += kTile) {
    const auto rows = static_cast<int>(std::min(kTile, columns - c));
    out.push_back(bank.partition_slice(0, rows).slice(0, static_cast<int64_t>(out.size()) * tokens, tokens));
  }
  return out;
}

// A core's normalised tokens, and the buffers through which weights [hidden, columns] come to it.
class WeightStream {
 public:
  WeightStream(ProgramBuilder& b, int32_t x, int64_t tokens, int64_t hidden, int64_t columns)
      : b_(b),
        hidden_(hidden),
        columns_(columns),
        normed_(root_mean_square(b, load_tokens(b, x, tokens, hidden), tokens, hidden)) {
    for (AccessPattern& buffer : buffers_) buffer = b.sbuf(DType::bf16, kTile, {8, columns});
  }

  // Streams a part of the weight, one of `cores` by rows, through SBUF, rows as load_tokens lays them out,
  // and multiplies.
  void multiply(int32_t weight, int part, int cores, const std::vector<AccessPattern>& sums) {
    const int64_t steps = hidden_ / kTile, piece = buffers_[0].sizes[0];
    const int64_t first = part * steps / cores, end = (part + 1) * steps / cores;
    for (int64_t s = first; s < end; s += piece, turn_ = (turn_ + 1) % buffers_.size()) {
      const int64_t count = std::min(piece, end - s);
      const AccessPattern tile = buffers_[turn_].slice(0, 0, count);
      b_.dma_copy(tile, hbm_tile(DType::bf16, weight, s * columns_, kTile, steps * columns_,
                                 {count, columns_}, {columns_, 1}));
      accumulate(b_, sums, tile, normed_, s, count, s > first);
    }
  }

 private:
  ProgramBuilder& b_;
  int64_t hidden_, columns_;
  AccessPattern normed_;
  std::array<AccessPattern, 4> buffers_;
  std::size_t turn_ = 0;
};

// Sums over a part of the rows on each of two cores, and what the other core sends of its own.
struct Partial {
  AccessPattern own, received;
};
Partial partial_sums(ProgramBuilder& b, std::size_t sums, int64_t tokens) {
  const auto count = static_cast<int64_t>(sums);
  const Partial out{b.sbuf(DType::f32, kTile, {count, tokens}), b.sbuf(DType::f32, kTile, {count, tokens})};
  b.memset(out.own, 0.0f);  // where the last sum has fewer rows
  return out;
}
// From PSUM to the other core.
void send(ProgramBuilder& b, const std::vector<AccessPattern>& sums, const Partial& mine,
          const Partial& other) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    b.tensor_copy(mine.own.partition_slice(0, sums[i].partitions).select(0, static_cast<int64_t>(i)),
                  sums[i]);
  }
  b.dma_copy(other.received, mine.own);
}
// The whole sums, of as many rows each.
std::vector<AccessPattern> receive(ProgramBuilder& b, const std::vector<AccessPattern>& sums,
                                   const Partial& mine) {
  b.tensor_tensor(mine.received, mine.own, mine.received, AluOp::add);
  std::vector<AccessPattern> out;
  for (const AccessPattern& sum : sums)
    out.push_back(
        mine.received.partition_slice(0, sum.partitions).select(0, static_cast<int64_t>(out.size())));
  return out;
}

}  // namespace

// Two cores: each has half of the rows of gate and up, sends its sums to the other, and has half of the
// columns of down, as the kernels of nki-library divide the hidden dimension; so few tokens are normalised by
// both.
BuiltWorkload mlp_token(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t tokens = p.integer("tokens"), hidden = p.integer("hidden"), inner = p.integer("intermediate");
  const int cores = cores_of(core, p);
  p.finish();
  require_tiles(p, share(p, hidden, cores, "hidden"), "hidden of a core");
  if (tokens > 32 || inner > 16 * kTile) p.fail("at most 32 tokens and 2048 intermediate columns");
  const DType t = DType::bf16;
  ProgramBuilder b(core, cores);
  const int32_t x = b.input("x", t, tokens * hidden), gate = b.input("gate", t, hidden * inner);
  const int32_t up = b.input("up", t, hidden * inner), down = b.input("down", t, inner * hidden);
  const int32_t y = b.output("y", t, hidden * tokens);
  struct OfCore {
    std::vector<AccessPattern> gates, ups;
    Partial gate, up;
  };
  std::vector<OfCore> parts(static_cast<std::size_t>(cores));
  for (int c = 0; c < cores; ++c) {
    b.set_core(c);
    OfCore& part = parts[static_cast<std::size_t>(c)];
    WeightStream weights(b, x, tokens, hidden, inner);
    part.gates = column_sums(b.psum(DType::f32, kTile, {kMovingColumns}), inner, tokens);
    part.ups = column_sums(b.psum(DType::f32, kTile, {kMovingColumns}), inner, tokens);
    if (cores > 1) {
      part.gate = partial_sums(b, part.gates.size(), tokens);
      part.up = partial_sums(b, part.ups.size(), tokens);
    }
    weights.multiply(gate, c, cores, part.gates);
    weights.multiply(up, c, cores, part.ups);
  }
  for (int c = 0; cores > 1 && c < cores; ++c) {
    b.set_core(c);
    const OfCore &mine = parts[static_cast<std::size_t>(c)], &other = parts[static_cast<std::size_t>(1 - c)];
    send(b, mine.gates, mine.gate, other.gate);
    send(b, mine.ups, mine.up, other.up);
  }
  for (int c = 0; c < cores; ++c) {
    b.set_core(c);
    const OfCore& part = parts[static_cast<std::size_t>(c)];
    const std::vector<AccessPattern> gates = cores > 1 ? receive(b, part.gates, part.gate) : part.gates;
    const std::vector<AccessPattern> ups = cores > 1 ? receive(b, part.ups, part.up) : part.ups;
    const int64_t columns = hidden / cores, first = c * columns;
    std::vector<AccessPattern> acts, downs;
    for (std::size_t i = 0; i < gates.size(); ++i) {
      const AccessPattern silu = b.sbuf(DType::f32, gates[i].partitions, {tokens});
      b.activation(silu, gates[i], Activation::silu);
      acts.push_back(b.sbuf(t, gates[i].partitions, {tokens}));
      b.tensor_tensor(acts.back(), ups[i], silu, AluOp::multiply);
    }
    for (std::size_t i = 0; i < acts.size(); ++i) {
      downs.push_back(b.sbuf(t, acts[i].partitions, {columns}));
      b.dma_copy(downs.back(), hbm_tile(t, down, static_cast<int64_t>(i) * kTile * hidden + first,
                                        acts[i].partitions, hidden, {columns}, {1}));
    }
    const int64_t steps = columns / kTile, group = kMovingColumns / tokens;  // results of a bank
    const AccessPattern result = b.sbuf(t, kTile, {steps, tokens});
    std::array<AccessPattern, 2> banks{b.psum(DType::f32, kTile, {kMovingColumns}),
                                       b.psum(DType::f32, kTile, {kMovingColumns})};
    std::size_t bank = 0;
    for (int64_t s0 = 0; s0 < steps; s0 += group, bank ^= 1) {
      const int64_t count = std::min(group, steps - s0);
      for (int64_t s = s0; s < s0 + count; ++s) {
        const AccessPattern sum = banks[bank].slice(0, (s - s0) * tokens, tokens);
        for (std::size_t i = 0; i < acts.size(); ++i)
          b.nc_matmul(sum, downs[i].slice(0, s * kTile, kTile), acts[i], i > 0);
      }
      b.tensor_copy(result.slice(0, s0, count),
                    banks[bank].slice(0, 0, count * tokens).reshaped({count, tokens}));
    }
    b.dma_copy(hbm_tile(t, y, first * tokens, kTile, tokens, {steps, tokens}, {kTile * tokens, 1}), result);
  }
  return {b.finish(), 1};
}

// Two cores: each has half of the rows and sends its sums to the other; both have the results, each stores
// the blocks of 128 whose turn is its own.
BuiltWorkload projection_token(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t tokens = p.integer("tokens"), hidden = p.integer("hidden"), outputs = p.integer("outputs");
  const int cores = cores_of(core, p);
  p.finish();
  require_tiles(p, share(p, hidden, cores, "hidden"), "hidden of a core");
  if (tokens > 32 || outputs > 16 * kTile) p.fail("at most 32 tokens and 2048 outputs");
  const DType t = DType::bf16;
  ProgramBuilder b(core, cores);
  const int32_t x = b.input("x", t, tokens * hidden), w = b.input("w", t, hidden * outputs);
  const int32_t y = b.output("y", t, outputs * tokens);
  struct OfCore {
    std::vector<AccessPattern> sums;
    Partial partial;
  };
  std::vector<OfCore> parts(static_cast<std::size_t>(cores));
  for (int c = 0; c < cores; ++c) {
    b.set_core(c);
    OfCore& part = parts[static_cast<std::size_t>(c)];
    WeightStream weights(b, x, tokens, hidden, outputs);
    part.sums = column_sums(b.psum(DType::f32, kTile, {kMovingColumns}), outputs, tokens);
    if (cores > 1) part.partial = partial_sums(b, part.sums.size(), tokens);
    weights.multiply(w, c, cores, part.sums);
  }
  for (int c = 0; cores > 1 && c < cores; ++c) {
    b.set_core(c);
    const OfCore& mine = parts[static_cast<std::size_t>(c)];
    send(b, mine.sums, mine.partial, parts[static_cast<std::size_t>(1 - c)].partial);
  }
  for (int c = 0; c < cores; ++c) {
    b.set_core(c);
    const OfCore& part = parts[static_cast<std::size_t>(c)];
    const std::vector<AccessPattern> sums = cores > 1 ? receive(b, part.sums, part.partial) : part.sums;
    for (auto i = static_cast<std::size_t>(c); i < sums.size(); i += static_cast<std::size_t>(cores)) {
      const AccessPattern out = b.sbuf(t, sums[i].partitions, {tokens});
      b.tensor_copy(out, sums[i]);
      b.dma_copy(
          hbm_tile(t, y, static_cast<int64_t>(i) * kTile * tokens, sums[i].partitions, tokens, {tokens}, {1}),
          out);
    }
  }
  return {b.finish(), 1};
}

// Two cores share the tokens.
BuiltWorkload rmsnorm_quantise(const CoreDescription& core, WorkloadParameters& p) {
  const int64_t all = p.integer("tokens"), hidden = p.integer("hidden");
  const int cores = cores_of(core, p);
  p.finish();
  const int64_t tokens = share(p, all, cores, "tokens");
  const DType t = DType::bf16, narrow = DType::f8e4m3;
  ProgramBuilder b(core, cores);
  const int32_t x = b.input("x", t, all * hidden), weight = b.input("weight", t, hidden);
  const int32_t y = b.output("y", narrow, all * hidden), scales = b.output("scales", DType::f32, all);
  for (int c = 0; c < cores; ++c) {
    b.set_core(c);
    const auto rows = static_cast<int>(std::min(tokens, kTile));
    const AccessPattern gamma = b.sbuf(t, rows, {hidden});
    b.dma_copy(gamma, hbm_tile(t, weight, 0, rows, 0, {hidden}, {1}));
    struct Buffers {
      AccessPattern x, y, quantised, norm, largest, scale;
    };
    std::array<Buffers, 2> buffers;
    for (Buffers& k : buffers) {
      k = {b.sbuf(t, rows, {hidden}),      {},
           b.sbuf(narrow, rows, {hidden}), b.sbuf(DType::f32, rows, {1}),
           b.sbuf(DType::f32, rows, {1}),  b.sbuf(DType::f32, rows, {1})};
    }
    const AccessPattern normed = b.sbuf(t, rows, {hidden});
    std::size_t turn = 0;
    const int64_t end = (c + 1) * tokens;
    for (int64_t token = c * tokens; token < end; token += kTile, turn ^= 1) {
      Buffers& k = buffers[turn];
      const auto n = static_cast<int>(std::min(kTile, end - token));
      const auto part = [&](const AccessPattern& a) { return a.partition_slice(0, n); };
      b.dma_copy(part(k.x), hbm_tile(t, x, token * hidden, n, hidden, {hidden}, {1}));
      b.activation(part(normed), part(k.x), Activation::square,
                   {.scale = 1.0f, .bias = {}, .reduce = part(k.norm), .slope = 0});
      b.tensor_scalar(part(k.norm), part(k.norm), AluOp::multiply, 1.0f / static_cast<float>(hidden), false,
                      AluOp::add, 1e-6f);
      b.activation(part(k.norm), part(k.norm), Activation::rsqrt);
      b.scalar_tensor_tensor(part(normed), part(k.x), AluOp::multiply, part(k.norm), AluOp::multiply,
                             part(gamma));
      b.tensor_reduce(part(k.largest), part(normed), AluOp::abs_max);
      b.tensor_scalar(part(k.scale), part(k.largest), AluOp::max, 1e-6f, false, AluOp::multiply, 1.0f / 240);
      b.activation(part(k.largest), part(k.scale), Activation::reciprocal);
      b.tensor_scalar(part(k.quantised), part(normed), AluOp::multiply, part(k.largest));
      b.dma_copy(hbm_tile(narrow, y, token * hidden, n, hidden, {hidden}, {1}), part(k.quantised), kStores);
      b.dma_copy(hbm_tile(DType::f32, scales, token, n, 1, {1}, {1}), part(k.scale), kStores);
    }
  }
  return {b.finish(), 1};
}

}  // namespace assay::backend
