// The median of measurements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace assay {

// The mean of the two middle values of an even number; nullopt of none.
inline std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace assay
