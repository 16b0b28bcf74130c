// A process that has imported PyTorch and forks ranks (harness/worker/torch_rank.py): an import for each of
// many ranks would take minutes and gigabytes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/worker/process.h"

namespace assay {

class RankNursery {
 public:
  // Unless it runs. Throws Error{unsupported} with the reason if there is no PyTorch, Error{io} if the
  // process cannot say so.
  void start(const std::vector<std::string>& argv, double timeout_s);
  const std::string& version() const { return version_; }

  struct Order {
    std::string host;
    int port = 0;
    std::string token;
    int ranks = 1;
    double timeout_s = 10;         // of one collective
    double start_timeout_s = 120;  // for the ranks to find one another
  };
  // The process group of the new ranks, which are no children of this process. Throws Error{io}.
  pid_t fork_ranks(const Order& order);
  // What it and its ranks printed lately.
  std::string noise();

 private:
  ChildProcess process_;
  std::string version_;
};

}  // namespace assay
