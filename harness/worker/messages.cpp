#include "harness/worker/messages.h"

#include <array>
#include <cstring>
#include <utility>

#include "harness/worker/message_fields.h"
#include "harness/worker/rank_messages.h"

namespace assay {
namespace {

constexpr std::array<std::pair<Placement, std::string_view>, 6> kPlacements{{
    {Placement::device, "device"},
    {Placement::device_soft, "device_soft"},
    {Placement::fallback, "fallback"},
    {Placement::metadata, "metadata"},
    {Placement::host_scalar, "host_scalar"},
    {Placement::not_run, "not_run"},
}};

PackedMap packed(const Phases& phases) {
  return {{"prepare_s", phases.prepare_s},
          {"compile_cold_s", phases.compile_cold_s},
          {"compile_disk_warm_s", phases.compile_disk_warm_s},
          {"compile_memory_warm_s", phases.compile_memory_warm_s},
          {"first_run_s", phases.first_run_s},
          {"steady_s", phases.steady_s}};
}

PackedMap packed(const Compiles& compiles) {
  return {{"count", compiles.count},
          {"hits_memory", compiles.hits_memory},
          {"hits_disk", compiles.hits_disk},
          {"misses", compiles.misses}};
}

Phases phases_from(const Fields& fields) {
  Phases phases;
  phases.prepare_s = fields.real_opt("prepare_s");
  phases.compile_cold_s = fields.real_opt("compile_cold_s");
  phases.compile_disk_warm_s = fields.real_opt("compile_disk_warm_s");
  phases.compile_memory_warm_s = fields.real_opt("compile_memory_warm_s");
  phases.first_run_s = fields.real_opt("first_run_s");
  for (const MessageValue entry : fields.array("steady_s")) {
    if (!entry.is_number()) fields.fail("steady_s", "numbers");
    phases.steady_s.push_back(entry.real());
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

Frame frame_of(const char* type, PackedMap header, std::vector<Tensor> tensors = {}) {
  header.set("type", type);
  return make_frame(std::move(header), std::move(tensors));
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
  return std::string(header_of(frame, origin).find("type")->text());
}

// --- hello, error, progress
// ------------------------------------------------------------------------------------

Frame encode(const HelloRequest& request) {
  return frame_of("hello", {{"protocol", kProtocolVersion},
                            {"target", request.target},
                            {"options", request.options},
                            {"cache_dir", request.cache_dir},
                            {"seed", request.seed}});
}

HelloRequest decode_hello_request(const Frame& frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": hello");
  fields.integer("protocol", kProtocolVersion, kProtocolVersion);
  HelloRequest request;
  request.target = fields.text("target");
  request.options = fields.text_map("options");
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
  const Fields fields(header_of(frame, origin), origin + ": hello");
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
  const Fields fields(header_of(frame, origin), origin + ": error");
  return {fields.text("code"), fields.text_or("reason", ""), fields.text("message")};
}

Frame encode_progress(const std::string& phase, int node) {
  return frame_of("progress", {{"phase", phase}, {"node", node}});
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
                   {"outputs", request.outputs},
                   {"free_nodes", request.free_nodes},
                   {"repeats", request.repeats},
                   {"fallback", request.fallback},
                   {"fullgraph", request.fullgraph},
                   {"negative", request.negative},
                   {"seed", request.seed},
                   {"mutant", request.mutant},
                   {"ranks", request.ranks ? PackedValue(packed(*request.ranks)) : nullptr}},
                  std::move(tensors));
}

Frame encode(const RunRequest& request) { return encode_run("run", request); }
Frame encode_load(const RunRequest& request) { return encode_run("load", request); }

RunRequest decode_run_request(Frame frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": run");
  RunRequest request;
  request.case_id = fields.text("case_id");
  request.mode = fields.text("mode");
  if (request.mode != "eager" && request.mode != "compile") fields.fail("mode", "eager or compile");
  request.graph_json = fields.text("graph");
  request.input_names = fields.texts("inputs");
  request.chain_names = fields.texts("chain");
  for (const MessageValue entry : fields.array("outputs")) {
    if (!entry.is_null() && !entry.is_string()) fields.fail("outputs", "strings or nil");
    request.outputs.push_back(entry.is_null() ? std::nullopt : std::optional(std::string(entry.text())));
  }
  for (const MessageValue entry : fields.array("free_nodes")) {
    if (!entry.is_number_unsigned() || entry.natural() > 0x7fffffff)
      fields.fail("free_nodes", "node numbers");
    request.free_nodes.push_back(static_cast<int>(entry.natural()));
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
  PackedArray nodes;
  for (const NodeOutcome& node : result.nodes) {
    nodes.push_back(PackedMap{{"placement", name_of(node.placement)},
                              {"reason", node.reason},
                              {"local", node.local.size()},
                              {"free", node.free.size()}});
    append(tensors, node.local);
    append(tensors, node.free);
  }
  PackedArray outputs;
  for (const Tensor& output : result.outputs) {
    outputs.push_back(output.defined());
    if (output.defined()) tensors.push_back(output);
  }
  PackedArray fallbacks;
  for (const Fallback& fallback : result.fallbacks) {
    fallbacks.push_back(PackedMap{{"op", fallback.op},
                                  {"reason", fallback.reason},
                                  {"count", fallback.count},
                                  {"bytes", fallback.bytes},
                                  {"seconds", fallback.seconds}});
  }
  PackedValue residency = nullptr;
  if (result.residency) {
    residency = PackedMap{{"nodes", result.residency->nodes},
                          {"flops", result.residency->flops},
                          {"bytes", result.residency->bytes},
                          {"metadata", result.residency->metadata},
                          {"host_scalar", result.residency->host_scalar}};
  }
  PackedValue device = nullptr;
  if (result.device) {
    device = PackedMap{{"cycles", result.device->cycles},
                       {"seconds", result.device->seconds},
                       {"instructions", result.device->instructions},
                       {"peak_bytes", result.device->peak_bytes}};
  }
  return frame_of(type,
                  {{"failure", result.failure ? PackedValue(name_of(*result.failure)) : nullptr},
                   {"reason", result.reason},
                   {"detail", result.detail},
                   {"failed_node", result.failed_node},
                   {"nodes", nodes},
                   {"outputs", outputs},
                   {"repeatable", result.repeatable},
                   {"guard_violation", result.guard_violation},
                   {"mutant_changed", result.mutant_changed},
                   {"fallbacks", fallbacks},
                   {"residency", residency},
                   {"phases", packed(result.phases)},
                   {"compiles", packed(result.compiles)},
                   {"device", device},
                   {"rank_errors", result.rank_errors},
                   {"traffic", result.traffic ? PackedValue(packed(*result.traffic)) : nullptr}},
                  std::move(tensors));
}

Frame encode(const RunResult& result) { return encode_result("result", result); }

RunResult decode_run_result(Frame frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": result");
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
  for (const MessageValue entry : fields.array("nodes")) {
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
  for (const MessageValue entry : fields.array("outputs")) {
    if (!entry.is_boolean()) fields.fail("outputs", "booleans");
    result.outputs.push_back(entry.boolean() ? tensors.take(1).front() : Tensor());
  }
  tensors.finish();
  if (!fields.absent("repeatable")) result.repeatable = fields.boolean("repeatable");
  result.guard_violation = fields.text_or("guard_violation", "");
  for (const MessageValue entry : fields.array("fallbacks")) {
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
  return Fields(header_of(frame, origin), origin + ": supports").texts("nodes");
}

Frame encode(const std::vector<NodeSupport>& nodes) {
  PackedArray list;
  for (const NodeSupport& node : nodes) {
    list.push_back(PackedMap{{"supported", node.supported},
                             {"native", node.native},
                             {"reason", node.reason},
                             {"message", node.message}});
  }
  return frame_of("supports", {{"nodes", list}});
}

std::vector<NodeSupport> decode_supports(const Frame& frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": supports");
  std::vector<NodeSupport> nodes;
  for (const MessageValue entry : fields.array("nodes")) {
    const Fields node(entry, origin + ": supports");
    nodes.push_back({node.boolean("supported"), static_cast<int>(node.integer("native", 0, 2)),
                     known_reason(node, "reason"), node.text("message")});
  }
  return nodes;
}

Frame encode(const LoadReply& reply) {
  return frame_of(
      "loaded",
      {{"session", reply.session}, {"phases", packed(reply.phases)}, {"compiles", packed(reply.compiles)}});
}

LoadReply decode_load(const Frame& frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": loaded");
  return {fields.integer("session"), phases_from(fields.object("phases")),
          compiles_from(fields.object("compiles"))};
}

Frame encode_measure(int64_t session, int iterations) {
  return frame_of("measure", {{"session", session}, {"iterations", iterations}});
}

void decode_measure_request(const Frame& frame, const std::string& origin, int64_t& session,
                            int& iterations) {
  const Fields fields(header_of(frame, origin), origin + ": measure");
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
  const Fields fields(header_of(frame, origin), origin + ": measured");
  return {fields.real("seconds"), fields.real("device_seconds"), fields.integer("cycles"),
          fields.integer("fallbacks")};
}

Frame encode_profile(int64_t session) { return frame_of("profile", {{"session", session}}); }

Frame encode(const ProfileReply& reply) {
  PackedArray host;
  for (const HostSpan& span : reply.host) {
    host.push_back(PackedMap{{"name", span.name},
                             {"op", span.op},
                             {"reason", span.reason},
                             {"at", span.at_s},
                             {"seconds", span.seconds},
                             {"bytes", span.bytes}});
  }
  Tensor events(DType::u8, {static_cast<int64_t>(reply.events.size())});
  if (!reply.events.empty()) std::memcpy(events.mutable_data(), reply.events.data(), reply.events.size());
  return frame_of("profiled", {{"host", host}}, {std::move(events)});
}

ProfileReply decode_profile(const Frame& frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": profiled");
  ProfileReply reply;
  for (const MessageValue entry : fields.array("host")) {
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
  return Fields(header_of(frame, origin), origin + ": session").integer("session");
}

}  // namespace assay
