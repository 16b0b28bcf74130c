// What the worker, the worker of ranks and the judge do alike: answer frames until there are no more.
#pragma once

#include <functional>

#include "harness/worker/frame.h"

namespace assay {

inline constexpr const char* kRequestOrigin = "request";  // in error messages

// Reads requests and writes answers until the end of file; the exit status. What goes wrong with the pipes,
// or escapes from `answer`, is written to stderr as "PROGRAM: ...".
int answer_requests(int requests, int replies, const char* program,
                    const std::function<Frame(Frame)>& answer);

}  // namespace assay
