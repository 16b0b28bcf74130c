// A run's folder, read back: what every report starts from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/record/record.h"

namespace assay::reports {

// A model that could not be exported (not_exported.csv): counted as skipped, without a record.
struct NotExportedRow {
  std::string id, kind, model, attention, reason;
};

struct RunFolder {
  std::string path;
  std::string run_json;  // as it was written; "{}" if there is none
  std::string verb, backend, backend_version, device, version, contract_hash, started, ended, machine;
  std::vector<std::string> loosened;  // Contract fields looser than the floor
  uint64_t seed = 0;
  std::vector<Record> records;
  std::vector<NodeRecord> nodes;
  std::vector<NotExportedRow> not_exported;
  bool torn_last_line = false;  // the run was killed while it wrote: the torn record is left out
};

// Throws Error{io} if the folder has no results.jsonl, Error{malformed_file} naming file and line. A torn
// last line is tolerated: it is what a killed run leaves.
RunFolder load_run_folder(const std::string& path);

struct Totals {
  int64_t passed = 0, failed = 0, skipped = 0;  // records; not_exported rows count as skipped
  int64_t weighted_passed = 0, weighted_failed = 0, weighted_skipped = 0;
  int64_t not_exported = 0;
  std::map<std::string, int64_t> by_status;
};
Totals totals_of(const RunFolder& run);

}  // namespace assay::reports
