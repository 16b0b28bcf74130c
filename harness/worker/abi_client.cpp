#include "harness/worker/abi_test.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "harness/worker/message_fields.h"
#include "harness/worker/plugin.h"
#include "harness/worker/worker_client.h"

namespace assay {

std::vector<AbiCheck> run_abi_test(const std::string& plugin, double timeout_s) {
  ExchangeLimits limits;
  limits.run_s = timeout_s;
  limits.compile_s = timeout_s;
  limits.resident_bytes = int64_t{4096} << 20;
  ChildProcess process;
  const std::vector<std::string> command{find_program("assay-worker"), plugin};
  std::vector<AbiCheck> checks = abi_checks();
  for (AbiCheck& check : checks) {
    if (!process.running()) process.start(command);
    const Frame request = make_frame({{"type", "abi-check"}, {"name", check.name}}, {});
    const Exchange exchange = process.exchange(request, limits, plugin);
    if (exchange.outcome != Outcome::replied) {
      check.detail = "the plug-in's process " + describe_end(exchange, limits);
      continue;
    }
    const Fields fields(header_of(exchange.reply, plugin), plugin);
    if (exchange.type == "error") {  // it could not even be loaded
      throw Error(ErrorCode::invalid_argument, fields.text("message"));
    }
    check.passed = fields.boolean("passed");
    check.detail = fields.text("detail");
  }
  return checks;
}

}  // namespace assay
