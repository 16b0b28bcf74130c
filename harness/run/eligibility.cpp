#include "harness/run/eligibility.h"

#include <algorithm>

namespace assay {

std::optional<std::string> ineligible(const Case& c, const Record& record, bool is_ours) {
  if (record.status != Status::unsupported || !c.file.empty() || c.load_weights || !c.golden.empty()) {
    return std::nullopt;
  }
  const auto lacking = [&](const std::string& reason) {
    return reason == "float64" || reason == "complex" || reason == "dynamic_shape" ||
           ((reason == "dtype" || reason == "argument") && !is_ours);
  };
  if (lacking(record.reason)) return record.reason;
  if (record.reason != "nothing_ran_on_device" || record.fallbacks.empty()) return std::nullopt;
  const bool all = std::all_of(record.fallbacks.begin(), record.fallbacks.end(),
                               [&](const Fallback& fallback) { return lacking(fallback.reason); });
  return all ? std::optional(record.fallbacks.front().reason) : std::nullopt;
}

}  // namespace assay
