// What the kernels of collectives share over number types.
#include "reference/ops/ranks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace assay::reference {

RankReduction rank_reduction_of(const OpCall& call) {
  static constexpr std::array<std::string_view, 8> names{"sum", "avg",  "product", "min",
                                                         "max", "band", "bor",     "bxor"};
  const std::string given = call.string("reduce_op");
  const auto* const found = std::find(names.begin(), names.end(), given);
  if (found == names.end()) throw Error(ErrorCode::invalid_argument, call.op() + ": no reduce_op " + given);
  return static_cast<RankReduction>(found - names.begin());
}

int64_t wrapped_reduction(RankReduction op, const int64_t* row, int64_t n) {
  switch (op) {
    case RankReduction::sum:
      return wrapped_sum(row, n);
    case RankReduction::product:
      return wrapped_product(row, n);
    case RankReduction::min:
      return *std::min_element(row, row + n);
    case RankReduction::max:
      return *std::max_element(row, row + n);
    case RankReduction::avg:
    case RankReduction::band:
    case RankReduction::bor:
    case RankReduction::bxor:
      break;
  }
  if (op == RankReduction::avg) throw Error(ErrorCode::internal, "integers have no average");
  int64_t bits = row[0];
  for (int64_t r = 1; r < n; ++r) {
    bits = op == RankReduction::band  ? bits & row[r]
           : op == RankReduction::bor ? bits | row[r]
                                      : bits ^ row[r];
  }
  return bits;
}

}  // namespace assay::reference
