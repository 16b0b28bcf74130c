#include "harness/profile/trace_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

using nlohmann::json;
using Track = std::pair<int64_t, int64_t>;

constexpr int kMaxDepth = 64;
// Files hold microseconds with six decimals; both ends of a slice are rounded.
constexpr double kRounding = 3e-6;

std::string number_fault(const json& event, const char* member) {
  const auto it = event.find(member);
  if (it == event.end() || !it->is_number()) return std::string(member) + " is no number";
  const double value = it->get<double>();
  if (!std::isfinite(value) || value < 0) return std::string(member) + " is negative or not finite";
  return "";
}

std::string fault_of(const json& event) {
  if (!event.is_object()) return "is no object";
  const auto ph = event.find("ph");
  const std::string phase = ph != event.end() && ph->is_string() ? ph->get<std::string>() : "";
  if (phase.size() != 1 || std::string("XMCsfi").find(phase) == std::string::npos) {
    return "ph is none of X, M, C, s, f, i";
  }
  const auto name = event.find("name");
  if (name == event.end() || !name->is_string()) return "name is no string";
  for (const char* member : {"pid", "tid"}) {
    const auto it = event.find(member);
    if (it == event.end() || !it->is_number_integer()) return std::string(member) + " is no integer";
  }
  if (const auto args = event.find("args"); args != event.end() && !args->is_object())
    return "args is no object";
  if (phase == "M") return event.contains("args") ? "" : "args is missing";
  if (std::string fault = number_fault(event, "ts"); !fault.empty()) return fault;
  if (phase == "X") return number_fault(event, "dur");
  if (phase == "C") {
    if (!event.contains("args") || event["args"].empty()) return "a counter without values";
    for (const json& value : event["args"]) {
      if (!value.is_number()) return "a counter's value is no number";
    }
  }
  if ((phase == "s" || phase == "f") && !event.contains("id")) return "id is missing";
  return "";
}

struct Slice {
  double begin, end;
  std::size_t event;
};

std::string place(std::size_t event) { return "event " + std::to_string(event); }

}  // namespace

json parse_trace_events(std::string_view text, const std::string& origin) {
  const auto refuse = [&](const std::string& what) -> void {
    throw Error(ErrorCode::malformed_file, origin + ": trace: " + what);
  };
  json events;
  try {
    events = json::parse(text, [&](int depth, json::parse_event_t, json&) {
      if (depth > kMaxDepth) refuse("nested deeper than " + std::to_string(kMaxDepth));
      return true;
    });
  } catch (const json::exception& error) {
    refuse(error.what());
  }
  if (!events.is_array()) refuse("is no array of events");
  for (std::size_t k = 0; k < events.size(); ++k) {
    if (const std::string fault = fault_of(events[k]); !fault.empty()) refuse(place(k) + ": " + fault);
  }
  return events;
}

std::string find_trace_fault(const json& events) {
  std::map<Track, std::vector<Slice>> slices;
  std::set<Track> named;
  std::map<std::string, std::size_t> flows;  // that have begun
  for (std::size_t k = 0; k < events.size(); ++k) {
    const json& event = events[k];
    const Track track{event["pid"].get<int64_t>(), event["tid"].get<int64_t>()};
    const std::string phase = event["ph"].get<std::string>();
    if (phase == "M" && event["name"] == "thread_name") named.insert(track);
    if (phase == "X") {
      const double begin = event["ts"].get<double>();
      slices[track].push_back({begin, begin + event["dur"].get<double>(), k});
    }
  }
  for (auto& [track, list] : slices) {
    if (named.count(track) == 0) return place(list.front().event) + ": its track has no name";
    std::sort(list.begin(), list.end(), [](const Slice& a, const Slice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Slice> open;
    for (const Slice& slice : list) {
      while (!open.empty() && open.back().end <= slice.begin + kRounding) open.pop_back();
      if (!open.empty() && slice.end > open.back().end + kRounding) {
        return place(slice.event) + " overlaps " + place(open.back().event) + " of the same track";
      }
      open.push_back(slice);
    }
  }
  const auto inside = [&](const Track& track, double at) {
    const auto it = slices.find(track);
    if (it == slices.end()) return false;
    // Slices of a track are few deep: the ones that begin last before `at` decide.
    auto next = std::upper_bound(it->second.begin(), it->second.end(), at + kRounding,
                                 [](double time, const Slice& slice) { return time < slice.begin; });
    for (int look = 0; look < kMaxDepth && next != it->second.begin(); ++look) {
      if ((--next)->end >= at - kRounding) return true;
    }
    return false;
  };
  for (std::size_t k = 0; k < events.size(); ++k) {
    const json& event = events[k];
    const std::string phase = event["ph"].get<std::string>();
    if (phase != "s" && phase != "f") continue;
    const Track track{event["pid"].get<int64_t>(), event["tid"].get<int64_t>()};
    const double at = event["ts"].get<double>();
    if (!inside(track, at)) return place(k) + ": a flow outside of every slice";
    const std::string id = event["id"].dump();
    if (phase == "s") {
      if (!flows.emplace(id, k).second) return place(k) + ": its flow has begun before";
      continue;
    }
    const auto begun = flows.find(id);
    if (begun == flows.end()) return place(k) + ": a flow that has not begun";
    if (events[begun->second]["ts"].get<double>() > at + kRounding)
      return place(k) + ": ends before it begins";
    flows.erase(begun);
  }
  return flows.empty() ? "" : place(flows.begin()->second) + ": a flow that does not end";
}

}  // namespace assay
