// The messages of docs/worker_protocol.md as structs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/distributed/join.h"
#include "core/graph/graph.h"
#include "harness/case/run_result.h"
#include "harness/worker/frame.h"

namespace assay {

inline constexpr int kProtocolVersion = 1;

struct HelloRequest {
  std::string target;
  std::map<std::string, std::string> options;
  std::optional<std::string> cache_dir;
  uint64_t seed = 0;
};

struct BackendInfo {
  std::string name, version, device;
  std::string contract;  // JSON text; "": the orchestrator has it as data
  uint64_t memory_bytes = 0;
  bool simulated = false;
  bool deterministic = false;
  bool compile = false;
};

struct WireError {
  std::string code, reason, message;
};

struct RunRequest {
  std::string case_id, mode, graph_json;
  std::vector<std::string> input_names;
  std::vector<Tensor> inputs;
  std::vector<std::string> chain_names;
  std::vector<Tensor> chain;
  std::vector<std::optional<std::string>> outputs;
  std::vector<int> free_nodes;
  int repeats = 1;
  bool fallback = true;
  bool fullgraph = false;
  bool negative = false;
  uint64_t seed = 0;
  std::string mutant;
  std::shared_ptr<const RankPrograms> ranks;  // of distributed cases; null otherwise
};

struct NodeSupport {
  bool supported = false;
  int native = 0;  // 1 engines, 2 documented software routine
  std::string reason, message;
};

struct LoadReply {
  int64_t session = 0;
  Phases phases;
  Compiles compiles;
};

struct MeasureReply {
  double seconds = 0;
  double device_seconds = 0;
  int64_t cycles = 0;
  int64_t fallbacks = 0;
};

// What the host did in the place of the device while a profile was recorded.
struct HostSpan {
  std::string name;    // of the node
  std::string op;      // "aten::nonzero.default"
  std::string reason;  // of the fallback
  double at_s = 0;     // of the device's time since the recording began; that does not go on meanwhile
  double seconds = 0;  // wall
  int64_t bytes = 0;   // copied for it
};

struct ProfileReply {
  std::string events;  // Chrome trace events, a JSON array as the backend gave it
  std::vector<HostSpan> host;
};

// Encoding. Names of graph inputs and outputs are taken from the graph.
Frame encode(const HelloRequest& request);
Frame encode(const BackendInfo& info);
Frame encode(const WireError& error);
Frame encode(const RunRequest& request);
Frame encode(const RunResult& result);
Frame encode_result(const char* type, const RunResult& result);  // the same under another type
Frame encode_supports(const std::vector<std::string>& node_graphs);
Frame encode(const std::vector<NodeSupport>& nodes);
Frame encode_load(const RunRequest& request);
Frame encode(const LoadReply& reply);
Frame encode_measure(int64_t session, int iterations);
Frame encode(const MeasureReply& reply);
Frame encode_profile(int64_t session);
Frame encode(const ProfileReply& reply);
Frame encode_unload(int64_t session);
Frame encode_unloaded();
Frame encode_progress(const std::string& phase, int node);

std::string type_of(const Frame& frame, const std::string& origin);

// Decoding throws Error{malformed_file} naming origin and member.
HelloRequest decode_hello_request(const Frame& frame, const std::string& origin);
BackendInfo decode_backend_info(const Frame& frame, const std::string& origin);
WireError decode_error(const Frame& frame, const std::string& origin);
RunRequest decode_run_request(Frame frame, const std::string& origin);  // "run" and "load"
RunResult decode_run_result(Frame frame, const std::string& origin);
std::vector<std::string> decode_supports_request(const Frame& frame, const std::string& origin);
std::vector<NodeSupport> decode_supports(const Frame& frame, const std::string& origin);
LoadReply decode_load(const Frame& frame, const std::string& origin);
MeasureReply decode_measure(const Frame& frame, const std::string& origin);
void decode_measure_request(const Frame& frame, const std::string& origin, int64_t& session, int& iterations);
ProfileReply decode_profile(const Frame& frame, const std::string& origin);
// "unload" and "profile".
int64_t decode_session_request(const Frame& frame, const std::string& origin);

std::string_view name_of(Placement placement);
std::optional<Placement> parse_placement(std::string_view text);

}  // namespace assay
