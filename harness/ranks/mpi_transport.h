// Collectives over MPI: non-blocking operations, which go on whenever their rank waits for something.
#pragma once

#include <mpi.h>

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/ranks/rank_program.h"

namespace assay {

// Arithmetic of f32, f64, complex numbers and integers, extrema and bits are MPI's (MPI_Reduce_local). MPI 3
// has neither floats of 16 and 8 bits nor averages: operations of our own that add two numbers in fp32 and
// round to the dtype, and a division of the sum. Broadcast, gather and the like move bytes.
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
  void enter(const ProcessGroups& groups) override;
  void announce(const Announcement& mine) override;
  std::optional<Announcement> hear(int rank) override;
  void check_failures() override;
  std::shared_ptr<RankOperation> begin(const std::vector<CollectiveCall>& calls, int position,
                                       const Tensor& input) override;
  void send(const CollectiveCall& call, const Tensor& tensor) override;
  std::optional<Tensor> receive(const CollectiveCall& call) override;
  void tell_failure(const std::string& error) noexcept override;
  std::optional<int64_t> sent() const override;
  std::optional<int64_t> received() const override;

 private:
  class Operation;
  struct Message {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  // Groups of the same ranks in the same order each have a communicator of their own: members, and how many
  // such groups stand before it.
  using GroupKey = std::pair<std::vector<int>, int>;

  void post(MPI_Comm comm, int rank, int tag, std::string bytes);
  static bool take(MPI_Comm comm, int rank, int tag, std::string& bytes);  // false: nothing has come
  void wait_for_all_ranks();
  MPI_Comm communicator(const std::string& group) const;
  void reduce(Operation& operation, const CollectiveCall& call, int position, const Tensor& input);
  void reduce_by_library(Operation& operation, const CollectiveCall& call, int position, const Tensor& input);
  void move(Operation& operation, const std::vector<CollectiveCall>& calls, int position,
            const Tensor& input);

  int rank_, world_size_;
  MpiReductions reductions_;
  double timeout_s_ = 10;
  int64_t task_ = 0;                  // how many there were: failures of earlier ones are no news
  MPI_Comm control_ = MPI_COMM_NULL;  // announcements and failures
  MPI_Comm world_ = MPI_COMM_NULL;
  std::map<GroupKey, MPI_Comm> communicators_;  // of all tasks; null for groups without this rank
  std::map<std::string, MPI_Comm> of_group_;    // of the present task
  std::list<Message> posted_;
  // MPI goes on writing into what was begun, whatever becomes of the program.
  std::vector<std::shared_ptr<Operation>> begun_;
  int64_t sent_ = 0, received_ = 0;
  bool counts_ = true;  // no operation of this task was MPI's own reduction
};

}  // namespace assay
