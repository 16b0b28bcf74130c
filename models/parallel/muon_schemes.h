// A Muon step over ranks: parameters, gradients and momenta are sharded by rows over all ranks, but a matrix
// is orthogonalised as a whole. Three ways to bring it together, as one program for each rank.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "models/optimisers/optimisers.h"

namespace assay::models {

enum class MuonScheme {
  all_gather,        // every matrix whole on every rank, which orthogonalises all of them
  gather_broadcast,  // whole on its owner, which sends the whole update to everybody
  all_to_all,        // shards to the owners, shards of the updates back: two exchanges in all
};
enum class MuonOwnership {
  round_robin,  // matrix i belongs to rank i % ranks
  balanced,     // by bytes: the largest first, to the rank that has least (longest processing time)
  padded,       // round robin within matrices of one shape, filled up with zeros to a multiple of the ranks,
                // rows to equal shards (microsoft/dion): every pair of ranks exchanges as much
};
std::string_view name_of(MuonScheme scheme);
std::string_view name_of(MuonOwnership ownership);

// Every scheme with the ownerships that matter to it.
struct MuonKind {
  MuonScheme scheme;
  MuonOwnership ownership;
};
inline constexpr MuonKind kMuonKinds[] = {{MuonScheme::all_gather, MuonOwnership::round_robin},
                                          {MuonScheme::gather_broadcast, MuonOwnership::round_robin},
                                          {MuonScheme::all_to_all, MuonOwnership::round_robin},
                                          {MuonScheme::all_to_all, MuonOwnership::balanced},
                                          {MuonScheme::all_to_all, MuonOwnership::padded}};

struct ShardedMuon {
  int ranks = 1;
  std::vector<Shape> matrices;  // [rows, columns]; there may be none
  DType dtype = DType::f32;     // of parameters, gradients and momenta
  DType communicated = DType::f32;
  // Of each matrix; without one the step only decays the parameter and its momentum. Empty: all have one.
  std::vector<bool> has_gradient;
  MuonOptions options;
  MuonScheme scheme = MuonScheme::all_to_all;
  MuonOwnership ownership = MuonOwnership::round_robin;  // of all_to_all; gather_broadcast is round robin
};

// Rows of each rank: torch.chunk's ceil(rows / ranks), the last ranks with fewer or none.
std::vector<int64_t> shard_rows(int64_t rows, int ranks);
// Owner of each matrix.
std::vector<int> owners(const ShardedMuon& muon);

// The program of one rank. User inputs "p0", "g0", "m0", "p1", ...: its rows of each matrix's parameter,
// gradient and momentum; outputs its rows of parameter and momentum, matrix by matrix. The process group is
// "world". Throws Error{invalid_argument} for ranks below 1 and what is no matrix.
Graph muon_rank_program(const ShardedMuon& muon, int rank);
// The same step on one rank, of whole matrices, in the operations that the programs share.
Graph muon_whole_program(const ShardedMuon& muon);

// Bytes that all ranks together receive in a step, in closed form, P_i bytes of matrix i as communicated, s_i
// the owner's shard, n ranks:
//   all_gather        (n - 1) sum P_i
//   gather_broadcast  sum (P_i - s_i) + (n - 1) sum P_i
//   all_to_all        2 sum (P_i - s_i); padded: 2 (n - 1) / n of the padded bytes
// With equal shards and M = n: per rank and P = sum P_i  P (n-1)/n,  P (n^2-1)/n^2,  2 P (n-1)/n^2.
int64_t muon_traffic_bytes(const ShardedMuon& muon);

}  // namespace assay::models
