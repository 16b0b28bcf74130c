// Sampling at the places that a grid names. Formulas: aten/src/ATen/native/GridSamplerUtils.h.
#pragma once

#include "reference/ops/resample.h"

namespace assay::reference {

enum class Interpolation { linear, nearest, cubic };
enum class Outside { zeros, border, reflection };

// x moved to `value` by a function of slope 1 or -1 that is continuous.
template <class T, class V>
T moved(T, V value) {
  return T(value);
}
inline Bounded moved(Bounded x, double value) {
  return {value, x.bound + current_environment->u * std::fabs(value), x.variance};
}

// One spatial dim of the sampled image.
struct SampledDim {
  int64_t size = 1;
  bool align = false;
  Outside outside = Outside::zeros;

  // -1 .. 1 is from the first to the last element: of their centres if aligned, else of their outer edges.
  template <class T>
  T position(T x) const {
    const T n = T(static_cast<double>(align ? size - 1 : size));
    return align ? scaled(x + T(1), 0.5) * n : scaled((x + T(1)) * n - T(1), 0.5);
  }
  // Where an element outside is taken from, by the padding mode.
  template <class T>
  T inside(T x) const {
    using std::fabs;
    using std::floor;
    using std::fmod;
    if (outside == Outside::zeros) return x;
    using V = std::remove_cv_t<decltype(plain(x))>;
    V v = plain(x);
    if (outside == Outside::reflection) {
      // Between the centres of the outer elements if aligned, else between the outer edges.
      const double low = align ? 0 : -0.5, span = static_cast<double>(align ? size - 1 : size);
      if (span == 0) {
        v = V(0);
      } else {
        v = fabs(v - V(low));
        const V extra = fmod(v, V(span));
        const auto flips = static_cast<int64_t>(static_cast<double>(floor(v / V(span))));
        v = flips % 2 == 0 ? extra + V(low) : V(span) - extra + V(low);
      }
    }
    const V last = V(static_cast<double>(size - 1));
    v = v < V(0) ? V(0) : last < v ? last : v;
    return moved(x, v);
  }
};

// Adds an element that may lie outside.
template <class T>
void add_inside(Taps<T>& taps, const SampledDim& dim, int64_t i, T weight) {
  if (dim.outside == Outside::zeros) {
    if (i >= 0 && i < dim.size) taps.add(i, weight);
    return;
  }
  taps.add(static_cast<int64_t>(static_cast<double>(plain(dim.inside(T(static_cast<double>(i)))))), weight);
}

// A position so close to a whole number (or, where `half`, to the middle between two) that it may as well be
// on its other side.
template <class T>
bool straddles(const T&, double) {
  return false;
}
inline bool straddles(const Bounded& x, double middle) {
  const double y = x.value - middle;
  return x.bound > 0 && std::fabs(y - std::nearbyint(y)) <= x.bound;
}

template <class T>
Taps<T> grid_taps(const SampledDim& dim, T x, Interpolation mode) {
  const T raw = dim.position(x);
  const T position = mode == Interpolation::cubic ? raw : dim.inside(raw);
  const auto value = static_cast<double>(plain(position));
  Taps<T> taps;
  if (mode == Interpolation::nearest) {
    add_inside(taps, dim, static_cast<int64_t>(std::nearbyint(value)), T(1));
    return taps;
  }
  const auto low = static_cast<int64_t>(std::floor(value));
  const T weight = position - T(static_cast<double>(low));
  if (mode == Interpolation::linear) {
    add_inside(taps, dim, low, T(1) - weight);
    add_inside(taps, dim, low + 1, weight);
    if constexpr (std::is_same_v<T, Bounded>) {
      if (straddles(position, 0)) {  // as the element before or after with next to no weight
        const int64_t other = std::nearbyint(value) > value ? low + 2 : low - 1;
        add_inside(taps, dim, other, T(0, position.bound, 0));
      }
    }
    return taps;
  }
  const std::vector<T> weights = cubic_weights<T>(weight);
  for (int64_t k = 0; k < 4; ++k) add_inside(taps, dim, low - 1 + k, weights[at(k)]);
  return taps;
}

// Either of two values is right.
template <class T>
T either(T a, T) {
  return a;
}
inline Bounded either(Bounded a, Bounded b) {
  return {a.value, std::max(a.bound, std::fabs(a.value - b.value) + b.bound), a.variance};
}

// input [N, C, spatial...], grid [N, out..., n]: grid[..., 0] is along the last dim.
template <class T>
std::vector<Array<T>> grid_sample(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>&input = *in[at(call.tensor("input"))], &grid = *in[at(call.tensor("grid"))];
  const auto mode = static_cast<Interpolation>(call.integer("interpolation_mode"));
  const std::size_t n = input.meta.shape.size() - 2;
  std::vector<SampledDim> dims;
  std::vector<int64_t> sizes(input.meta.shape.begin() + 2, input.meta.shape.end());
  for (const int64_t size : sizes) {
    dims.push_back({size, call.boolean("align_corners"), static_cast<Outside>(call.integer("padding_mode"))});
  }
  const int64_t channels = input.meta.shape[1], area = element_count(sizes);
  const int64_t places = element_count(Shape(out.meta.shape.begin() + 2, out.meta.shape.end()));
  std::vector<Taps<T>> taps(n), others(n);
  std::vector<const Taps<T>*> here(n);
  std::vector<T> values, weights;
  for (int64_t place = 0; place < input.meta.shape[0] * places; ++place) {
    bool defined = true, two_ways = false;
    for (std::size_t d = 0; d < n; ++d) {
      const T& x = grid.real[at(place) * n + (n - 1 - d)];
      const auto v = static_cast<double>(plain(x));
      // Beyond the range of 32-bit integers PyTorch's backends differ.
      defined = defined && std::isfinite(v) && std::fabs(v) * static_cast<double>(dims[d].size) < 0x1p30;
      if (!defined) break;
      taps[d] = grid_taps(dims[d], x, mode);
      here[d] = &taps[d];
      const T position = dims[d].inside(dims[d].position(x));
      if (mode == Interpolation::nearest && straddles(position, 0.5)) {
        two_ways = true;
        const auto value = static_cast<double>(plain(position));
        const double rounded = std::nearbyint(value);
        others[d] = {};
        add_inside(others[d], dims[d], static_cast<int64_t>(rounded < value ? rounded + 1 : rounded - 1),
                   T(1));
      } else {
        others[d] = taps[d];
      }
    }
    for (int64_t c = 0; c < channels; ++c) {
      T& result = out.real[at((place / places * channels + c) * places + place % places)];
      const T* plane = input.real.data() + (place / places * channels + c) * area;
      if (!defined) {
        result = no_promise<T>();
        continue;
      }
      result = weighted(here, sizes, plane, values, weights);
      for (std::size_t corner = 1; two_ways && corner < (std::size_t{1} << n); ++corner) {
        std::vector<const Taps<T>*> there = here;
        for (std::size_t d = 0; d < n; ++d) {
          if ((corner >> d & 1) != 0) there[d] = &others[d];
        }
        result = either(result, weighted(there, sizes, plane, values, weights));
      }
    }
  }
  return one(std::move(out));
}

template <class T>
void register_grid_sample(KernelTable<T>& table) {
  Traits traits = function_traits("PyTorch");
  traits = traits.jumps();
  table.add("aten::grid_sampler_2d.default", traits, grid_sample<T>);
  table.add("aten::grid_sampler_3d.default", traits, grid_sample<T>);
}

}  // namespace assay::reference
