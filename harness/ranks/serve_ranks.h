// The worker of backends whose ranks are processes: mpi, torch:gloo.
#pragma once

#include <string>

namespace assay {

// Answers requests until the end of file; the exit status. `kind` is "mpi" or "gloo".
int serve_ranks(int requests, int replies, const std::string& kind);

}  // namespace assay
