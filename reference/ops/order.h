// Scans, sorts and choices.
#pragma once

#include <algorithm>
#include <numeric>

#include "reference/number/sums.h"
#include "reference/ops/compare.h"
#include "reference/ops/rows.h"

namespace assay::reference {

// Prefix sums; booleans and small integers count in i64.
template <class T>
std::vector<Array<T>> cumsum(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T> values = as_kind_of(*in[0], out.meta);
  if (!values.undefined.empty()) out.undefined.assign(out.integer.size(), 1);
  const Axis axis = axis_of(out.meta.shape, normalise_dim(call.integer("dim"), in[0]->rank(), call));
  const auto scan = [&](const auto& x, auto& y, auto&& prefix_sums) {
    auto line = x;
    line.resize(at(axis.size));
    auto sums = line;
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t n = 0; n < axis.inner; ++n) {
        for (int64_t i = 0; i < axis.size; ++i) line[at(i)] = x[at(axis.at(o, i, n))];
        prefix_sums(line.data(), sums.data(), axis.size);
        for (int64_t i = 0; i < axis.size; ++i) y[at(axis.at(o, i, n))] = sums[at(i)];
      }
    }
  };
  if (out.is_integral()) {
    scan(values.integer, out.integer, wrapped_prefix_sums);
    map(out.integer, out.integer, [&](int64_t v) { return wrapped(out.meta.dtype, v); });
  } else {
    scan(values.real, out.real, [](const T* x, T* sums, int64_t n) { prefix_sums_any_order(x, sums, n); });
  }
  return one(std::move(out));
}

// PyTorch's order: NaN is larger than everything.
template <class V>
bool goes_before(const V& a, const V& b, bool descending) {
  const bool a_nan = !(a == a), b_nan = !(b == b);
  if (a_nan || b_nan) return descending ? a_nan && !b_nan : !a_nan && b_nan;
  return descending ? b < a : a < b;
}

// The first `k` of each line along `dim` in order; equal elements keep theirs.
template <class T>
std::vector<Array<T>> ordered(const OpCall& call, const Inputs<T>& in, int64_t dim, int64_t k,
                              bool descending) {
  std::vector<Array<T>> out;
  TensorMeta meta{in[0]->meta.dtype, in[0]->meta.shape};
  if (!meta.shape.empty()) meta.shape[at(dim)] = k;
  out.push_back(make_array<T>(meta));
  out.push_back(make_array<T>({DType::i64, meta.shape}));
  const Axis from = axis_of(in[0]->meta.shape, dim), to = axis_of(meta.shape, dim);
  if (k < 0 || k > from.size) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": k = " + std::to_string(k) +
                                                 " is out of range for a dim of size " +
                                                 std::to_string(from.size));
  }
  std::vector<int64_t> order(at(from.size));
  const auto sort_lines = [&](const auto* x, auto* y) {
    for (int64_t o = 0; o < from.outer; ++o) {
      for (int64_t n = 0; n < from.inner; ++n) {
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
          return goes_before(x[from.at(o, a, n)], x[from.at(o, b, n)], descending);
        });
        for (int64_t i = 0; i < k; ++i) {
          y[to.at(o, i, n)] = x[from.at(o, order[at(i)], n)];
          out[1].integer[at(to.at(o, i, n))] = order[at(i)];
        }
      }
    }
  };
  if (in[0]->is_integral()) {
    sort_lines(in[0]->integer.data(), out[0].integer.data());
  } else {
    sort_lines(in[0]->real.data(), out[0].real.data());
  }
  return out;
}
template <class T>
std::vector<Array<T>> topk(const OpCall& call, const Inputs<T>& in) {
  return ordered(call, in, normalise_dim(call.integer("dim"), in[0]->rank(), call), call.integer("k"),
                 call.boolean("largest"));
}
template <class T>
std::vector<Array<T>> sort(const OpCall& call, const Inputs<T>& in) {
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  return ordered(call, in, dim, axis_of(in[0]->meta.shape, dim).size, call.boolean("descending"));
}

// Values and indices of each line's extremum: NaN wins, the first of equal ones.
template <class T, bool Larger>
std::vector<Array<T>> extreme_along(const OpCall& call, const Inputs<T>& in) {
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  auto out = ordered(call, in, dim, 1, Larger);
  if (!Larger) {
    // NaN wins here too, where ascending order puts it last.
    const Axis axis = axis_of(in[0]->meta.shape, dim);
    for (int64_t o = 0; o < axis.outer && !in[0]->is_integral(); ++o) {
      for (int64_t n = 0; n < axis.inner; ++n) {
        for (int64_t i = axis.size; i-- > 0;) {
          const T& x = in[0]->real[at(axis.at(o, i, n))];
          if (x == x) continue;
          out[0].real[at(o * axis.inner + n)] = x;
          out[1].integer[at(o * axis.inner + n)] = i;
        }
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    if (call.output_used(i)) out[at(i)].meta = call.output(i);
  }
  return out;
}
template <class T, bool Larger>
std::vector<Array<T>> arg_extreme(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto given = call.integer_opt("dim");
  Rows rows;
  std::vector<int64_t> dims;
  if (!given) {
    dims = reduced_dims(call, "", in[0]->rank());
  } else if (in[0]->rank() > 0) {
    dims = {normalise_dim(*given, in[0]->rank(), call)};
  }
  const Array<T> values = gathered_rows(*in[0], dims, rows);
  const auto best_of = [&](const auto* row) {
    int64_t best = 0;
    for (int64_t i = 0; i < rows.length; ++i) {
      if (!(row[i] == row[i])) return i;
      if (Larger ? row[best] < row[i] : row[i] < row[best]) best = i;
    }
    return best;
  };
  if (rows.length == 0 && rows.count > 0) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": the position of the extremum of no elements");
  }
  for (int64_t r = 0; r < rows.count; ++r) {
    out.integer[at(r)] = values.is_integral() ? best_of(values.integer.data() + r * rows.length)
                                              : best_of(values.real.data() + r * rows.length);
  }
  return one(std::move(out));
}

// Coordinates of the elements that are not zero, in row-major order; the shape depends on data.
template <class T>
std::vector<Array<T>> nonzero(const OpCall&, const Inputs<T>& in) {
  std::vector<int64_t> positions;
  const std::vector<int64_t> nonzeros = truth(*in[0]);
  for (int64_t i = 0; i < in[0]->count(); ++i) {
    if (nonzeros[at(i)] != 0) positions.push_back(i);
  }
  const auto rank = in[0]->rank();
  auto out = make_array<T>({DType::i64, {static_cast<int64_t>(positions.size()), rank}});
  const Shape strides = contiguous_strides(in[0]->meta.shape);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    for (int64_t d = 0; d < rank; ++d) {
      out.integer[i * at(rank) + at(d)] = positions[i] / strides[at(d)] % in[0]->meta.shape[at(d)];
    }
  }
  return one(std::move(out));
}

template <class T>
void register_order(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits choice = choice_traits();
  table.add("aten::cumsum.default", sum_traits(), cumsum<T>);
  table.add_exact("aten::topk.default", choice, topk<E>);
  table.add_exact("aten::sort.default", choice, sort<E>);
  table.add_exact("aten::max.dim", choice, extreme_along<E, true>);
  table.add_exact("aten::min.dim", choice, extreme_along<E, false>);
  table.add_exact("aten::argmax.default", choice, arg_extreme<E, true>);
  table.add_exact("aten::argmin.default", choice, arg_extreme<E, false>);
  table.add_exact("aten::nonzero.default", exact_traits("PyTorch").jumps(), nonzero<E>);
}

}  // namespace assay::reference
