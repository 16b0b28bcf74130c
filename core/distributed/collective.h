// One rank's call of a collective, checked against its process group.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/distributed/groups.h"
#include "core/opset/call.h"

namespace assay {

enum class Collective {
  all_reduce,
  reduce,
  all_gather,
  gather,
  reduce_scatter,
  scatter,
  all_to_all,
  broadcast,
  send,
  receive,
  barrier,
};
std::string_view name_of(Collective kind);

struct CollectiveCall {
  Collective kind = Collective::barrier;
  std::string node;  // name of the node in the rank's graph
  std::string line;  // its source link, "" for none
  // Source links of all calls that the rank's program makes in the group, in order.
  std::vector<std::string> lines;
  std::string group;         // name of the group
  std::vector<int> members;  // its ranks, by position
  int position = 0;          // of the calling rank
  TensorMeta input;          // of all kinds but barrier; receive: the buffer
  std::string reduce_op;     // "" for kinds that do not reduce
  int root = -1;             // position, of kinds that have one
  int peer = -1;             // position: where send goes, where receive comes from
  int64_t tag = 0;           // of send and receive
  // Rows by position. all_gather, gather, reduce_scatter, scatter: of each rank's block. all_to_all: `sizes`
  // are the rows that this rank sends to each position, `received` those that it gets. Empty: equal blocks.
  std::vector<int64_t> sizes, received;

  int rank() const { return members[static_cast<std::size_t>(position)]; }
  int ranks() const { return static_cast<int>(members.size()); }
  std::string text() const;  // "all_reduce(sum) of f32[4, 3]"
};

// _c10d_functional::*, except for wait_tensor, and assay::{all_gather_v, barrier, gather, reduce,
// reduce_scatter_v, scatter}.
bool is_collective(std::string_view op);
// _c10d_functional::wait_tensor and what else passes a tensor on.
bool is_wait(std::string_view op);

// Throws Error{invalid_argument} naming operator, argument, what it is and what it must be: an unknown group,
// a rank outside of its group, a root or peer outside, split sizes that do not match the group, another
// group_size; Error{unsupported} for what is no plain collective (core/distributed/plain_collectives.h).
CollectiveCall collective_call(const OpCall& call, const std::string& node, const ProcessGroups& groups,
                               int rank);

// Takes node name and source links from the rank's program.
CollectiveCall collective_call(const Graph& program, const Node& node, const ProcessGroups& groups, int rank);

// What keeps calls from being one: a sentence naming both ranks, the operation and the difference; "" if they
// fit. `calls` are those of the group's ranks by position, all of one kind of meeting: not send and receive.
// Calls that fit, but come from source lines which both ranks reach in another order, differ in order.
std::string difference(const std::vector<CollectiveCall>& calls);
// The same for a send and the receive that it meets.
std::string difference(const CollectiveCall& send, const CollectiveCall& receive);

}  // namespace assay
