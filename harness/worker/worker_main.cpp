// assay-worker PLUGIN.so: hosts a backend plug-in in a process of its own (docs/worker_protocol.md).
#include <cstdio>

#include "harness/worker/serve.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: assay-worker PLUGIN.so, with requests on descriptor 3 and replies on 4\n");
    return 2;
  }
  return assay::serve_plugin(3, 4, argv[1]);
}
