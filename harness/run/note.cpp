#include "harness/run/note.h"

namespace assay {

void conclude(Record& record, Status status, const std::string& reason, const std::string& detail) {
  record.status = status;
  record.reason = reason;
  record.detail = detail;
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
