// Reductions of what an index or a segment brings together, and selections whose size depends on data.
#pragma once

#include <limits>
#include <map>

#include "reference/ops/indexing.h"
#include "reference/ops/order.h"

namespace assay::reference {

enum class Reduction { sum, prod, mean, amax, amin };
inline Reduction reduction_of(const OpCall& call) {
  const std::string word = call.string("reduce");
  if (word == "prod" || word == "multiply") return Reduction::prod;
  if (word == "mean") return Reduction::mean;
  if (word == "amax" || word == "max") return Reduction::amax;
  if (word == "amin" || word == "min") return Reduction::amin;
  return Reduction::sum;
}

// NaN wins.
template <class V>
V extremum(const std::vector<V>& x, bool largest) {
  V best = x[0];
  for (const V& v : x) {
    if (!(v == v)) return v;
    if (largest ? best < v : v < best) best = v;
  }
  return best;
}

// Of one element at least. `count` divides a mean.
template <class T>
T reduced(const std::vector<T>& x, Reduction reduction, int64_t count) {
  const auto n = static_cast<int64_t>(x.size());
  switch (reduction) {
    case Reduction::amax:
    case Reduction::amin:
      return extremum(x, reduction == Reduction::amax);
    case Reduction::prod: {
      T product = x[0];
      for (std::size_t i = 1; i < x.size(); ++i) product = product * x[i];
      return product;
    }
    case Reduction::sum:
      return sum_any_order(x.data(), n);
    case Reduction::mean:
      break;
  }
  return sum_any_order(x.data(), n) / T(static_cast<double>(count));
}
// Modulo 2^64; the mean is rounded down.
inline int64_t reduced_integers(const std::vector<int64_t>& x, Reduction reduction, DType dtype) {
  const auto n = static_cast<int64_t>(x.size());
  switch (reduction) {
    case Reduction::amax:
    case Reduction::amin:
      return extremum(x, reduction == Reduction::amax);
    case Reduction::prod:
      return wrapped(dtype, wrapped_product(x.data(), n));
    case Reduction::sum:
      return wrapped(dtype, wrapped_sum(x.data(), n));
    case Reduction::mean:
      break;
  }
  const int64_t sum = wrapped(dtype, wrapped_sum(x.data(), n));
  const int64_t quotient = sum / n;
  return quotient - (sum % n != 0 && sum < 0 ? 1 : 0);
}

// out = self with each destination's sources reduced, with self's element among them or without. Destinations
// that no index names keep theirs.
template <class T, class ForEach>
std::vector<Array<T>> reduce_into(const Array<T>& self, const Array<T>& source, Reduction reduction,
                                  bool include_self, ForEach&& for_each_pair) {
  Array<T> out = self;
  const auto collect = [&](auto& y, const auto& x, auto&& finish) {
    using V = std::remove_cvref_t<decltype(y[0])>;
    std::map<int64_t, std::vector<V>> terms;
    for_each_pair([&](int64_t from, int64_t to) {
      auto& list = terms[to];
      if (list.empty() && include_self) list.push_back(y[at(to)]);
      list.push_back(x[at(from)]);
    });
    for (const auto& [to, list] : terms) y[at(to)] = finish(list);
  };
  if (out.is_integral()) {
    collect(out.integer, source.integer, [&](const std::vector<int64_t>& list) {
      return reduced_integers(list, reduction, out.meta.dtype);
    });
  } else {
    collect(out.real, source.real, [&](const std::vector<T>& list) {
      return reduced(list, reduction, static_cast<int64_t>(list.size()));
    });
  }
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> scatter_reduce(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  const Array<T>& index = *in[at(call.tensor("index"))];
  const bool include = call.schema().find("include_self") == nullptr || call.boolean("include_self");
  return reduce_into(self, scatter_source(call, in, index), reduction_of(call), include,
                     [&](auto&& f) { for_each_indexed(call, index, self.meta.shape, f); });
}

// Segments of consecutive slices along `axis`. Without any, what `initial` says, or the neutral element; no
// mean exists.
template <class T>
std::vector<Array<T>> segment_reduce(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& data = *in[at(call.tensor("data"))];
  const bool by_length = !call.is_none("lengths");
  const std::vector<int64_t>& given = in[at(call.tensor(by_length ? "lengths" : "offsets"))]->integer;
  const int64_t dim = normalise_dim(call.integer("axis"), data.rank(), call);
  const Axis from = axis_of(data.meta.shape, dim), to = axis_of(out.meta.shape, dim);
  const Reduction reduction = reduction_of(call);
  const auto initial = call.scalar_opt("initial");
  const double infinity = std::numeric_limits<double>::infinity();
  const double neutral = initial                        ? initial->as_double()
                         : reduction == Reduction::prod ? 1
                         : reduction == Reduction::amax ? -infinity
                         : reduction == Reduction::amin ? infinity
                                                        : 0;
  const int64_t stride = to.size + (by_length ? 0 : 1);
  for (int64_t o = 0; o < from.outer; ++o) {
    int64_t first = 0;
    for (int64_t s = 0; s < to.size; ++s) {
      if (!by_length) first = given[at(o * stride + s)];
      const int64_t last = by_length ? first + given[at(o * stride + s)] : given[at(o * stride + s + 1)];
      if (first < 0 || last < first || last > from.size) {
        throw Error(ErrorCode::invalid_argument,
                    call.op() + ": the segment at index " + std::to_string(s) + " is [" +
                        std::to_string(first) + ", " + std::to_string(last) +
                        "), which is out of range for axis of size " + std::to_string(from.size));
      }
      for (int64_t n = 0; n < from.inner; ++n) {
        std::vector<T> terms{constant<T>(neutral)};
        for (int64_t i = first; i < last; ++i) terms.push_back(data.real[at(from.at(o, i, n))]);
        const bool nothing = last == first;
        T& result = out.real[at(to.at(o, s, n))];
        if (nothing) {
          result = reduction == Reduction::mean && !initial ? T(std::numeric_limits<double>::quiet_NaN())
                                                            : terms[0];
        } else {
          result = reduced(terms, reduction, last - first);
        }
      }
      first = last;
    }
    if (by_length && !call.boolean("unsafe") && first != from.size) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": lengths add up to " + std::to_string(first) +
                                                   ", axis has size " + std::to_string(from.size));
    }
  }
  return one(std::move(out));
}

// Elements of self, broadcast with the mask, where it is true.
template <class T>
std::vector<Array<T>> masked_select(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  const Array<T>& mask = *in[at(call.tensor("mask"))];
  const Shape shape = broadcast(self.meta.shape, mask.meta.shape, call);
  const Array<T> values = strided(self, {self.meta.dtype, shape}, broadcast_strides(self.meta.shape, shape));
  const Array<T> chosen = strided(mask, {DType::boolean, shape}, broadcast_strides(mask.meta.shape, shape));
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < chosen.count(); ++i) {
    if (chosen.integer[at(i)] != 0) positions.push_back(i);
  }
  auto out = make_array<T>({self.meta.dtype, {static_cast<int64_t>(positions.size())}});
  for (std::size_t i = 0; i < positions.size(); ++i)
    copy_run(values, positions[i], out, static_cast<int64_t>(i), 1);
  return one(std::move(out));
}

// The first `size` coordinates of elements that are not zero; `fill_value` where there are fewer.
template <class T>
std::vector<Array<T>> nonzero_static(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  std::fill(out.integer.begin(), out.integer.end(), call.integer("fill_value"));
  const std::vector<int64_t> found = nonzero(call, in)[0].integer;
  std::copy_n(found.begin(), std::min(found.size(), out.integer.size()), out.integer.begin());
  return one(std::move(out));
}

// Position i, repeats[i] times (or always repeats[0] times).
template <class T>
std::vector<int64_t> repeated_positions(const OpCall& call, const Array<T>& repeats, int64_t size) {
  std::vector<int64_t> out;
  const auto given = call.integer_opt("output_size");
  for (int64_t i = 0; i < size; ++i) {
    const int64_t times = repeats.integer[at(repeats.count() == 1 ? 0 : i)];
    if (times < 0) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": repeats is " + std::to_string(times) +
                                                   " at index " + std::to_string(i) +
                                                   "; it cannot be negative");
    }
    if (times > (int64_t{1} << 32) - static_cast<int64_t>(out.size())) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": repeats gives more than 2^32 positions");
    }
    out.insert(out.end(), at(times), i);
  }
  if (given && *given != static_cast<int64_t>(out.size())) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": output_size is " + std::to_string(*given) +
                                                 ", but repeats add up to " + std::to_string(out.size()));
  }
  return out;
}
template <class T>
std::vector<Array<T>> repeats(const OpCall& call, const Inputs<T>& in) {
  const std::vector<int64_t> positions = repeated_positions(call, *in[0], in[0]->count());
  auto out = make_array<T>({in[0]->meta.dtype, {static_cast<int64_t>(positions.size())}});
  out.integer = positions;
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> repeat_interleave_by(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  const auto dim = call.integer_opt("dim");
  Shape shape = dim && self.rank() > 0 ? self.meta.shape : Shape{self.count()};
  const int64_t d = dim ? normalise_dim(*dim, static_cast<int64_t>(shape.size()), call) : 0;
  const Axis from = axis_of(shape, d);
  const auto positions = repeated_positions(call, *in[at(call.tensor("repeats"))], from.size);
  shape[at(d)] = static_cast<int64_t>(positions.size());
  auto out = make_array<T>({self.meta.dtype, shape});
  const Axis to = axis_of(shape, d);
  for (int64_t o = 0; o < from.outer; ++o) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
      copy_run(self, from.at(o, positions[i], 0), out, to.at(o, static_cast<int64_t>(i), 0), from.inner);
    }
  }
  return one(std::move(out));
}

template <class T>
void register_index_reduce(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits moves = movement_traits();
  const Traits exact = exact_traits("PyTorch").jumps();
  table.add("aten::scatter_reduce.two", function_traits("definition"), scatter_reduce<T>);
  table.add("aten::segment_reduce.default", function_traits("definition"), segment_reduce<T>);
  table.add_exact("aten::masked_select.default", moves, masked_select<E>);
  table.add_exact("aten::nonzero_static.default", exact, nonzero_static<E>);
  table.add_exact("aten::repeat_interleave.Tensor", exact, repeats<E>);
  table.add_exact("aten::repeat_interleave.self_Tensor", moves, repeat_interleave_by<E>);
}

}  // namespace assay::reference
