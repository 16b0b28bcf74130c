#include "harness/worker/judge_client.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/error.h"
#include "harness/worker/life_time.h"
#include "harness/worker/worker_client.h"

namespace assay {
namespace {

constexpr std::size_t kSmallNodes = 16;
constexpr int64_t kSmallElements = int64_t{1} << 20;  // of all tensors of a graph

JudgeFailure failure_of(const std::string& code, const std::string& message) {
  // The case's graph is at fault, not the judge.
  if (code == "malformed_file") return {"malformed", message, Status::malformed_file};
  return {"judge_failed", "the judge refused: " + message};
}

}  // namespace

bool JudgeClient::start(const JudgeTexts& texts) {
  const std::string known = std::exchange(contract_, {});
  if (process_.running()) return known == texts.contract_json;
  process_.start({find_program("assay-judge")});
  return false;
}

std::optional<Frame> JudgeClient::ask(const Frame& request, const char* expected,
                                      const ExchangeLimits& limits) {
  Exchange exchange = process_.exchange(request, limits, "judge");
  if (exchange.outcome == Outcome::stopped) return std::nullopt;
  if (exchange.outcome != Outcome::replied) {
    throw JudgeFailure{"judge_failed", "the judge " + describe_end(exchange, limits)};
  }
  try {
    if (exchange.type == "error") {
      const WireError error = decode_error(exchange.reply, "judge");
      throw failure_of(error.code, error.message);
    }
    if (exchange.type != expected)
      throw JudgeFailure{"judge_failed", "the judge answered '" + exchange.type + "'"};
  } catch (const Error& error) {
    throw JudgeFailure{"judge_failed", error.what()};
  }
  return std::move(exchange.reply);
}

bool JudgeClient::is_small(const Graph& graph) {
  if (graph.nodes.size() > kSmallNodes) return false;
  for (const Node& node : graph.nodes) {
    // What runs inside another graph, and scores of attention, are none of the graph's values.
    if (node.op.find("attention") != std::string::npos) return false;
    for (const NamedArgument& argument : node.arguments) {
      if (std::holds_alternative<GraphArg>(argument.value)) return false;
    }
  }
  int64_t elements = 0;
  for (const Value& value : graph.values) {
    if (value.kind != ValueKind::tensor) return false;
    int64_t count = 1;
    for (const int64_t size : value.shape) {
      if (size < 0 || size > kSmallElements) return false;
      count *= size;
      if (count > kSmallElements) return false;
    }
    elements += count;
    if (elements > kSmallElements) return false;
  }
  return true;
}

template <class Step>
auto JudgeClient::call(const Step& step) {
  const LifeTime timed(called_s_);
  try {
    return std::optional(step());
  } catch (const Error& error) {
    throw failure_of(wire_code(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    throw failure_of("out_of_memory", "the judge could not allocate memory");
  } catch (const std::exception& error) {
    throw failure_of("internal", error.what());
  }
}

std::optional<Prepared> JudgeClient::prepare(const JudgeRequest& request, const JudgeTexts& texts,
                                             bool here) {
  session_.reset();
  if (here) {
    session_.emplace();
    return call([&] {
      validate(*request.graph);  // kernels trust shapes that were checked, as they are where a graph is read
      return session_->prepare(request);
    });
  }
  try {
    const bool known = start(texts);
    auto reply = ask(encode_prepare(request, texts, known), "prepared", limits_);
    if (!reply) return std::nullopt;
    contract_ = texts.contract_json;
    return decode_prepared(std::move(*reply), "judge");
  } catch (const Error& error) {
    throw JudgeFailure{"judge_failed", error.what()};
  }
}

std::optional<Verdict> JudgeClient::judge(const RunResult& result) {
  if (session_) return call([&] { return session_->judge(result); });
  if (!process_.running()) throw JudgeFailure{"judge_failed", "the judge is not running"};
  try {
    const auto reply = ask(encode_judge(result), "verdict", limits_);
    if (!reply) return std::nullopt;
    return decode_verdict(*reply, "judge");
  } catch (const Error& error) {
    throw JudgeFailure{"judge_failed", error.what()};
  }
}

std::optional<Verdict> JudgeClient::judge_steps(const StepsRequest& request, const JudgeTexts& texts) {
  try {
    const bool known = start(texts);
    ExchangeLimits limits = limits_;
    limits.run_s *= request.steps;
    const auto reply = ask(encode_steps(request, texts, known), "verdict", limits);
    if (!reply) return std::nullopt;
    contract_ = texts.contract_json;
    return decode_verdict(*reply, "judge");
  } catch (const Error& error) {
    throw JudgeFailure{"judge_failed", error.what()};
  }
}

}  // namespace assay
