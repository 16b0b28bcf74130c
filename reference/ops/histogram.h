// Histograms. Which bin an element belongs to is an internal decision (NUMERICS §5): where rounding of the
// position or of an edge decides it, either of the two bins is right, and the Bound of both counts it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// Bins along one coordinate: equal ones between two ends, or those between given edges.
template <class T>
struct Bins {
  T low = T(0), high = T(1);
  int64_t count = 1;
  std::vector<T> edges;  // empty: equal bins
  double roundoff = 0;   // of the dtype

  // One or two bins that may hold x; none if it lies outside or is NaN.
  std::vector<int64_t> of(const T& x) const {
    if (!(low <= x) || !(x <= high)) return {};
    if (!edges.empty()) {
      const auto after = std::upper_bound(edges.begin(), edges.end(), x);
      return {std::min(static_cast<int64_t>(after - edges.begin()) - 1, count - 1)};
    }
    if (x == low) return {0};
    if (x == high) return {count - 1};
    const double position = static_cast<double>(plain(x) - plain(low)) /
                            static_cast<double>(plain(high) - plain(low)) * static_cast<double>(count);
    const double nearest = std::round(position);
    // The difference, the quotient, the product and the two edges are rounded, the edges relative to the
    // larger end.
    const double width = static_cast<double>(plain(high) - plain(low)) / static_cast<double>(count);
    const double scale =
        std::max(std::fabs(static_cast<double>(plain(low))), std::fabs(static_cast<double>(plain(high))));
    const double doubt = 4 * roundoff * (position + scale / width);
    const int64_t bin = std::clamp(static_cast<int64_t>(std::floor(position)), int64_t{0}, count - 1);
    if (std::fabs(position - nearest) > doubt || nearest < 1 || nearest > static_cast<double>(count - 1))
      return {bin};
    const auto right = static_cast<int64_t>(nearest);
    return {bin, bin == right ? right - 1 : right};
  }

  // Edge i: a step from the nearer end. A device may take all steps from one end.
  T edge(int64_t i) const {
    if (!edges.empty()) return edges[at(i)];
    if (i == 0) return low;
    if (i == count) return high;
    const T step = (high - low) / T(static_cast<double>(count));
    const T up = low + T(static_cast<double>(i)) * step;
    const T down = high - T(static_cast<double>(count - i)) * step;
    T out = 2 * i < count ? up : down;
    if constexpr (std::is_same_v<T, Bounded>) out.bound = std::max(up.bound, down.bound);
    return out;
  }
};

// Equal bins between the given ends (nullptr: none), or from the least to the largest sample; ends that
// coincide move apart by `widening`.
template <class T, class At>
Bins<T> equal_bins(const OpCall& call, int64_t count, const std::pair<double, double>* ends, int64_t samples,
                   DType dtype, double widening, At&& sample) {
  Bins<T> bins;
  bins.count = count;
  bins.roundoff = float_format(dtype).unit_roundoff();
  if (ends) {
    bins.low = T(round_to(dtype, ends->first));
    bins.high = T(round_to(dtype, ends->second));
  } else if (samples > 0) {
    bins.low = bins.high = sample(0);
    for (int64_t i = 1; i < samples; ++i) {
      const T x = sample(i);
      if (x < bins.low || !(x == x)) bins.low = x;
      if (bins.high < x || !(x == x)) bins.high = x;
    }
  }
  for (const T& end : {bins.low, bins.high}) {
    if (!std::isfinite(static_cast<double>(plain(end)))) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": the range of the bins is not finite");
    }
  }
  if (bins.low == bins.high) {
    bins.low = bins.low - T(widening);
    bins.high = bins.high + T(widening);
  }
  return bins;
}

template <class T>
Bins<T> given_bins(const OpCall& call, const Array<T>& edges) {
  Bins<T> bins;
  bins.edges = edges.real;
  bins.count = edges.count() - 1;
  for (std::size_t i = 1; i < bins.edges.size(); ++i) {
    if (!(bins.edges[i - 1] <= bins.edges[i])) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": the edges of the bins do not increase");
    }
  }
  bins.low = bins.edges.front();
  bins.high = bins.edges.back();
  return bins;
}

// Weights (1 without) of samples [count, bins.size()] summed by bin, in row-major order of the bins.
template <class T>
std::vector<T> weights_by_bin(const std::vector<Bins<T>>& bins, const Array<T>& samples,
                              const Array<T>* weight) {
  const auto dims = static_cast<int64_t>(bins.size());
  int64_t total = 1;
  for (const Bins<T>& along : bins) total *= along.count;
  std::vector<std::vector<T>> terms(at(total));
  std::vector<double> bound(at(total), 0);
  const int64_t count = dims == 0 ? 0 : samples.count() / dims;
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> places{0};
    for (int64_t d = 0; d < dims; ++d) {
      const std::vector<int64_t> candidates = bins[at(d)].of(samples.real[at(i * dims + d)]);
      std::vector<int64_t> longer;
      for (const int64_t place : places) {
        for (const int64_t bin : candidates) longer.push_back(place * bins[at(d)].count + bin);
      }
      places = std::move(longer);
    }
    if (places.empty() || total == 0) continue;
    const T one_of = weight == nullptr ? T(1) : weight->real[at(i)];
    terms[at(places[0])].push_back(one_of);
    if (places.size() == 1) continue;
    for (const int64_t place : places) bound[at(place)] += std::fabs(static_cast<double>(plain(one_of)));
  }
  std::vector<T> out(at(total), T(0));
  for (std::size_t b = 0; b < out.size(); ++b) {
    out[b] = sum_any_order(terms[b].data(), static_cast<int64_t>(terms[b].size()));
    if constexpr (std::is_same_v<T, Bounded>) out[b].bound += bound[b];
  }
  return out;
}

// Divided by the total weight and by the size of each bin.
template <class T>
void make_density(const std::vector<Bins<T>>& bins, std::vector<T>& weights) {
  const T total = sum_any_order(weights.data(), static_cast<int64_t>(weights.size()));
  for (std::size_t b = 0; b < weights.size(); ++b) {
    weights[b] = weights[b] / total;
    auto rest = static_cast<int64_t>(b);
    for (std::size_t d = bins.size(); d-- > 0;) {
      const int64_t i = rest % bins[d].count;
      rest /= bins[d].count;
      weights[b] = weights[b] / (bins[d].edge(i + 1) - bins[d].edge(i));
    }
  }
}

template <class T>
Array<T> edges_of(const Bins<T>& bins, DType dtype) {
  auto out = make_array<T>({dtype, {bins.count + 1}});
  for (int64_t i = 0; i <= bins.count; ++i) out.real[at(i)] = bins.edge(i);
  return out;
}

template <class T>
std::vector<Array<T>> histc(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[0];
  const double low = call.scalar("min").as_double(), high = call.scalar("max").as_double();
  const std::pair<double, double> ends(low, high);
  const bool of_data = low == high && self.count() > 0;
  std::vector<Bins<T>> bins;
  // Equal ends stand for those of the data only if there is any.
  bins.push_back(equal_bins<T>(call, call.integer("bins"), of_data ? nullptr : &ends, self.count(),
                               self.meta.dtype, 1, [&](int64_t i) { return self.real[at(i)]; }));
  auto out = make_array<T>(call.output(0));
  out.real = weights_by_bin<T>(bins, self, nullptr);
  return one(std::move(out));
}

// The bins of samples [..., dims], and the last dim's coordinates.
template <class T>
std::vector<Bins<T>> counted_bins(const OpCall& call, const Array<T>& self,
                                  const std::vector<int64_t>& counts) {
  const auto range = call.floats_opt("range");
  const auto dims = static_cast<int64_t>(counts.size());
  std::vector<Bins<T>> bins;
  for (int64_t d = 0; d < dims; ++d) {
    std::pair<double, double> ends;
    if (range) ends = {(*range)[at(2 * d)], (*range)[at(2 * d + 1)]};
    bins.push_back(equal_bins<T>(call, counts[at(d)], range ? &ends : nullptr, self.count() / dims,
                                 self.meta.dtype, 0.5,
                                 [&](int64_t i) { return self.real[at(i * dims + d)]; }));
  }
  return bins;
}

template <class T>
std::vector<T> weighted(const OpCall& call, const Inputs<T>& in, const std::vector<Bins<T>>& bins) {
  const auto weight = call.tensor_opt("weight");
  std::vector<T> out =
      weights_by_bin<T>(bins, *in[at(call.tensor("self"))], weight ? in[at(*weight)] : nullptr);
  if (call.boolean("density")) make_density(bins, out);
  return out;
}

template <class T>
std::vector<Array<T>> histogram(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  std::vector<Bins<T>> bins;
  if (call.schema().overload == "bins_tensor") {
    bins.push_back(given_bins(call, *in[at(call.tensor("bins"))]));
  } else {
    bins = counted_bins(call, self, {call.integer("bins")});
  }
  std::vector<Array<T>> out;
  out.push_back(make_array<T>({self.meta.dtype, {bins[0].count}}));
  out[0].real = weighted(call, in, bins);
  out.push_back(edges_of(bins[0], self.meta.dtype));
  return out;
}
template <class T>
std::vector<Array<T>> histogramdd(const OpCall& call, const Inputs<T>& in) {
  std::vector<Bins<T>> bins;
  if (call.schema().name == "aten::_histogramdd_from_bin_tensors") {
    for (const int edges : call.tensors("bins")) bins.push_back(given_bins(call, *in[at(edges)]));
  } else {
    bins = counted_bins(call, *in[at(call.tensor("self"))], call.integers("bins"));
  }
  auto out = make_array<T>(call.output(0));
  out.real = weighted(call, in, bins);
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> histogramdd_edges(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  std::vector<Array<T>> out;
  for (const Bins<T>& bins : counted_bins(call, self, call.integers("bins")))
    out.push_back(edges_of(bins, self.meta.dtype));
  return out;
}

template <class T>
void register_histogram(KernelTable<T>& table) {
  const Traits traits = function_traits("PyTorch").jumps();
  table.add("aten::histc.default", traits, histc<T>);
  table.add("aten::histogram.bin_ct", traits, histogram<T>);
  table.add("aten::histogram.bins_tensor", traits, histogram<T>);
  table.add("aten::_histogramdd_from_bin_cts.default", traits, histogramdd<T>);
  table.add("aten::_histogramdd_from_bin_tensors.default", traits, histogramdd<T>);
  table.add("aten::_histogramdd_bin_edges.default", function_traits("PyTorch"), histogramdd_edges<T>);
}

}  // namespace assay::reference
