// Pooling into a given number of windows, at even or random places, and its inverse.
#pragma once

#include <cmath>
#include <limits>

#include "reference/number/sums.h"
#include "reference/ops/indexing.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// A window along one dim.
struct Span {
  int64_t start = 0, count = 0;
};
// floor(i in / out) .. ceil((i + 1) in / out).
inline Span adaptive_span(int64_t i, int64_t in, int64_t out) {
  const int64_t start = i * in / out;
  return {start, ((i + 1) * in + out - 1) / out - start};
}

// Calls f(output element, plane, first element of the plane, positions in the plane of the window's elements
// in row-major order). `spans(plane, dim, i)` gives window i along a dim.
template <class Spans, class F>
void for_each_span(const Shape& input, const Shape& output, std::size_t pooled, Spans&& spans, F&& f) {
  const Shape in(input.end() - static_cast<std::ptrdiff_t>(pooled), input.end());
  const Shape out(output.end() - static_cast<std::ptrdiff_t>(pooled), output.end());
  const int64_t area_in = element_count(in), area_out = element_count(out);
  std::vector<int64_t> offsets, longer;
  for (int64_t o = 0; o < element_count(output); ++o) {
    const int64_t plane = o / area_out;
    std::vector<Span> window(pooled);
    int64_t rest = o;
    for (std::size_t d = pooled; d-- > 0;) {
      window[d] = spans(plane, d, rest % out[d]);
      rest /= out[d];
    }
    offsets.assign(1, 0);
    for (std::size_t d = 0; d < pooled; ++d) {
      longer.clear();
      for (const int64_t offset : offsets) {
        for (int64_t k = 0; k < window[d].count; ++k) longer.push_back(offset * in[d] + window[d].start + k);
      }
      offsets.swap(longer);
    }
    f(o, plane, plane * area_in, offsets);
  }
}

// The spans of an adaptive pool from `input` to `output`.
struct AdaptiveSpans {
  AdaptiveSpans(const Shape& input, const Shape& output, std::size_t pooled)
      : in(input.end() - static_cast<std::ptrdiff_t>(pooled), input.end()),
        out(output.end() - static_cast<std::ptrdiff_t>(pooled), output.end()) {}
  Span operator()(int64_t, std::size_t d, int64_t i) const { return adaptive_span(i, in[d], out[d]); }
  Shape in, out;
};

template <class T, int Pooled>
std::vector<Array<T>> adaptive_avg_pool(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Shape &from = in[0]->meta.shape, &to = out.meta.shape;
  std::vector<T> window;
  for_each_span(from, to, Pooled, AdaptiveSpans(from, to, Pooled),
                [&](int64_t o, int64_t, int64_t first, const std::vector<int64_t>& offsets) {
                  window.clear();
                  for (const int64_t offset : offsets) window.push_back(in[0]->real[at(first + offset)]);
                  const auto count = static_cast<int64_t>(window.size());
                  out.real[at(o)] = sum_any_order(window.data(), count) / T(static_cast<double>(count));
                });
  return one(std::move(out));
}

// Values and flat positions in the plane of the largest elements; NaN wins.
template <class T, class Spans>
std::vector<Array<T>> largest_of_spans(const OpCall& call, const Inputs<T>& in, std::size_t pooled,
                                       Spans&& spans) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  auto out = make_array<T>(call.output(0));
  auto indices = make_array<T>(TensorMeta{DType::i64, out.meta.shape});
  for_each_span(self.meta.shape, out.meta.shape, pooled, spans,
                [&](int64_t o, int64_t, int64_t first, const std::vector<int64_t>& offsets) {
                  int64_t best = offsets.front();
                  for (const int64_t offset : offsets) {
                    const T &held = self.real[at(first + best)], &x = self.real[at(first + offset)];
                    if (held == held && (held < x || !(x == x))) best = offset;
                  }
                  out.real[at(o)] = self.real[at(first + best)];
                  indices.integer[at(o)] = best;
                });
  std::vector<Array<T>> result = one(std::move(out));
  result.push_back(std::move(indices));
  return result;
}
template <class T, int Pooled>
std::vector<Array<T>> adaptive_max_pool(const OpCall& call, const Inputs<T>& in) {
  return largest_of_spans(call, in, Pooled, AdaptiveSpans(in[0]->meta.shape, call.output(0).shape, Pooled));
}

// Windows of `kernel` elements that start at trunc((i + u) a) - trunc(u a), a = (in - kernel) / (out - 1),
// the last one at in - kernel, with one random u a plane and dim; the last dim takes the first sample in two
// dims, the other way round in three (FractionalMaxPool2d.cpp, FractionalMaxPool3d.cpp).
struct FractionalSpans {
  FractionalSpans(const OpCall& call, const Shape& input, const Shape& output, std::size_t pooled,
                  const std::vector<double>& samples)
      : adaptive(input, output, pooled),
        kernel(call.integers("kernel_size", static_cast<int>(pooled))),
        u(&samples) {}
  // May rounding decide otherwise? PyTorch computes in the tensors' dtype, 11 or 24 bits or more.
  bool uncertain(int64_t plane, std::size_t d, int64_t i, double roundoff) const {
    if (i + 1 == adaptive.out[d]) return false;
    const double a = step(d), s = sample(plane, d), x = (static_cast<double>(i) + s) * a;
    const auto near = [&](double y) { return std::fabs(y - std::round(y)) <= 4 * roundoff * std::fabs(y); };
    return a != std::floor(a) && (near(x) || near(s * a));
  }
  Span operator()(int64_t plane, std::size_t d, int64_t i) const {
    if (i + 1 == adaptive.out[d]) return {adaptive.in[d] - kernel[d], kernel[d]};
    const double a = step(d), s = sample(plane, d);
    const double start = std::trunc((static_cast<double>(i) + s) * a) - std::trunc(s * a);
    return {std::clamp<int64_t>(static_cast<int64_t>(start), 0, adaptive.in[d] - kernel[d]), kernel[d]};
  }
  double step(std::size_t d) const {
    return static_cast<double>(adaptive.in[d] - kernel[d]) / static_cast<double>(adaptive.out[d] - 1);
  }
  double sample(int64_t plane, std::size_t d) const {
    const std::size_t n = kernel.size();
    return (*u)[at(plane) * n + (n == 2 ? 1 - d : d)];
  }
  AdaptiveSpans adaptive;
  Shape kernel;
  const std::vector<double>* u;
};
template <class T, int Pooled>
std::vector<Array<T>> fractional_max_pool(const OpCall& call, const Inputs<T>& in) {
  std::vector<double> samples;
  for (const T& u : in[at(call.tensor("random_samples"))]->real)
    samples.push_back(static_cast<double>(plain(u)));
  const TensorMeta& self = in[at(call.tensor("self"))]->meta;
  const Shape &from = self.shape, &to = call.output(0).shape;
  const FractionalSpans spans(call, from, to, Pooled, samples);
  auto result = largest_of_spans(call, in, Pooled, spans);
  const double roundoff = float_format(self.dtype).unit_roundoff();
  const Shape out(to.end() - Pooled, to.end());
  std::vector<uint8_t> undefined(at(element_count(to)));
  for (int64_t o = 0; o < element_count(to); ++o) {
    int64_t rest = o;
    const int64_t plane = o / element_count(out);
    for (std::size_t d = Pooled; d-- > 0;) {
      if (spans.uncertain(plane, d, rest % out[d], roundoff)) undefined[at(o)] = 1;
      rest /= out[d];
    }
  }
  for (auto& output : result) output.undefined = undefined;
  return result;
}

// Zeros, and each element at its position in the plane. Where two elements have one position, either stays.
template <class T>
std::vector<Array<T>> max_unpool(const OpCall& call, const Inputs<T>& in) {
  const Array<T>&self = *in[at(call.tensor("self"))], &indices = *in[at(call.tensor("indices"))];
  auto out = make_array<T>(call.output(0));
  const std::size_t spatial = call.integers("output_size").size();
  const Shape from(self.meta.shape.end() - static_cast<std::ptrdiff_t>(spatial), self.meta.shape.end());
  const Shape to(out.meta.shape.end() - static_cast<std::ptrdiff_t>(spatial), out.meta.shape.end());
  const int64_t area_in = element_count(from), area_out = element_count(to);
  std::vector<uint8_t> written(at(out.count()));
  for (int64_t i = 0; i < self.count(); ++i) {
    const int64_t o = i / area_in * area_out + checked_index(call, indices.integer[at(i)], area_out, false);
    const bool same =
        out.is_integral() ? out.integer[at(o)] == self.integer[at(i)] : out.real[at(o)] == self.real[at(i)];
    if (written[at(o)] != 0 && !same) {
      if (out.undefined.empty()) out.undefined.assign(at(out.count()), 0);
      out.undefined[at(o)] = 1;
    }
    written[at(o)] = 1;
    copy_run(self, i, out, o, 1);
  }
  return one(std::move(out));
}

template <class T>
void register_adaptive_pool(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits averages = sum_traits();
  averages.ends_in_sum = false;
  for (const char* name : {"aten::adaptive_avg_pool2d.default", "aten::_adaptive_avg_pool2d.default"})
    table.add(name, averages, adaptive_avg_pool<T, 2>);
  table.add("aten::_adaptive_avg_pool3d.default", averages, adaptive_avg_pool<T, 3>);
  Traits choice = exact_traits("PyTorch");
  choice.model.signed_zero = false;
  choice = choice.jumps();
  table.add_exact("aten::adaptive_max_pool2d.default", choice, adaptive_max_pool<E, 2>);
  table.add_exact("aten::adaptive_max_pool3d.default", choice, adaptive_max_pool<E, 3>);
  table.add_exact("aten::fractional_max_pool2d.default", choice, fractional_max_pool<E, 2>);
  table.add_exact("aten::fractional_max_pool3d.default", choice, fractional_max_pool<E, 3>);
  table.add_exact("aten::max_unpool2d.default", exact_traits("PyTorch"), max_unpool<E>);
  table.add_exact("aten::max_unpool3d.default", exact_traits("PyTorch"), max_unpool<E>);
}

}  // namespace assay::reference
