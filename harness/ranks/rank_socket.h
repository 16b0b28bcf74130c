// Sockets between the launcher of real ranks and their processes.
#pragma once

#include <string>

namespace assay {

// Throws Error{io}.
int connect_to_launcher(const std::string& host, const std::string& port);
// Listens on `host` (an address; "0.0.0.0" for all) and a free port, which it returns. Throws Error{io}.
int listen_for_ranks(const std::string& host, int& port);

}  // namespace assay
