// Positions in sorted sequences, and unique elements.
#pragma once

#include <numeric>

#include "reference/ops/indexing.h"
#include "reference/ops/order.h"

namespace assay::reference {

// First position whose element is not before `value` (right: is behind it), by halving. A NaN is behind
// everything.
template <class V, class At>
int64_t lower_position(int64_t size, const V& value, bool right, At&& element) {
  int64_t first = 0, last = size;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    const V& x = element(middle);
    const bool reached = right ? value < x : !(x < value) && x == x && value == value;
    if (reached) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

// Numbers in the dtype in which sequence and values are compared, the promoted one.
template <class T>
std::vector<T> promoted_reals(const Array<T>& array, DType dtype) {
  if (!array.is_integral()) return array.real;
  std::vector<T> out(array.integer.size());
  map(array.integer, out, [&](int64_t v) { return T(round_to(dtype, static_cast<double>(v))); });
  return out;
}

template <class T>
std::vector<Array<T>> positions_in(const OpCall& call, const Inputs<T>& in, const char* sequence_name,
                                   bool right) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& sequence = *in[at(call.tensor(sequence_name))];
  const auto given = call.tensor_opt("self");
  const bool sorts = call.schema().find("sorter") != nullptr && !call.is_none("sorter");
  const std::vector<int64_t>* sorter = sorts ? &in[at(call.tensor("sorter"))]->integer : nullptr;
  const int64_t size = sequence.meta.shape.back();
  const auto count = static_cast<int64_t>(out.integer.size());
  const int64_t per_row = sequence.rank() == 1 || out.meta.shape.empty() ? count : out.meta.shape.back();
  const auto search = [&](const auto& x, const auto& values) {
    using V = std::remove_cvref_t<decltype(x[0])>;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = per_row == 0 ? 0 : i / per_row * size;
      const auto element = [&](int64_t position) -> const V& {
        if (sorter == nullptr) return x[at(row + position)];
        return x[at(row + checked_index(call, (*sorter)[at(row + position)], size, false))];
      };
      out.integer[at(i)] = lower_position<V>(size, values[at(i)], right, element);
    }
  };
  DType dtype = DType::f32;
  Array<T> values;
  if (given) {
    values = *in[at(*given)];
    dtype = result_type({sequence.meta, values.meta}, {});
  } else {
    const Scalar number = call.scalar("self");
    dtype = result_type({sequence.meta}, {number});
    values = make_array<T>({dtype, {}});
    if (values.is_integral()) {
      values.integer[0] = number.as_int();
    } else {
      values.real[0] = T(round_to(dtype, number.as_double()));
    }
  }
  if (is_integral(dtype)) {
    search(sequence.integer, values.integer);
  } else {
    search(promoted_reals(sequence, dtype), promoted_reals(values, dtype));
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> searchsorted(const OpCall& call, const Inputs<T>& in) {
  const auto side = call.string_opt("side");
  return positions_in(call, in, "sorted_sequence", side ? *side == "right" : call.boolean("right"));
}
template <class T>
std::vector<Array<T>> bucketize(const OpCall& call, const Inputs<T>& in) {
  return positions_in(call, in, "boundaries", call.boolean("right"));
}

// Slices along a dim, or single elements (outer = inner = 1), that are grouped by equality.
template <class T>
struct Slices {
  const Array<T>& self;
  Axis axis;

  // -1, 0, 1, the first element that differs deciding; a NaN is larger than everything and equal to nothing.
  int compare(int64_t a, int64_t b) const {
    return self.is_integral() ? compare(self.integer, a, b) : compare(self.real, a, b);
  }
  template <class V>
  int compare(const std::vector<V>& x, int64_t a, int64_t b) const {
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t n = 0; n < axis.inner; ++n) {
        const V &p = x[at(axis.at(o, a, n))], &q = x[at(axis.at(o, b, n))];
        if (goes_before(p, q, false)) return -1;
        if (goes_before(q, p, false)) return 1;
        if (!(p == p)) return a < b ? -1 : a > b ? 1 : 0;
      }
    }
    return 0;
  }
};

// Groups of equal slices, sorted or in a row: the first of each group, where each slice went, how many.
template <class T>
std::vector<Array<T>> groups(const OpCall& call, const Slices<T>& slices, bool sorted, const Shape& inverse,
                             std::optional<int64_t> dim) {
  const Array<T>& self = slices.self;
  std::vector<int64_t> order(at(slices.axis.size));
  std::iota(order.begin(), order.end(), 0);
  if (sorted) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return slices.compare(a, b) < 0; });
  }
  std::vector<int64_t> kept, counts, went(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) {
      kept.push_back(order[i]);
      counts.push_back(0);
    }
    counts.back() = counts.back() + 1;
    went[at(order[i])] = static_cast<int64_t>(kept.size()) - 1;
  }
  const auto found = static_cast<int64_t>(kept.size());
  Shape shape{found};
  if (dim) {
    shape = self.meta.shape;
    if (shape.empty()) shape = {1};
    shape[at(*dim)] = found;
  }
  std::vector<Array<T>> out;
  out.push_back(make_array<T>({self.meta.dtype, shape}));
  Axis to = slices.axis;
  to.size = found;
  for (int64_t o = 0; o < to.outer; ++o) {
    for (int64_t i = 0; i < found; ++i) {
      copy_run(self, slices.axis.at(o, kept[at(i)], 0), out[0], to.at(o, i, 0), to.inner);
    }
  }
  // Along a dim PyTorch gives both, asked for or not.
  const bool positions = dim || call.boolean("return_inverse");
  out.push_back(make_array<T>({DType::i64, positions ? inverse : Shape{0}}));
  if (positions) out[1].integer = std::move(went);
  const bool occurrences = dim || call.boolean("return_counts");
  out.push_back(make_array<T>({DType::i64, {occurrences ? found : 0}}));
  if (occurrences) out[2].integer = std::move(counts);
  return out;
}
template <class T>
std::vector<Array<T>> unique_all(const OpCall& call, const Array<T>& self, bool sorted) {
  return groups(call, Slices<T>{self, {1, self.count(), 1}}, sorted, self.meta.shape, std::nullopt);
}
template <class T>
std::vector<Array<T>> unique_along(const OpCall& call, const Array<T>& self, bool sorted, int64_t dim) {
  const int64_t d = normalise_dim(dim, self.rank(), call);
  const Axis axis = axis_of(self.meta.shape, d);
  return groups(call, Slices<T>{self, axis}, sorted, Shape{axis.size}, d);
}
// Always sorted, which `sorted` = False allows.
template <class T>
std::vector<Array<T>> unique2(const OpCall& call, const Inputs<T>& in) {
  return unique_all(call, *in[0], true);
}
template <class T>
std::vector<Array<T>> unique_dim(const OpCall& call, const Inputs<T>& in) {
  return unique_along(call, *in[0], true, call.integer("dim"));
}
template <class T>
std::vector<Array<T>> unique_consecutive(const OpCall& call, const Inputs<T>& in) {
  const auto dim = call.integer_opt("dim");
  return dim ? unique_along(call, *in[0], false, *dim) : unique_all(call, *in[0], false);
}

template <class T>
void register_search(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits exact = exact_traits("PyTorch").jumps();
  exact.model.signed_zero = false;
  table.add_exact("aten::searchsorted.Tensor", exact, searchsorted<E>);
  table.add_exact("aten::searchsorted.Scalar", exact, searchsorted<E>);
  table.add_exact("aten::bucketize.Tensor", exact, bucketize<E>);
  table.add_exact("aten::bucketize.Scalar", exact, bucketize<E>);
  table.add_exact("aten::_unique2.default", exact, unique2<E>);
  table.add_exact("aten::unique_dim.default", exact, unique_dim<E>);
  table.add_exact("aten::unique_consecutive.default", exact, unique_consecutive<E>);
}

}  // namespace assay::reference
