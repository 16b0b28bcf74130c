// What the kernels of collectives share over number types.
#include "reference/ops/ranks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.h"

namespace assay::reference {

Reduction reduction_of(const OpCall& call) {
  static constexpr std::array<std::string_view, 8> names{"sum", "avg",  "product", "min",
                                                         "max", "band", "bor",     "bxor"};
  const std::string given = call.string("reduce_op");
  const auto* const found = std::find(names.begin(), names.end(), given);
  if (found == names.end()) throw Error(ErrorCode::invalid_argument, call.op() + ": no reduce_op " + given);
  return static_cast<Reduction>(found - names.begin());
}

int64_t wrapped_reduction(Reduction op, const int64_t* row, int64_t n) {
  switch (op) {
    case Reduction::sum:
      return wrapped_sum(row, n);
    case Reduction::product:
      return wrapped_product(row, n);
    case Reduction::min:
      return *std::min_element(row, row + n);
    case Reduction::max:
      return *std::max_element(row, row + n);
    case Reduction::avg:
    case Reduction::band:
    case Reduction::bor:
    case Reduction::bxor:
      break;
  }
  if (op == Reduction::avg) throw Error(ErrorCode::internal, "integers have no average");
  int64_t bits = row[0];
  for (int64_t r = 1; r < n; ++r) {
    bits = op == Reduction::band ? bits & row[r] : op == Reduction::bor ? bits | row[r] : bits ^ row[r];
  }
  return bits;
}

}  // namespace assay::reference
