// Bytes that collectives move between ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/distributed/join.h"
#include "core/opset/call.h"

namespace assay {

// By position.
struct Transfer {
  int from = 0, to = 0;
  int64_t bytes = 0;
};

// Calls are those of joined graphs, ranks::*.
//
// The direct (one-step) algorithm, with which the reference is counted: every block goes straight from the
// rank that has it to the one that needs it. Reductions over all ranks are two such steps, in which position
// p owns block p of the flattened tensor (block_of): each rank sends every block to its owner, and owners
// send results to everybody. Reduce sends whole tensors to the root. A rank's own block does not travel.
std::vector<Transfer> direct_transfers(const OpCall& joined);

// Elements [begin, end) of `count` that position p of `ranks` owns: the first count % ranks have one more.
struct Block {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
Block block_of(int64_t count, int ranks, int position);

// Bytes that all ranks together receive, in closed form. S: bytes of one rank's input, n ranks (the busbw
// factors of nccl-tests' PERFORMANCE.md times S and n):
//   all_reduce 2 (n - 1) S     reduce, broadcast (n - 1) S     reduce_scatter (n - 1) S
//   all_gather (n - 1) sum S_r     gather sum S_r without the root's     scatter S without the root's block
//   all_to_all what is off the diagonal     send_recv S     barrier 0
// An all_reduce in which every rank sends its whole row to all others ("mesh_single_step") takes n (n - 1) S.
int64_t formula_bytes(const OpCall& joined, const std::string& algorithm = "direct");

// Of all collectives of a joined graph, under the direct algorithm.
int64_t formula_bytes(const JoinedGraph& joined);

// What a run of a joined graph moved, by rank of the world.
struct Traffic {
  std::string algorithm;  // "direct"; "mesh, ring" where operations differ
  std::vector<int64_t> sent, received;
  int64_t formula = 0;  // what all ranks together must have received, and sent
};

}  // namespace assay
