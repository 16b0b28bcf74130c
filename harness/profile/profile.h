// A profile: the trace of one execution of a graph, what it adds up to, and what limits it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "harness/worker/messages.h"

namespace assay {

struct ProfileNode {
  std::string name, op, source;
  int64_t launches = 0;
  double seconds = 0;         // on the critical path, fallbacks included
  double active_seconds = 0;  // in which the device runs it, others perhaps at the same time
  double flops = 0, hbm_bytes = 0;
  std::string cause;  // that took most of its time
};

// What limits: "compute", "data_movement", "communication", "host".
// What to mend first: "spills", "transposes", "tiny_dmas", "host_fallback", "launches", "load_imbalance",
// "communication", or "none": no single one costs a quarter of the time.
struct Verdict {
  std::string limit, bottleneck;
  double limit_share = 0, bottleneck_share = 0;  // of total_time
  std::string sentence;
};

struct Profile {
  double total_s = 0;
  std::vector<std::pair<std::string, double>> fields;  // Neuron Explorer's names where it has one
  std::map<std::string, double> limits;                // seconds; add up to total_s
  std::map<std::string, double> causes;                // seconds; add up to total_s
  std::map<std::string, double> waiting;               // engines' idle time, "vector for q3"
  std::vector<ProfileNode> nodes;                      // by seconds, longest first
  Verdict verdict;
  std::string trace;  // the file: {"traceEvents": [...], ...}
};

// Puts the host's spans into the backend's events and adds everything up (docs/profile.md says by which
// rules). A backend without the metadata event "summary" gets a trace and no verdict: `limit` is "unknown".
// Throws Error{malformed_file} if the events are not a valid trace.
Profile compose_profile(const ProfileReply& reply, const Graph& graph, const std::string& backend);

// Everything but the trace: what the page and profile.json hold.
std::string profile_json(const Profile& profile);
// For people.
std::string profile_text(const Profile& profile);

}  // namespace assay
