// assay bench calibration: the simulated Trainium's clock against published measurements.
#pragma once

#include <string>

namespace assay::cli {

struct CalibrationFlags {
  std::string file;  // "": the rows that Assay ships
  bool json = false;
  std::string out;  // folder for calibration.json
};

// Prints the table, or JSON; returns the exit status. Throws Error for a file that cannot be read or is
// malformed.
int bench_calibration(const CalibrationFlags& flags);

}  // namespace assay::cli
