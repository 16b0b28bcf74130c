#include "harness/profile/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "harness/profile/trace_check.h"
#include "harness/record/duration.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr double kWorthNaming = 0.25;  // of the time
// The host's track, where the backend has it, too (docs/profile.md).
constexpr int kHostProcess = 1, kHostThread = 1;

const std::map<std::string, std::string, std::less<>>& advice() {
  static const std::map<std::string, std::string, std::less<>> all{
      {"spills", "intermediates go out to HBM and come back: fuse, or make tiles that fit into SBUF"},
      {"transposes", "data is turned round before it is used: keep operands in the layout of the products"},
      {"tiny_dmas",
       "DMA moves pieces too small for its fixed costs: make the innermost dimension contiguous, "
       "512 bytes and more"},
      {"host_fallback",
       "the host runs operators that the device does not: replace them, or see `assay list ops`"},
      {"launches", "the host's launches cost more than the work: compile the graph, or enlarge the batch"},
      {"load_imbalance",
       "few of the 128 partitions or DMA engines have all the work: put a longer dimension on "
       "the partitions"},
      {"communication", "collectives are not hidden behind work: overlap them, or send less"},
  };
  return all;
}

double number(const json& object, const std::string& name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number() ? it->get<double>() : 0.0;
}

// The backend's totals; an empty object if it gives none.
json take_summary(json& events) {
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (events[k]["ph"] != "M" || events[k]["name"] != "summary") continue;
    json out = std::move(events[k]["args"]);
    events.erase(k);
    return out;
  }
  return json::object();
}

json host_event(const HostSpan& span, double ts) {
  return {{"ph", "X"},
          {"pid", kHostProcess},
          {"tid", kHostThread},
          {"name", "fallback " + span.op},
          {"cat", "fallback"},
          {"ts", ts},
          {"dur", span.seconds * 1e6},
          {"args", {{"node", span.name}, {"reason", span.reason}, {"bytes", span.bytes}}}};
}

// The device stands still while the host works: what comes later moves on.
void insert_host(json& events, std::vector<HostSpan> spans) {
  if (spans.empty()) return;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const HostSpan& a, const HostSpan& b) { return a.at_s < b.at_s; });
  constexpr double kSame = 1e-5;     // microseconds
  std::vector<double> at, until{0};  // of each span; seconds of all spans up to there
  for (const HostSpan& span : spans) {
    at.push_back(span.at_s * 1e6);
    until.push_back(until.back() + span.seconds * 1e6);
  }
  for (json& event : events) {
    if (!event.contains("ts")) continue;
    const double ts = event["ts"].get<double>();
    const auto passed = std::upper_bound(at.begin(), at.end(), ts + kSame) - at.begin();
    if (passed > 0) event["ts"] = ts + until[static_cast<std::size_t>(passed)];
  }
  bool named = false;
  for (const json& event : events) {
    named = named || (event["ph"] == "M" && event["name"] == "thread_name" && event["pid"] == kHostProcess &&
                      event["tid"] == kHostThread);
  }
  if (!named) {
    events.push_back({{"ph", "M"},
                      {"pid", kHostProcess},
                      {"tid", kHostThread},
                      {"name", "thread_name"},
                      {"args", {{"name", "host thread"}}}});
  }
  for (std::size_t k = 0; k < spans.size(); ++k) events.push_back(host_event(spans[k], at[k] + until[k]));
}

void read_nodes(const json& summary, const Graph& graph, const std::vector<HostSpan>& host,
                Profile& profile) {
  std::map<std::string, ProfileNode> nodes;
  if (const auto list = summary.find("nodes"); list != summary.end() && list->is_array()) {
    for (const json& entry : *list) {
      if (!entry.is_object()) continue;
      const std::string name = entry.value("node", "");
      ProfileNode& node = nodes[name];
      node.name = name;
      node.source = entry.value("source", "");
      node.launches += static_cast<int64_t>(number(entry, "launches"));
      node.seconds += number(entry, "seconds");
      node.active_seconds += number(entry, "active_seconds");
      node.flops += number(entry, "flops");
      node.hbm_bytes += number(entry, "hbm_bytes");
      double most = 0;
      if (const auto causes = entry.find("causes"); causes != entry.end() && causes->is_object()) {
        for (const auto& [cause, seconds] : causes->items()) {
          if (!seconds.is_number() || seconds.get<double>() <= most) continue;
          most = seconds.get<double>();
          node.cause = cause;
        }
      }
    }
  }
  std::map<std::string, double> on_host;
  for (const HostSpan& span : host) {
    ProfileNode& node = nodes[span.name];
    node.name = span.name;
    node.seconds += span.seconds;
    on_host[span.name] += span.seconds;
    if (on_host[span.name] * 2 > node.seconds) node.cause = "host_fallback";
  }
  std::map<std::string_view, const Node*> by_name;
  for (const Node& node : graph.nodes) by_name.emplace(node.name, &node);
  for (auto& [name, node] : nodes) {
    if (const auto it = by_name.find(name); it != by_name.end()) {
      node.op = it->second->op;
      if (node.source.empty()) node.source = it->second->source.location;
    }
    profile.nodes.push_back(std::move(node));
  }
  std::stable_sort(profile.nodes.begin(), profile.nodes.end(),
                   [](const ProfileNode& a, const ProfileNode& b) { return a.seconds > b.seconds; });
}

// Every second of total_time goes to one limit and to one cause.
void add_up(const json& summary, double fallback_s, Profile& profile) {
  const json fields = summary.value("fields", json::object());
  const json path = summary.value("critical_path", json::object());
  const double launch = number(fields, "host_launch_time") + number(fields, "kernel_floor_time");
  const double copies = number(fields, "host_copy_time");
  const double cc = number(fields, "cc_op_active_time") + number(fields, "cc_op_wait_time");
  auto& limits = profile.limits;
  limits = {
      {"compute", 0}, {"data_movement", 0}, {"communication", cc}, {"host", launch + copies + fallback_s}};
  for (const auto& [part, seconds] : path.items()) {
    if (part == "floor" || !seconds.is_number()) continue;
    const bool dma = part.starts_with("dma_") || part == "sync";
    limits[dma ? "data_movement" : "compute"] += seconds.get<double>();
  }
  auto& causes = profile.causes;
  if (const auto given = summary.find("causes"); given != summary.end() && given->is_object()) {
    for (const auto& [cause, seconds] : given->items()) {
      if (seconds.is_number()) causes[cause] += seconds.get<double>();
    }
  }
  causes["launches"] = launch;
  causes["host_fallback"] = fallback_s + copies;
  causes["communication"] = cc;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

Verdict judge(const Profile& profile) {
  Verdict v{"unknown", "none", 0, 0, ""};
  if (profile.total_s <= 0) return v;
  const auto most = [](const auto& map) {
    return std::max_element(map.begin(), map.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
  };
  const auto limit = most(profile.limits);
  v.limit = limit->first;
  v.limit_share = limit->second / profile.total_s;
  for (const auto& [cause, seconds] : profile.causes) {
    const double share = seconds / profile.total_s;
    if (advice().count(cause) == 0 || share < kWorthNaming || share <= v.bottleneck_share) continue;
    v.bottleneck = cause;
    v.bottleneck_share = share;
  }
  std::string name = v.limit;
  std::replace(name.begin(), name.end(), '_', ' ');
  v.sentence = fmt::format("limited by {} ({} of the time)", name, percent(v.limit_share));
  if (v.bottleneck != "none") {
    v.sentence += fmt::format("; most to gain: {} ({}): {}", v.bottleneck, percent(v.bottleneck_share),
                              advice().at(v.bottleneck));
  }
  return v;
}

json fields_json(const Profile& profile) {
  json out = json::object();
  for (const auto& [name, value] : profile.fields) out[name] = value;
  return out;
}

}  // namespace

Profile compose_profile(const ProfileReply& reply, const Graph& graph, const std::string& backend) {
  json events = parse_trace_events(reply.events, backend);
  const json summary = take_summary(events);
  insert_host(events, reply.host);
  if (const std::string fault = find_trace_fault(events); !fault.empty()) {
    throw Error(ErrorCode::malformed_file, backend + ": trace: " + fault);
  }
  Profile profile;
  double fallback_s = 0;
  for (const HostSpan& span : reply.host) fallback_s += span.seconds;
  read_nodes(summary, graph, reply.host, profile);
  const json given = summary.value("fields", json::object());
  // Percentages are of the time with the host's; the backend knows only its own.
  const double device_s = number(given, "total_time");
  profile.total_s = device_s + fallback_s;
  const double stretch = profile.total_s > 0 ? device_s / profile.total_s : 1;
  for (const auto& [name, value] : given.items()) {
    if (!value.is_number()) continue;
    const bool of_time = name.ends_with("_active_time_percent") || name.ends_with("_estimated_percent");
    profile.fields.emplace_back(
        name, name == "total_time" ? profile.total_s : value.get<double>() * (of_time ? stretch : 1));
  }
  profile.fields.emplace_back("host_fallback_time", fallback_s);
  profile.fields.emplace_back("host_fallback_count", static_cast<double>(reply.host.size()));
  if (!given.empty()) {
    add_up(summary, fallback_s, profile);
    if (const auto waiting = summary.find("waiting"); waiting != summary.end() && waiting->is_object()) {
      for (const auto& [who, seconds] : waiting->items()) {
        if (seconds.is_number()) profile.waiting[who] = seconds.get<double>();
      }
    }
    profile.verdict = judge(profile);
  } else {
    profile.verdict = {"unknown", "none", 0, 0, backend + " gives a trace without a summary"};
  }
  const json metadata = {{"backend", backend},
                         {"graph", graph.id},
                         {"time", "simulated, fallbacks as measured on the host"},
                         {"summary", fields_json(profile)},
                         {"limit", profile.verdict.limit},
                         {"bottleneck", profile.verdict.bottleneck}};
  profile.trace = "{\"displayTimeUnit\":\"ns\",\"otherData\":" +
                  metadata.dump(-1, ' ', false, json::error_handler_t::replace) + ",\"traceEvents\":[\n";
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (k != 0) profile.trace += ",\n";
    profile.trace += events[k].dump(-1, ' ', false, json::error_handler_t::replace);
  }
  profile.trace += "\n]}\n";
  return profile;
}

std::string profile_json(const Profile& profile) {
  json nodes = json::array();
  for (const ProfileNode& node : profile.nodes) {
    nodes.push_back({{"node", node.name},
                     {"op", node.op},
                     {"source", node.source},
                     {"launches", node.launches},
                     {"seconds", node.seconds},
                     {"active_seconds", node.active_seconds},
                     {"flops", node.flops},
                     {"hbm_bytes", node.hbm_bytes},
                     {"cause", node.cause}});
  }
  const json out = {{"schema", 1},
                    {"total_time", profile.total_s},
                    {"limit", profile.verdict.limit},
                    {"limit_share", profile.verdict.limit_share},
                    {"bottleneck", profile.verdict.bottleneck},
                    {"bottleneck_share", profile.verdict.bottleneck_share},
                    {"sentence", profile.verdict.sentence},
                    {"limits", profile.limits},
                    {"causes", profile.causes},
                    {"waiting", profile.waiting},
                    {"summary", fields_json(profile)},
                    {"nodes", std::move(nodes)}};
  return out.dump(1, ' ', false, json::error_handler_t::replace);
}

std::string profile_text(const Profile& profile) {
  std::string out = fmt::format("{}: {}\n\n", duration(profile.total_s), profile.verdict.sentence);
  const auto table = [&](const char* title, const std::map<std::string, double>& seconds) {
    std::vector<std::pair<double, std::string>> rows;
    for (const auto& [name, value] : seconds) {
      if (value > 0) rows.emplace_back(value, name);
    }
    std::sort(rows.rbegin(), rows.rend());
    if (!rows.empty()) out += fmt::format("{}\n", title);
    for (const auto& [value, name] : rows) {
      out += fmt::format("  {:<18} {:>10}  {:5.1f} %\n", name, duration(value),
                         100 * value / std::max(profile.total_s, 1e-300));
    }
  };
  table("limits", profile.limits);
  table("causes", profile.causes);
  out += "summary\n";
  for (const auto& [name, value] : profile.fields) out += fmt::format("  {:<38} {:.6g}\n", name, value);
  constexpr std::size_t kTop = 10;
  if (!profile.nodes.empty()) out += "top costs\n";
  for (std::size_t k = 0; k < std::min(kTop, profile.nodes.size()); ++k) {
    const ProfileNode& node = profile.nodes[k];
    out += fmt::format("  {:>10}  {:<28} {:<34} {:<14} {}\n", duration(node.seconds),
                       node.name.empty() ? "(start)" : node.name, node.op, node.cause, node.source);
  }
  return out;
}

}  // namespace assay
