// Pooling over the last dims.
#pragma once

#include <array>
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
  std::vector<int64_t> integers;
  for_each_window(in[0]->meta.shape, out.meta.shape, Pooled, kernel, strides_or_kernel(call, kernel, Pooled),
                  call.integers("padding", Pooled), Shape(Pooled, 1),
                  [&](int64_t channel, int64_t o, const std::vector<WindowDim>& dims) {
                    window.clear();
                    integers.clear();
                    int64_t padded = 1, count = 1;
                    for (const WindowDim& dim : dims) {
                      padded *= dim.padded;
                      count *= dim.count;
                    }
                    const int64_t divisor = fixed.value_or(include_pad ? padded : count);
                    for_each_in_window(dims, spatial, [&](int64_t offset) {
                      if (out.is_integral()) {
                        integers.push_back(in[0]->integer[at(channel + offset)]);
                      } else {
                        window.push_back(in[0]->real[at(channel + offset)]);
                      }
                    });
                    if (out.is_integral()) {  // towards zero
                      const int64_t sum = wrapped_sum(integers.data(), count);
                      out.integer[at(o)] = divisor == -1
                                               ? wrapped_product(std::array<int64_t, 2>{sum, -1}.data(), 2)
                                               : sum / divisor;
                    } else {
                      out.real[at(o)] = sum_any_order(window.data(), count) / T(static_cast<double>(divisor));
                    }
                  });
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
}

}  // namespace assay::reference
