#include "harness/run/eligibility.h"

#include <algorithm>

#include "core/opset/required.h"

namespace assay {
namespace {

// trn1 and trn2 do not have f8_e4m3fn (the Neuron compiler's EVRF051), trn3 does.
bool lacks_a_float8_of(const Case& c, const BackendSpec& backend) {
  return backend.is_ours && !backend.is_reference && backend.target != "trn3" && c.graph != nullptr &&
         std::any_of(c.graph->values.begin(), c.graph->values.end(),
                     [](const Value& value) { return value.dtype == DType::f8e4m3fn; });
}

}  // namespace

std::optional<std::string> ineligible(const Case& c, const Record& record, const BackendSpec& backend) {
  if (record.status != Status::unsupported || !c.file.empty() || c.load_weights || !c.golden.empty()) {
    return std::nullopt;
  }
  // Collectives of devices add, multiply and compare; bits they have no need for.
  const bool collective = c.ranks && c.graph->nodes.size() == 1;
  const auto lacking = [&](const std::string& reason) {
    return reason == "float64" || reason == "complex" || reason == "dynamic_shape" ||
           ((reason == "dtype" || reason == "argument") && !backend.is_ours) ||
           (reason == "argument" && collective && !backend.is_reference) ||
           (reason == "dtype" && lacks_a_float8_of(c, backend));
  };
  if (lacking(record.reason)) return record.reason;
  if (record.reason != "nothing_ran_on_device" || record.fallbacks.empty()) return std::nullopt;
  const auto optional = [&](const Fallback& fallback) {
    return fallback.reason == "operator" && !is_required_operator(fallback.op) && !backend.is_reference;
  };
  const bool all =
      std::all_of(record.fallbacks.begin(), record.fallbacks.end(),
                  [&](const Fallback& fallback) { return lacking(fallback.reason) || optional(fallback); });
  if (!all) return std::nullopt;
  return optional(record.fallbacks.front()) ? "optional_operator" : record.fallbacks.front().reason;
}

}  // namespace assay
