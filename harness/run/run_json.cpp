#include "harness/run/run_json.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "assay/backend.h"
#include "core/error.h"
#include "core/graph/json.h"

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0"
#endif

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

OrderedJson machine() {
  utsname names{};
  ::uname(&names);
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  return {{"cpu", cpu_model()},
          {"cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_bytes", pages * ::sysconf(_SC_PAGESIZE)},
          {"system", fmt::format("{} {} {}", names.sysname, names.release, names.machine)}};
}

OrderedJson parse(const std::string& text, const std::string& path) {
  check_json_text(text, path);
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) throw Error(ErrorCode::malformed_file, path + ": expected a JSON object");
  return json;
}

}  // namespace

std::string assay_version() { return ASSAY_VERSION; }

std::string run_json(const RunOptions& options, const RunCircumstances& c) {
  OrderedJson not_exported = OrderedJson::array();
  for (const NotExported& row : options.not_exported) {
    not_exported.push_back({{"id", row.id},
                            {"kind", row.kind},
                            {"model", row.model},
                            {"attention", row.attention},
                            {"reason", row.reason}});
  }
  const OrderedJson json{
      {"schema", 1},
      {"version", assay_version()},
      {"protocol", kProtocolVersion},
      {"abi", fmt::format("{}.{}", ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR)},
      {"command", OrderedJson::parse(command_json(options))},
      {"seed", options.seed},
      {"jobs", options.jobs},
      {"machine", machine()},
      {"backend",
       {{"name", c.backend.name},
        {"version", c.backend.version},
        {"device", c.backend.device},
        {"memory_bytes", c.backend.memory_bytes},
        {"simulated", c.backend.simulated},
        {"deterministic", c.backend.deterministic},
        {"compile", c.backend.compile},
        {"missing", c.backend_missing}}},
      {"contract", OrderedJson::parse(c.contract.to_json())},
      {"contract_hash", c.contract.hash()},
      {"loosened", c.loosened},
      {"planned", c.planned},
      {"not_exported", std::move(not_exported)},
      {"start", c.start},
      {"end", c.end.empty() ? OrderedJson(nullptr) : OrderedJson(c.end)},
  };
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

void check_resumable(const std::string& text, const std::string& path, const RunOptions& options,
                     const Contract& contract) {
  const OrderedJson json = parse(text, path);
  const auto command = json.find("command");
  const OrderedJson now = OrderedJson::parse(command_json(options));
  if (command == json.end() || !command->is_object()) {
    throw Error(ErrorCode::malformed_file, path + ": field \"command\": expected an object");
  }
  for (const auto& [key, value] : now.items()) {
    const auto then = command->find(key);
    if (then != command->end() && *then == value) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--resume: {} was made by another command line: {} was {}, now it is {}", path,
                            key, then == command->end() ? "absent" : then->dump(), value.dump()));
  }
  const auto hash = json.find("contract_hash");
  if (hash == json.end() || *hash != contract.hash()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--resume: {} was made under another Contract", path));
  }
}

std::string start_of(const std::string& text) {
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object()) return "";
  const auto start = json.find("start");
  return start != json.end() && start->is_string() ? start->get<std::string>() : "";
}

}  // namespace assay
