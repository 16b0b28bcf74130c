// What one rule of a Contract sets, parsed. Private to core/contract.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/contract/contract.h"

namespace assay {

// Every member is optional: only what is set overrides what earlier rules or the defaults say. Where
// Precision itself has an optional (input, store, int_exact_bits), a rule can set it back to nothing with
// null.
struct PrecisionChanges {
  std::optional<std::optional<DType>> input;
  std::optional<DType> accumulator;
  std::optional<ReductionOrder> order;
  std::optional<DType> intermediate;
  std::optional<std::optional<DType>> store;
  std::optional<Rounding> rounding;
  std::optional<bool> ftz_in;
  std::optional<bool> ftz_out;
  std::optional<bool> early_overflow;
  std::optional<std::optional<int>> int_exact_bits;
  std::optional<bool> products_exact;
  std::optional<bool> correctly_rounded;
  std::map<std::string, FunctionAllowance, std::less<>> functions;
};

// The canonical JSON object of the fields that are set: sorted members, every member of a function spelled
// out.
std::string to_canonical_json(const PrecisionChanges& changes);

}  // namespace assay
