// What the costing of the 3B model assumes: laplace_assumptions.json, committed before any result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/gla/config.h"

namespace assay::cli::laplace {

struct Candidate {
  std::string id, source;
  models::GlaConfig config;
  int64_t state_bytes() const;  // of one sequence
};

// Ranks are logical cores; tp * fsdp * replicas of them fill the instance.
struct TrainingLayout {
  std::string id, source;
  int lnc = 1, tp = 1, fsdp = 1, replicas = 1;
  int64_t sequences = 1;  // of a rank's micro-batch
};
struct DecodeLayout {
  std::string id, source;
  int lnc = 1, tp = 1;
};

struct Published {
  double training_tokens_per_s = 0, decode_tokens_per_s = 0, chunk_gain = 0, state_mb = 0, muon_gain = 0;
};

struct Assumptions {
  Published published;
  std::string instance;
  std::vector<Candidate> candidates;
  int64_t sequence_length = 0, chunk_size = 0;
  std::vector<int64_t> chunk_sizes;
  std::vector<std::string> chunk_candidates;
  std::vector<int64_t> accumulation;
  std::vector<TrainingLayout> training;
  int64_t decode_sequences = 0;
  std::vector<DecodeLayout> decode;
  std::vector<int64_t> memory_gib, weight_copies;  // one for the other
  std::vector<int64_t> context_lengths;
  std::string hash;  // of the file's bytes
};

// Throws Error{malformed_file} naming file and field: a field that is missing or of another kind, sizes that
// do not divide, layouts that do not fill the instance.
Assumptions read_assumptions(const std::string& path);

}  // namespace assay::cli::laplace
