// The worker's side of the protocol: hosts one plug-in.
#pragma once

#include <string>

namespace assay {

// Answers requests until the end of file; the exit status. `plugin` is a path.
int serve_plugin(int requests, int replies, const std::string& plugin);

}  // namespace assay
