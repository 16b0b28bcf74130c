#include "harness/record/record.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/json_object.h"

namespace assay {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::array<std::pair<Status, std::string_view>, 23> kStatuses{{
    {Status::pass, "pass"},
    {Status::pass_with_fallback, "pass_with_fallback"},
    {Status::wrong, "wrong"},
    {Status::nan_mismatch, "nan_mismatch"},
    {Status::meta_mismatch, "meta_mismatch"},
    {Status::nondeterministic, "nondeterministic"},
    {Status::unmodelled, "unmodelled"},
    {Status::unsupported, "unsupported"},
    {Status::compile_error, "compile_error"},
    {Status::compile_timeout, "compile_timeout"},
    {Status::run_timeout, "run_timeout"},
    {Status::crash, "crash"},
    {Status::out_of_memory, "out_of_memory"},
    {Status::rejected_bad_input, "rejected_bad_input"},
    {Status::accepted_bad_input, "accepted_bad_input"},
    {Status::skip_eligibility, "skip_eligibility"},
    {Status::skip_policy, "skip_policy"},
    {Status::skip_environment, "skip_environment"},
    {Status::vacuous, "vacuous"},
    {Status::unexpected_pass, "unexpected_pass"},
    {Status::waived, "waived"},
    {Status::malformed_file, "malformed_file"},
    {Status::infrastructure_error, "infrastructure_error"},
}};

constexpr std::array<std::pair<GateStatus, std::string_view>, 4> kGateStatuses{{
    {GateStatus::pass, "pass"},
    {GateStatus::fail, "fail"},
    {GateStatus::undetermined, "undetermined"},
    {GateStatus::not_applicable, "not_applicable"},
}};

constexpr std::array<const char*, 5> kGates{"bound", "rms", "bias", "probe", "end_to_end"};

// --- writing
// ---------------------------------------------------------------------------------------------------

OrderedJson number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

OrderedJson number(const std::optional<double>& value) {
  return value ? number(*value) : OrderedJson(nullptr);
}

OrderedJson numbers(const std::vector<double>& values) {
  OrderedJson out = OrderedJson::array();
  for (double value : values) out.push_back(number(value));
  return out;
}

OrderedJson json_of(const std::optional<Worst>& worst) {
  if (!worst) return nullptr;
  return json_object({{"output", worst->output},
                      {"index", worst->index},
                      {"got", number(worst->got)},
                      {"want", number(worst->want)},
                      {"bound", number(worst->bound)},
                      {"ulp", number(worst->ulp)}});
}

std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// --- reading
// ---------------------------------------------------------------------------------------------------

// One JSON object with its place, so that every complaint names where it is.
class Object {
 public:
  Object(const OrderedJson& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) fail("", "an object");
  }

  [[noreturn]] void fail(const std::string& field, const std::string& expected) const {
    throw Error(ErrorCode::malformed_file,
                place_ + (field.empty() ? "" : ": field \"" + field + "\"") + ": expected " + expected);
  }

  const OrderedJson& at(const std::string& field) const {
    const auto it = json_.find(field);
    if (it == json_.end()) fail(field, "to be present");
    return *it;
  }
  bool is_null(const std::string& field) const { return at(field).is_null(); }

  std::string text(const std::string& field) const {
    const OrderedJson& json = at(field);
    if (!json.is_string()) fail(field, "a string");
    return json.get<std::string>();
  }
  int64_t integer(const std::string& field, int64_t low = 0) const { return integer(at(field), field, low); }
  int64_t integer(const OrderedJson& json, const std::string& field, int64_t low) const {
    const bool fits = json.is_number_integer() &&
                      !(json.is_number_unsigned() &&
                        json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
    if (!fits || json.get<int64_t>() < low) fail(field, "an integer of at least " + std::to_string(low));
    return json.get<int64_t>();
  }
  uint64_t unsigned_integer(const std::string& field) const {
    const OrderedJson& json = at(field);
    if (!json.is_number_unsigned()) fail(field, "an unsigned integer");
    return json.get<uint64_t>();
  }
  double real(const std::string& field) const { return real(at(field), field); }
  double real(const OrderedJson& json, const std::string& field) const {
    if (json.is_number()) return json.get<double>();
    if (json == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (json == "inf") return std::numeric_limits<double>::infinity();
    if (json == "-inf") return -std::numeric_limits<double>::infinity();
    fail(field, "a number or \"nan\", \"inf\", \"-inf\"");
  }
  std::optional<double> real_or_null(const std::string& field) const {
    return is_null(field) ? std::nullopt : std::optional(real(field));
  }
  const OrderedJson& array(const std::string& field) const {
    if (!at(field).is_array()) fail(field, "an array");
    return at(field);
  }
  std::vector<int64_t> integers(const std::string& field, int64_t low) const {
    std::vector<int64_t> out;
    for (const OrderedJson& entry : array(field)) out.push_back(integer(entry, field, low));
    return out;
  }
  Object object(const std::string& field) const { return Object(at(field), place_ + ": " + field); }
  const std::string& place() const { return place_; }

 private:
  const OrderedJson& json_;
  std::string place_;
};

OrderedJson parse_line(std::string_view line, const std::string& origin) {
  check_json_text(line, origin);
  OrderedJson json = OrderedJson::parse(line, nullptr, false);
  if (json.is_discarded())
    throw Error(ErrorCode::malformed_file, origin + ": expected one JSON object on the line");
  return json;
}

std::string reason_in(const Object& object, const std::string& field) {
  std::string reason = object.text(field);
  if (!is_reason(reason)) object.fail(field, "a documented reason, not \"" + reason + "\"");
  return reason;
}

Gate gate_from(const Object& object) {
  Gate gate;
  const std::string status = object.text("status");
  bool found = false;
  for (const auto& [value, name] : kGateStatuses) {
    if (name != status) continue;
    gate.status = value;
    found = true;
  }
  if (!found) object.fail("status", "pass, fail, undetermined or not_applicable");
  gate.value = object.real_or_null("value");
  gate.limit = object.real_or_null("limit");
  return gate;
}

std::optional<Worst> worst_from(const Object& parent) {
  if (parent.is_null("worst")) return std::nullopt;
  const Object object = parent.object("worst");
  Worst worst;
  worst.output = object.text("output");
  worst.index = object.integers("index", 0);
  worst.got = object.real("got");
  worst.want = object.real("want");
  worst.bound = object.real("bound");
  worst.ulp = object.real_or_null("ulp");
  return worst;
}

Phases phases_from(const Object& object) {
  Phases phases;
  phases.prepare_s = object.real_or_null("prepare_s");
  phases.compile_cold_s = object.real_or_null("compile_cold_s");
  phases.compile_disk_warm_s = object.real_or_null("compile_disk_warm_s");
  phases.compile_memory_warm_s = object.real_or_null("compile_memory_warm_s");
  phases.first_run_s = object.real_or_null("first_run_s");
  if (!object.is_null("steady_s")) {
    for (const OrderedJson& entry : object.array("steady_s"))
      phases.steady_s.push_back(object.real(entry, "steady_s"));
  }
  return phases;
}

Compiles compiles_from(const Object& object) {
  Compiles compiles;
  compiles.count = object.integer("count");
  compiles.hits_memory = object.integer("hits_memory");
  compiles.hits_disk = object.integer("hits_disk");
  for (const OrderedJson& entry : object.array("misses")) {
    compiles.misses.push_back(Object(entry, object.place() + ": misses").text("reason"));
  }
  return compiles;
}

}  // namespace

std::string_view name_of(Status status) {
  for (const auto& [value, name] : kStatuses) {
    if (value == status) return name;
  }
  throw Error(ErrorCode::internal, "no such status");
}

std::optional<Status> parse_status(std::string_view text) {
  for (const auto& [value, name] : kStatuses) {
    if (name == text) return value;
  }
  return std::nullopt;
}

bool is_pass(Status status) {
  return status == Status::pass || status == Status::pass_with_fallback || status == Status::waived ||
         status == Status::rejected_bad_input;
}

bool is_skip(Status status) {
  return status == Status::skip_eligibility || status == Status::skip_policy ||
         status == Status::skip_environment;
}

Record make_record() {
  Record record;
  for (const char* gate : kGates) record.gates[gate] = Gate{};
  return record;
}

std::string to_json_line(const Record& record) {
  OrderedJson gates = OrderedJson::object();
  for (const char* name : kGates) {
    const auto it = record.gates.find(name);
    const Gate gate = it == record.gates.end() ? Gate{} : it->second;
    std::string_view status;
    for (const auto& [value, text] : kGateStatuses) {
      if (value == gate.status) status = text;
    }
    gates[name] =
        json_object({{"status", status}, {"value", number(gate.value)}, {"limit", number(gate.limit)}});
  }
  OrderedJson bad_node = nullptr;
  if (record.first_bad_node) {
    const BadNode& node = *record.first_bad_node;
    bad_node = json_object(
        {{"name", node.name}, {"op", node.op}, {"source", node.source}, {"margin", number(node.margin)}});
  }
  OrderedJson fallbacks = OrderedJson::array();
  for (const Fallback& fallback : record.fallbacks) {
    fallbacks.push_back(json_object({{"op", fallback.op},
                                     {"reason", fallback.reason},
                                     {"count", fallback.count},
                                     {"bytes", fallback.bytes},
                                     {"seconds", number(fallback.seconds)}}));
  }
  OrderedJson residency = nullptr;
  if (record.residency) {
    residency = json_object({{"nodes", number(record.residency->nodes)},
                             {"flops", number(record.residency->flops)},
                             {"bytes", number(record.residency->bytes)},
                             {"metadata", record.residency->metadata},
                             {"host_scalar", record.residency->host_scalar}});
  }
  const Phases& phases = record.phases;
  OrderedJson misses = OrderedJson::array();
  for (const std::string& miss : record.compiles.misses) misses.push_back(json_object({{"reason", miss}}));
  OrderedJson device = nullptr;
  if (record.device) {
    device = json_object({{"cycles", record.device->cycles},
                          {"seconds", number(record.device->seconds)},
                          {"instructions", record.device->instructions},
                          {"peak_bytes", record.device->peak_bytes}});
  }
  OrderedJson json = json_object({
      {"schema", record.schema},
      {"id", record.id},
      {"suite", record.suite},
      {"backend", record.backend},
      {"mode", record.mode},
      {"seed", record.seed},
      {"status", name_of(record.status)},
      {"reason", record.reason},
      {"detail", record.detail},
      {"margin", number(record.margin)},
      {"gates", std::move(gates)},
      {"worst", json_of(record.worst)},
      {"first_bad_node", std::move(bad_node)},
      {"witness", record.witness},
      {"fallbacks", std::move(fallbacks)},
      {"residency", std::move(residency)},
      {"phases", json_object({{"prepare_s", number(phases.prepare_s)},
                              {"compile_cold_s", number(phases.compile_cold_s)},
                              {"compile_disk_warm_s", number(phases.compile_disk_warm_s)},
                              {"compile_memory_warm_s", number(phases.compile_memory_warm_s)},
                              {"first_run_s", number(phases.first_run_s)},
                              {"steady_s",
                               phases.steady_s.empty() ? OrderedJson(nullptr) : numbers(phases.steady_s)}})},
      {"compiles", json_object({{"count", record.compiles.count},
                                {"hits_memory", record.compiles.hits_memory},
                                {"hits_disk", record.compiles.hits_disk},
                                {"misses", std::move(misses)}})},
      {"device", std::move(device)},
      {"weight", record.weight},
      {"same_as", record.same_as},
      {"wall_s", number(record.wall_s)},
      {"repro", record.repro},
  });
  if (record.judge_s) json["judge_s"] = number(record.judge_s);
  if (record.traffic) {
    json["traffic"] = {{"algorithm", record.traffic->algorithm},
                       {"sent", record.traffic->sent},
                       {"received", record.traffic->received},
                       {"formula", record.traffic->formula}};
  }
  return dump(json);
}

Record record_from_json(std::string_view line, const std::string& origin) {
  const OrderedJson json = parse_line(line, origin);
  const Object object(json, origin);
  Record record = make_record();
  if (object.integer("schema") != 1) object.fail("schema", "1, the version that this program reads");
  record.id = object.text("id");
  record.suite = object.text("suite");
  record.backend = object.text("backend");
  record.mode = object.text("mode");
  record.seed = object.unsigned_integer("seed");
  const auto status = parse_status(object.text("status"));
  if (!status) object.fail("status", "a documented status, not \"" + object.text("status") + "\"");
  record.status = *status;
  record.reason = reason_in(object, "reason");
  record.detail = object.text("detail");
  record.margin = object.real_or_null("margin");
  const Object gates = object.object("gates");
  for (const char* gate : kGates) record.gates[gate] = gate_from(gates.object(gate));
  record.worst = worst_from(object);
  if (!object.is_null("first_bad_node")) {
    const Object node = object.object("first_bad_node");
    record.first_bad_node =
        BadNode{node.text("name"), node.text("op"), node.text("source"), node.real_or_null("margin")};
  }
  record.witness = object.text("witness");
  for (const OrderedJson& entry : object.array("fallbacks")) {
    const Object fallback(entry, origin + ": fallbacks");
    record.fallbacks.push_back({fallback.text("op"), reason_in(fallback, "reason"), fallback.integer("count"),
                                fallback.integer("bytes"), fallback.real("seconds")});
  }
  if (!object.is_null("residency")) {
    const Object residency = object.object("residency");
    record.residency = Residency{residency.real("nodes"), residency.real("flops"), residency.real("bytes"),
                                 residency.integer("metadata"), residency.integer("host_scalar")};
  }
  record.phases = phases_from(object.object("phases"));
  record.compiles = compiles_from(object.object("compiles"));
  if (!object.is_null("device")) {
    const Object device = object.object("device");
    record.device = DeviceCounters{device.integer("cycles"), device.integer("instructions"),
                                   device.integer("peak_bytes"), device.real("seconds")};
  }
  if (json.contains("traffic")) {
    const Object traffic = object.object("traffic");
    const auto bytes = [&](const char* member) {
      std::vector<int64_t> out;
      for (const OrderedJson& entry : traffic.array(member)) {
        if (!entry.is_number_integer()) traffic.fail(member, "integers");
        out.push_back(entry.get<int64_t>());
      }
      return out;
    };
    record.traffic =
        RankTraffic{traffic.text("algorithm"), bytes("sent"), bytes("received"), traffic.integer("formula")};
  }
  record.weight = object.integer("weight", 1);
  record.same_as = object.text("same_as");
  record.wall_s = object.real("wall_s");
  if (json.contains("judge_s")) record.judge_s = object.real_or_null("judge_s");
  record.repro = object.text("repro");
  return record;
}

std::string to_json_line(const NodeRecord& record) {
  return dump(OrderedJson{{"case_id", record.case_id},
                          {"backend", record.backend},
                          {"mode", record.mode},
                          {"name", record.name},
                          {"op", record.op},
                          {"source", record.source},
                          {"module_path", record.module_path},
                          {"dtype", record.dtype},
                          {"shape", record.shape},
                          {"status", record.status},
                          {"margin", number(record.margin)},
                          {"worst", json_of(record.worst)},
                          {"fallback_reason", record.fallback_reason}});
}

NodeRecord node_record_from_json(std::string_view line, const std::string& origin) {
  const OrderedJson json = parse_line(line, origin);
  const Object object(json, origin);
  NodeRecord record;
  record.case_id = object.text("case_id");
  record.backend = object.text("backend");
  record.mode = object.text("mode");
  record.name = object.text("name");
  record.op = object.text("op");
  record.source = object.text("source");
  record.module_path = object.text("module_path");
  record.dtype = object.text("dtype");
  record.shape = object.integers("shape", -1);
  record.status = object.text("status");
  record.margin = object.real_or_null("margin");
  record.worst = worst_from(object);
  record.fallback_reason = reason_in(object, "fallback_reason");
  return record;
}

}  // namespace assay
