// The program of one rank, run in its own process: what is no collective is computed by the reference, what
// is one goes through a transport. Checking is on: no call begins before all ranks of its group have made it.
#pragma once

#include <cstdint>
#include <functional>
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

class RankTransport {
 public:
  virtual ~RankTransport() = default;
  // Tells the members of the call's group and hears from each of them, by position. Throws RankError if one
  // of them is not heard of within the time limit, OtherRankFailed.
  virtual std::vector<Announcement> meet(const Announcement& mine) = 0;
  // Carries out a call on which all ranks agree.
  virtual Tensor collective(const std::vector<CollectiveCall>& calls, int position, const Tensor& input) = 0;
  // Does not wait for the receiver.
  virtual void send(const CollectiveCall& call, const Tensor& tensor) = 0;
  // The next message of the peer with the call's tag. Throws RankError.
  virtual Tensor receive(const CollectiveCall& call) = 0;
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
