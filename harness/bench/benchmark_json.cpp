#include "harness/bench/benchmark_json.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "harness/bench/statistics.h"
#include "harness/record/utc.h"

namespace assay {

using OrderedJson = nlohmann::ordered_json;

OrderedJson benchmark_document(const std::string& executable) {
  return {{"context",
           {{"date", utc_now()},
            {"executable", executable},
            {"num_cpus", std::thread::hardware_concurrency()},
            {"library_build_type", "release"}}},
          {"benchmarks", OrderedJson::array()}};
}

OrderedJson median_entry(const std::string& name, const std::vector<double>& seconds) {
  const double ns = median_of(seconds) * 1e9;
  return {{"name", name + "_median"},
          {"run_name", name},
          {"run_type", "aggregate"},
          {"aggregate_name", "median"},
          {"repetitions", seconds.size()},
          {"iterations", seconds.size()},
          {"real_time", ns},
          {"cpu_time", ns},
          {"time_unit", "ns"}};
}

}  // namespace assay
