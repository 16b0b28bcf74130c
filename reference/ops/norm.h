// Layer, group and batch normalisation.
#pragma once

#include <cmath>

#include "reference/ops/reduce.h"

namespace assay::reference {

// Statistics of one group of elements and what was made of them.
template <class T>
struct Normaliser {
  T mean, rstd;
};

// mean and 1 / sqrt(var + eps) of a row.
template <class T>
Normaliser<T> row_statistics(const T* row, int64_t n, double eps) {
  const T variance = variance_of(row, n, 0);
  return {mean_of(row, n), fn::rsqrt(variance + constant<T>(eps))};
}
// The bound of r = rsqrt(var + eps) is taken at the ends of var's interval, not by its slope: a constant row
// has var = 0 and a slope that says nothing.
inline Bounded rstd_of(double variance, double variance_bound, double eps) {
  const Environment& e = *current_environment;
  const double r = 1 / std::sqrt(variance + eps);
  if (std::isnan(r) || std::isinf(variance)) return {r, 0, 0};
  if (std::isinf(r)) return {r, variance_bound == 0 ? 0 : HUGE_VAL, 0};
  const double above = 1 / std::sqrt(std::max(variance - variance_bound, 0.0) + eps) - r;
  const double below = r - 1 / std::sqrt(variance + variance_bound + eps);
  const Allowance& rsqrt = e.allowance(Function::rsqrt);
  return {r, std::max(above, below) + (rsqrt.relative + e.u) * r + rsqrt.absolute, 0};
}
inline Normaliser<Bounded> row_statistics(const Bounded* row, int64_t n, double eps) {
  const Moments m = bounded_moments(row, n);
  // Squares of finite f64 numbers that overflow in fp64 itself: nothing is known of what is made of them.
  if (std::isinf(m.variance)) return {{m.mean, m.mean_bound, 0}, {std::nan(""), 0, 0}};
  return {{m.mean, m.mean_bound, 0}, rstd_of(m.variance, m.variance_bound, eps)};
}

// (x - mean) * rstd * weight + bias; weight and bias may be null.
template <class T>
T normalised(const T& x, const Normaliser<T>& s, const T* weight, const T* bias) {
  T y = (x - s.mean) * s.rstd;
  if (weight != nullptr) y = y * *weight;
  return bias != nullptr ? y + *bias : y;
}
// Bound (anchors §3.4): |w| r (dd + |d| dr / r) + roundings of the three steps. A device may fold the affine
// form, x * (r w) + (bias - mean r w), which rounds |x r w| and |mean r w| where the other form rounds |d r
// w|.
inline Bounded normalised(const Bounded& x, const Normaliser<Bounded>& s, const Bounded* weight,
                          const Bounded* bias) {
  const Environment& e = *current_environment;
  const double u = e.u;
  const double w = weight != nullptr ? weight->value : 1, b = bias != nullptr ? bias->value : 0;
  const double d = x.value - s.mean.value, r = s.rstd.value, scale = std::fabs(r * w);
  const double v = d * r * w + b;
  // Infinities of exact operands are exact.
  if (!std::isfinite(v)) {
    const bool exact = std::isfinite(x.bound) && std::isfinite(s.mean.bound) && std::isfinite(s.rstd.bound);
    return {v, exact ? 0 : HUGE_VAL, 0};
  }
  const double difference = x.bound + s.mean.bound + u * std::fabs(d);
  double bound = scale * difference + std::fabs(w) * s.rstd.bound * (std::fabs(d) + difference);
  bound += 2 * u * std::fabs(d) * scale + u * scale * (std::fabs(x.value) + 2 * std::fabs(s.mean.value));
  if (weight != nullptr) bound += std::fabs(d * r) * weight->bound;
  // What underflow may cost each product of either form.
  const auto underflow = [&](double product) {
    return product != 0 && std::fabs(product) < e.eta * 0x1p60 ? e.eta : 0;
  };
  bound += underflow(d * r) * std::fabs(w) + 2 * underflow(d * r * w) + underflow(s.mean.value * r * w) +
           underflow(r * w) * (std::fabs(x.value) + std::fabs(s.mean.value));
  if (bias != nullptr) bound += u * (std::fabs(v) + std::fabs(b)) + bias->bound;
  return {v, bound, 0};
}

template <class T>
const T* optional_data(const OpCall& call, const Inputs<T>& in, std::string_view name) {
  const auto i = call.tensor_opt(name);
  return i ? in[at(*i)]->real.data() : nullptr;
}

// Results: normalised, mean, rstd.
template <class T>
std::vector<Array<T>> layer_norm(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (int i = 0; i < 3; ++i) out.push_back(make_array<T>(call.output(i)));
  const Array<T>& input = *in[at(call.tensor("input"))];
  int64_t n = 1;
  for (const int64_t size : call.integers("normalized_shape")) n *= size;
  const double eps = call.floating("eps");
  const T* weight = optional_data(call, in, "weight");
  const T* bias = optional_data(call, in, "bias");
  const T* x = input.real.data();
  const int64_t rows = n == 0 ? 0 : input.count() / n;
  for (int64_t r = 0; r < rows; ++r) {
    const auto statistics = row_statistics(x + r * n, n, eps);
    for (int64_t i = 0; i < n; ++i) {
      out[0].real[at(r * n + i)] =
          normalised(x[r * n + i], statistics, weight != nullptr ? weight + i : nullptr,
                     bias != nullptr ? bias + i : nullptr);
    }
    if (call.output_used(1)) out[1].real[at(r)] = statistics.mean;
    if (call.output_used(2)) out[2].real[at(r)] = statistics.rstd;
  }
  return out;
}

// [N, C, HxW] in `group` groups of channels; weight and bias a channel.
template <class T>
std::vector<Array<T>> group_norm(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (int i = 0; i < 3; ++i) out.push_back(make_array<T>(call.output(i)));
  const Array<T>& input = *in[at(call.tensor("input"))];
  const int64_t batch = call.integer("N"), channels = call.integer("C"), area = call.integer("HxW"),
                groups = call.integer("group");
  const double eps = call.floating("eps");
  const T* weight = optional_data(call, in, "weight");
  const T* bias = optional_data(call, in, "bias");
  const T* x = input.real.data();
  const int64_t in_group = channels / groups, n = in_group * area;
  for (int64_t g = 0; n > 0 && g < batch * groups; ++g) {
    const auto statistics = row_statistics(x + g * n, n, eps);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t channel = g % groups * in_group + i / area;
      out[0].real[at(g * n + i)] =
          normalised(x[g * n + i], statistics, weight != nullptr ? weight + channel : nullptr,
                     bias != nullptr ? bias + channel : nullptr);
    }
    if (call.output_used(1)) out[1].real[at(g)] = statistics.mean;
    if (call.output_used(2)) out[2].real[at(g)] = statistics.rstd;
  }
  return out;
}

// Per channel (dim 1), with given statistics; the saved statistics are empty.
template <class T>
std::vector<Array<T>> batch_norm_inference(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (int i = 0; i < 3; ++i) out.push_back(make_array<T>(call.output(i)));
  const Array<T>& input = *in[at(call.tensor("input"))];
  const double eps = call.floating("eps");
  const T* weight = optional_data(call, in, "weight");
  const T* bias = optional_data(call, in, "bias");
  const Array<T>& mean = *in[at(call.tensor("running_mean"))];
  const Array<T>& variance = *in[at(call.tensor("running_var"))];
  const Axis axis = axis_of(input.meta.shape, 1);
  for (int64_t c = 0; c < axis.size; ++c) {
    Normaliser<T> statistics{mean.real[at(c)], T(0)};
    if constexpr (std::is_same_v<T, Bounded>) {
      const Bounded& v = variance.real[at(c)];
      statistics.rstd = rstd_of(v.value, v.bound + current_environment->u * (std::fabs(v.value) + eps), eps);
    } else {
      statistics.rstd = fn::rsqrt(variance.real[at(c)] + constant<T>(eps));
    }
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t i = 0; i < axis.inner; ++i) {
        const std::size_t k = at(axis.at(o, c, i));
        out[0].real[k] = normalised(input.real[k], statistics, weight != nullptr ? weight + c : nullptr,
                                    bias != nullptr ? bias + c : nullptr);
      }
    }
  }
  return out;
}

// Statistics of the batch, a channel (dim 1) each. Results: normalised, mean, rstd.
template <class T>
std::vector<Array<T>> batch_norm_no_stats(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (int i = 0; i < 3; ++i) out.push_back(make_array<T>(call.output(i)));
  const Array<T>& input = *in[at(call.tensor("input"))];
  if (!call.boolean("training"))
    throw Error(ErrorCode::unsupported, call.op() + ": training=False without statistics");
  const double eps = call.floating("eps");
  const T* weight = optional_data(call, in, "weight");
  const T* bias = optional_data(call, in, "bias");
  const Axis axis = axis_of(input.meta.shape, 1);
  std::vector<T> row(at(axis.outer * axis.inner));
  for (int64_t c = 0; c < axis.size && !row.empty(); ++c) {
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t i = 0; i < axis.inner; ++i) row[at(o * axis.inner + i)] = input.real[at(axis.at(o, c, i))];
    }
    const auto statistics = row_statistics(row.data(), static_cast<int64_t>(row.size()), eps);
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t i = 0; i < axis.inner; ++i) {
        out[0].real[at(axis.at(o, c, i))] =
            normalised(row[at(o * axis.inner + i)], statistics, weight != nullptr ? weight + c : nullptr,
                       bias != nullptr ? bias + c : nullptr);
      }
    }
    if (call.output_used(1)) out[1].real[at(c)] = statistics.mean;
    if (call.output_used(2)) out[2].real[at(c)] = statistics.rstd;
  }
  return out;
}

template <class T>
void register_norm(KernelTable<T>& table) {
  const Traits traits = function_traits("real arithmetic");
  table.add("aten::native_layer_norm.default", traits, layer_norm<T>);
  table.add("aten::native_group_norm.default", traits, group_norm<T>);
  table.add("aten::_native_batch_norm_legit_no_training.default", traits, batch_norm_inference<T>);
  table.add("aten::_native_batch_norm_legit.no_stats", traits, batch_norm_no_stats<T>);
}

}  // namespace assay::reference
