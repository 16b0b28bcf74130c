#include "harness/bench/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/graph/json.h"
#include "harness/record/results.h"
#include "harness/run/run.h"
#include "harness/run/worker_options.h"
#include "harness/worker/graph_names.h"

namespace assay {
namespace {

using Key = std::pair<std::string, std::string>;  // id, mode

// Before each block of two backends: threads of the other one (OpenMP's spin for milliseconds when they have
// nothing to do) must have gone to sleep, or they take cores from what is timed.
constexpr std::chrono::milliseconds kPause{10};

std::string folder_name(const std::string& backend) {
  std::string name = backend;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ':'; }, '-');
  return name;
}

// Judges the cases on one backend; status by id and mode.
std::map<Key, Status> judged(const BenchOptions& options, const std::string& backend,
                             const std::vector<Case>& cases, BenchResult& result) {
  RunOptions run = options.run;
  run.backend = backend;
  run.out = options.run.out + "/" + folder_name(backend);
  run.steady_repeats = 1;
  std::vector<Case> judged = cases;
  for (Case& c : judged) {
    const auto instead = options.judged_instead.find(c.id);
    if (instead != options.judged_instead.end()) c = instead->second;
  }
  std::map<Key, Status> statuses;
  const RunSummary summary = run_cases(run, std::move(judged), [&](const Progress& p) {
    if (p.last) statuses[{p.last->id, p.last->mode}] = p.last->status;
  });
  result.infrastructure_error |= summary.infrastructure_error || summary.write_failed || summary.interrupted;
  return statuses;
}

class Timer {
 public:
  Timer(const std::string& backend, const BenchOptions& options)
      : client_(worker_of(options.run, parse_backend(backend), std::nullopt)) {
    client_.hello();
  }

  // Throws Error if the run fails.
  std::vector<Tensor> outputs(const RunRequest& request, const Graph& graph) {
    std::optional<RunResult> result = client_.run(request, graph);
    if (!result) return {};
    if (result->failure) {
      throw Error(ErrorCode::unsupported, request.case_id + ": " + std::string(name_of(*result->failure)) +
                                              " at full size: " + result->detail);
    }
    return std::move(result->outputs);
  }
  void load(const RunRequest& request) { session_ = client_.load(request).session; }
  void unload() { client_.unload(session_); }
  double block(int iterations, double& device_seconds) {
    const MeasureReply reply = client_.measure(session_, iterations);
    device_seconds = reply.device_seconds / iterations;
    return reply.seconds / iterations;
  }
  // Doubles until a block takes long enough; what it runs is the warm-up.
  int calibrate(double block_s) {
    int iterations = 1;
    double unused = 0;
    for (;;) {
      const double taken = block(iterations, unused) * iterations;
      if (taken >= block_s || iterations >= 1 << 20) return iterations;
      const double wanted = taken > 0 ? std::ceil(iterations * block_s / taken) : 2.0 * iterations;
      iterations = static_cast<int>(std::clamp(wanted, iterations + 1.0, 10.0 * iterations));
    }
  }

 private:
  WorkerClient client_;
  int64_t session_ = 0;
};

RunRequest request_for(const Case& c, const std::string& mode, uint64_t seed) {
  RunRequest request;
  request.case_id = c.id;
  request.mode = mode;
  request.graph_json = graph_to_json(*c.graph);
  request.inputs = materialise_inputs(c, seed);
  request.seed = seed;
  request.outputs = output_names(*c.graph);
  request.input_names = input_names(*c.graph);
  return request;
}

double relative_difference(const Tensor& own, const Tensor& other) {
  const std::vector<double> a = own.to_doubles(), b = other.to_doubles();
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double squares = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return squares == 0 ? 0 : std::sqrt(squares / size);
}

// Both backends' outputs at full size; says in row.not_timed if they disagree. NaN is a disagreement.
void compare_outputs(const Case& c, Timer& timer, Timer& peer, const RunRequest& request, BenchRow& row) {
  RunRequest once = request;
  once.repeats = 0;
  const std::vector<Tensor> own = timer.outputs(once, *c.graph), other = peer.outputs(once, *c.graph);
  if (stop_requested()) return;
  double worst = 0;
  for (std::size_t i = 0; i < std::min(own.size(), other.size()); ++i) {
    const double d = relative_difference(own[i], other[i]);
    if (!(d <= worst)) worst = d;
  }
  row.difference = worst;
  if (!(worst < kOutputsDisagree)) row.not_timed = "outputs of the backends differ: " + std::to_string(worst);
}

void time_row(const BenchOptions& options, const Case& c, Timer& timer, Timer* peer, BenchRow& row) {
  const RunRequest request = request_for(c, row.mode, options.run.seed);
  if (peer && options.judged_instead.contains(c.id)) {
    try {
      compare_outputs(c, timer, *peer, request, row);
    } catch (const Error& error) {
      row.not_timed = error.what();
    }
  }
  if (!row.not_timed.empty() || stop_requested()) return;
  timer.load(request);
  const int iterations = timer.calibrate(options.block_s);
  int peer_iterations = 0;
  if (peer) {
    peer->load(request);
    peer_iterations = peer->calibrate(options.block_s);
  }
  for (int block = 0; block < options.blocks; ++block) {
    const auto own = [&] {
      if (peer) std::this_thread::sleep_for(kPause);
      row.seconds.push_back(timer.block(iterations, row.device_seconds));
    };
    const auto other = [&] {
      if (!peer) return;
      std::this_thread::sleep_for(kPause);
      row.peer_seconds.push_back(peer->block(peer_iterations, row.peer_device_seconds));
    };
    // A B B A: a linear drift within two blocks cancels.
    if (block % 2 == 0) {
      own();
      other();
    } else {
      other();
      own();
    }
  }
  timer.unload();
  if (peer) {
    peer->unload();
    row.ratio = paired_ratio(row.seconds, row.peer_seconds);
  }
}

}  // namespace

BenchResult bench_cases(const BenchOptions& options, const std::vector<Case>& cases,
                        const BenchProgress& progress) {
  if (options.blocks < 2) throw Error(ErrorCode::invalid_argument, "a benchmark needs at least two blocks");
  BenchResult result;
  result.backend = options.run.backend;
  result.peer = options.against;
  const auto statuses = judged(options, result.backend, cases, result);
  const auto peer_statuses = result.peer.empty() ? statuses : judged(options, result.peer, cases, result);

  // Started when the first case is timed: a backend that is not there has no case that passed.
  std::optional<Timer> timer, peer;
  const int64_t total = static_cast<int64_t>(statuses.size());
  for (const Case& c : cases) {
    for (const std::string& mode : options.run.modes) {
      const auto own = statuses.find({c.id, mode});
      if (own == statuses.end()) continue;  // filtered out, or another shard's
      BenchRow row;
      row.id = c.id;
      row.mode = mode;
      const auto other = peer_statuses.find({c.id, mode});
      if (!is_pass(own->second)) row.not_timed = std::string(name_of(own->second)) + " on " + result.backend;
      if (!result.peer.empty() && (other == peer_statuses.end() || !is_pass(other->second))) {
        row.not_timed = (other == peer_statuses.end() ? "absent" : std::string(name_of(other->second))) +
                        " on " + result.peer;
      }
      if (row.not_timed.empty() && !stop_requested()) {
        if (!timer) timer.emplace(result.backend, options);
        if (!result.peer.empty() && !peer) peer.emplace(result.peer, options);
        time_row(options, c, *timer, peer ? &*peer : nullptr, row);
      }
      result.rows.push_back(std::move(row));
      if (progress) progress(result.rows.back(), static_cast<int64_t>(result.rows.size()), total);
    }
  }
  return result;
}

}  // namespace assay
