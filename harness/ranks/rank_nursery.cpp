#include "harness/ranks/rank_nursery.h"

#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "harness/worker/message_fields.h"

namespace assay {
namespace {

constexpr const char* kOrigin = "torch_rank.py";
constexpr double kForkSeconds = 60;

// The answer, of the type `wanted`.
Frame ask(ChildProcess& process, PackedMap header, const std::string& wanted, double timeout_s) {
  ExchangeLimits limits;
  limits.run_s = timeout_s;
  Exchange exchange = process.exchange(make_frame(std::move(header), {}), limits, kOrigin);
  if (exchange.outcome != Outcome::replied || exchange.type != wanted) {
    process.kill();
    throw Error(ErrorCode::io,
                fmt::format("{} did not answer{}; it printed: {}", kOrigin,
                            exchange.what.empty() ? "" : ": " + exchange.what, exchange.noise));
  }
  return std::move(exchange.reply);
}

}  // namespace

void RankNursery::start(const std::vector<std::string>& argv, double timeout_s) {
  if (process_.running()) return;
  process_.start(argv);
  const Frame answer = ask(process_, {{"type", "hello"}}, "hello", timeout_s);
  const Fields fields(header_of(answer, kOrigin), kOrigin);
  version_ = fields.text("version");
  if (const std::string problem = fields.text("problem"); !problem.empty()) {
    process_.kill();
    throw Error(ErrorCode::unsupported, problem);
  }
}

pid_t RankNursery::fork_ranks(const Order& order) {
  const Frame answer = ask(process_,
                           {{"type", "start"},
                            {"host", order.host},
                            {"port", order.port},
                            {"token", order.token},
                            {"ranks", order.ranks},
                            {"timeout", order.timeout_s},
                            {"start_timeout", order.start_timeout_s}},
                           "started", kForkSeconds);
  const Fields fields(header_of(answer, kOrigin), kOrigin);
  if (const std::string problem = fields.text("problem"); !problem.empty())
    throw Error(ErrorCode::io, problem);
  return static_cast<pid_t>(fields.integer("group"));
}

std::string RankNursery::noise() {
  try {
    return process_.running()
               ? process_.exchange(make_frame({{"type", "hello"}}, {}), ExchangeLimits(), kOrigin).noise
               : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace assay
