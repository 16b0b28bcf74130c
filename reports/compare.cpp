#include "reports/compare.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/text.h"

namespace assay::reports {
namespace {

using Key = std::pair<std::string, std::string>;  // id, mode

std::map<Key, const Record*> by_key(const RunFolder& run) {
  std::map<Key, const Record*> records;
  for (const Record& record : run.records) records[{record.id, record.mode}] = &record;
  return records;
}

std::map<std::string, int64_t> fallbacks_of(const Record& record) {
  std::map<std::string, int64_t> counts;
  for (const Fallback& fallback : record.fallbacks) counts[fallback.op] += fallback.count;
  return counts;
}

// "" if nothing falls back that did not before.
std::string new_fallbacks(const Record& base, const Record& current) {
  const auto before = fallbacks_of(base);
  std::string text;
  for (const auto& [op, count] : fallbacks_of(current)) {
    const auto found = before.find(op);
    const int64_t old = found == before.end() ? 0 : found->second;
    if (count <= old) continue;
    text += (text.empty() ? "" : "; ") + op + " falls back " + std::to_string(count) + " times, before " +
            std::to_string(old);
  }
  return text;
}

Difference difference(Change change, const Key& key, const Record* base, const Record* current,
                      std::string detail) {
  Difference d{change, key.first, key.second, "", "", std::move(detail), ""};
  if (base) d.base_status = name_of(base->status);
  if (current) {
    d.current_status = name_of(current->status);
    d.repro = current->repro;
  }
  return d;
}

std::optional<Difference> compare_one(const Key& key, const Record* base, const Record* current) {
  const auto made = [&](Change change, std::string detail = "") {
    return difference(change, key, base, current, std::move(detail));
  };
  if (!current) {
    return is_pass(base->status) ? made(Change::lost_coverage, "the case is gone") : made(Change::removed);
  }
  if (!base)
    return is_failure(current->status) ? made(Change::new_failure, current->detail) : made(Change::added);
  if (is_pass(base->status)) {
    if (is_failure(current->status)) return made(Change::regressed, current->detail);
    if (is_skip(current->status))
      return made(Change::lost_coverage, current->detail.empty() ? "it is skipped now" : current->detail);
    if (const std::string text = new_fallbacks(*base, *current); !text.empty())
      return made(Change::new_fallback, text);
    return std::nullopt;
  }
  if (is_failure(base->status)) {
    if (is_pass(current->status)) return made(Change::fixed);
    if (is_skip(current->status)) return made(Change::removed, "it is skipped now");
    return made(base->status == current->status ? Change::still_failing : Change::failure_changed,
                current->detail);
  }
  if (is_failure(current->status)) return made(Change::new_failure, current->detail);
  if (is_pass(current->status)) return made(Change::fixed, "it was skipped");
  return std::nullopt;
}

void apply_waivers(const std::vector<Waiver>& waivers, const RunFolder& current, const std::string& today,
                   const std::map<Key, const Record*>& records, Comparison& comparison) {
  std::vector<bool> used(waivers.size(), false);
  for (const Record& record : current.records) {
    if (!is_failure(record.status)) continue;
    for (std::size_t i = 0; i < waivers.size(); ++i) {
      if (covers(waivers[i], record, current.backend_version)) used[i] = true;
    }
  }
  for (std::size_t i = 0; i < waivers.size(); ++i) {
    WaiverVerdict verdict{waivers[i], is_expired(waivers[i], today), !used[i]};
    if (verdict.expired || verdict.stale) comparison.waivers.push_back(verdict);
  }
  for (Difference& d : comparison.differences) {
    const auto found = records.find({d.id, d.mode});
    if (found == records.end() || !is_failure(found->second->status)) continue;
    for (const Waiver& waiver : waivers) {
      if (is_expired(waiver, today) || !covers(waiver, *found->second, current.backend_version)) continue;
      d.change = Change::waived;
      d.detail = "waived until " + waiver.expires + " by " + waiver.owner + ", " + waiver.bug +
                 (d.detail.empty() ? "" : ": " + d.detail);
      break;
    }
  }
}

}  // namespace

std::string_view name_of(Change change) {
  switch (change) {
    case Change::regressed:
      return "regressed";
    case Change::new_failure:
      return "new_failure";
    case Change::lost_coverage:
      return "lost_coverage";
    case Change::new_fallback:
      return "new_fallback";
    case Change::fixed:
      return "fixed";
    case Change::added:
      return "added";
    case Change::removed:
      return "removed";
    case Change::failure_changed:
      return "failure_changed";
    case Change::still_failing:
      return "still_failing";
    case Change::waived:
      return "waived";
  }
  return "?";
}

bool is_regression(Change change) {
  return change == Change::regressed || change == Change::new_failure || change == Change::lost_coverage ||
         change == Change::new_fallback;
}

int Comparison::exit_status() const {
  if (base_records == 0 || current_records == 0) return 3;
  const bool regressed = std::any_of(differences.begin(), differences.end(),
                                     [](const Difference& d) { return is_regression(d.change); });
  if (regressed || !waivers.empty()) return 1;
  return current_passed == 0 ? 3 : 0;
}

Comparison compare_runs(const RunFolder& base, const RunFolder& current, const std::vector<Waiver>& waivers,
                        const std::string& today) {
  Comparison comparison;
  comparison.base_path = base.path;
  comparison.current_path = current.path;
  comparison.base_backend = base.backend;
  comparison.current_backend = current.backend;
  comparison.base_records = static_cast<int64_t>(base.records.size());
  comparison.current_records = static_cast<int64_t>(current.records.size());
  comparison.current_passed = totals_of(current).passed;

  const auto before = by_key(base);
  const auto after = by_key(current);
  std::set<Key> keys;
  for (const auto& [key, record] : before) keys.insert(key);
  for (const auto& [key, record] : after) keys.insert(key);
  const auto at = [](const std::map<Key, const Record*>& records, const Key& key) {
    const auto found = records.find(key);
    return found == records.end() ? nullptr : found->second;
  };
  for (const Key& key : keys) {
    if (auto d = compare_one(key, at(before, key), at(after, key))) {
      comparison.differences.push_back(std::move(*d));
    } else {
      ++comparison.unchanged;
    }
  }
  apply_waivers(waivers, current, today, after, comparison);
  std::stable_sort(comparison.differences.begin(), comparison.differences.end(),
                   [](const Difference& a, const Difference& b) { return a.change < b.change; });
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string out;
  std::map<Change, int64_t> counts;
  for (const Difference& d : comparison.differences) {
    ++counts[d.change];
    if (d.change == Change::added || d.change == Change::still_failing) continue;
    out += std::string(name_of(d.change)) + "  " + d.id + " (" + d.mode + ")";
    if (!d.base_status.empty() || !d.current_status.empty()) {
      out += ": " + (d.base_status.empty() ? "absent" : d.base_status) + " -> " +
             (d.current_status.empty() ? "absent" : d.current_status);
    }
    if (!d.detail.empty()) out += "; " + d.detail;
    out += "\n";
    if (is_regression(d.change) && !d.repro.empty()) out += "    " + d.repro + "\n";
  }
  for (const WaiverVerdict& v : comparison.waivers) {
    out += std::string(v.expired ? "expired" : "stale") + " waiver  " + v.waiver.cases + " on " +
           v.waiver.backend + " (" + v.waiver.owner + ", " + v.waiver.bug + "): " +
           (v.expired ? "it expired on " + v.waiver.expires : "nothing fails that it covers; remove it") +
           "\n";
  }
  out += std::to_string(comparison.unchanged) + " unchanged";
  for (const auto& [change, count] : counts)
    out += ", " + std::to_string(count) + " " + std::string(name_of(change));
  return out + "\n";
}

std::string comparison_junit(const Comparison& comparison) {
  std::string cases;
  int64_t failures = 0;
  const auto add = [&](const std::string& name, const std::string& failure, const std::string& text) {
    cases += "    <testcase classname=\"compare\" name=\"" + xml_escape(name) + "\"";
    if (failure.empty()) {
      cases += "/>\n";
      return;
    }
    ++failures;
    cases += ">\n      <failure message=\"" + xml_escape(failure) + "\">" + xml_escape(text) +
             "</failure>\n    </testcase>\n";
  };
  for (const Difference& d : comparison.differences) {
    add(d.id + " (" + d.mode + ")", is_regression(d.change) ? std::string(name_of(d.change)) : "",
        d.base_status + " -> " + d.current_status + "\n" + d.detail + "\n" + d.repro);
  }
  for (const WaiverVerdict& v : comparison.waivers)
    add("waiver " + v.waiver.cases, v.expired ? "expired" : "stale", v.waiver.bug);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay compare\">\n  <testsuite "
         "name=\"compare\" tests=\"" +
         std::to_string(comparison.differences.size() + comparison.waivers.size()) + "\" failures=\"" +
         std::to_string(failures) + "\">\n" + cases + "  </testsuite>\n</testsuites>\n";
}

}  // namespace assay::reports
