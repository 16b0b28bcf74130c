// assay-worker PLUGIN.so: hosts a backend plug-in in a process of its own (docs/worker_protocol.md).
// assay-worker ranks:mpi, ranks:gloo: hosts a backend whose ranks are processes (docs/distributed.md).
#include <cstdio>
#include <string>

#include "harness/ranks/serve_ranks.h"
#include "harness/worker/serve.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: assay-worker PLUGIN.so|ranks:mpi|ranks:gloo, with requests on descriptor 3 and "
                 "replies on 4\n");
    return 2;
  }
  const std::string backend = argv[1];
  if (backend.starts_with("ranks:")) return assay::serve_ranks(3, 4, backend.substr(6));
  return assay::serve_plugin(3, 4, argv[1]);
}
