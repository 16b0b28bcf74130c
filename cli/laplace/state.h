// What a state of constant size costs and saves, against context length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/laplace/assumptions.h"
#include "cli/laplace/parts.h"

namespace assay::cli::laplace {

// Bytes of keys and values of one token, bf16: 2 L (heads * head_size) elements.
int64_t kv_bytes_per_token(int64_t layers, int64_t heads, int64_t head_size);

// Sequences that fit beside the weights.
struct Concurrency {
  int64_t context = 0;
  int64_t state = 0, kv_cache = 0, kv_cache_grouped = 0;
};
struct ConcurrencyTable {
  std::string candidate;
  int64_t memory_bytes = 0, weight_bytes = 0;
  std::vector<Concurrency> rows;
};
ConcurrencyTable concurrency(const Candidate& candidate, int64_t memory_bytes, int64_t weight_copies,
                             const std::vector<int64_t>& contexts);

// A layer's attention on one core of eight, one sequence: forward and backward pass over T tokens, and one
// decoded token after T.
struct Growth {
  int64_t length = 0;
  double training_s = 0, decode_s = 0;
  uint64_t training_instructions = 0, decode_instructions = 0;
  int64_t segments = 1;     // that the training pass was cut into, states carried from one to the next
  int64_t state_bytes = 0;  // of the layer and core, after T tokens
  int64_t kv_bytes = 0;     // what a cache of keys and values of the same heads would hold
};
// As one Program up to `whole` tokens, beyond that in segments of so many.
std::vector<Growth> growth(PartClock& clock, const Candidate& candidate, const std::vector<int64_t>& lengths,
                           int64_t whole);

// The exponent e of cost ~ T^e that fits best: least squares of logarithms. 0 for fewer than two points.
double growth_exponent(const std::vector<int64_t>& lengths, const std::vector<double>& costs);

}  // namespace assay::cli::laplace
