// One step of a layout: Programs, collectives and launches of a representative rank on a timeline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "backend/collectives/cost.h"
#include "cli/laplace/assumptions.h"
#include "cli/laplace/parts.h"

namespace assay::cli::laplace {

enum class Mode { compile, eager };
enum class MuonExchange { all_to_all, gather_broadcast };
std::string_view name_of(Mode mode);
std::string_view name_of(MuonExchange exchange);

// The ranks of an instance as a grid, tp innermost, then fsdp, then replicas; collectives along one of its
// dimensions run in all of its groups at the same time.
class Grid {
 public:
  Grid(const std::string& instance, int lnc, int tp, int fsdp, int replicas);

  enum class Along { tp, fsdp, replicas, tp_and_fsdp };
  int size(Along along) const;
  // Seconds; 0 for groups of one rank. `count` as equal_parts() takes it.
  double seconds(Along along, backend::CollectiveOp op, DType dtype, int64_t count);
  int lnc() const { return topology_.lnc(); }

 private:
  backend::Topology topology_;
  int tp_, fsdp_, replicas_;
  std::map<std::string, double> known_;
};

struct TrainingCost {
  std::string candidate, layout, refused;  // why it cannot be: the rest is then empty
  int64_t accumulation = 1;
  Mode mode = Mode::compile;
  MuonExchange exchange = MuonExchange::all_to_all;
  bool recomputes = false;  // layers once more in the backward pass: what is saved does not fit
  int64_t tokens = 0;       // of a step, all ranks
  double seconds = 0, tokens_per_s = 0, mfu = 0;
  double compute_s = 0, tensor_parallel_s = 0, fsdp_exposed_s = 0, optimiser_s = 0, host_s = 0;
  int64_t memory_bytes = 0;   // of a rank
  uint64_t instructions = 0;  // of a core, or of both that a Program is divided among
  int64_t programs = 0;       // by the instruction limit
};

// FLOP of a token's forward and backward pass: 6 N_mm + 3 L H (4 dk dv + 2 C (dk + dv)).
double training_flops(const models::GlaConfig& config);
// ... of a decoded token: 2 N_mm + 5 L H dk dv.
double decode_flops(const models::GlaConfig& config);
// Elements of matrices that are multiplied with: all but the embedding table.
int64_t matrix_parameters(const models::GlaConfig& config);

// Physical cores of a rank that have Programs of their own: with a clock of single cores all `lnc`, which
// share a rank's work at no cost, as the assumptions say; with one of logical cores (lnc 2) one pair, among
// whose cores kernels are divided.
int cores_apart(const PartClock& clock, int lnc);

// Throws nothing for a layout that the candidate cannot take: `refused` says why. `layout.lnc` is a multiple
// of the clock's.
TrainingCost training_cost(PartClock& clock, Grid& grid, const Assumptions& all, const Candidate& candidate,
                           const TrainingLayout& layout, int64_t accumulation, Mode mode,
                           MuonExchange exchange);
// The same with other costs of the attention (chunk sizes).
TrainingCost training_cost(PartClock& clock, Grid& grid, const Assumptions& all, const Candidate& candidate,
                           const TrainingLayout& layout, int64_t accumulation, Mode mode,
                           MuonExchange exchange, const TrainingParts& parts);

struct DecodeCost {
  std::string candidate, layout, refused;
  Mode mode = Mode::compile;
  int64_t sequences = 0;  // that a rank steps together
  double step_s = 0, tokens_per_s = 0;
  double compute_s = 0, collective_s = 0, host_s = 0;
  int64_t launches = 0, memory_bytes = 0;
  double state_share = 0;  // of HBM bandwidth: reading and writing the states
};
DecodeCost decode_cost(PartClock& clock, const Assumptions& all, const Candidate& candidate,
                       const DecodeLayout& layout, Mode mode);

// Elements of a layer's weights on one of tp ranks, and of embedding and head each.
int64_t layer_parameters(const models::GlaConfig& config, int tp);

}  // namespace assay::cli::laplace
