// assay-mpi-rank HOST PORT TOKEN direct|library: one rank of an MPI job (docs/distributed.md). Started by
// mpirun; asks the launcher at HOST:PORT for tasks until the connection ends.
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "harness/ranks/mpi_transport.h"
#include "harness/ranks/rank_socket.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: assay-mpi-rank HOST PORT TOKEN direct|library, under mpirun\n");
    return 2;
  }
  try {
    int provided = 0, rank = 0, size = 0, length = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(version, &length);
    const bool library = std::string(argv[4]) == "library";
    assay::MpiTransport transport(rank, size,
                                  library ? assay::MpiReductions::library : assay::MpiReductions::direct);
    const int fd = assay::connect_to_launcher(argv[1], argv[2]);
    assay::write_frame(
        fd, assay::encode_greeting(rank, argv[3], std::string(version, static_cast<std::size_t>(length))));
    assay::Frame frame;
    bool failed = false;
    while (assay::read_frame(fd, {}, "launcher", frame)) {
      const assay::RankTask task = assay::decode_rank_task(std::move(frame), "launcher");
      transport.start(task.timeout_s);
      const assay::RankAnswer answer = assay::run_rank(task, transport, [&](const std::string& node) {
        assay::write_frame(fd, assay::encode_at_node(node));
      });
      failed = failed || !answer.error.empty();
      assay::write_frame(fd, assay::encode(answer));
    }
    // Operations that were given up are still pending: MPI_Finalize would wait for them.
    if (failed) ::_exit(0);
    MPI_Finalize();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-mpi-rank: %s\n", error.what());
    ::_exit(1);
  }
}
