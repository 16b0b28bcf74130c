// What all benchmarks write: Google Benchmark's JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace assay {

// "context" of this machine and moment, and an empty array "benchmarks".
nlohmann::ordered_json benchmark_document(const std::string& executable);
// An entry of "benchmarks": the median of `seconds`, which is not empty.
nlohmann::ordered_json median_entry(const std::string& name, const std::vector<double>& seconds);

}  // namespace assay
