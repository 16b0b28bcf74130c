// From the programs of all ranks to one graph in which every collective is one node.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/distributed/collective.h"
#include "core/distributed/groups.h"
#include "core/graph/graph.h"

namespace assay {

// What a rank does instead of going on: it ends, or it stands still.
struct RankFault {
  int rank = 0;
  bool stands_still = false;
  int node = 0;  // before this node of its graph
};

// One program for each rank, with the groups that they know.
struct RankPrograms {
  std::vector<std::shared_ptr<const Graph>> graphs;  // by rank
  ProcessGroups groups;
  std::vector<RankFault> faults;
};

// A collective that took place: the calls of its ranks, by position (send, then receive, for those).
struct Meeting {
  std::vector<CollectiveCall> calls;
  int node = -1;  // of the joined graph; -1 for barriers
  // Between two ranks or more: false for a group of one and for a message to oneself.
  bool moves() const { return calls.front().rank() != calls.back().rank(); }
};

struct JoinedGraph {
  // Inputs, values and outputs of rank r are named "rR_NAME", all of rank 0 before those of rank 1. Nodes of
  // the ranks are copied, those of collectives are ranks::* (core/opset/rules/ranks.cpp), wait_tensor is
  // gone.
  Graph graph;
  std::vector<Meeting> meetings;  // in order of completion
  // By rank, if the programs do not fit: what the rank ends with, which names rank, operation and difference.
  std::vector<std::string> errors;
  bool fits() const { return errors.empty(); }
};

// Runs the programs against one another without data. Collectives are asynchronous: a rank goes on until it
// needs a result; only a barrier holds it until all ranks of the group have called it. The k-th calls of a
// group's ranks meet; a send meets the receive of the same pair, tag and number. Calls that carry other
// source links in another order on two ranks differ. Throws Error for programs that no execution could be
// made of: no graphs, another number of them than ranks, groups that are none.
JoinedGraph join(const RankPrograms& programs, const std::string& id);

// A rank that did nothing wrong itself ends because another one cannot go on: its error, "" so far, says so.
void spread_errors(std::vector<std::string>& errors);

// ranks::*
bool is_joined_collective(std::string_view op);
// The rank that a value or node of a joined graph belongs to; -1 for the nodes of collectives.
int rank_of(const std::string& name);
// "r3_x"
std::string name_at_rank(int rank, const std::string& name);

// The inputs of all ranks and nothing else: what a case has whose programs do not fit.
Graph inputs_of_ranks(const RankPrograms& programs, const std::string& id);

}  // namespace assay
