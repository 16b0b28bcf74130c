#include "harness/run/known_failures.h"

#include <utility>

#include <fmt/format.h>

namespace assay {

KnownFailures::KnownFailures(std::vector<Waiver> waivers, std::string backend_version, std::string today)
    : backend_version_(std::move(backend_version)), today_(std::move(today)) {
  for (Waiver& waiver : waivers) entries_.push_back({std::move(waiver)});
}

void KnownFailures::apply(Record& record) {
  const Record original = record;
  for (Entry& entry : entries_) {
    if (!covers_case(entry.waiver, original, backend_version_)) continue;
    entry.covers_some = true;
    if (is_expired(entry.waiver, today_)) continue;
    if (is_failure(original.status) && covers(entry.waiver, original, backend_version_)) {
      entry.used = true;
      if (record.status == Status::waived) continue;  // by an earlier waiver
      record.status = Status::waived;
      record.reason = "known_failure";
      record.detail = fmt::format("{}: {}{}{}: {}", entry.waiver.bug, name_of(original.status),
                                  original.reason.empty() ? "" : ", ", original.reason, original.detail);
    } else if (is_pass(original.status) && original.status != Status::waived &&
               names_one_case(entry.waiver)) {
      record.status = Status::unexpected_pass;
      record.detail = fmt::format("{} says that it fails; remove the waiver", entry.waiver.bug);
    }
  }
}

void KnownFailures::count(const Record& record) {
  for (Entry& entry : entries_) {
    if (!covers_case(entry.waiver, record, backend_version_)) continue;
    entry.covers_some = true;
    entry.used = entry.used || record.status == Status::waived;
  }
}

std::vector<std::string> KnownFailures::out_of_date(bool whole) const {
  std::vector<std::string> sentences;
  for (const Entry& entry : entries_) {
    if (!entry.covers_some) continue;
    const Waiver& w = entry.waiver;
    if (is_expired(w, today_)) {
      sentences.push_back(
          fmt::format("the waiver of {} ({}, {}) expired on {}", w.cases, w.owner, w.bug, w.expires));
    } else if (whole && !entry.used && !names_one_case(w)) {
      sentences.push_back(fmt::format("the waiver of {} ({}, {}) is stale: nothing fails that it covers",
                                      w.cases, w.owner, w.bug));
    }
  }
  return sentences;
}

}  // namespace assay
