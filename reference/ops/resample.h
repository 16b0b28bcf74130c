// Resampling along the last dims: nearest, linear, cubic, and linear and cubic with an anti-aliasing filter.
// Formulas: aten/src/ATen/native/UpSample.h (area_pixel_compute_source_index and what follows it).
#pragma once

#include <cmath>
#include <numeric>

#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// One resampled dim. `factor` is the scale factor that the caller gave instead of a size.
struct ResizedDim {
  int64_t in = 1, out = 1;
  std::optional<double> factor;
};
inline std::vector<ResizedDim> resized_dims(const OpCall& call) {
  const Shape &from = call.input(0).shape, &to = call.output(0).shape;
  std::optional<std::vector<double>> factors;
  if (call.schema().find("scale_factors") != nullptr) factors = call.floats_opt("scale_factors");
  std::vector<ResizedDim> dims;
  for (std::size_t d = 2; d < from.size(); ++d) {
    ResizedDim dim{from[d], to[d], {}};
    if (factors) dim.factor = factors->at(d - 2);
    const std::string letter(1, "dhw"[d + 5 - from.size() - 2]);
    for (const std::string& name : {"scales_" + letter, std::string("scales")}) {
      if (call.schema().find(name) == nullptr || call.is_none(name)) continue;
      dim.factor = call.scalar(name).as_double();
    }
    if (dim.factor && !(*dim.factor > 0)) dim.factor.reset();
    dims.push_back(dim);
  }
  return dims;
}

// Input elements per output element: what a device multiplies an output index by.
template <class V>
V step_of(const ResizedDim& dim, bool align) {
  const auto whole = [](int64_t n) { return V(static_cast<double>(n)); };
  if (align) return dim.out > 1 ? whole(dim.in - 1) / whole(dim.out - 1) : V(0);
  return dim.factor ? V(1) / V(*dim.factor) : whole(dim.in) / whole(dim.out);
}

// What a position loses where it is held in single precision (`u`); nothing where no digit is lost.
inline double loss(double x, double u) {
  return static_cast<double>(static_cast<float>(x)) == x ? 0 : u * std::fabs(x);
}

// Nearest: floor(i * step), or floor((i + 1/2) * step) for the "exact" operators. PyTorch computes it in
// float for every dtype; where that may fall to either side of a whole number, both neighbours are right.
struct Nearest {
  int64_t index = 0, other = 0;
};
inline Nearest nearest(const ResizedDim& dim, int64_t i, bool centred) {
  const double step = step_of<double>(dim, false), at = static_cast<double>(i) + (centred ? 0.5 : 0);
  const double position = at * step;
  const double error = loss(step, 0x1p-24) * at + loss(position, 0x1p-24);
  const auto bounded = [&](double x) {
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(x)), 0, dim.in - 1);
  };
  const int64_t index = bounded(position);
  const int64_t low = bounded(position - error), high = bounded(position + error);
  return {index, low != index ? low : high};
}
inline bool is_nearest_centred(const OpCall& call) { return call.op().find("_exact") != std::string::npos; }

// Calls f(output element, first input element of its plane, index along each dim).
template <class F>
void for_each_resized(const std::vector<ResizedDim>& dims, int64_t planes, F&& f) {
  int64_t area_in = 1, area_out = 1;
  for (const ResizedDim& dim : dims) {
    area_in *= dim.in;
    area_out *= dim.out;
  }
  std::vector<int64_t> at(dims.size());
  for (int64_t i = 0; i < planes * area_out; ++i) {
    int64_t rest = i % area_out;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at[d] = rest % dims[d].out;
      rest /= dims[d].out;
    }
    f(i, i / area_out * area_in, at);
  }
}
inline int64_t planes_of(const Shape& shape) { return shape[0] * shape[1]; }

template <class T>
std::vector<Array<T>> upsample_nearest(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const std::vector<ResizedDim> dims = resized_dims(call);
  const bool centred = is_nearest_centred(call);
  for_each_resized(dims, planes_of(out.meta.shape),
                   [&](int64_t o, int64_t first, const std::vector<int64_t>& at_dim) {
                     int64_t offset = 0;
                     for (std::size_t d = 0; d < dims.size(); ++d) {
                       offset = offset * dims[d].in + nearest(dims[d], at_dim[d], centred).index;
                     }
                     if (out.is_integral()) {
                       out.integer[at(o)] = in[0]->integer[at(first + offset)];
                     } else {
                       out.real[at(o)] = in[0]->real[at(first + offset)];
                     }
                   });
  return one(std::move(out));
}

// Input elements that an output index reads along one dim, and their weights.
template <class T>
struct Taps {
  std::vector<int64_t> index;
  std::vector<T> weight;
  void add(int64_t i, T w) {
    index.push_back(i);
    weight.push_back(w);
  }
};

// A position along one dim, (i + 1/2) * step - 1/2 or i * step. Indices are computed in single precision at
// least, whatever the tensors' dtype.
template <class T>
T source_position(const ResizedDim& dim, int64_t i, bool align, bool from_edge) {
  using V = std::remove_cv_t<decltype(plain(T(0)))>;
  const V step = step_of<V>(dim, align), half = V(align ? 0 : 0.5);
  const V scaled = (V(static_cast<double>(i)) + half) * step;
  V position = scaled - half;
  if (from_edge && position < V(0)) position = V(0);
  if constexpr (std::is_same_v<T, Bounded>) {
    const double u = std::min(current_environment->u, 0x1p-24), factor = static_cast<double>(i) + half;
    const double error = loss(step, u) * factor + loss(scaled, u) + loss(position, u);
    return {position, error, error * error / 3};
  } else if constexpr (std::is_same_v<T, Stochastic>) {
    const bool wide = current_environment->u < 0x1p-40;
    static const Grid single(float_format(DType::f32));
    return wide ? position : stochastic_round(single, position, current_environment->random);
  } else {
    return position;
  }
}

// Below a whole number and within its error of it: the position may as well lie on the other side, where the
// element `i` has a weight of at most the error. Nothing for numbers without errors.
template <class T>
void add_straddled(Taps<T>&, const T&, int64_t, int64_t) {}
inline void add_straddled(Taps<Bounded>& taps, const Bounded& position, int64_t low, int64_t size) {
  const double below = position.value - static_cast<double>(low);
  if (below < position.bound && low > 0) taps.add(low - 1, {0, position.bound, 0});
  if (1 - below <= position.bound && low + 2 < size) taps.add(low + 2, {0, position.bound, 0});
}

template <class T>
Taps<T> linear_taps(const ResizedDim& dim, int64_t i, bool align) {
  const T position = source_position<T>(dim, i, align, true);
  const int64_t low = std::min(static_cast<int64_t>(static_cast<double>(plain(position))), dim.in - 1);
  const T weight = position - T(static_cast<double>(low));
  Taps<T> taps;
  taps.add(low, T(1) - weight);
  taps.add(std::min(low + 1, dim.in - 1), weight);
  add_straddled(taps, position, low, dim.in);
  return taps;
}

// Keys' cubic convolution: (a + 2) x^3 - (a + 3) x^2 + 1 up to 1, a x^3 - 5 a x^2 + 8 a x - 4 a up to 2.
template <class T>
T cubic_near(T x, double a) {
  return (constant<T>(a + 2) * x - constant<T>(a + 3)) * x * x + T(1);
}
template <class T>
T cubic_far(T x, double a) {
  const T k = constant<T>(a);
  return ((k * x - constant<T>(5 * a)) * x + constant<T>(8 * a)) * x - constant<T>(4 * a);
}
// Weights of the elements at -1, 0, 1 and 2 for a fraction t.
template <class T>
std::vector<T> cubic_weights(T t) {
  constexpr double kA = -0.75;
  return {cubic_far(t + T(1), kA), cubic_near(t, kA), cubic_near(T(1) - t, kA), cubic_far(T(2) - t, kA)};
}
template <class T>
Taps<T> cubic_taps(const ResizedDim& dim, int64_t i, bool align) {
  const T position = source_position<T>(dim, i, align, false);
  const auto low = static_cast<int64_t>(std::floor(static_cast<double>(plain(position))));
  const std::vector<T> weights = cubic_weights<T>(position - T(static_cast<double>(low)));
  Taps<T> taps;
  for (int64_t k = 0; k < 4; ++k) taps.add(std::clamp<int64_t>(low - 1 + k, 0, dim.in - 1), weights[at(k)]);
  return taps;
}

// The filter, widened by the step where the image shrinks, sampled at the input elements under it, its sum
// made 1. Elements at its edges, where it is 0, may be in or out.
template <class T, bool Cubic>
Taps<T> filtered_taps(const ResizedDim& dim, int64_t i, bool align) {
  using V = std::remove_cv_t<decltype(plain(T(0)))>;
  const V step = step_of<V>(dim, align);
  const double wide = std::max(1.0, static_cast<double>(step));
  const double support = (Cubic ? 2 : 1) * wide;
  T center = source_position<T>(dim, i, false, false);
  if (align) {  // the same centres of elements, other steps
    center = source_position<T>(dim, i, true, false) + scaled(T(step), 0.5) - T(0.5);
  }
  const double middle = static_cast<double>(plain(center)) + 0.5;
  const auto first = std::max<int64_t>(static_cast<int64_t>(middle - support + 0.5), 0);
  const auto last = std::min(static_cast<int64_t>(middle + support + 0.5), dim.in);
  Taps<T> taps;
  for (int64_t j = first; j < last; ++j) {
    T x = abs(T(static_cast<double>(j)) - center);
    if (step > V(1)) x = x / T(step);
    const auto reach = static_cast<double>(plain(x));
    T weight(0);
    if constexpr (Cubic) {
      weight = reach < 1 ? cubic_near(x, -0.5) : reach < 2 ? cubic_far(x, -0.5) : T(0);
    } else {
      weight = reach < 1 ? T(1) - x : T(0);
    }
    taps.add(j, weight);
  }
  const T total = sum_any_order(taps.weight.data(), static_cast<int64_t>(taps.weight.size()));
  for (T& weight : taps.weight) weight = weight / total;
  if constexpr (std::is_same_v<T, Bounded>) {
    const double edge = 2 * center.bound / wide;
    if (edge > 0 && first > 0) taps.add(first - 1, {0, edge, 0});
    if (edge > 0 && last < dim.in) taps.add(last, {0, edge, 0});
  }
  return taps;
}

// A value of which nothing is promised.
template <class T>
T no_promise() {
  if constexpr (std::is_same_v<T, Bounded>) return {0, HUGE_VAL, 0};
  return T(std::numeric_limits<double>::quiet_NaN());
}

// Calls f(element of the plane, product of the weights) for every combination of taps.
template <class T, class F>
void for_each_tap(const std::vector<const Taps<T>*>& taps, const std::vector<int64_t>& sizes, F&& f) {
  int64_t total = 1;
  for (const Taps<T>* dim : taps) total *= static_cast<int64_t>(dim->index.size());
  for (int64_t k = 0; k < total; ++k) {
    int64_t rest = k, offset = 0, step = 1;
    T weight(1);
    for (std::size_t d = taps.size(); d-- > 0;) {
      const auto count = static_cast<int64_t>(taps[d]->index.size());
      const std::size_t tap = at(rest % count);
      rest /= count;
      offset += taps[d]->index[tap] * step;
      step *= sizes[d];
      weight = d + 1 == taps.size() ? taps[d]->weight[tap] : weight * taps[d]->weight[tap];
    }
    f(offset, weight);
  }
}

// The sum over all combinations of taps: weights may be multiplied together first or applied dim by dim. An
// infinity or NaN of weight 0 gives NaN where it is read, but need not be read.
template <class T>
T weighted(const std::vector<const Taps<T>*>& taps, const std::vector<int64_t>& sizes, const T* plane,
           std::vector<T>& values, std::vector<T>& weights) {
  values.clear();
  weights.clear();
  bool promised = true;
  for_each_tap(taps, sizes, [&](int64_t element, const T& weight) {
    const T& value = plane[element];
    if (plain(weight) == 0 && !std::isfinite(static_cast<double>(plain(value)))) {
      promised = false;
      return;
    }
    values.push_back(value);
    weights.push_back(weight);
  });
  if constexpr (!std::is_same_v<T, Bounded>) {
    if (!promised) return no_promise<T>();
  }
  T sum = dot_any_order(weights.data(), values.data(), static_cast<int64_t>(values.size()));
  if constexpr (std::is_same_v<T, Bounded>) {
    // Infinity, NaN, or what the other taps give; the same where finite taps alone may overflow fp64.
    double magnitude = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double term = std::fabs(plain(weights[i]) * plain(values[i]));
      if (std::isfinite(plain(values[i]))) magnitude += term;
    }
    sum.overflow = sum.overflow || !promised || !std::isfinite(magnitude);
  }
  return sum;
}

// Anti-aliased images are filtered row by row into an image of the graph's dtype, then column by column.
template <class T>
T stored_between(T x) {
  return x;
}
inline Bounded stored_between(Bounded x) {
  // A rounded infinity has no error.
  const double moved = std::isfinite(x.value) ? current_environment->u_graph * std::fabs(x.value) : 0;
  return {x.value, x.bound + moved, x.variance, x.overflow};
}

template <class T, class TapsOf>
std::vector<Array<T>> resample(const OpCall& call, const Inputs<T>& in, TapsOf&& taps_of) {
  auto out = make_array<T>(call.output(0));
  if (out.is_integral()) {
    throw Error(ErrorCode::unsupported,
                call.op() +
                    ": 8-bit images are interpolated with weights of a precision that PyTorch does "
                    "not document");
  }
  const std::vector<ResizedDim> dims = resized_dims(call);
  std::vector<std::vector<Taps<T>>> taps(dims.size());
  std::vector<int64_t> sizes;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    sizes.push_back(dims[d].in);
    for (int64_t i = 0; i < dims[d].out; ++i) taps[d].push_back(taps_of(dims[d], i));
  }
  std::vector<const Taps<T>*> here(dims.size());
  std::vector<T> values, weights;
  for_each_resized(dims, planes_of(out.meta.shape),
                   [&](int64_t o, int64_t first, const std::vector<int64_t>& at_dim) {
                     for (std::size_t d = 0; d < dims.size(); ++d) here[d] = &taps[d][at(at_dim[d])];
                     out.real[at(o)] = weighted(here, sizes, in[0]->real.data() + first, values, weights);
                   });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> upsample_linear(const OpCall& call, const Inputs<T>& in) {
  const bool align = call.boolean("align_corners");
  return resample(call, in, [&](const ResizedDim& dim, int64_t i) { return linear_taps<T>(dim, i, align); });
}
template <class T>
std::vector<Array<T>> upsample_cubic(const OpCall& call, const Inputs<T>& in) {
  const bool align = call.boolean("align_corners");
  return resample(call, in, [&](const ResizedDim& dim, int64_t i) { return cubic_taps<T>(dim, i, align); });
}
template <class T, bool Cubic>
std::vector<Array<T>> upsample_filtered(const OpCall& call, const Inputs<T>& in) {
  const bool align = call.boolean("align_corners");
  auto out = resample(
      call, in, [&](const ResizedDim& dim, int64_t i) { return filtered_taps<T, Cubic>(dim, i, align); });
  for (T& x : out[0].real) x = stored_between(x);
  return out;
}

template <class T>
void register_resample(KernelTable<T>& table) {
  const Traits inexact = function_traits("PyTorch");
  for (const char* overload : {".default", ".vec"}) {
    for (const char* dims : {"1d", "2d", "3d"}) {
      for (const char* name : {"aten::upsample_nearest", "aten::_upsample_nearest_exact"}) {
        table.add_exact(std::string(name) + dims + overload, exact_traits("PyTorch").jumps(),
                        upsample_nearest<Exact<T>>);
      }
    }
    const auto add = [&](const char* name, Kernel<T> kernel) {
      table.add(std::string("aten::") + name + overload, inexact, kernel);
    };
    add("upsample_linear1d", upsample_linear<T>);
    add("upsample_bilinear2d", upsample_linear<T>);
    add("upsample_trilinear3d", upsample_linear<T>);
    add("upsample_bicubic2d", upsample_cubic<T>);
    add("_upsample_bilinear2d_aa", upsample_filtered<T, false>);
    add("_upsample_bicubic2d_aa", upsample_filtered<T, true>);
  }
}

}  // namespace assay::reference
