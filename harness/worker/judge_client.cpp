#include "harness/worker/judge_client.h"

#include <utility>

#include "core/error.h"
#include "harness/worker/worker_client.h"

namespace assay {

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
      // The case's graph is at fault, not the judge.
      if (error.code == "malformed_file") {
        throw JudgeFailure{"malformed", error.message, Status::malformed_file};
      }
      throw JudgeFailure{"judge_failed", "the judge refused: " + error.message};
    }
    if (exchange.type != expected)
      throw JudgeFailure{"judge_failed", "the judge answered '" + exchange.type + "'"};
  } catch (const Error& error) {
    throw JudgeFailure{"judge_failed", error.what()};
  }
  return std::move(exchange.reply);
}

std::optional<Prepared> JudgeClient::prepare(const JudgeRequest& request, const JudgeTexts& texts) {
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
