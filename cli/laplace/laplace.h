// assay bench laplace: the published figures of a 3-billion-parameter GLA model against what the clock says
// of every candidate and layout.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/laplace/state.h"
#include "cli/laplace/step.h"

namespace assay::cli {

struct LaplaceFlags {
  std::string file;    // "": the assumptions that Assay ships
  std::string filter;  // of candidates by id; "": all
  bool json = false;
  bool quiet = false;
  std::string out;  // folder for laplace.json
};

// Prints the tables, or JSON; returns the exit status. Throws Error for a file that cannot be read or is
// malformed, or a filter that no candidate passes.
int bench_laplace(const LaplaceFlags& flags);

namespace laplace {

// Step time with other chunk sizes, the rest as in the layout.
struct ChunkCost {
  std::string candidate, layout, refused;
  int64_t chunk = 0;
  double attention_s = 0;             // a layer's, both passes
  double tokens_per_s = 0, gain = 0;  // of the assumed chunk size against this one
  bool composed = false;              // no kernel takes it: composed of operators
};
// The statically unrolled backward pass of a layer's attention and of all layers, against the limit.
struct UnrolledCount {
  std::string candidate, layout;
  int64_t chunks = 0;
  uint64_t layer = 0, step = 0, limit = 0;
  int64_t programs() const { return static_cast<int64_t>((step + limit - 1) / limit); }
};
// One rank's whole micro-batch, every repeat timed.
struct RankTiming {
  std::string candidate, layout;
  int64_t tokens = 0;
  uint64_t instructions = 0;
  double simulated_s = 0, generate_and_time_s = 0, cpu_s = 0;
};
// Tokens/s of a layout of LNC 2, compiled: two Programs that share a rank's work at no cost, as assumed, or
// one whose kernels are divided between the cores.
struct DividedCost {
  std::string candidate, layout;
  bool training = true;  // else decoding
  double shared = 0, divided = 0;
};
// Where a published figure falls in what was computed.
struct Range {
  std::string what;
  double published = 0, low = 0, high = 0;
  std::string low_at, high_at;
  int64_t figures = 0, below = 0;
  bool inside() const { return figures > 0 && low <= published && published <= high; }
};

// Where the time of a layout goes: a part's one run on a core.
struct PartRow {
  std::string candidate, layout, part;
  PartCost cost;
};

struct Report {
  Assumptions assumptions;
  std::vector<TrainingCost> training;
  std::vector<DecodeCost> decode;
  std::vector<DividedCost> divided;
  std::vector<ChunkCost> chunks;
  std::vector<UnrolledCount> unrolled;
  std::vector<PartRow> parts;  // of each candidate's first layout
  std::optional<RankTiming> rank;
  std::vector<ConcurrencyTable> concurrency;
  std::vector<Growth> growth;
  std::string growth_candidate;
  std::vector<Range> ranges;
};
Report cost_all(const Assumptions& assumptions, const std::function<void(const std::string&)>& progress);

std::string report_text(const Report& report);
std::string report_json(const Report& report);

}  // namespace laplace
}  // namespace assay::cli
