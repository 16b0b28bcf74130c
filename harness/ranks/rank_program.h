// The program of one rank, run in its own process: what is no collective is computed by the reference, what
// is one goes through a transport. Collectives are asynchronous: the program goes on until it reads a result,
// and whenever it waits, all that it has begun goes on. Checking is on: no call begins before all ranks of
// its group have made it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/distributed/collective.h"
#include "harness/ranks/rank_frames.h"

namespace assay {

// This rank cannot go on, and why.
class RankError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
// Another rank cannot go on; `what` is its error.
class OtherRankFailed : public RankError {
 public:
  using RankError::RankError;
};

// What a rank tells the others before a call: the call itself, or that it makes no more.
struct Announcement {
  CollectiveCall call;  // of the end: a barrier of "world" at node ""
  int64_t number = 0;   // of the group's calls; -1: the end of the program
};

// A collective under way.
class RankOperation {
 public:
  virtual ~RankOperation() = default;
  // Goes on with what has arrived, without waiting; true when it is complete. Throws RankError.
  virtual bool advance() = 0;
  // Of a complete one; undefined for a barrier.
  virtual Tensor result() const = 0;
};

// Nothing here waits for another rank, but for `enter`.
class RankTransport {
 public:
  virtual ~RankTransport() = default;
  // Before a program. All ranks of the world call it with the same groups, which are valid. Throws RankError
  // where one of them does not within the time limit.
  virtual void enter(const ProcessGroups& groups) = 0;
  // Tells the other members of the call's group.
  virtual void announce(const Announcement& mine) = 0;
  // The next announcement of a rank, in the order in which it made them; nullopt if none has come.
  virtual std::optional<Announcement> hear(int rank) = 0;
  // Throws OtherRankFailed if a rank has told so.
  virtual void check_failures() = 0;
  // Begins a call on which all ranks agree. Those of a group are begun in the order of their numbers, each
  // when the one before is complete.
  virtual std::shared_ptr<RankOperation> begin(const std::vector<CollectiveCall>& calls, int position,
                                               const Tensor& input) = 0;
  virtual void send(const CollectiveCall& call, const Tensor& tensor) = 0;
  // The next message of the peer in the call's group and with its tag; nullopt if none has come. Throws
  // RankError if it is another tensor than the call's.
  virtual std::optional<Tensor> receive(const CollectiveCall& call) = 0;
  // Tells all ranks of the world that this one has failed. Never throws.
  virtual void tell_failure(const std::string& error) noexcept = 0;
  // Payload bytes so far; nullopt if some of what happened is not known.
  virtual std::optional<int64_t> sent() const = 0;
  virtual std::optional<int64_t> received() const = 0;
};

// `at_node` is called before every collective with its node's name. Ends the process, or stops it, where the
// task's fault says so.
RankAnswer run_rank(const RankTask& task, RankTransport& transport,
                    const std::function<void(const std::string& node)>& at_node);

}  // namespace assay
