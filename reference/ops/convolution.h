// aten::convolution in any number of spatial dims: strides, padding, dilation, groups, transposed.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "reference/number/plain.h"
#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// Which element of a channel each (kernel position, output position) reads; -1 in the padding. [kernel,
// output].
struct ConvolutionWindow {
  int64_t kernel = 1, output = 1, input = 1;
  std::vector<int64_t> source;
};

inline ConvolutionWindow convolution_window(const Shape& input, const Shape& kernel, const Shape& output,
                                            const Shape& stride, const Shape& padding, const Shape& dilation,
                                            bool transposed) {
  ConvolutionWindow window;
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    window.kernel *= kernel[d];
    window.output *= output[d];
    window.input *= input[d];
  }
  window.source.resize(at(window.kernel * window.output));
  for (int64_t k = 0; k < window.kernel; ++k) {
    for (int64_t o = 0; o < window.output; ++o) {
      int64_t rest_k = k, rest_o = o, offset = 0, step = 1;
      for (std::size_t d = kernel.size(); d-- > 0;) {
        const int64_t kd = rest_k % kernel[d], od = rest_o % output[d];
        rest_k /= kernel[d];
        rest_o /= output[d];
        // Forward: input = o * stride - padding + k * dilation. Transposed: the same equation, solved for the
        // input.
        int64_t position =
            transposed ? od + padding[d] - kd * dilation[d] : od * stride[d] - padding[d] + kd * dilation[d];
        if (transposed) {
          const bool hit = position >= 0 && position % stride[d] == 0;
          position = hit ? position / stride[d] : -1;
        }
        if (position < 0 || position >= input[d]) {
          offset = -1;
          break;
        }
        offset += position * step;
        step *= input[d];
      }
      window.source[at(k * window.output + o)] = offset;
    }
  }
  return window;
}

// c = a @ w + addend (or none), integers modulo 2^width.
inline void integer_product(DType dtype, const int64_t* a, const int64_t* w, const int64_t* addend,
                            int64_t* c, int64_t m, int64_t n, int64_t k) {
  std::vector<int64_t> column(at(k));
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t p = 0; p < k; ++p) column[at(p)] = w[p * n + j];
    for (int64_t r = 0; r < m; ++r) {
      const auto sum = static_cast<uint64_t>(wrapped_dot(a + r * k, column.data(), k));
      const auto extra = static_cast<uint64_t>(addend != nullptr ? addend[r * n + j] : 0);
      c[r * n + j] = wrapped(dtype, static_cast<int64_t>(sum + extra));
    }
  }
}

template <class V>
bool is_finite_number(const V& v) {
  return std::isfinite(static_cast<double>(plain(v)));
}

// Padding is zeros, but a device may leave their products out: with a weight that is infinite or NaN they are
// NaN or nothing, and both are right. `results` [out, output] become what is right without them.
template <class V, class Product>
void leave_padding_out(const ConvolutionWindow& window, int64_t out, int64_t terms,
                       const std::vector<V>& filters, const std::vector<V>& columns, const V* bias,
                       V* results, const Product& product) {
  std::vector<V> column(at(terms)), addend(at(out)), sums(at(out));
  for (int64_t j = 0; j < window.output; ++j) {
    std::vector<V> masked = filters;
    std::vector<bool> changed(at(out), false);
    for (int64_t t = 0; t < terms; ++t) {
      column[at(t)] = columns[at(t * window.output + j)];
      if (window.source[at(t % window.kernel * window.output + j)] >= 0) continue;
      for (int64_t o = 0; o < out; ++o) {
        V& weight = masked[at(o * terms + t)];
        if (is_finite_number(weight)) continue;
        weight = V(0);
        changed[at(o)] = true;
      }
    }
    if (std::find(changed.begin(), changed.end(), true) == changed.end()) continue;
    for (int64_t o = 0; bias != nullptr && o < out; ++o) addend[at(o)] = bias[o * window.output + j];
    product(masked.data(), column.data(), bias != nullptr ? addend.data() : nullptr, sums.data(), out, 1,
            terms);
    for (int64_t o = 0; o < out; ++o) {
      if (!changed[at(o)]) continue;
      V& result = results[o * window.output + j];
      result = sums[at(o)];
      if constexpr (requires { result.overflow; }) result.overflow = true;
    }
  }
}

template <class T>
std::vector<Array<T>> convolution(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& input = *in[at(call.tensor("input"))];
  const Array<T>& weight = *in[at(call.tensor("weight"))];
  const auto bias_index = call.tensor_opt("bias");
  const bool transposed = call.boolean("transposed");
  const int64_t groups = call.integer("groups");
  const auto dims = weight.rank() - 2;
  const bool batched = input.rank() == weight.rank();
  const Shape spatial_in(input.meta.shape.end() - dims, input.meta.shape.end());
  const Shape spatial_out(out.meta.shape.end() - dims, out.meta.shape.end());
  const Shape kernel(weight.meta.shape.end() - dims, weight.meta.shape.end());
  const auto n = static_cast<int>(dims);
  const ConvolutionWindow window =
      convolution_window(spatial_in, kernel, spatial_out, call.integers("stride", n),
                         call.integers("padding", n), call.integers("dilation", n), transposed);
  const int64_t batch = batched ? input.meta.shape[0] : 1;
  const int64_t in_channels = input.meta.shape[batched ? 1 : 0];
  const int64_t out_channels = out.meta.shape[batched ? 1 : 0];
  const int64_t in_group = in_channels / groups, out_group = out_channels / groups;
  const int64_t terms = in_group * window.kernel;

  const auto convolve = [&]<class V>(const std::vector<V>& numbers, const std::vector<V>& weights,
                                     const std::vector<V>* biases, std::vector<V>& results,
                                     const auto& product) {
    bool all_finite = true;
    if constexpr (!std::is_integral_v<V>)
      all_finite = std::all_of(weights.begin(), weights.end(), is_finite_number<V>);
    std::vector<V> columns(at(terms * window.output), V(0)), filters(at(out_group * terms)), bias;
    if (biases != nullptr) bias.resize(at(out_group * window.output));
    for (int64_t g = 0; g < groups; ++g) {
      // Weights are [out, in / groups, kernel], or [in, out / groups, kernel] if transposed.
      for (int64_t o = 0; o < out_group; ++o) {
        for (int64_t c = 0; c < in_group; ++c) {
          const int64_t row =
              transposed ? (g * in_group + c) * out_group + o : (g * out_group + o) * in_group + c;
          std::copy_n(weights.data() + row * window.kernel, window.kernel,
                      filters.data() + (o * in_group + c) * window.kernel);
        }
        if (biases != nullptr) {
          std::fill_n(bias.data() + o * window.output, window.output, (*biases)[at(g * out_group + o)]);
        }
      }
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t c = 0; c < in_group; ++c) {
          const V* channel = numbers.data() + (b * in_channels + g * in_group + c) * window.input;
          V* rows = columns.data() + c * window.kernel * window.output;
          for (std::size_t i = 0; i < window.source.size(); ++i) {
            rows[i] = window.source[i] < 0 ? V(0) : channel[window.source[i]];
          }
        }
        const V* addend = biases != nullptr ? bias.data() : nullptr;
        V* sums = results.data() + (b * out_channels + g * out_group) * window.output;
        product(filters.data(), columns.data(), addend, sums, out_group, window.output, terms);
        if constexpr (!std::is_integral_v<V>) {
          if (!all_finite)
            leave_padding_out(window, out_group, terms, filters, columns, addend, sums, product);
        }
      }
    }
  };
  const Array<T>* bias = bias_index ? in[at(*bias_index)] : nullptr;
  if (out.is_integral()) {
    convolve(
        input.integer, weight.integer, bias ? &bias->integer : nullptr, out.integer,
        [&](const int64_t* a, const int64_t* w, const int64_t* addend, int64_t* c, int64_t m, int64_t columns,
            int64_t k) { integer_product(out.meta.dtype, a, w, addend, c, m, columns, k); });
  } else {
    convolve(input.real, weight.real, bias ? &bias->real : nullptr, out.real,
             [](const T* a, const T* w, const T* addend, T* c, int64_t m, int64_t columns, int64_t k) {
               matmul_any_order(a, w, addend, c, m, columns, k);
             });
  }
  return one(std::move(out));
}

template <class T>
void register_convolution(KernelTable<T>& table) {
  table.add("aten::convolution.default", sum_traits(), convolution<T>);
}

}  // namespace assay::reference
