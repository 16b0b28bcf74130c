// Gradients of grid sampling with respect to the image and to the grid
// (aten/src/ATen/native/GridSampler.cpp).
#pragma once

#include "reference/ops/grid_sample.h"

namespace assay::reference {

// How fast the place that is read moves with the position: 0 where the border holds it, -1 where a reflection
// turns it.
inline double slope_inside(const SampledDim& dim, double position) {
  if (dim.outside == Outside::zeros) return 1;
  double slope = 1, v = position;
  if (dim.outside == Outside::reflection) {
    const double low = dim.align ? 0 : -0.5, span = static_cast<double>(dim.align ? dim.size - 1 : dim.size);
    if (span == 0) return 0;
    if (v < low) slope = -1;
    v = std::fabs(v - low);
    const double extra = std::fmod(v, span);
    const bool turned = static_cast<int64_t>(std::floor(v / span)) % 2 != 0;
    if (turned) slope = -slope;
    v = (turned ? span - extra : extra) + low;
  }
  return v <= 0 || v >= static_cast<double>(dim.size - 1) ? 0 : slope;
}

// The derivatives of Keys' cubic's two pieces.
template <class T>
T cubic_near_slope(T x, double a) {
  return (constant<T>(3 * (a + 2)) * x - constant<T>(2 * (a + 3))) * x;
}
template <class T>
T cubic_far_slope(T x, double a) {
  return (constant<T>(3 * a) * x - constant<T>(10 * a)) * x + constant<T>(8 * a);
}

// Derivatives of grid_taps' weights with respect to the grid's number x, element by element.
template <class T>
Taps<T> grid_slopes(const SampledDim& dim, T x, Interpolation mode) {
  Taps<T> taps;
  if (mode == Interpolation::nearest) return taps;
  const T raw = dim.position(x);
  const double factor = static_cast<double>(dim.align ? dim.size - 1 : dim.size) / 2;
  if (mode == Interpolation::cubic) {
    constexpr double kA = -0.75;
    const auto low = static_cast<int64_t>(std::floor(static_cast<double>(plain(raw))));
    const T t = raw - T(static_cast<double>(low));
    const T slopes[] = {cubic_far_slope(t + T(1), kA), cubic_near_slope(t, kA),
                        -cubic_near_slope(T(1) - t, kA), -cubic_far_slope(T(2) - t, kA)};
    for (int64_t k = 0; k < 4; ++k) add_inside(taps, dim, low - 1 + k, slopes[k] * T(factor));
    return taps;
  }
  const T position = dim.inside(raw);
  const auto low = static_cast<int64_t>(std::floor(static_cast<double>(plain(position))));
  const double slope = factor * slope_inside(dim, static_cast<double>(plain(raw)));
  add_inside(taps, dim, low, T(-slope));
  add_inside(taps, dim, low + 1, T(slope));
  return taps;
}

// The slopes jump where the position passes an element.
template <class T>
bool slopes_jump(const SampledDim& dim, T x, Interpolation mode) {
  return mode == Interpolation::linear && straddles(dim.position(x), 0);
}

// Nearest: either of two elements may have been read.
template <class T>
void add_other_nearest(Taps<T>&, const SampledDim&, T) {}
inline void add_other_nearest(Taps<Bounded>& taps, const SampledDim& dim, Bounded x) {
  const Bounded position = dim.inside(dim.position(x));
  if (!straddles(position, 0.5)) return;
  for (Bounded& weight : taps.weight) weight.bound = 1;
  const double rounded = std::nearbyint(position.value);
  add_inside(taps, dim, static_cast<int64_t>(rounded < position.value ? rounded + 1 : rounded - 1),
             Bounded(0, 1, 0));
}

// What one image's elements were multiplied with, and where.
template <class T>
struct Readers {
  std::vector<std::vector<T>> weights;
  std::vector<std::vector<int64_t>> places;
};

// Results: gradients of input [N, C, spatial...] and grid [N, out..., n].
template <class T>
std::vector<Array<T>> grid_sample_gradient(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (int i = 0; i < 2; ++i) out.push_back(make_array<T>(call.output(i)));
  const Array<T>&gradient = *in[at(call.tensor("grad_output"))], &input = *in[at(call.tensor("input"))],
        &grid = *in[at(call.tensor("grid"))];
  const auto mode = static_cast<Interpolation>(call.integer("interpolation_mode"));
  const std::size_t n = input.meta.shape.size() - 2;
  std::vector<SampledDim> dims;
  const std::vector<int64_t> sizes(input.meta.shape.begin() + 2, input.meta.shape.end());
  for (const int64_t size : sizes)
    dims.push_back({size, call.boolean("align_corners"), static_cast<Outside>(call.integer("padding_mode"))});
  const int64_t batch = input.meta.shape[0], channels = input.meta.shape[1], area = element_count(sizes);
  const int64_t places = element_count(Shape(gradient.meta.shape.begin() + 2, gradient.meta.shape.end()));
  const std::vector<bool> mask = call.booleans("output_mask");
  const bool of_input = call.output_used(0) && mask.at(0), of_grid = call.output_used(1) && mask.at(1);
  std::vector<Taps<T>> taps(n), slopes(n);
  std::vector<const Taps<T>*> here(n);
  std::vector<T> values, weights;
  for (int64_t b = 0; b < batch; ++b) {
    Readers<T> readers{std::vector<std::vector<T>>(at(area)), std::vector<std::vector<int64_t>>(at(area))};
    bool all_defined = true;
    for (int64_t place = 0; place < places; ++place) {
      const T* x = grid.real.data() + (b * places + place) * static_cast<int64_t>(n);
      T* result = out[1].real.data() + (b * places + place) * static_cast<int64_t>(n);
      bool defined = true, jumps = false;
      for (std::size_t d = 0; d < n && defined; ++d) {
        const T& number = x[n - 1 - d];
        const auto v = static_cast<double>(plain(number));
        // Beyond the range of 32-bit integers PyTorch's backends differ.
        defined = std::isfinite(v) && std::fabs(v) * static_cast<double>(dims[d].size) < 0x1p30;
        if (!defined) break;
        taps[d] = grid_taps(dims[d], number, mode);
        if (mode == Interpolation::nearest) add_other_nearest(taps[d], dims[d], number);
        slopes[d] = grid_slopes(dims[d], number, mode);
        jumps = jumps || slopes_jump(dims[d], number, mode);
      }
      if (!defined) {
        all_defined = false;
        std::fill_n(result, n, no_promise<T>());
        continue;
      }
      for (std::size_t d = 0; d < n; ++d) here[d] = &taps[d];
      if (of_input) {
        for_each_tap(here, sizes, [&](int64_t element, const T& weight) {
          readers.weights[at(element)].push_back(weight);
          readers.places[at(element)].push_back(place);
        });
      }
      if (!of_grid) continue;
      for (std::size_t d = 0; d < n; ++d) {
        here[d] = &slopes[d];
        values.clear();
        weights.clear();
        for (int64_t c = 0; c < channels; ++c) {
          const T* plane = input.real.data() + (b * channels + c) * area;
          const T& g = gradient.real[at((b * channels + c) * places + place)];
          for_each_tap(here, sizes, [&](int64_t element, const T& weight) {
            values.push_back(plane[element] * g);
            weights.push_back(weight);
          });
        }
        here[d] = &taps[d];
        result[n - 1 - d] =
            jumps ? no_promise<T>()
                  : dot_any_order(weights.data(), values.data(), static_cast<int64_t>(values.size()));
      }
    }
    for (int64_t c = 0; of_input && c < channels; ++c) {
      const T* g = gradient.real.data() + (b * channels + c) * places;
      for (int64_t element = 0; element < area; ++element) {
        const std::vector<T>& read = readers.weights[at(element)];
        values.clear();
        for (const int64_t place : readers.places[at(element)]) values.push_back(g[place]);
        out[0].real[at((b * channels + c) * area + element)] =
            all_defined ? dot_any_order(read.data(), values.data(), static_cast<int64_t>(values.size()))
                        : no_promise<T>();
      }
    }
  }
  return out;
}

template <class T>
void register_grid_sample_gradient(KernelTable<T>& table) {
  const Traits traits = function_traits("PyTorch").jumps();
  table.add("aten::grid_sampler_2d_backward.default", traits, grid_sample_gradient<T>);
  table.add("aten::grid_sampler_3d_backward.default", traits, grid_sample_gradient<T>);
}

}  // namespace assay::reference
