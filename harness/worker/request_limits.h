// What the worker and the judge process allow a request to be.
#pragma once

#include <cstdint>

#include "harness/worker/frame.h"

namespace assay {

inline constexpr FrameLimits kRequestLimits{uint64_t{256} << 20,
                                            uint64_t{1} << 40};  // the orchestrator is trusted
inline constexpr const char* kRequestOrigin = "request";         // in error messages

}  // namespace assay
