#include "harness/worker/worker_client.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/error.h"

namespace assay {
namespace {

constexpr std::size_t kNoiseQuoted = 400;
// Loading a backend (PyTorch takes seconds) is no part of a case: a short --timeout must not forbid it.
constexpr double kGreetingSeconds = 120;

// What a worker prints last says most.
std::string quote(const std::string& noise) {
  if (noise.empty()) return "";
  const std::string tail = noise.size() > kNoiseQuoted ? noise.substr(noise.size() - kNoiseQuoted) : noise;
  return "; it printed: " + tail;
}

std::string signal_name(int number) {
  const char* abbreviation = ::sigabbrev_np(number);
  return abbreviation ? std::string("SIG") + abbreviation : fmt::format("signal {}", number);
}

}  // namespace

std::string describe_end(const Exchange& exchange, const ExchangeLimits& limits) {
  switch (exchange.outcome) {
    case Outcome::replied:
      return "answered";
    case Outcome::exited:
      return fmt::format("exited with status {}", exchange.code) + quote(exchange.noise);
    case Outcome::signalled:
      return "was killed by " + signal_name(exchange.code) + quote(exchange.noise);
    case Outcome::run_timeout:
      return fmt::format("took longer than {} s", limits.run_s);
    case Outcome::compile_timeout:
      return fmt::format("compiled longer than {} s", limits.compile_s);
    case Outcome::memory_limit:
      return fmt::format("grew beyond {} MiB of resident memory", limits.resident_bytes >> 20);
    case Outcome::rubbish:
      return "broke the protocol: " + exchange.what + quote(exchange.noise);
    case Outcome::stopped:
      return "was stopped";
  }
  return "";
}

WorkerClient::WorkerClient(BackendSpec spec, HelloRequest hello, ExchangeLimits limits)
    : spec_(std::move(spec)), hello_(std::move(hello)), limits_(limits) {
  hello_.target = spec_.target;
}

std::vector<std::string> WorkerClient::command() const {
  if (spec_.kind == BackendSpec::Kind::torch) {
    const char* python = std::getenv("ASSAY_PYTHON");
    return {python != nullptr && *python != 0 ? python : "python3",
            find_data("harness/worker/torch_worker.py"), spec_.target};
  }
  if (spec_.kind == BackendSpec::Kind::ranks) return {find_program("assay-worker"), "ranks:" + spec_.target};
  return {find_program("assay-worker"), spec_.path};
}

const BackendInfo& WorkerClient::hello() {
  if (process_.running()) return info_;
  process_.start(command(), limits_.threads);
  ExchangeLimits limits = limits_;
  limits.run_s = std::max(limits.run_s, kGreetingSeconds);
  const Exchange exchange = process_.exchange(encode(hello_), limits, spec_.text);
  if (exchange.outcome != Outcome::replied) {
    throw Error(ErrorCode::invalid_argument, fmt::format("backend {}: its worker {} before it greeted",
                                                         spec_.text, describe_end(exchange, limits)));
  }
  try {
    if (exchange.type == "error") {
      const WireError error = decode_error(exchange.reply, spec_.text);
      process_.kill();
      if (error.code == "pytorch_missing" || error.code == "device_missing" || error.code == "mpi_missing") {
        throw BackendMissing{error.code, error.message};
      }
      throw Error(ErrorCode::invalid_argument, fmt::format("backend {}: {}", spec_.text, error.message));
    }
    info_ = decode_backend_info(exchange.reply, spec_.text);
  } catch (const Error&) {
    process_.kill();
    throw;
  }
  return info_;
}

std::optional<RunResult> WorkerClient::run(const RunRequest& request, const Graph& graph) {
  RunResult result;
  const auto fail = [&](Status status, const std::string& reason, const std::string& detail) {
    result = RunResult{};
    result.failure = status;
    result.reason = reason;
    result.detail = detail;
    return result;
  };
  try {
    hello();
  } catch (const BackendMissing& missing) {
    return fail(Status::skip_environment, missing.reason, missing.message);
  } catch (const Error& error) {
    if (stop_requested()) return std::nullopt;
    return fail(Status::infrastructure_error, "worker_failed_to_start", error.what());
  }
  const Exchange exchange = process_.exchange(encode(request), limits_, spec_.text);
  const std::string end = "the worker " + describe_end(exchange, limits_);
  std::string node;
  if (exchange.node >= 0 && static_cast<std::size_t>(exchange.node) < graph.nodes.size()) {
    node = graph.nodes[static_cast<std::size_t>(exchange.node)].name;
  }
  const std::string where =
      node.empty() ? "" : fmt::format(" (at node '{}', phase {})", node, exchange.phase);
  switch (exchange.outcome) {
    case Outcome::replied:
      break;
    case Outcome::stopped:
      return std::nullopt;
    case Outcome::exited:
      fail(Status::crash, "exited", end + where);
      break;
    case Outcome::signalled:
      fail(Status::crash, "killed_by_signal", end + where);
      break;
    case Outcome::run_timeout:
      fail(Status::run_timeout, "time_limit", end + where);
      break;
    case Outcome::compile_timeout:
      fail(Status::compile_timeout, "time_limit", end + where);
      break;
    case Outcome::memory_limit:
      fail(Status::out_of_memory, "memory_limit", end + where);
      break;
    case Outcome::rubbish:
      fail(Status::crash, "rubbish_output", end + where);
      break;
  }
  if (exchange.outcome != Outcome::replied) {
    result.failed_node = node;
    return result;
  }
  try {
    if (exchange.type == "error") {
      const WireError error = decode_error(exchange.reply, spec_.text);
      return error.code == "out_of_memory" ? fail(Status::out_of_memory, "device_memory", error.message)
                                           : fail(Status::infrastructure_error, "internal", error.message);
    }
    if (exchange.type != "result")
      throw Error(ErrorCode::malformed_file, "answered run with " + exchange.type);
    result = decode_run_result(exchange.reply, spec_.text);
    // Ranks in processes of their own report nothing about nodes.
    const bool may_be_empty = result.failure || request.ranks;
    if (result.nodes.size() != graph.nodes.size() && !(may_be_empty && result.nodes.empty())) {
      throw Error(ErrorCode::malformed_file, "the answer does not have one entry for each node");
    }
    if (result.outputs.size() != graph.outputs.size() && !(result.failure && result.outputs.empty())) {
      throw Error(ErrorCode::malformed_file, "the answer does not have one entry for each output");
    }
    // A short compilation may be over before the watch looks at it.
    const double compiled_s =
        result.phases.compile_cold_s.value_or(0) + result.phases.compile_disk_warm_s.value_or(0);
    if (compiled_s > limits_.compile_s) {
      return fail(
          Status::compile_timeout, "time_limit",
          fmt::format("the worker compiled longer than {} s: {:.3g} s", limits_.compile_s, compiled_s));
    }
  } catch (const Error& error) {
    process_.kill();
    return fail(Status::crash, "rubbish_output",
                std::string("the worker broke the protocol: ") + error.what());
  }
  return result;
}

Frame WorkerClient::ask(const Frame& request, const char* expected) {
  Exchange exchange = process_.exchange(request, limits_, spec_.text);
  if (exchange.outcome != Outcome::replied) {
    throw Error(ErrorCode::unsupported,
                fmt::format("backend {}: its worker {}", spec_.text, describe_end(exchange, limits_)));
  }
  if (exchange.type == "error") {
    throw Error(ErrorCode::unsupported,
                fmt::format("backend {}: {}", spec_.text, decode_error(exchange.reply, spec_.text).message));
  }
  if (exchange.type != expected) {
    process_.kill();
    throw Error(ErrorCode::malformed_file, fmt::format("backend {}: expected '{}', its worker answered '{}'",
                                                       spec_.text, expected, exchange.type));
  }
  return std::move(exchange.reply);
}

std::vector<NodeSupport> WorkerClient::supports(const std::vector<std::string>& node_graphs) {
  hello();
  std::vector<NodeSupport> answers =
      decode_supports(ask(encode_supports(node_graphs), "supports"), spec_.text);
  if (answers.size() != node_graphs.size()) {
    throw Error(ErrorCode::malformed_file,
                fmt::format("backend {}: supports gave too few answers", spec_.text));
  }
  return answers;
}

LoadReply WorkerClient::load(const RunRequest& request) {
  hello();
  return decode_load(ask(encode_load(request), "loaded"), spec_.text);
}

MeasureReply WorkerClient::measure(int64_t session, int iterations) {
  if (!process_.running()) throw Error(ErrorCode::unsupported, "the worker of the session is gone");
  return decode_measure(ask(encode_measure(session, iterations), "measured"), spec_.text);
}

ProfileReply WorkerClient::profile(int64_t session) {
  if (!process_.running()) throw Error(ErrorCode::unsupported, "the worker of the session is gone");
  return decode_profile(ask(encode_profile(session), "profiled"), spec_.text);
}

void WorkerClient::unload(int64_t session) {
  if (process_.running()) ask(encode_unload(session), "unloaded");
}

}  // namespace assay
