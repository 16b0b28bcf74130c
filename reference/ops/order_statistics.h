// Medians, k-th values, modes and stable sorts.
#pragma once

#include <algorithm>
#include <limits>

#include "reference/ops/order.h"

namespace assay::reference {

// One value and its index a line: F(line) gives the position.
template <class T, class F>
std::vector<Array<T>> pick_along(const OpCall& call, const Inputs<T>& in, F&& position) {
  const Array<T>& self = *in[0];
  const int64_t dim = normalise_dim(call.integer("dim"), self.rank(), call);
  const Axis axis = axis_of(self.meta.shape, dim);
  Shape shape = self.meta.shape;
  if (!shape.empty()) {
    if (call.boolean("keepdim")) {
      shape[at(dim)] = 1;
    } else {
      shape.erase(shape.begin() + dim);
    }
  }
  std::vector<Array<T>> out;
  out.push_back(make_array<T>({self.meta.dtype, shape}));
  out.push_back(make_array<T>({DType::i64, shape}));
  const auto pick = [&](const auto& x, auto& y) {
    auto line = x;
    line.resize(at(axis.size));
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t n = 0; n < axis.inner; ++n) {
        for (int64_t i = 0; i < axis.size; ++i) line[at(i)] = x[at(axis.at(o, i, n))];
        const int64_t chosen = position(line), slot = o * axis.inner + n;
        y[at(slot)] = line[at(chosen)];
        out[1].integer[at(slot)] = chosen;
      }
    }
  };
  if (self.is_integral()) {
    pick(self.integer, out[0].integer);
  } else {
    pick(self.real, out[0].real);
  }
  return out;
}

// Positions of a line in order, NaN last; equal elements keep their order.
template <class V>
std::vector<int64_t> sorted_positions(const std::vector<V>& line) {
  std::vector<int64_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return goes_before(line[at(a)], line[at(b)], false); });
  return order;
}
template <class V>
int64_t count_numbers(const std::vector<V>& line) {
  return std::count_if(line.begin(), line.end(), [](const V& v) { return v == v; });
}

// The lower of the two middle elements. NaN if there is one (median), or if there is nothing else
// (nanmedian).
template <class V>
int64_t median_position(const std::vector<V>& line, bool skip_nan) {
  const auto order = sorted_positions(line);
  const int64_t numbers = count_numbers(line), length = static_cast<int64_t>(line.size());
  if (numbers < length && (!skip_nan || numbers == 0)) return order[at(numbers)];
  return order[at((numbers - 1) / 2)];
}
template <class T, bool SkipNan>
std::vector<Array<T>> median_along(const OpCall& call, const Inputs<T>& in) {
  return pick_along(call, in, [](const auto& line) { return median_position(line, SkipNan); });
}
template <class T, bool SkipNan>
std::vector<Array<T>> median_all(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  if (in[0]->count() == 0) {
    if (out.is_integral()) {
      out.undefined.assign(1, 1);
    } else {
      out.real[0] = T(std::numeric_limits<double>::quiet_NaN());
    }
  } else if (out.is_integral()) {
    out.integer[0] = in[0]->integer[at(median_position(in[0]->integer, SkipNan))];
  } else {
    out.real[0] = in[0]->real[at(median_position(in[0]->real, SkipNan))];
  }
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> kth_value(const OpCall& call, const Inputs<T>& in) {
  const int64_t k = call.integer("k");
  return pick_along(call, in, [&](const auto& line) {
    if (k < 1 || k > static_cast<int64_t>(line.size())) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": k = " + std::to_string(k) +
                                                   " is out of range for a dim of size " +
                                                   std::to_string(line.size()));
    }
    return sorted_positions(line)[at(k - 1)];
  });
}

// The most frequent element: the smallest of several, and its last position. A NaN equals nothing.
template <class T>
std::vector<Array<T>> mode(const OpCall& call, const Inputs<T>& in) {
  return pick_along(call, in, [](const auto& line) {
    const auto order = sorted_positions(line);
    std::size_t best = 0, longest = 0;
    for (std::size_t first = 0; first < order.size();) {
      std::size_t end = first + 1;
      while (end < order.size() && line[at(order[end])] == line[at(order[first])]) ++end;
      if (end - first > longest) {
        longest = end - first;
        best = end - 1;
      }
      first = end;
    }
    return order[best];
  });
}

template <class T>
void register_order_statistics(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits choice = choice_traits();
  Traits value = exact_traits("PyTorch");
  value.model.signed_zero = false;
  table.add_exact("aten::median.default", value, median_all<E, false>);
  table.add_exact("aten::nanmedian.default", value, median_all<E, true>);
  table.add_exact("aten::median.dim", choice, median_along<E, false>);
  table.add_exact("aten::nanmedian.dim", choice, median_along<E, true>);
  table.add_exact("aten::kthvalue.default", choice, kth_value<E>);
  table.add_exact("aten::mode.default", choice, mode<E>);
  table.add_exact("aten::sort.stable", choice, sort<E>);
}

}  // namespace assay::reference
