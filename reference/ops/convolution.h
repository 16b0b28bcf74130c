// aten::convolution in any number of spatial dims: strides, padding, dilation, groups, transposed.
#pragma once

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

template <class T>
std::vector<Array<T>> convolution(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& input = *in[at(call.tensor("input"))];
  const Array<T>& weight = *in[at(call.tensor("weight"))];
  const auto bias_index = call.tensor_opt("bias");
  if (out.is_integral()) throw Error(ErrorCode::unsupported, call.op() + ": integer convolution");
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

  std::vector<T> columns(at(terms * window.output), T(0)), filters(at(out_group * terms)), bias;
  if (bias_index) bias.resize(at(out_group * window.output));
  for (int64_t g = 0; g < groups; ++g) {
    // Weights are [out, in / groups, kernel], or [in, out / groups, kernel] if transposed.
    for (int64_t o = 0; o < out_group; ++o) {
      for (int64_t c = 0; c < in_group; ++c) {
        const int64_t row =
            transposed ? (g * in_group + c) * out_group + o : (g * out_group + o) * in_group + c;
        std::copy_n(weight.real.data() + row * window.kernel, window.kernel,
                    filters.data() + (o * in_group + c) * window.kernel);
      }
      if (bias_index) {
        std::fill_n(bias.data() + o * window.output, window.output,
                    in[at(*bias_index)]->real[at(g * out_group + o)]);
      }
    }
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t c = 0; c < in_group; ++c) {
        const T* channel = input.real.data() + (b * in_channels + g * in_group + c) * window.input;
        T* rows = columns.data() + c * window.kernel * window.output;
        for (std::size_t i = 0; i < window.source.size(); ++i) {
          rows[i] = window.source[i] < 0 ? T(0) : channel[window.source[i]];
        }
      }
      matmul_any_order(filters.data(), columns.data(), bias_index ? bias.data() : nullptr,
                       out.real.data() + (b * out_channels + g * out_group) * window.output, out_group,
                       window.output, terms);
    }
  }
  return one(std::move(out));
}

template <class T>
void register_convolution(KernelTable<T>& table) {
  table.add("aten::convolution.default", sum_traits(), convolution<T>);
}

}  // namespace assay::reference
