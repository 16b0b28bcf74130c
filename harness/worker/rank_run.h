// A distributed case on one plug-in: all ranks in one process, each on a device of its own.
#pragma once

#include <memory>

#include "harness/worker/device_run.h"

namespace assay {

// `request.ranks` is set. Programs that do not fit one another end with an error for each rank; a collective
// that some rank never calls is found by that, not by waiting.
RunResult run_ranks(Device& device, const RunRequest& request, DeviceRun::Progress progress);

// The same to be executed step by step; `request` must outlive it. Throws Error{unsupported} in compile mode
// and Error{invalid_argument}, the first rank's, for programs that do not fit one another.
std::unique_ptr<DeviceRun> load_ranks(Device& device, const RunRequest& request,
                                      DeviceRun::Progress progress);

}  // namespace assay
