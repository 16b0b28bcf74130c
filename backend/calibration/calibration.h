// How far the clock is from published measurements, and the few constants that are fitted to them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device/device.h"

namespace assay::backend {

// What a measurement's timer contains.
enum class Boundary : uint8_t {
  device,       // one execution on the device, from start to stop of the kernel
  host,         // the same as the host sees it, launch included
  launch,       // what the host adds: the difference of the two
  transfer,     // the time that the busiest DMA engine moves data
  instruction,  // from one instruction (or iteration) to the next
  outside,      // more than the clock models, or nobody says what: not predicted
};
enum class Role : uint8_t {
  fit,      // constants are fitted to it
  check,    // predicted, never fitted to
  context,  // contradicts other rows, repeats a row of the fit, or measures more than the clock models:
            // shown, not counted
};
std::string_view name_of(Boundary boundary);
std::string_view name_of(Role role);

struct CalibrationRow {
  std::string id;
  std::string workload;  // workloads.h; "" where it cannot be expressed
  Generation target = Generation::trn2;
  Boundary boundary = Boundary::device;
  std::string certainty;  // of the device: "stated", "inferred", "unknown"
  Role role = Role::check;
  double measured_us = 0;
  std::string source, note;
};

// Columns of calibration.csv.
inline constexpr const char* kCalibrationColumns[] = {
    "id", "workload", "target", "boundary", "certainty", "role", "measured_us", "source", "note"};

// A row from its fields by column. Throws Error{malformed_file} naming `origin` and the field.
CalibrationRow read_row(const std::map<std::string, std::string, std::less<>>& fields,
                        const std::string& origin);

struct FittedConstant {
  std::string name;    // of CoreDescription
  std::string target;  // "trn1", or "all"
  double value = 0;    // fitted to these rows
  double shipped = 0;  // in device/cores.cpp
  int rows = 0;        // fit rows that depend on it
};

struct RowResult {
  CalibrationRow row;
  std::optional<double> predicted_us;
  std::optional<double> error;           // predicted / measured - 1
  std::optional<double> left_out_error;  // fit rows: constants fitted to all others
  std::string not_predicted;             // why there is no prediction, or no left-out error
};

struct CalibrationReport {
  std::vector<FittedConstant> constants;
  std::vector<RowResult> rows;  // in the order given
  // Medians of absolute errors, over rows that have one.
  std::optional<double> fit_error, left_out_error, check_error;
};

// Fits the constants by least squares of log(predicted / measured) over the fit rows, every row with the
// same weight; then each fit row once without it. Throws Error{invalid_argument, malformed_file} for rows
// with a bad workload, or two of one id.
CalibrationReport calibrate(const std::vector<CalibrationRow>& rows);

}  // namespace assay::backend
