// convolution in one, two and three dimensions: one product per kernel tap, accumulated in PSUM; depthwise on
// the Vector engine, integers on GpSimd.
#include <algorithm>

#include "backend/kernels/gemm.h"

namespace assay::backend {
namespace {

constexpr int64_t kPsumColumns = 512;
// Bytes a partition for the window of the input that one output tile needs, and for the weights.
constexpr int64_t kWindowBytes = 64 * 1024;
constexpr int64_t kWeightBytes = 72 * 1024;

// As two-dimensional; one-dimensional convolutions have height 1.
struct Convolution {
  View x, w, out;  // [N, C, H, W], [Co / groups, C / groups, KH, KW] of the first group, [N, Co, OH, OW]
  std::optional<View> bias;
  int64_t stride[2], padding[2], dilation[2];
  int64_t groups;
  int64_t group_stride;         // elements between the weights of two groups
  int64_t inflate[2] = {1, 1};  // distance between neighbouring elements of x, zeros between (transposed)
  int64_t taps() const { return w.shape[2] * w.shape[3]; }

  // Three-dimensional ones are sums of two-dimensional ones: x, w and out are those of depth 0, and these say
  // which input depth each output depth sees through which depth of the kernel.
  int64_t depth_stride[3] = {};  // elements between two depths of x, w and out
  int64_t kernel_depth = 1;
  struct Slice {
    int64_t kernel, input;
  };
  std::vector<std::vector<Slice>> depths{{{0, 0}}};  // by output depth
};

// A tile of output rows and columns, and the input window under it.
struct Window {
  int64_t oh, ow, rows, columns;  // first output row and column, output rows and columns
};

int64_t window_size(const Convolution& c, int dim, int64_t outputs) {
  return (outputs - 1) * c.stride[dim] +
         (c.w.shape[2 + static_cast<std::size_t>(dim)] - 1) * c.dilation[dim] + 1;
}

// Output tiles of at most `elements` elements whose windows (of `copies` channel tiles) fit.
std::vector<Window> windows(const Convolution& c, int64_t elements, int64_t copies) {
  const int64_t height = c.out.shape[2], width = c.out.shape[3];
  const auto element = static_cast<int64_t>(size_of(c.x.dtype));
  int64_t columns = std::min(width, elements);
  int64_t rows = std::clamp<int64_t>(elements / columns, 1, height);
  const auto bytes = [&] { return copies * window_size(c, 0, rows) * window_size(c, 1, columns) * element; };
  while (bytes() > kWindowBytes && (rows > 1 || columns > 1)) {
    (rows > 1 ? rows : columns) = (rows > 1 ? rows : columns) / 2;
  }
  std::vector<Window> out;
  for (int64_t oh = 0; oh < height; oh += rows) {
    for (int64_t ow = 0; ow < width; ow += columns) {
      out.push_back({oh, ow, std::min(rows, height - oh), std::min(columns, width - ow)});
    }
  }
  return out;
}

// The window [channels, rows, columns] of x[n, first...] with zeros outside of the input.
AccessPattern load_window(KernelContext& ctx, const Convolution& c, int64_t n, int64_t first,
                          int64_t channels, int64_t channel_step, const Window& win, int64_t depth = 0) {
  const int64_t size[2] = {window_size(c, 0, win.rows), window_size(c, 1, win.columns)};
  const int64_t start[2] = {win.oh * c.stride[0] - c.padding[0], win.ow * c.stride[1] - c.padding[1]};
  const AccessPattern tile = ctx.b.sbuf(c.x.dtype, static_cast<int>(channels), {size[0], size[1]});
  // Elements first .. first+count-1 of x lie in the window, at `low` and every `inflate` places from there.
  int64_t from[2], low[2], count[2];
  bool filled = true;
  for (int d = 0; d < 2; ++d) {
    const int64_t extent = c.x.shape[2 + static_cast<std::size_t>(d)], step = c.inflate[d];
    from[d] = start[d] > 0 ? (start[d] + step - 1) / step : 0;
    low[d] = from[d] * step - start[d];
    const int64_t last = std::min(extent - 1, (start[d] + size[d] - 1) / step);
    count[d] = start[d] + size[d] <= 0 ? 0 : std::max<int64_t>(last - from[d] + 1, 0);
    filled &= step == 1 && count[d] == size[d];
  }
  if (!filled) fill(ctx, tile, {});
  if (count[0] > 0 && count[1] > 0) {
    const Shape& s = c.x.strides;
    const int64_t offset =
        c.x.offset + depth * c.depth_stride[0] + n * s[0] + first * s[1] + from[0] * s[2] + from[1] * s[3];
    ctx.b.dma_copy(tile.slice(0, low[0], count[0], c.inflate[0]).slice(1, low[1], count[1], c.inflate[1]),
                   hbm_tile(c.x.dtype, c.x.tensor, offset, static_cast<int>(channels), channel_step * s[1],
                            {count[0], count[1]}, {s[2], s[3]}));
  }
  return tile;
}

// What tap (kh, kw) sees of a window, [rows, columns].
AccessPattern tap_of(const Convolution& c, const AccessPattern& window, const Window& win, int64_t tap) {
  const int64_t kh = tap / c.w.shape[3], kw = tap % c.w.shape[3];
  return window.slice(0, kh * c.dilation[0], win.rows, c.stride[0])
      .slice(1, kw * c.dilation[1], win.columns, c.stride[1]);
}

// One value a channel, [channels, 1].
std::optional<AccessPattern> load_bias(KernelContext& ctx, const Convolution& c, int64_t first,
                                       int64_t channels, int64_t step) {
  if (!c.bias) return std::nullopt;
  const AccessPattern tile = ctx.b.sbuf(c.bias->dtype, static_cast<int>(channels), {1});
  ctx.b.dma_copy(tile, hbm_tile(c.bias->dtype, c.bias->tensor, c.bias->offset + first,
                                static_cast<int>(channels), step, {1}, {1}));
  return tile;
}

// A tile of the result's dtype, output channels first, first + step, ... on partitions.
void store_tile(KernelContext& ctx, const Convolution& c, int64_t n, int64_t first, int64_t step,
                const Window& win, const AccessPattern& result, int64_t depth) {
  const Shape& s = c.out.strides;
  ctx.b.dma_copy(hbm_tile(c.out.dtype, c.out.tensor,
                          c.out.offset + depth * c.depth_stride[2] + n * s[0] + first * s[1] + win.oh * s[2] +
                              win.ow * s[3],
                          result.partitions, step * s[1], {win.rows, win.columns}, {s[2], s[3]}),
                 result);
}

void store(KernelContext& ctx, const Convolution& c, int64_t n, int64_t first, int64_t channels, int64_t step,
           const Window& win, const AccessPattern& sum, const std::optional<AccessPattern>& bias,
           int64_t depth = 0) {
  const AccessPattern result = ctx.b.sbuf(c.out.dtype, static_cast<int>(channels), {win.rows, win.columns});
  if (bias) {
    ctx.b.tensor_scalar(result, sum, AluOp::add, *bias);
  } else {
    ctx.b.tensor_copy(result, sum);
  }
  store_tile(ctx, c, n, first, step, win, result, depth);
}

// Every input channel has its own `multiplier` outputs: channels on partitions, a multiply-add a tap.
void depthwise(KernelContext& ctx, const Convolution& c) {
  const int64_t channels = c.x.shape[1], multiplier = c.out.shape[1] / channels, taps = c.taps();
  const ProgramBuilder::Mark start = ctx.b.mark();
  for (int64_t first = 0; first < channels; first += kPartitions) {
    const int64_t count = std::min(kPartitions, channels - first);
    for (int64_t m = 0; m < multiplier; ++m) {
      ctx.b.release(start);
      const int64_t output = first * multiplier + m;
      const AccessPattern w = ctx.b.sbuf(c.w.dtype, static_cast<int>(count), {taps});
      ctx.b.dma_copy(w, hbm_tile(c.w.dtype, c.w.tensor, c.w.offset + output * taps, static_cast<int>(count),
                                 multiplier * taps, {taps}, {1}));
      const std::optional<AccessPattern> bias = load_bias(ctx, c, output, count, multiplier);
      for (int64_t n = 0; n < c.x.shape[0]; ++n) {
        for (const Window& win : windows(c, kTileFree, 1)) {
          const ProgramBuilder::Mark mark = ctx.b.mark();
          const AccessPattern x = load_window(ctx, c, n, first, count, 1, win);
          const AccessPattern sum = ctx.b.sbuf(DType::f32, static_cast<int>(count), {win.rows, win.columns});
          for (int64_t tap = 0; tap < taps; ++tap) {
            const AccessPattern seen = tap_of(c, x, win, tap), weight = w.slice(0, tap, 1);
            if (tap == 0) {
              ctx.b.tensor_scalar(sum, seen, AluOp::multiply, weight);
            } else {
              ctx.b.scalar_tensor_tensor(sum, seen, AluOp::multiply, weight, AluOp::add, sum);
            }
          }
          store(ctx, c, n, output, count, multiplier, win, sum, bias);
          ctx.b.release(mark);
        }
      }
    }
  }
  ctx.b.release(start);
}

// The weights of output channels co .. co+count-1 of a group as [ci, taps, co], one tile for each depth of
// the kernel and 128 input channels.
std::vector<AccessPattern> load_weights(KernelContext& ctx, const Convolution& c, int64_t group, int64_t co,
                                        int64_t count) {
  const int64_t in_channels = c.w.shape[1];
  const Shape& s = c.w.strides;
  std::vector<AccessPattern> weights;
  for (int64_t kd = 0; kd < c.kernel_depth; ++kd) {
    for (int64_t ci = 0; ci < in_channels; ci += kPartitions) {
      const int64_t k = std::min(kPartitions, in_channels - ci);
      const AccessPattern w = ctx.b.sbuf(c.w.dtype, static_cast<int>(k), {c.taps(), count});
      const int64_t offset =
          c.w.offset + kd * c.depth_stride[1] + group * c.group_stride + co * s[0] + ci * s[1];
      ctx.b.dma_copy(w, hbm_tile(c.w.dtype, c.w.tensor, offset, static_cast<int>(k), s[1],
                                 {c.w.shape[2], c.w.shape[3], count}, {s[2], s[3], s[0]}));
      weights.push_back(matmul_operand(ctx, w));
    }
  }
  return weights;
}

// out[co, pixels] = sum over taps and channel tiles of w[ci, co]^T x[ci, pixels seen by the tap].
void grouped(KernelContext& ctx, const Convolution& c) {
  const int64_t in_channels = c.w.shape[1], out_channels = c.out.shape[1] / c.groups, taps = c.taps();
  const int64_t channel_tiles = (in_channels + kPartitions - 1) / kPartitions;
  const auto element = static_cast<int64_t>(size_of(c.w.dtype));
  const int64_t out_tile =
      std::clamp<int64_t>(kWeightBytes / (c.kernel_depth * channel_tiles * taps * element), 1, kPartitions);
  const std::vector<Window> tiles = windows(c, kPsumColumns, channel_tiles * c.kernel_depth);
  const ProgramBuilder::Mark start = ctx.b.mark();
  const auto load_inputs = [&](int64_t g, int64_t n, const Window& win, int64_t depth) {
    std::vector<AccessPattern> inputs;
    for (int64_t ci = 0; ci < in_channels; ci += kPartitions) {
      inputs.push_back(
          matmul_operand(ctx, load_window(ctx, c, n, g * in_channels + ci,
                                          std::min(kPartitions, in_channels - ci), 1, win, depth)));
    }
    return inputs;
  };
  // Where all outputs of a group see one window, it is loaded once.
  const bool one_window =
      c.x.shape[0] == 1 && tiles.size() == 1 && c.depths.size() == 1 && c.depths.front().size() == 1;
  std::vector<AccessPattern> window;
  const auto add = [&](const AccessPattern& sum, const std::vector<AccessPattern>& weights, int64_t g,
                       int64_t n, const Window& win, const std::vector<Convolution::Slice>& slices) {
    bool accumulate = false;
    for (const Convolution::Slice& slice : slices) {
      const std::vector<AccessPattern> inputs = one_window ? window : load_inputs(g, n, win, slice.input);
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          const AccessPattern& w = weights[static_cast<std::size_t>(slice.kernel * channel_tiles) + i];
          ctx.b.nc_matmul(sum, w.select(0, tap), tap_of(c, inputs[i], win, tap), accumulate);
          accumulate = true;
        }
      }
    }
  };
  for (int64_t g = 0; g < c.groups; ++g) {
    ctx.b.release(start);
    if (one_window) window = load_inputs(g, 0, tiles.front(), c.depths.front().front().input);
    const ProgramBuilder::Mark group = ctx.b.mark();
    for (int64_t co = 0; co < out_channels; co += out_tile) {
      ctx.b.release(group);
      const int64_t count = std::min(out_tile, out_channels - co), output = g * out_channels + co;
      const std::vector<AccessPattern> weights = load_weights(ctx, c, g, co, count);
      const std::optional<AccessPattern> bias = load_bias(ctx, c, output, count, 1);
      for (int64_t n = 0; n < c.x.shape[0]; ++n) {
        for (std::size_t depth = 0; depth < c.depths.size(); ++depth) {
          for (const Window& win : tiles) {
            const ProgramBuilder::Mark mark = ctx.b.mark();
            AccessPattern sum;
            if (c.depths[depth].empty()) {  // sees only padding
              sum = ctx.b.sbuf(DType::f32, static_cast<int>(count), {win.rows, win.columns});
              ctx.b.memset(sum, 0.0f);
            } else {
              sum = ctx.b.psum(DType::f32, static_cast<int>(count), {win.rows, win.columns});
              add(sum, weights, g, n, win, c.depths[depth]);
            }
            store(ctx, c, n, output, count, 1, win, sum, bias, static_cast<int64_t>(depth));
            ctx.b.release(mark);
          }
        }
      }
    }
  }
  ctx.b.release(start);
}

// Integers: GpSimd multiplies and adds exactly, output channels on partitions, each of which sees the whole
// window of one input channel after another.
void integer_convolution(KernelContext& ctx, const Convolution& c) {
  const int64_t in_channels = c.w.shape[1], out_channels = c.out.shape[1] / c.groups, taps = c.taps();
  const Shape& s = c.w.strides;
  const ProgramBuilder::Mark start = ctx.b.mark();
  const auto each_pixel = [](const AccessPattern& per_channel, const Window& win) {
    return per_channel.select(0, 0).unsqueezed(0, win.columns).unsqueezed(0, win.rows);
  };
  // sum += what `channels` partitions see of input channel `ci` of group g at one depth of the kernel.
  const auto add = [&](const AccessPattern& sum, int64_t g, int64_t co, int64_t ci, int64_t n,
                       const Window& win, const Convolution::Slice& slice) {
    const ProgramBuilder::Mark mark = ctx.b.mark();
    const AccessPattern x = load_window(ctx, c, n, g * in_channels + ci, sum.partitions, 0, win, slice.input);
    const AccessPattern w = ctx.b.sbuf(c.w.dtype, sum.partitions, {taps});
    ctx.b.dma_copy(w, hbm_tile(c.w.dtype, c.w.tensor,
                               c.w.offset + slice.kernel * c.depth_stride[1] + g * c.group_stride +
                                   co * s[0] + ci * s[1],
                               sum.partitions, s[0], {c.w.shape[2], c.w.shape[3]}, {s[2], s[3]}));
    const AccessPattern product = ctx.b.sbuf(c.out.dtype, sum.partitions, {win.rows, win.columns});
    for (int64_t tap = 0; tap < taps; ++tap) {
      ctx.b.tensor_tensor(product, tap_of(c, x, win, tap), each_pixel(w.slice(0, tap, 1), win),
                          AluOp::multiply, Engine::gpsimd);
      ctx.b.tensor_tensor(sum, sum, product, AluOp::add, Engine::gpsimd);
    }
    ctx.b.release(mark);
  };
  const std::vector<Window> tiles = windows(c, kTileFree, 1);
  for (int64_t g = 0; g < c.groups; ++g) {
    for (int64_t co = 0; co < out_channels; co += kPartitions) {
      const int64_t count = std::min(kPartitions, out_channels - co), output = g * out_channels + co;
      ctx.b.release(start);
      const std::optional<AccessPattern> bias = load_bias(ctx, c, output, count, 1);
      const ProgramBuilder::Mark mark = ctx.b.mark();
      for (int64_t n = 0; n < c.x.shape[0]; ++n) {
        for (std::size_t depth = 0; depth < c.depths.size(); ++depth) {
          for (const Window& win : tiles) {
            const AccessPattern sum =
                ctx.b.sbuf(c.out.dtype, static_cast<int>(count), {win.rows, win.columns});
            if (bias) {
              ctx.b.tensor_copy(sum, each_pixel(*bias, win), Engine::gpsimd);
            } else {
              ctx.b.memset_int(sum, 0, Engine::gpsimd);
            }
            for (const Convolution::Slice& slice : c.depths[depth]) {
              for (int64_t ci = 0; ci < in_channels; ++ci) add(sum, g, co, ci, n, win, slice);
            }
            store_tile(ctx, c, n, output, 1, win, sum, static_cast<int64_t>(depth));
            ctx.b.release(mark);
          }
        }
      }
    }
  }
  ctx.b.release(start);
}

// No input channel or no tap: the bias alone.
void bias_only(KernelContext& ctx, const Convolution& c, const View& out) {
  std::vector<View> views{out};
  if (c.bias) {
    View bias = out;
    bias.tensor = c.bias->tensor;
    bias.strides.assign(bias.strides.size(), 0);
    bias.strides[1] = 1;
    views.push_back(bias);
  }
  for_each_tile(ctx, views, kTileFree, [&](const Tile& tile) {
    AccessPattern t;
    if (c.bias) {
      t = load(ctx, tile.hbm[1], tile.partitions, tile.free);
    } else {
      t = ctx.b.sbuf(c.out.dtype, tile.partitions, {tile.free});
      fill(ctx, t, {});
    }
    ctx.b.dma_copy(tile.hbm[0], t);
  });
}

// A transposed convolution is a convolution of the inflated input with the kernel turned round, its channels
// exchanged.
void transpose(Convolution& c) {
  c.group_stride = c.x.shape[1] / c.groups * c.w.strides[0];
  const int64_t order[] = {1, 0, 2, 3};
  c.w = c.w.permuted(order);
  c.w.shape[1] = c.x.shape[1] / c.groups;
  for (std::size_t d = 0; d < 2; ++d) {
    const int64_t taps = c.w.shape[2 + d];
    c.w.offset += (taps - 1) * c.w.strides[2 + d];
    c.w.strides[2 + d] = -c.w.strides[2 + d];
    c.inflate[d] = c.stride[d];
    c.padding[d] = c.dilation[d] * (taps - 1) - c.padding[d];
    c.stride[d] = 1;
  }
}

// Which input depth each output depth sees; the views become those of depth 0.
void split_depths(Convolution& c, int64_t stride, int64_t padding, int64_t dilation, bool transposed) {
  const int64_t in = c.x.shape[2], kernel = c.w.shape[2], out = c.out.shape[2];
  View* views[] = {&c.x, &c.w, &c.out};
  for (int i = 0; i < 3; ++i) {
    c.depth_stride[i] = views[i]->strides[2];
    *views[i] = views[i]->selected(2, 0);
  }
  c.kernel_depth = kernel;
  c.depths.assign(static_cast<std::size_t>(out), {});
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t k = 0; k < kernel; ++k) {
      // Transposed: the output depth that input depth i reaches through k is i * stride - padding + k *
      // dilation.
      int64_t i = transposed ? o + padding - k * dilation : o * stride - padding + k * dilation;
      if (i < 0 || (transposed && i % stride != 0)) continue;
      if (transposed) i /= stride;
      if (i < in) c.depths[static_cast<std::size_t>(o)].push_back({k, i});
    }
  }
}

void convolution(KernelContext& ctx) {
  Convolution c{ctx.input("input"),
                ctx.input("weight"),
                ctx.output(),
                {},
                {1, 1},
                {0, 0},
                {1, 1},
                ctx.call.integer("groups"),
                0};
  const bool integers = is_integral(c.out.dtype) && c.out.dtype != DType::boolean;
  if (!integers) require_matmul_dtype(ctx, c.out.dtype);
  if (c.out.count() == 0) return;
  const auto spatial = static_cast<std::size_t>(c.w.rank() - 2);
  if (const auto bias = ctx.call.tensor_opt("bias")) c.bias = ctx.input(*bias);
  if (c.x.rank() == c.w.rank() - 1) {  // no batch
    c.x = c.x.unsqueezed(0);
    c.out = c.out.unsqueezed(0);
  }
  const int expand = static_cast<int>(spatial);
  const auto stride = ctx.call.integers("stride", expand), padding = ctx.call.integers("padding", expand),
             dilation = ctx.call.integers("dilation", expand);
  const bool transposed = ctx.call.boolean("transposed");
  for (std::size_t d = 0; d < std::min<std::size_t>(spatial, 2); ++d) {
    c.stride[1 - d] = stride[spatial - 1 - d];
    c.padding[1 - d] = padding[spatial - 1 - d];
    c.dilation[1 - d] = dilation[spatial - 1 - d];
  }
  if (spatial == 1) {
    c.x = c.x.unsqueezed(2);
    c.w = c.w.unsqueezed(2);
    c.out = c.out.unsqueezed(2);
  }
  if (c.w.count() == 0) return bias_only(ctx, c, c.out);
  if (spatial == 3) split_depths(c, stride[0], padding[0], dilation[0], transposed);
  if (transposed) {
    transpose(c);
    return integers ? integer_convolution(ctx, c) : grouped(ctx, c);
  }
  if (integers) {
    c.group_stride = c.out.shape[1] / c.groups * c.w.strides[0];
    return integer_convolution(ctx, c);
  }
  if (c.w.shape[1] == 1 && c.groups > 1 && spatial < 3) return depthwise(ctx, c);
  c.group_stride = c.out.shape[1] / c.groups * c.w.strides[0];
  grouped(ctx, c);
}

}  // namespace

void register_convolution(KernelTable& table) { table.add("aten::convolution.default", convolution); }

}  // namespace assay::backend
