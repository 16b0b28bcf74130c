// Inputs with exact results, and those results, for tests of collectives.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "backend/collectives/execute.h"

namespace assay::backend {

// Small integers that depend on rank and place; products stay exact too.
inline int64_t element(const Collective& c, int rank, int64_t k) {
  if (c.reduction == Reduction::product && c.reduces()) return k % 5 == 0 && rank % 16 == 3 ? 2 : 1;
  if (c.dtype == DType::boolean) return (rank + k) % 3 == 0 ? 1 : 0;
  return (rank * 7 + k * 3) % 5 - (is_integral(c.dtype) && int_min(c.dtype) == 0 ? 0 : 2);
}

inline std::vector<Tensor> exact_inputs(const Collective& c) {
  std::vector<Tensor> out;
  for (int rank = 0; rank < c.ranks; ++rank) {
    std::vector<double> values;
    for (int64_t k = 0; k < c.input_count(rank); ++k) {
      values.push_back(static_cast<double>(element(c, rank, k)));
      if (is_complex(c.dtype)) values.push_back(-static_cast<double>(k));
    }
    out.push_back(Tensor::from_doubles(c.dtype, {c.input_count(rank)}, values));
  }
  return out;
}

// By definition of the operation; `x` are all ranks' inputs.
inline std::vector<double> expected(const Collective& c, int rank,
                                    const std::vector<std::vector<double>>& x) {
  const auto n = static_cast<std::size_t>(c.ranks), r = static_cast<std::size_t>(rank);
  const auto root = static_cast<std::size_t>(c.root);
  const int64_t width = is_complex(c.dtype) ? 2 : 1;  // doubles an element
  const auto cut = [&](const std::vector<double>& row, std::vector<int64_t>::const_iterator counts,
                       std::size_t which) {
    const int64_t begin = std::accumulate(counts, counts + static_cast<int64_t>(which), int64_t{0}) * width;
    return std::vector<double>(row.begin() + begin,
                               row.begin() + begin + counts[static_cast<int64_t>(which)] * width);
  };
  const auto part = [&](const std::vector<double>& row, std::size_t which) {
    return cut(row, c.counts.begin(), which);
  };
  const auto joined = [&] {
    std::vector<double> out;
    for (const auto& row : x) out.insert(out.end(), row.begin(), row.end());
    return out;
  };
  const auto reduced = [&] {
    std::vector<double> out = x[0];
    for (std::size_t q = 1; q < n; ++q) {
      for (std::size_t k = 0; k < out.size(); ++k) {
        switch (c.reduction) {
          case Reduction::sum:
          case Reduction::avg:
            out[k] += x[q][k];
            break;
          case Reduction::product:
            out[k] *= x[q][k];
            break;
          case Reduction::min:
            out[k] = std::min(out[k], x[q][k]);
            break;
          case Reduction::max:
            out[k] = std::max(out[k], x[q][k]);
            break;
        }
      }
    }
    for (double& value : out) {
      if (c.reduction == Reduction::avg) value /= c.ranks;
      if (c.dtype == DType::boolean) value = value != 0;
    }
    return out;
  };
  switch (c.op) {
    case CollectiveOp::all_reduce:
      return reduced();
    case CollectiveOp::reduce:
      return r == root ? reduced() : std::vector<double>();
    case CollectiveOp::broadcast:
      return x[root];
    case CollectiveOp::all_gather:
      return joined();
    case CollectiveOp::gather:
      return r == root ? joined() : std::vector<double>();
    case CollectiveOp::reduce_scatter:
      return part(reduced(), r);
    case CollectiveOp::scatter:
      return part(x[root], r);
    case CollectiveOp::permute:
      for (const auto& [from, to] : c.pairs) {
        if (to == rank) return x[static_cast<std::size_t>(from)];
      }
      return {};
    case CollectiveOp::all_to_all: {
      std::vector<double> out;
      for (std::size_t from = 0; from < n; ++from) {
        const std::vector<double> piece = cut(x[from], c.counts.begin() + static_cast<int64_t>(from * n), r);
        out.insert(out.end(), piece.begin(), piece.end());
      }
      return out;
    }
    case CollectiveOp::barrier:
      break;
  }
  return {};
}

// "" or what is wrong with a plan and what it gives.
inline std::string wrong(const Plan& plan) {
  if (const std::string what = defect(plan.schedule); !what.empty()) return what;
  const std::vector<Tensor> inputs = exact_inputs(plan.asked);
  std::vector<std::vector<double>> x;
  for (const Tensor& input : inputs) x.push_back(input.to_doubles());
  const std::vector<Tensor> outputs = execute(plan, inputs);
  for (int rank = 0; rank < plan.asked.ranks; ++rank) {
    const Tensor& output = outputs[static_cast<std::size_t>(rank)];
    const std::vector<double> want = expected(plan.asked, rank, x);
    const std::vector<double> got = output.defined() ? output.to_doubles() : std::vector<double>();
    if (got == want) continue;
    const auto at = std::mismatch(
        got.begin(), got.begin() + static_cast<int64_t>(std::min(got.size(), want.size())), want.begin());
    return "rank " + std::to_string(rank) + ", element " + std::to_string(at.first - got.begin()) + " of " +
           std::to_string(got.size()) + " (" + std::to_string(want.size()) + " wanted)";
  }
  return "";
}

inline std::string describe(const Plan& plan) {
  const Collective& c = plan.asked;
  return std::string(name_of(c.op)) + " " + std::string(name_of(c.reduction)) + " of " +
         std::string(name_of(c.dtype)) + ", " + std::to_string(c.ranks) + " ranks, " +
         std::string(name_of(plan.schedule.algorithm)) + (plan.is_emulated ? " emulated" : "") + ", root " +
         std::to_string(c.root) + ", first count " + (c.counts.empty() ? "-" : std::to_string(c.counts[0])) +
         " " + plan.schedule.variant;
}

// Every rank has another count, some have none.
inline Collective uneven(CollectiveOp op, int ranks, DType dtype, Reduction reduction = Reduction::sum,
                         int root = 0) {
  Collective out = equal_parts(op, ranks, dtype, 3, reduction, root);
  for (std::size_t k = 0; k < out.counts.size(); ++k)
    out.counts[k] = static_cast<int64_t>((k * 5 + 2) % 7) - 2;
  for (int64_t& count : out.counts) count = std::max<int64_t>(count, 0);
  return out;
}

}  // namespace assay::backend
