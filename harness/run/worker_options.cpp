#include "harness/run/worker_options.h"

#include <algorithm>
#include <thread>

namespace assay {

ExchangeLimits worker_limits(const RunOptions& options) {
  ExchangeLimits limits;
  limits.run_s = options.timeout_s;
  limits.compile_s = options.compile_timeout_s;
  limits.resident_bytes = options.memory_mib << 20;
  limits.frames.tensor_bytes = static_cast<uint64_t>(options.memory_mib) << 20;
  return limits;
}

WorkerClient worker_of(const RunOptions& options, const BackendSpec& backend,
                       const std::optional<std::string>& cache, int workers) {
  HelloRequest hello;
  hello.options = options.options;
  hello.seed = options.seed;
  hello.cache_dir = cache;
  ExchangeLimits limits = worker_limits(options);
  if (workers > 1) {
    limits.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / workers);
  }
  return WorkerClient(backend, hello, limits);
}

}  // namespace assay
