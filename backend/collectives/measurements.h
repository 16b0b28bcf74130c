// How far the collectives' clock is from published nccom-test tables, and the constants fitted to them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/calibration/calibration.h"
#include "backend/collectives/cost.h"

namespace assay::backend {

struct CollectiveMeasurement {
  std::string id;
  Collective collective;
  std::string instance;  // "trn2.48xlarge"; ranks are its first cores
  int lnc = 1;
  std::optional<Algorithm> algorithm;  // chosen by size if not given
  bool modelled = true;                // timer "collective"; false for "outside"
  std::string certainty;               // of the instance: "stated", "inferred", "unknown"
  Role role = Role::check;
  double measured_us = 0;
  std::string source, note;
};

// Columns of measurements.csv. `bytes` is nccom-test's size; `timer` is "collective" (one collective of
// several in a program, without the host's launch) or "outside" (more than is modelled: not predicted).
inline constexpr const char* kCollectiveColumns[] = {
    "id",    "op",        "ranks",     "bytes", "dtype",       "instance", "lnc",
    "timer", "algorithm", "certainty", "role",  "measured_us", "source",   "note"};

// A row from its fields by column. Throws Error{malformed_file} naming `origin` and the field.
CollectiveMeasurement read_measurement(const std::map<std::string, std::string, std::less<>>& fields,
                                       const std::string& origin);

struct CollectiveRowResult {
  CollectiveMeasurement row;
  std::string algorithm, variant;           // "" where not predicted
  std::optional<CollectiveTime> predicted;  // with the fitted constants
  std::optional<CollectiveLedger> bytes;
  std::optional<double> error;           // predicted / measured - 1
  std::optional<double> left_out_error;  // fit rows: constants fitted to all others
  std::string not_predicted;             // why there is no prediction, or no left-out error
};

struct CollectiveReport {
  std::vector<FittedConstant> constants;                         // of NeuronLinkDescription
  std::vector<CollectiveRowResult> rows;                         // in the order given
  std::optional<double> fit_error, left_out_error, check_error;  // medians of absolute errors
};

// As calibrate(): least squares of log(predicted / measured) over the fit rows, then each without itself.
// Fitted are launch, step, stream and HBM share of trn2 and launch and stream of trn1, as far as rows tell
// them. Throws Error{malformed_file} for two rows of one id.
CollectiveReport calibrate_collectives(const std::vector<CollectiveMeasurement>& rows);

}  // namespace assay::backend
