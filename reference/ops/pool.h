// Pooling over the last dims, and nearest and bilinear resampling.
#pragma once

#include <cmath>
#include <limits>

#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// One dim of a window: input positions start + k * dilation, k < count, all inside the input.
struct WindowDim {
  int64_t start, count, step;
  int64_t padded;  // elements of the window that lie in input or (declared) padding: avg_pool's divisor
};
inline WindowDim window_dim(int64_t output, int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                            int64_t dilation) {
  int64_t first = output * stride - padding;
  const int64_t end = std::min(first + (kernel - 1) * dilation + 1, input + padding);
  const int64_t padded = end - first;
  int64_t skipped = 0;
  if (first < 0) skipped = (-first + dilation - 1) / dilation;
  const int64_t start = first + skipped * dilation;
  const int64_t limit = std::min(first + (kernel - 1) * dilation + 1, input);
  const int64_t count = std::max<int64_t>(0, limit > start ? (limit - start + dilation - 1) / dilation : 0);
  return {start, std::min(count, kernel - skipped), dilation, padded};
}

// Calls f(channel's first element, output index, dims) for each output element. `pooled` is the number of
// spatial dims.
template <class F>
void for_each_window(const Shape& input, const Shape& output, int pooled, const Shape& kernel,
                     const Shape& stride, const Shape& padding, const Shape& dilation, F&& f) {
  const auto n = static_cast<std::size_t>(pooled);
  const Shape in(input.end() - pooled, input.end()), out(output.end() - pooled, output.end());
  const int64_t area_in = element_count(in), area_out = element_count(out);
  const int64_t channels = area_in == 0 || area_out == 0 ? 0 : element_count(output) / area_out;
  std::vector<WindowDim> dims(n);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t o = 0; o < area_out; ++o) {
      int64_t rest = o;
      for (std::size_t d = n; d-- > 0;) {
        dims[d] = window_dim(rest % out[d], in[d], kernel[d], stride[d], padding[d], dilation[d]);
        rest /= out[d];
      }
      f(c * area_in, c * area_out + o, dims);
    }
  }
}

// Calls f(offset in the channel) for the input elements of a window, in row-major order.
template <class F>
void for_each_in_window(const std::vector<WindowDim>& dims, const Shape& spatial, F&& f) {
  int64_t total = 1;
  for (const WindowDim& dim : dims) total *= dim.count;
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i, offset = 0, step = 1;
    for (std::size_t d = dims.size(); d-- > 0;) {
      offset += (dims[d].start + rest % dims[d].count * dims[d].step) * step;
      rest /= dims[d].count;
      step *= spatial[d];
    }
    f(offset);
  }
}

inline Shape strides_or_kernel(const OpCall& call, const Shape& kernel, int pooled) {
  const auto stride = call.integers("stride");
  return stride.empty() ? kernel : call.integers("stride", pooled);
}

// Values and the flat index, in the input's spatial dims, of each window's largest element; NaN wins, the
// first of equal ones is taken, and a window of -inf gives its first element.
template <class T, int Pooled>
std::vector<Array<T>> max_pool(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  auto indices = make_array<T>(TensorMeta{DType::i64, out.meta.shape});
  const Shape kernel = call.integers("kernel_size", Pooled);
  const Shape spatial(in[0]->meta.shape.end() - Pooled, in[0]->meta.shape.end());
  const auto pool = [&](const auto* x, auto* y) {
    for_each_window(in[0]->meta.shape, out.meta.shape, Pooled, kernel,
                    strides_or_kernel(call, kernel, Pooled), call.integers("padding", Pooled),
                    call.integers("dilation", Pooled),
                    [&](int64_t channel, int64_t o, const std::vector<WindowDim>& dims) {
                      int64_t best = -1;
                      for_each_in_window(dims, spatial, [&](int64_t offset) {
                        const auto& value = x[channel + offset];
                        if (best < 0) {
                          best = offset;
                        } else if (x[channel + best] == x[channel + best] &&
                                   (x[channel + best] < value || !(value == value))) {
                          best = offset;
                        }
                      });
                      y[o] = x[channel + best];
                      indices.integer[at(o)] = best;
                    });
  };
  if (out.is_integral()) {
    pool(in[0]->integer.data(), out.integer.data());
  } else {
    pool(in[0]->real.data(), out.real.data());
  }
  std::vector<Array<T>> result = one(std::move(out));
  result.push_back(std::move(indices));
  return result;
}

template <class T, int Pooled>
std::vector<Array<T>> avg_pool(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Shape kernel = call.integers("kernel_size", Pooled);
  const Shape spatial(in[0]->meta.shape.end() - Pooled, in[0]->meta.shape.end());
  const bool include_pad = call.boolean("count_include_pad");
  const auto fixed =
      call.schema().find("divisor_override") != nullptr ? call.integer_opt("divisor_override") : std::nullopt;
  std::vector<T> window;
  for_each_window(in[0]->meta.shape, out.meta.shape, Pooled, kernel, strides_or_kernel(call, kernel, Pooled),
                  call.integers("padding", Pooled), Shape(Pooled, 1),
                  [&](int64_t channel, int64_t o, const std::vector<WindowDim>& dims) {
                    window.clear();
                    for_each_in_window(dims, spatial, [&](int64_t offset) {
                      window.push_back(in[0]->real[at(channel + offset)]);
                    });
                    int64_t padded = 1;
                    for (const WindowDim& dim : dims) padded *= dim.padded;
                    const auto count = static_cast<int64_t>(window.size());
                    const int64_t divisor = fixed.value_or(include_pad ? padded : count);
                    out.real[at(o)] = sum_any_order(window.data(), count) / T(static_cast<double>(divisor));
                  });
  return one(std::move(out));
}

// Windows floor(i in / out) .. ceil((i + 1) in / out).
template <class T>
std::vector<Array<T>> adaptive_avg_pool2d(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Shape& from = in[0]->meta.shape;
  const Shape& to = out.meta.shape;
  const int64_t height = from[from.size() - 2], width = from[from.size() - 1];
  const int64_t rows = to[to.size() - 2], columns = to[to.size() - 1];
  std::vector<T> window;
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t column = i % columns, row = i / columns % rows, channel = i / (columns * rows);
    window.clear();
    for (int64_t y = row * height / rows; y < ((row + 1) * height + rows - 1) / rows; ++y) {
      for (int64_t x = column * width / columns; x < ((column + 1) * width + columns - 1) / columns; ++x) {
        window.push_back(in[0]->real[at((channel * height + y) * width + x)]);
      }
    }
    const auto count = static_cast<int64_t>(window.size());
    out.real[at(i)] = sum_any_order(window.data(), count) / T(static_cast<double>(count));
  }
  return one(std::move(out));
}

// PyTorch's source position in f32: floor(i * scale), scale = 1 / scale_factor where given, else in / out.
inline float resize_scale(const OpCall& call, int dim, int64_t in, int64_t out) {
  const auto factors = call.floats_opt("scale_factors");
  if (factors) return static_cast<float>(1.0 / (*factors)[static_cast<std::size_t>(dim)]);
  return static_cast<float>(in) / static_cast<float>(out);
}
template <class T>
std::vector<Array<T>> upsample_nearest2d(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Shape& from = in[0]->meta.shape;
  const int64_t rows = out.meta.shape[2], columns = out.meta.shape[3];
  const auto source = [&](int dim, int64_t i, int64_t size, int64_t result) {
    const float position = std::floor(static_cast<float>(i) * resize_scale(call, dim, size, result));
    return std::min(static_cast<int64_t>(position), size - 1);
  };
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t y = source(0, i / columns % rows, from[2], rows),
                  x = source(1, i % columns, from[3], columns);
    const int64_t k = (i / (columns * rows) * from[2] + y) * from[3] + x;
    if (out.is_integral()) {
      out.integer[at(i)] = in[0]->integer[at(k)];
    } else {
      out.real[at(i)] = in[0]->real[at(k)];
    }
  }
  return one(std::move(out));
}

// Weights of the two neighbours along one dim (PyTorch's area_pixel_compute_source_index).
template <class T>
struct Neighbour2 {
  int64_t low, high;
  T low_weight, high_weight;
};
template <class T>
Neighbour2<T> bilinear_neighbours(const OpCall& call, int dim, int64_t i, int64_t in, int64_t out) {
  const bool align = call.boolean("align_corners");
  const T index = T(static_cast<double>(i));
  T position(0);
  if (align) {
    if (out > 1) position = index * (T(static_cast<double>(in - 1)) / T(static_cast<double>(out - 1)));
  } else {
    const auto factors = call.floats_opt("scale_factors");
    const T scale = factors ? T(1) / constant<T>((*factors)[static_cast<std::size_t>(dim)])
                            : T(static_cast<double>(in)) / T(static_cast<double>(out));
    position = scale * (index + T(0.5)) - T(0.5);
    if (position < T(0)) position = T(0);
  }
  const int64_t low = std::min(static_cast<int64_t>(static_cast<double>(plain(position))), in - 1);
  const T weight = position - T(static_cast<double>(low));
  return {low, std::min(low + 1, in - 1), T(1) - weight, weight};
}
template <class T>
std::vector<Array<T>> upsample_bilinear2d(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Shape& from = in[0]->meta.shape;
  const int64_t rows = out.meta.shape[2], columns = out.meta.shape[3];
  for (int64_t i = 0; i < out.count(); ++i) {
    const auto y = bilinear_neighbours<T>(call, 0, i / columns % rows, from[2], rows);
    const auto x = bilinear_neighbours<T>(call, 1, i % columns, from[3], columns);
    const T* channel = in[0]->real.data() + i / (columns * rows) * from[2] * from[3];
    const T upper =
        x.low_weight * channel[y.low * from[3] + x.low] + x.high_weight * channel[y.low * from[3] + x.high];
    const T lower =
        x.low_weight * channel[y.high * from[3] + x.low] + x.high_weight * channel[y.high * from[3] + x.high];
    out.real[at(i)] = y.low_weight * upper + y.high_weight * lower;
  }
  return one(std::move(out));
}

template <class T>
void register_pool(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits choice = exact_traits("PyTorch");
  choice.model.signed_zero = false;
  table.add_exact("aten::max_pool2d_with_indices.default", choice.jumps(), max_pool<E, 2>);
  table.add_exact("aten::max_pool3d_with_indices.default", choice.jumps(), max_pool<E, 3>);
  Traits averages = sum_traits();
  averages.ends_in_sum = false;
  table.add("aten::avg_pool1d.default", averages, avg_pool<T, 1>);
  table.add("aten::avg_pool2d.default", averages, avg_pool<T, 2>);
  table.add("aten::avg_pool3d.default", averages, avg_pool<T, 3>);
  table.add("aten::adaptive_avg_pool2d.default", averages, adaptive_avg_pool2d<T>);
  table.add("aten::_adaptive_avg_pool2d.default", averages, adaptive_avg_pool2d<T>);
  table.add_exact("aten::upsample_nearest2d.vec", exact_traits("PyTorch"), upsample_nearest2d<E>);
  table.add("aten::upsample_bilinear2d.vec", function_traits("PyTorch"), upsample_bilinear2d<T>);
}

}  // namespace assay::reference
