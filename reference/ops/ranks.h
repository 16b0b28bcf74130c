// Collectives of all ranks at once (core/opset/rules/ranks.cpp). Reductions are sums in any order over the
// ranks, each rank's result the same number: what the declared order and accumulator of "ranks::*" make of it
// is the Bound's business.
#pragma once

#include <cmath>

#include "reference/number/sums.h"
#include "reference/ops/cast.h"
#include "reference/ops/movement.h"

namespace assay::reference {

enum class RankReduction { sum, avg, product, min, max, band, bor, bxor };
RankReduction rank_reduction_of(const OpCall& call);
int64_t wrapped_reduction(RankReduction op, const int64_t* row,
                          int64_t n);  // bits of narrower results are cut

// Frameworks divide the sum by n, or each term by n before they add (ncclAvg scales before): the Bound holds
// both.
template <class T>
T average(const T* row, int64_t n) {
  return sum_any_order(row, n) / T(static_cast<double>(n));
}
inline Bounded average(const Bounded* row, int64_t n) {
  const Bounded count(static_cast<double>(n));
  Bounded after = sum_any_order(row, n) / count;
  std::vector<Bounded> scaled(row, row + n);
  for (Bounded& x : scaled) x = x / count;
  const Bounded before = sum_any_order(scaled.data(), n);
  after.bound = std::max(after.bound, before.bound + std::fabs(before.value - after.value));
  after.variance = std::max(after.variance, before.variance);
  after.overflow = after.overflow || before.overflow;
  return after;
}

// One number of n ranks; `undefined` is set where a NaN meets min or max, of which MPI, NCCL and gloo say
// nothing.
template <class T>
T reduced(RankReduction op, const T* row, int64_t n, uint8_t& undefined) {
  switch (op) {
    case RankReduction::sum:
      return sum_any_order(row, n);
    case RankReduction::avg:
      return average(row, n);
    case RankReduction::product:
      return product_any_order(row, n);
    default:
      break;
  }
  T best = row[0];
  for (int64_t r = 0; r < n; ++r) {
    if (!(row[r] == row[r])) undefined = 1;
    if (op == RankReduction::max ? best < row[r] : row[r] < best) best = row[r];
  }
  return best;
}

// Over all inputs; complex numbers by their parts (sum and avg).
template <class T>
Array<T> reduced_over_ranks(const OpCall& call, const Inputs<T>& in) {
  const RankReduction op = rank_reduction_of(call);
  const auto n = static_cast<int64_t>(in.size());
  auto out = make_array<T>(in[0]->meta);
  std::vector<uint8_t> undefined(out.real.size(), 0);
  std::vector<T> row(in.size());
  for (std::size_t i = 0; i < out.real.size(); ++i) {
    for (std::size_t r = 0; r < in.size(); ++r) row[r] = in[r]->real[i];
    out.real[i] = reduced(op, row.data(), n, undefined[i]);
  }
  std::vector<int64_t> integers(in.size());
  for (std::size_t i = 0; i < out.integer.size(); ++i) {
    for (std::size_t r = 0; r < in.size(); ++r) integers[r] = in[r]->integer[i];
    out.integer[i] = wrapped(out.meta.dtype, wrapped_reduction(op, integers.data(), n));
  }
  if (std::find(undefined.begin(), undefined.end(), 1) != undefined.end())
    out.undefined = std::move(undefined);
  return out;
}

template <class T>
std::vector<Array<T>> ranks_all_reduce(const OpCall& call, const Inputs<T>& in) {
  return std::vector<Array<T>>(in.size(), reduced_over_ranks(call, in));
}

// Everybody but the root keeps what it has.
template <class T>
std::vector<Array<T>> ranks_reduce(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (const Array<T>* input : in) out.push_back(*input);
  for (Array<T>& array : out) array.undefined.clear();
  out[at(call.integer("root"))] = reduced_over_ranks(call, in);
  return out;
}

// `rows` rows of `from`, which start at row `first`.
template <class T>
Array<T> block_of_rows(const Array<T>& from, int64_t first, int64_t rows) {
  Array<T> out;
  out.meta = from.meta;
  out.meta.shape[0] = rows;
  const int64_t width = from.meta.shape[0] == 0 ? 0 : from.count() / from.meta.shape[0];
  const auto cut = [&](const auto& values, int64_t parts) {
    const auto begin = values.begin() + first * width * parts;
    return std::decay_t<decltype(values)>(begin, begin + (values.empty() ? 0 : rows * width * parts));
  };
  out.real = cut(from.real, from.parts());
  out.integer = cut(from.integer, 1);
  if (!from.undefined.empty()) out.undefined = cut(from.undefined, from.parts());
  return out;
}
template <class T>
Array<T> joined_rows(const std::vector<Array<T>>& parts) {
  Array<T> out = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    out.meta.shape[0] += parts[i].meta.shape[0];
    out.real.insert(out.real.end(), parts[i].real.begin(), parts[i].real.end());
    out.integer.insert(out.integer.end(), parts[i].integer.begin(), parts[i].integer.end());
  }
  out.undefined.clear();
  return out;
}
template <class T>
std::vector<Array<T>> in_blocks(const OpCall& call, const Array<T>& whole) {
  std::vector<Array<T>> out;
  int64_t first = 0;
  for (const int64_t rows : call.integers("sizes")) {
    out.push_back(block_of_rows(whole, first, rows));
    first += rows;
  }
  return out;
}

template <class T>
Array<T> all_rows(const Inputs<T>& in) {
  std::vector<Array<T>> parts;
  for (const Array<T>* input : in) parts.push_back(*input);
  return joined_rows(parts);
}
template <class T>
std::vector<Array<T>> ranks_all_gather(const OpCall&, const Inputs<T>& in) {
  return std::vector<Array<T>>(in.size(), all_rows(in));
}
template <class T>
std::vector<Array<T>> ranks_gather(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  for (std::size_t r = 0; r < in.size(); ++r) out.push_back(make_array<T>(call.output(static_cast<int>(r))));
  out[at(call.integer("root"))] = all_rows(in);
  return out;
}
template <class T>
std::vector<Array<T>> ranks_reduce_scatter(const OpCall& call, const Inputs<T>& in) {
  return in_blocks(call, reduced_over_ranks(call, in));
}
template <class T>
std::vector<Array<T>> ranks_scatter(const OpCall& call, const Inputs<T>& in) {
  return in_blocks(call, *in[at(call.integer("root"))]);
}
template <class T>
std::vector<Array<T>> ranks_all_to_all(const OpCall& call, const Inputs<T>& in) {
  const std::vector<int64_t> sizes = call.integers("sizes");
  const std::size_t n = in.size();
  std::vector<std::vector<Array<T>>> to(n);
  for (std::size_t from = 0; from < n; ++from) {
    int64_t first = 0;
    for (std::size_t r = 0; r < n; ++r) {
      to[r].push_back(block_of_rows(*in[from], first, sizes[from * n + r]));
      first += sizes[from * n + r];
    }
  }
  std::vector<Array<T>> out;
  for (const auto& parts : to) out.push_back(joined_rows(parts));
  return out;
}
template <class T>
std::vector<Array<T>> ranks_broadcast(const OpCall& call, const Inputs<T>& in) {
  Array<T> root = *in[at(call.integer("root"))];
  root.undefined.clear();
  return std::vector<Array<T>>(in.size(), root);
}
template <class T>
std::vector<Array<T>> ranks_send_recv(const OpCall&, const Inputs<T>& in) {
  Array<T> sent = *in[0];
  sent.undefined.clear();
  return {sent, sent};
}

template <class T>
void register_ranks(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits reductions = sum_traits();
  reductions.model.authority = "definition";
  reductions.complex = true;
  table.add("ranks::all_reduce.default", reductions, ranks_all_reduce<T>);
  table.add("ranks::reduce.default", reductions, ranks_reduce<T>);
  table.add("ranks::reduce_scatter.default", reductions, ranks_reduce_scatter<T>);
  Traits copies = movement_traits();
  copies.model.authority = "definition";
  table.add_exact("ranks::all_gather.default", copies, ranks_all_gather<E>);
  table.add_exact("ranks::gather.default", copies, ranks_gather<E>);
  table.add_exact("ranks::scatter.default", copies, ranks_scatter<E>);
  table.add_exact("ranks::all_to_all.default", copies, ranks_all_to_all<E>);
  table.add_exact("ranks::broadcast.default", copies, ranks_broadcast<E>);
  table.add_exact("ranks::send_recv.default", copies, ranks_send_recv<E>);
}

}  // namespace assay::reference
