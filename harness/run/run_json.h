// run.json: under what circumstances a run was made.
#pragma once

#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "harness/run/options.h"
#include "harness/worker/messages.h"

namespace assay {

struct RunCircumstances {
  BackendInfo backend;
  std::string backend_missing;  // why it is not there, "" if it is
  Contract contract;
  std::vector<std::string> loosened;  // fields looser than the floor
  int64_t planned = 0;                // records
  std::string start, end;             // UTC, ISO 8601; end is "" while it runs
};

std::string run_json(const RunOptions& options, const RunCircumstances& circumstances);
// Throws Error{invalid_argument} unless `text` is the run.json of a run with the same command and Contract.
void check_resumable(const std::string& text, const std::string& path, const RunOptions& options,
                     const Contract& contract);
std::string start_of(const std::string& run_json_text);  // "" if it says none
std::string assay_version();

}  // namespace assay
