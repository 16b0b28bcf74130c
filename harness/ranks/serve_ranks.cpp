#include "harness/ranks/serve_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/distributed/plain_collectives.h"
#include "core/error.h"
#include "harness/ranks/gloo_traffic.h"
#include "harness/ranks/rank_job.h"
#include "harness/ranks/rank_nursery.h"
#include "harness/worker/answer_requests.h"
#include "harness/worker/locate.h"
#include "harness/worker/messages.h"

namespace assay {
namespace {

// PyTorch takes seconds to import, and many ranks on few cores take long to find one another.
constexpr double kImportSeconds = 600, kStartSeconds = 120, kStartSecondsOfRank = 5;
constexpr double kTimeoutSeconds = 10;  // of a collective, and a second more for each rank without a core
constexpr double kLastSeconds = 3;      // beyond a collective's limit, for the answer to arrive

const char* const kLocal = "127.0.0.1";

// Open MPI's own reductions add in the dtype; those of floats of 16 and 8 bits add two numbers in fp32 and
// round.
const char* const kMpiContract = R"json({
  "name": "mpi",
  "source": "collectives over MPI, everything else by Assay's reference (fp64, one rounding)",
  "rules": [
    {"accumulator": "f64", "intermediate": "f64", "order": "any", "rounding": "rne", "functions": {"*": {"ulp": 2.5}}},
    {"source": "MPI 4.0 §6.9: any order of the ranks; sums and products are made in the dtype",
     "op": "ranks::*", "early_overflow": true},
    {"op": "ranks::*", "dtype": "f32", "accumulator": "f32", "intermediate": "f32"},
    {"op": "ranks::*", "dtype": "c64", "accumulator": "f32", "intermediate": "f32"},
    {"op": "ranks::*", "dtype": "bf16", "accumulator": "bf16", "intermediate": "bf16"},
    {"op": "ranks::*", "dtype": "f16", "accumulator": "f16", "intermediate": "f16"},
    {"op": "ranks::*", "dtype": "f8_e4m3fn", "accumulator": "f8_e4m3fn", "intermediate": "f8_e4m3fn"},
    {"op": "ranks::*", "dtype": "f8_e5m2", "accumulator": "f8_e5m2", "intermediate": "f8_e5m2"},
    {"op": "ranks::*", "dtype": "f8_e4m3", "accumulator": "f8_e4m3", "intermediate": "f8_e4m3"}
  ]
})json";

bool is_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string file = rest.substr(0, colon) + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return true;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return false;
}

// A backend that is not on this machine.
struct Missing {
  std::string code, message;
};

class RankServer {
 public:
  RankServer(int replies, std::string kind) : replies_(replies), kind_(std::move(kind)) {}

  Frame answer(Frame request) {
    try {
      const std::string type = type_of(request, kRequestOrigin);
      if (type == "hello") return hello(request);
      if (type == "run") return encode(run(decode_run_request(std::move(request), kRequestOrigin)));
      throw Error(ErrorCode::invalid_argument, "the backend " + kind_ + " does not answer '" + type + "'");
    } catch (const Missing& missing) {
      return encode(WireError{missing.code, missing.code, missing.message});
    } catch (const Error& error) {
      return encode(WireError{"internal", "", error.what()});
    }
  }

 private:
  Frame hello(const Frame& frame) {
    hello_ = decode_hello_request(frame, kRequestOrigin);
    job_.end();
    asked_timeout_s_ = 0;
    for (const auto& [key, value] : hello_.options) {
      if (key == "hostfile" && kind_ == "mpi") continue;
      if (key == "reductions" && kind_ == "mpi" && (value == "direct" || value == "library")) continue;
      const char* end = value.data() + value.size();
      const auto parsed = std::from_chars(value.data(), end, asked_timeout_s_);
      if (key != "collective_timeout" || parsed.ec != std::errc() || parsed.ptr != end ||
          !(asked_timeout_s_ > 0)) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("no option {}={}; there are: collective_timeout=SECONDS{}", key, value,
                                kind_ == "mpi" ? ", hostfile=FILE, reductions=direct|library" : ""));
      }
    }
    BackendInfo info;
    info.name = kind_ == "mpi" ? "mpi" : "torch:gloo";
    info.deterministic = false;  // orders may depend on arrival
    if (kind_ == "mpi") {
      if (!is_program("mpirun")) {
        throw Missing{"mpi_missing", "there is no mpirun in PATH: install Open MPI (openmpi-bin)"};
      }
      mpi_rank_ = find_mpi_rank();
      info.contract = kMpiContract;
    }
    // One rank says what there is, or what is missing.
    if (kind_ == "mpi") {
      start(1);
      info.version = job_.version();
      info.device = "processes over " + info.version;
      job_.end();
    } else {
      start_nursery();
      info.version = nursery_.version();
      info.device = "PyTorch processes over gloo";
    }
    return encode(info);
  }

  bool library_reductions() const {
    const auto given = hello_.options.find("reductions");
    return given != hello_.options.end() && given->second == "library";
  }

  static std::string find_mpi_rank() {
    try {
      return find_program("assay-mpi-rank");
    } catch (const Error&) {
      throw Missing{"mpi_missing",
                    "Assay was built without MPI: install libopenmpi-dev and openmpi-bin and build again"};
    }
  }

  static double start_seconds(int ranks) { return kStartSeconds + kStartSecondsOfRank * ranks; }

  void start_nursery() {
    const char* python = std::getenv("ASSAY_PYTHON");
    try {
      nursery_.start(
          {"env", "OMP_NUM_THREADS=1", "LD_PRELOAD=" + find_plugin("gloo_counter"),
           python != nullptr && *python != 0 ? python : "python3", find_data("harness/worker/torch_rank.py")},
          kImportSeconds);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) throw Missing{"pytorch_missing", error.what()};
      throw;
    }
  }

  void start(int ranks) {
    if (kind_ == "mpi") return start_mpi(ranks);
    start_nursery();
    const auto fork = [&](int port, const std::string& token) {
      JobCommand job;
      job.group = nursery_.fork_ranks({kLocal, port, token, ranks, timeout_s_, start_seconds(ranks)});
      return job;
    };
    try {
      job_.start(ranks, kLocal, fork, start_seconds(ranks));
    } catch (const Error& error) {
      throw Error(error.code(), error.what() + nursery_.noise());
    }
  }

  void start_mpi(int ranks) {
    std::vector<std::string> argv{"mpirun", "-n", std::to_string(ranks), "--mca", "mpi_yield_when_idle", "1"};
    std::string host = kLocal, address = kLocal;
    if (const auto file = hello_.options.find("hostfile"); file != hello_.options.end()) {
      argv.insert(argv.end(), {"--hostfile", file->second});
      char name[256] = {};
      ::gethostname(name, sizeof name - 1);
      host = name;
      address = "0.0.0.0";
    } else if (static_cast<unsigned>(ranks) > std::thread::hardware_concurrency()) {
      argv.emplace_back("--oversubscribe");
    }
    if (::geteuid() == 0) argv.emplace_back("--allow-run-as-root");
    const auto make = [&](int port, const std::string& token) {
      JobCommand job{argv};
      job.argv.insert(job.argv.end(), {mpi_rank_, host, std::to_string(port), token,
                                       library_reductions() ? "library" : "direct"});
      return job;
    };
    // Jobs that start at the same moment may both want to make the folder that Open MPI shares between them:
    // one of them then ends at once, and finds it there the next time.
    for (int tries = 3;; --tries) {
      try {
        return job_.start(ranks, address, make, start_seconds(ranks));
      } catch (const Error& error) {
        const std::string_view what = error.what();
        if (tries == 1 || what.find("unable to create the desired directory") == std::string_view::npos)
          throw;
      }
    }
  }

  std::vector<RankTask> tasks_of(const RunRequest& request) const {
    std::vector<RankTask> tasks;
    std::size_t next = 0;
    // PyTorch's ranks get what is written, ours what they can run.
    const RankPrograms programs = kind_ == "mpi" ? plain_collectives(*request.ranks) : *request.ranks;
    for (int r = 0; r < programs.groups.world_size; ++r) {
      RankTask task;
      task.case_id = request.case_id;
      task.rank = r;
      task.program = programs.graphs[static_cast<std::size_t>(r)];
      task.groups = programs.groups;
      task.timeout_s = timeout_s_;
      for (const RankFault& fault : programs.faults) {
        if (fault.rank == r) task.fault = fault;
      }
      for (const GraphInput& input : task.program->inputs) {
        if (input.value < 0) continue;
        if (next == request.inputs.size()) throw Error(ErrorCode::malformed_file, "too few inputs");
        task.inputs.push_back(request.inputs[next++]);
      }
      tasks.push_back(std::move(task));
    }
    return tasks;
  }

  RunResult run(const RunRequest& request) {
    RunResult result;
    if (!request.ranks) {
      result.failure = Status::skip_eligibility;
      result.reason = "not_implemented";
      result.detail = "the backend " + kind_ + " runs distributed cases only";
      return result;
    }
    const int ranks = request.ranks->groups.world_size;
    const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    timeout_s_ = asked_timeout_s_ > 0 ? asked_timeout_s_ : kTimeoutSeconds + std::max(0, ranks - cores);
    write_frame(replies_, encode_progress("prepare", -1));
    if (!job_.running() || job_.ranks() != ranks) start(ranks);
    write_frame(replies_, encode_progress("free", -1));
    const std::vector<RankOutcome> outcomes = job_.run(tasks_of(request), timeout_s_ + kLastSeconds);
    std::vector<std::string> errors = errors_of(outcomes);
    bool failed = false;
    for (const std::string& error : errors) failed = failed || !error.empty();
    if (failed) {
      // What the ranks had begun is still under way somewhere, unless none had begun anything.
      const bool refused = std::all_of(outcomes.begin(), outcomes.end(), [](const RankOutcome& outcome) {
        return outcome.answered && outcome.answer.refused;
      });
      if (!refused) job_.end();
      // Ours end together. PyTorch's are told nothing by the others: what a rank did is what it did.
      if (kind_ == "mpi") spread_errors(errors);
      result.failure = request.negative ? Status::rejected_bad_input : Status::crash;
      result.reason = request.negative ? "refused" : "device_trap";
      if (!request.negative) say_what_is_lacking(errors, result);
      for (const std::string& error : errors) result.detail = result.detail.empty() ? error : result.detail;
      result.rank_errors = std::move(errors);
      return result;
    }
    // Bad input that nobody refused: no graph says what the results would be.
    if (request.negative) return result;
    for (const RankOutcome& outcome : outcomes) {
      result.outputs.insert(result.outputs.end(), outcome.answer.outputs.begin(),
                            outcome.answer.outputs.end());
    }
    result.traffic = traffic_of(request, outcomes);
    return result;
  }

  // What gloo (ProcessGroupGloo.cpp) and the worker of PyTorch say of what they do not have: that is no
  // failure of a case.
  static void say_what_is_lacking(const std::vector<std::string>& errors, RunResult& result) {
    struct Words {
      const char* text;
      Status status;
      const char* reason;
    };
    const Words all[] = {{"Invalid scalar type", Status::unsupported, "dtype"},
                         {"PyTorch has no dtype", Status::unsupported, "dtype"},
                         {"takes tensors of one size only", Status::unsupported, "argument"},
                         {"has no messages of a rank to itself", Status::unsupported, "argument"},
                         {"has no operator assay::", Status::skip_eligibility, "optional_operator"}};
    for (const std::string& error : errors) {
      for (const Words& words : all) {
        if (error.find(words.text) == std::string::npos) continue;
        result.failure = words.status;
        result.reason = words.reason;
      }
    }
  }

  std::vector<std::string> errors_of(const std::vector<RankOutcome>& outcomes) const {
    std::vector<std::string> errors(outcomes.size());
    std::string cause;
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      const RankOutcome& outcome = outcomes[r];
      const std::string place = outcome.at_node.empty() ? "" : fmt::format(" at node '{}'", outcome.at_node);
      if (outcome.gone_order == 1) {
        cause = fmt::format("rank {} died{}", r, place);
      } else if (!outcome.answered && !outcome.gone && cause.empty()) {
        cause = fmt::format("rank {} stopped{}: no answer within {} s", r, place, timeout_s_ + kLastSeconds);
      }
    }
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      const RankOutcome& outcome = outcomes[r];
      if (outcome.answered) {
        errors[r] = outcome.answer.error;
        if (!errors[r].empty() && !cause.empty()) errors[r] += "; " + cause;
      } else if (outcome.gone_order > 1) {
        errors[r] = fmt::format("rank {}: ended by the launcher, since {}", r, cause);
      } else {
        errors[r] = fmt::format("rank {}: {}", r, cause);
      }
    }
    return errors;
  }

  // Without bytes by rank where nobody counts them: `algorithm` says what is known.
  std::optional<Traffic> traffic_of(const RunRequest& request,
                                    const std::vector<RankOutcome>& outcomes) const {
    const JoinedGraph joined = join(*request.ranks, request.case_id);
    if (!joined.fits()) return std::nullopt;
    Traffic traffic;
    traffic.algorithm = kind_;
    traffic.formula = kind_ == "gloo" ? gloo_formula_bytes(joined) : formula_bytes(joined);
    for (const RankOutcome& outcome : outcomes) {
      if (!outcome.answer.sent || !outcome.answer.received) {
        traffic.algorithm = kind_ == "mpi"
                                ? "mpi: bytes are not counted, MPI does not show those of its own reductions"
                                : "gloo: bytes are not known, its sockets carried others than were counted";
        traffic.sent.clear();
        traffic.received.clear();
        return traffic;
      }
      traffic.sent.push_back(*outcome.answer.sent);
      traffic.received.push_back(*outcome.answer.received);
    }
    return traffic;
  }

  int replies_;
  std::string kind_, mpi_rank_;
  HelloRequest hello_;
  double asked_timeout_s_ = 0;          // 0: not asked for
  double timeout_s_ = kTimeoutSeconds;  // of a collective of the present job
  RankNursery nursery_;                 // of gloo
  RankJob job_;
};

}  // namespace

int serve_ranks(int requests, int replies, const std::string& kind) {
  RankServer server(replies, kind);
  return answer_requests(requests, replies, "assay-worker",
                         [&](Frame request) { return server.answer(std::move(request)); });
}

}  // namespace assay
