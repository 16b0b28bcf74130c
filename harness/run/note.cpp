#include "harness/run/note.h"

namespace assay {
namespace {

constexpr std::size_t kMaxDetail = 16 << 10;

// A backend's message may have any length; what a person can read of it is kept.
std::string shortened(const std::string& text) {
  if (text.size() <= kMaxDetail) return text;
  std::size_t end = kMaxDetail;
  // Not within a character of UTF-8, which has at most four bytes.
  while (end > kMaxDetail - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "... (" + std::to_string(text.size() - end) + " bytes more)";
}

}  // namespace

void conclude(Record& record, Status status, const std::string& reason, const std::string& detail) {
  record.status = status;
  record.reason = reason;
  record.detail = shortened(detail);
}

void conclude(Record& record, const Verdict& verdict) {
  conclude(record, verdict.status, verdict.reason, verdict.detail);
  record.margin = verdict.margin;
  for (const auto& [name, gate] : verdict.gates) record.gates[name] = gate;
  record.worst = verdict.worst;
  record.first_bad_node = verdict.first_bad_node;
  record.witness = verdict.witness;
}

void note_run(Record& record, const RunResult& result) {
  record.fallbacks = result.fallbacks;
  record.residency = result.residency;
  record.phases = result.phases;
  record.compiles = result.compiles;
  record.device = result.device;
}

}  // namespace assay
