#include "harness/worker/messages.h"

#include <array>
#include <cstring>
#include <utility>

#include "core/io/json_object.h"
#include "harness/worker/json_fields.h"
#include "harness/worker/rank_messages.h"

namespace assay {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::pair<Placement, std::string_view>, 6> kPlacements{{
    {Placement::device, "device"},
    {Placement::device_soft, "device_soft"},
    {Placement::fallback, "fallback"},
    {Placement::metadata, "metadata"},
    {Placement::host_scalar, "host_scalar"},
    {Placement::not_run, "not_run"},
}};

Json json_of(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const Phases& phases) {
  return json_map({{"prepare_s", json_of(phases.prepare_s)},
                   {"compile_cold_s", json_of(phases.compile_cold_s)},
                   {"compile_disk_warm_s", json_of(phases.compile_disk_warm_s)},
                   {"compile_memory_warm_s", json_of(phases.compile_memory_warm_s)},
                   {"first_run_s", json_of(phases.first_run_s)},
                   {"steady_s", phases.steady_s}});
}

Json json_of(const Compiles& compiles) {
  return json_map({{"count", compiles.count},
                   {"hits_memory", compiles.hits_memory},
                   {"hits_disk", compiles.hits_disk},
                   {"misses", compiles.misses}});
}

Phases phases_from(const Fields& fields) {
  Phases phases;
  phases.prepare_s = fields.real_opt("prepare_s");
  phases.compile_cold_s = fields.real_opt("compile_cold_s");
  phases.compile_disk_warm_s = fields.real_opt("compile_disk_warm_s");
  phases.compile_memory_warm_s = fields.real_opt("compile_memory_warm_s");
  phases.first_run_s = fields.real_opt("first_run_s");
  for (const Json& entry : fields.array("steady_s")) {
    if (!entry.is_number()) fields.fail("steady_s", "numbers");
    phases.steady_s.push_back(entry.get<double>());
  }
  return phases;
}

Compiles compiles_from(const Fields& fields) {
  return {fields.integer("count"), fields.integer("hits_memory"), fields.integer("hits_disk"),
          fields.texts("misses")};
}

std::string known_reason(const Fields& fields, const char* member) {
  std::string reason = fields.text(member);
  if (!is_reason(reason)) fields.fail(member, "a documented reason, not \"" + reason + "\"");
  return reason;
}

Frame frame_of(const char* type, std::initializer_list<JsonMember<Json>> members,
               std::vector<Tensor> tensors = {}) {
  Json header = json_map(members);
  header["type"] = type;
  return make_frame(std::move(header), std::move(tensors));
}

Json strings_or_nil(const std::vector<std::optional<std::string>>& texts) {
  Json out = Json::array();
  for (const auto& text : texts) out.push_back(text ? Json(*text) : Json(nullptr));
  return out;
}

void append(std::vector<Tensor>& to, const std::vector<Tensor>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Takes the next `count` tensors of a frame.
class TensorQueue {
 public:
  TensorQueue(std::vector<Tensor> tensors, std::string place)
      : tensors_(std::move(tensors)), place_(std::move(place)) {}
  std::vector<Tensor> take(std::size_t count) {
    if (count > tensors_.size() - next_) throw Error(ErrorCode::malformed_file, place_ + ": too few tensors");
    const auto first = tensors_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += count;
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }
  void finish() const {
    if (next_ != tensors_.size()) throw Error(ErrorCode::malformed_file, place_ + ": too many tensors");
  }

 private:
  std::vector<Tensor> tensors_;
  std::size_t next_ = 0;
  std::string place_;
};

}  // namespace

std::string_view name_of(Placement placement) {
  for (const auto& [value, name] : kPlacements) {
    if (value == placement) return name;
  }
  throw Error(ErrorCode::internal, "no such placement");
}

std::optional<Placement> parse_placement(std::string_view text) {
  for (const auto& [value, name] : kPlacements) {
    if (name == text) return value;
  }
  return std::nullopt;
}

std::string type_of(const Frame& frame, const std::string& origin) {
  return header_of(frame, origin).at("type").get<std::string>();
}

// --- hello, error, progress
// ------------------------------------------------------------------------------------

Frame encode(const HelloRequest& request) {
  return frame_of("hello", {{"protocol", kProtocolVersion},
                            {"target", request.target},
                            {"options", request.options},
                            {"cache_dir", request.cache_dir ? Json(*request.cache_dir) : Json(nullptr)},
                            {"seed", request.seed}});
}

HelloRequest decode_hello_request(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": hello");
  fields.integer("protocol", kProtocolVersion, kProtocolVersion);
  HelloRequest request;
  request.target = fields.text("target");
  for (const auto& [key, value] : fields.at("options").items()) {
    if (!value.is_string()) fields.fail("options", "strings");
    request.options[key] = value.get<std::string>();
  }
  if (!fields.absent("cache_dir")) request.cache_dir = fields.text("cache_dir");
  request.seed = fields.unsigned_integer("seed");
  return request;
}

Frame encode(const BackendInfo& info) {
  return frame_of("hello", {{"protocol", kProtocolVersion},
                            {"name", info.name},
                            {"version", info.version},
                            {"device", info.device},
                            {"contract", info.contract},
                            {"memory_bytes", info.memory_bytes},
                            {"simulated", info.simulated},
                            {"deterministic", info.deterministic},
                            {"compile", info.compile}});
}

BackendInfo decode_backend_info(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": hello");
  fields.integer("protocol", kProtocolVersion, kProtocolVersion);
  BackendInfo info;
  info.name = fields.text("name");
  info.version = fields.text("version");
  info.device = fields.text("device");
  info.contract = fields.text("contract");
  info.memory_bytes = fields.unsigned_integer("memory_bytes");
  info.simulated = fields.boolean("simulated");
  info.deterministic = fields.boolean("deterministic");
  info.compile = fields.boolean("compile");
  return info;
}

Frame encode(const WireError& error) {
  return frame_of("error", {{"code", error.code}, {"reason", error.reason}, {"message", error.message}});
}

WireError decode_error(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": error");
  return {fields.text("code"), fields.text_or("reason", ""), fields.text("message")};
}

// There are several for each case, and they are small: written as make_frame would, without a map in between.
Frame encode_progress(const std::string& phase, int node) {
  constexpr std::size_t kLongest = 31;  // of a MessagePack fixstr
  const std::string_view text = std::string_view(phase).substr(0, kLongest);
  Frame frame;
  std::string& out = frame.header;
  const auto string = [&](std::string_view s) {
    out.push_back(static_cast<char>(0xa0 | s.size()));
    out += s;
  };
  out.push_back(static_cast<char>(0x84));  // a map of four
  string("node");
  out.push_back(static_cast<char>(0xd2));  // int32, big-endian
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(node >> shift & 0xff));
  string("phase");
  string(text);
  string("tensors");
  out.push_back(static_cast<char>(0x90));  // an array of none
  string("type");
  string("progress");
  return frame;
}

// --- run
// -------------------------------------------------------------------------------------------------------

static Frame encode_run(const char* type, const RunRequest& request) {
  std::vector<Tensor> tensors = request.inputs;
  append(tensors, request.chain);
  return frame_of(type,
                  {{"case_id", request.case_id},
                   {"mode", request.mode},
                   {"graph", request.graph_json},
                   {"inputs", request.input_names},
                   {"chain", request.chain_names},
                   {"outputs", strings_or_nil(request.outputs)},
                   {"free_nodes", request.free_nodes},
                   {"repeats", request.repeats},
                   {"fallback", request.fallback},
                   {"fullgraph", request.fullgraph},
                   {"negative", request.negative},
                   {"seed", request.seed},
                   {"mutant", request.mutant},
                   {"ranks", request.ranks ? json_of(*request.ranks) : Json(nullptr)}},
                  std::move(tensors));
}

Frame encode(const RunRequest& request) { return encode_run("run", request); }
Frame encode_load(const RunRequest& request) { return encode_run("load", request); }

RunRequest decode_run_request(Frame frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": run");
  RunRequest request;
  request.case_id = fields.text("case_id");
  request.mode = fields.text("mode");
  if (request.mode != "eager" && request.mode != "compile") fields.fail("mode", "eager or compile");
  request.graph_json = fields.text("graph");
  request.input_names = fields.texts("inputs");
  request.chain_names = fields.texts("chain");
  for (const Json& entry : fields.array("outputs")) {
    if (!entry.is_null() && !entry.is_string()) fields.fail("outputs", "strings or nil");
    request.outputs.push_back(entry.is_null() ? std::nullopt : std::optional(entry.get<std::string>()));
  }
  for (const Json& entry : fields.array("free_nodes")) {
    if (!entry.is_number_unsigned() || entry.get<uint64_t>() > 0x7fffffff)
      fields.fail("free_nodes", "node numbers");
    request.free_nodes.push_back(entry.get<int>());
  }
  request.repeats = static_cast<int>(fields.integer("repeats", 0, 1000000));
  request.fallback = fields.boolean("fallback");
  request.fullgraph = fields.boolean("fullgraph");
  request.negative = fields.boolean("negative");
  request.seed = fields.unsigned_integer("seed");
  request.mutant = fields.text_or("mutant", "");
  if (!fields.absent("ranks")) {
    request.ranks = std::make_shared<const RankPrograms>(rank_programs_from(fields.object("ranks")));
  }
  TensorQueue tensors(std::move(frame.tensors), origin + ": run");
  request.inputs = tensors.take(request.input_names.size());
  request.chain = tensors.take(request.chain_names.size());
  tensors.finish();
  return request;
}

Frame encode_result(const char* type, const RunResult& result) {
  std::vector<Tensor> tensors;
  Json nodes = Json::array();
  for (const NodeOutcome& node : result.nodes) {
    nodes.push_back(json_map({{"placement", name_of(node.placement)},
                              {"reason", node.reason},
                              {"local", node.local.size()},
                              {"free", node.free.size()}}));
    append(tensors, node.local);
    append(tensors, node.free);
  }
  Json outputs = Json::array();
  for (const Tensor& output : result.outputs) {
    outputs.push_back(output.defined());
    if (output.defined()) tensors.push_back(output);
  }
  Json fallbacks = Json::array();
  for (const Fallback& fallback : result.fallbacks) {
    fallbacks.push_back(json_map({{"op", fallback.op},
                                  {"reason", fallback.reason},
                                  {"count", fallback.count},
                                  {"bytes", fallback.bytes},
                                  {"seconds", fallback.seconds}}));
  }
  Json residency = nullptr;
  if (result.residency) {
    residency = json_map({{"nodes", result.residency->nodes},
                          {"flops", result.residency->flops},
                          {"bytes", result.residency->bytes},
                          {"metadata", result.residency->metadata},
                          {"host_scalar", result.residency->host_scalar}});
  }
  Json device = nullptr;
  if (result.device) {
    device = json_map({{"cycles", result.device->cycles},
                       {"seconds", result.device->seconds},
                       {"instructions", result.device->instructions},
                       {"peak_bytes", result.device->peak_bytes}});
  }
  return frame_of(type,
                  {{"failure", result.failure ? Json(name_of(*result.failure)) : Json(nullptr)},
                   {"reason", result.reason},
                   {"detail", result.detail},
                   {"failed_node", result.failed_node},
                   {"nodes", std::move(nodes)},
                   {"outputs", std::move(outputs)},
                   {"repeatable", result.repeatable ? Json(*result.repeatable) : Json(nullptr)},
                   {"guard_violation", result.guard_violation},
                   {"mutant_changed", result.mutant_changed ? Json(*result.mutant_changed) : Json(nullptr)},
                   {"fallbacks", std::move(fallbacks)},
                   {"residency", std::move(residency)},
                   {"phases", json_of(result.phases)},
                   {"compiles", json_of(result.compiles)},
                   {"device", std::move(device)},
                   {"rank_errors", result.rank_errors},
                   {"traffic", result.traffic ? json_of(*result.traffic) : Json(nullptr)}},
                  std::move(tensors));
}

Frame encode(const RunResult& result) { return encode_result("result", result); }

RunResult decode_run_result(Frame frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": result");
  TensorQueue tensors(std::move(frame.tensors), origin + ": result");
  RunResult result;
  if (!fields.absent("failure")) {
    result.failure = parse_status(fields.text("failure"));
    if (!result.failure || *result.failure == Status::waived ||
        (is_pass(*result.failure) && *result.failure != Status::rejected_bad_input)) {
      fields.fail("failure", "the status of a failure");
    }
  }
  result.reason = known_reason(fields, "reason");
  result.detail = fields.text("detail");
  result.failed_node = fields.text_or("failed_node", "");
  for (const Json& entry : fields.array("nodes")) {
    const Fields node(entry, fields.place() + ": nodes");
    NodeOutcome outcome;
    const auto placement = parse_placement(node.text("placement"));
    if (!placement) node.fail("placement", "a documented placement");
    outcome.placement = *placement;
    outcome.reason = known_reason(node, "reason");
    outcome.local = tensors.take(static_cast<std::size_t>(node.integer("local")));
    outcome.free = tensors.take(static_cast<std::size_t>(node.integer("free")));
    result.nodes.push_back(std::move(outcome));
  }
  for (const Json& entry : fields.array("outputs")) {
    if (!entry.is_boolean()) fields.fail("outputs", "booleans");
    result.outputs.push_back(entry.get<bool>() ? tensors.take(1).front() : Tensor());
  }
  tensors.finish();
  if (!fields.absent("repeatable")) result.repeatable = fields.boolean("repeatable");
  result.guard_violation = fields.text_or("guard_violation", "");
  for (const Json& entry : fields.array("fallbacks")) {
    const Fields fallback(entry, fields.place() + ": fallbacks");
    result.fallbacks.push_back({fallback.text("op"), known_reason(fallback, "reason"),
                                fallback.integer("count"), fallback.integer("bytes"),
                                fallback.real("seconds")});
  }
  if (!fields.absent("residency")) {
    const Fields residency = fields.object("residency");
    result.residency = Residency{residency.real("nodes"), residency.real("flops"), residency.real("bytes"),
                                 residency.integer("metadata"), residency.integer("host_scalar")};
  }
  if (!fields.absent("mutant_changed")) result.mutant_changed = fields.boolean("mutant_changed");
  result.phases = phases_from(fields.object("phases"));
  result.compiles = compiles_from(fields.object("compiles"));
  if (!fields.absent("device")) {
    const Fields device = fields.object("device");
    result.device = DeviceCounters{device.integer("cycles"), device.integer("instructions"),
                                   device.integer("peak_bytes"), device.real("seconds")};
  }
  if (!fields.absent("rank_errors")) result.rank_errors = fields.texts("rank_errors");
  if (!fields.absent("traffic")) result.traffic = traffic_from(fields.object("traffic"));
  return result;
}

// --- supports, measure
// -----------------------------------------------------------------------------------------

Frame encode_supports(const std::vector<std::string>& node_graphs) {
  return frame_of("supports", {{"nodes", node_graphs}});
}

std::vector<std::string> decode_supports_request(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  return Fields(json, origin + ": supports").texts("nodes");
}

Frame encode(const std::vector<NodeSupport>& nodes) {
  Json list = Json::array();
  for (const NodeSupport& node : nodes) {
    list.push_back(json_map({{"supported", node.supported},
                             {"native", node.native},
                             {"reason", node.reason},
                             {"message", node.message}}));
  }
  return frame_of("supports", {{"nodes", std::move(list)}});
}

std::vector<NodeSupport> decode_supports(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  std::vector<NodeSupport> nodes;
  for (const Json& entry : Fields(json, origin + ": supports").array("nodes")) {
    const Fields node(entry, origin + ": supports");
    nodes.push_back({node.boolean("supported"), static_cast<int>(node.integer("native", 0, 2)),
                     known_reason(node, "reason"), node.text("message")});
  }
  return nodes;
}

Frame encode(const LoadReply& reply) {
  return frame_of(
      "loaded",
      {{"session", reply.session}, {"phases", json_of(reply.phases)}, {"compiles", json_of(reply.compiles)}});
}

LoadReply decode_load(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": loaded");
  return {fields.integer("session"), phases_from(fields.object("phases")),
          compiles_from(fields.object("compiles"))};
}

Frame encode_measure(int64_t session, int iterations) {
  return frame_of("measure", {{"session", session}, {"iterations", iterations}});
}

void decode_measure_request(const Frame& frame, const std::string& origin, int64_t& session,
                            int& iterations) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": measure");
  session = fields.integer("session");
  iterations = static_cast<int>(fields.integer("iterations", 1, 1000000000));
}

Frame encode(const MeasureReply& reply) {
  return frame_of("measured", {{"seconds", reply.seconds},
                               {"device_seconds", reply.device_seconds},
                               {"cycles", reply.cycles},
                               {"fallbacks", reply.fallbacks}});
}

MeasureReply decode_measure(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": measured");
  return {fields.real("seconds"), fields.real("device_seconds"), fields.integer("cycles"),
          fields.integer("fallbacks")};
}

Frame encode_profile(int64_t session) { return frame_of("profile", {{"session", session}}); }

Frame encode(const ProfileReply& reply) {
  Json host = Json::array();
  for (const HostSpan& span : reply.host) {
    host.push_back(json_map({{"name", span.name},
                             {"op", span.op},
                             {"reason", span.reason},
                             {"at", span.at_s},
                             {"seconds", span.seconds},
                             {"bytes", span.bytes}}));
  }
  Tensor events(DType::u8, {static_cast<int64_t>(reply.events.size())});
  if (!reply.events.empty()) std::memcpy(events.mutable_data(), reply.events.data(), reply.events.size());
  return frame_of("profiled", {{"host", std::move(host)}}, {std::move(events)});
}

ProfileReply decode_profile(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  const Fields fields(json, origin + ": profiled");
  ProfileReply reply;
  for (const Json& entry : fields.array("host")) {
    const Fields span(entry, fields.place() + ": host");
    reply.host.push_back({span.text("name"), span.text("op"), known_reason(span, "reason"), span.real("at"),
                          span.real("seconds"), span.integer("bytes")});
  }
  if (frame.tensors.size() != 1 || frame.tensors[0].dtype() != DType::u8) {
    throw Error(ErrorCode::malformed_file, fields.place() + ": expected the events as one tensor of bytes");
  }
  reply.events.assign(reinterpret_cast<const char*>(frame.tensors[0].data()), frame.tensors[0].bytes());
  return reply;
}

Frame encode_unload(int64_t session) { return frame_of("unload", {{"session", session}}); }
Frame encode_unloaded() { return frame_of("unloaded", {}); }

int64_t decode_session_request(const Frame& frame, const std::string& origin) {
  const Json& json = header_of(frame, origin);
  return Fields(json, origin + ": session").integer("session");
}

}  // namespace assay
