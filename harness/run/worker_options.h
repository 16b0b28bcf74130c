// The options of a run, as its worker is started with them.
#pragma once

#include <optional>
#include <string>

#include "harness/run/options.h"
#include "harness/worker/worker_client.h"

namespace assay {

// Of time, resident memory, and the tensors of a message: a worker cannot hold more than its memory.
ExchangeLimits worker_limits(const RunOptions& options);

// `cache`: folder of the compile cache, nullopt for none. One of `workers` that share the machine's cores.
WorkerClient worker_of(const RunOptions& options, const BackendSpec& backend,
                       const std::optional<std::string>& cache, int workers = 1);

}  // namespace assay
