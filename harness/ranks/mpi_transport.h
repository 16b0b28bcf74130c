// Collectives over MPI. Non-blocking operations and a deadline everywhere: nothing here waits for ever.
#pragma once

#include <mpi.h>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/ranks/rank_program.h"

namespace assay {

// Arithmetic of f32, f64, complex numbers and integers, extrema and bits are MPI's (MPI_Reduce_local). MPI 3
// has neither 16-bit floats nor averages: operations of our own that add two numbers in fp32 and round to the
// dtype, and a division of the sum. Broadcast, gather and the like move bytes.
//
// How reductions travel. `direct`: blocks go to their owners by MPI_Ialltoallv, each owner
// combines them in the order of the ranks, results go back by MPI_Iallgatherv: what is passed to MPI is what
// travels, and is counted. `library`: MPI_Iallreduce, MPI_Ireduce and MPI_Ireduce_scatter, whose inside MPI
// does not show: nothing is counted.
enum class MpiReductions { direct, library };

class MpiTransport : public RankTransport {
 public:
  MpiTransport(int rank, int world_size, MpiReductions reductions);
  ~MpiTransport() override;

  void start(double timeout_s);  // of a task: forgets what was counted
  std::vector<Announcement> meet(const Announcement& mine) override;
  Tensor collective(const std::vector<CollectiveCall>& calls, int position, const Tensor& input) override;
  void send(const CollectiveCall& call, const Tensor& tensor) override;
  Tensor receive(const CollectiveCall& call) override;
  void tell_failure(const std::string& error) noexcept override;
  std::optional<int64_t> sent() const override;
  std::optional<int64_t> received() const override;

 private:
  struct Message {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(int rank, int tag, std::string bytes);
  bool take(int rank, int tag, std::string& bytes);  // false: nothing has come
  void check_failures();
  template <class Done>
  bool wait_until(Done&& done);  // false when the time is over
  void complete(MPI_Request request, const CollectiveCall& call);
  MPI_Comm communicator(const CollectiveCall& call);
  Tensor reduce(const std::vector<CollectiveCall>& calls, int position, const Tensor& input);
  Tensor reduce_directly(const CollectiveCall& call, int position, const Tensor& input);

  int rank_, world_size_;
  MpiReductions reductions_;
  double timeout_s_ = 10;
  MPI_Comm control_ = MPI_COMM_NULL;                    // announcements and messages
  std::map<std::vector<int>, MPI_Comm> communicators_;  // by members
  std::list<Message> posted_;
  int64_t sent_ = 0, received_ = 0;
  bool counts_ = true;  // no operation of this task was MPI's own reduction
};

}  // namespace assay
