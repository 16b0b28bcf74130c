#include "cli/calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backend/calibration/calibration.h"
#include "cli/figures.h"
#include "cli/files.h"
#include "cli/verb.h"
#include "harness/worker/locate.h"
#include "sweeps/csv.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;
using backend::CalibrationReport;
using backend::CalibrationRow;
using backend::FittedConstant;
using backend::Role;
using backend::RowResult;

std::vector<CalibrationRow> read_rows(const std::string& path) {
  const std::vector<std::string> columns(std::begin(backend::kCalibrationColumns),
                                         std::end(backend::kCalibrationColumns));
  std::vector<CalibrationRow> rows;
  for (const sweeps::CsvRow& row : sweeps::read_csv(path, columns)) {
    rows.push_back(backend::read_row(row.fields, path + ": row " + std::to_string(row.line)));
  }
  return rows;
}

int64_t rows_of(const CalibrationReport& report, Role role) {
  int64_t count = 0;
  for (const RowResult& result : report.rows) count += result.row.role == role ? 1 : 0;
  return count;
}

std::string text(const CalibrationReport& report) {
  std::string out = fmt::format("{} fitted constants, {} rows to fit, {} to check, {} for context\n\n",
                                report.constants.size(), rows_of(report, Role::fit),
                                rows_of(report, Role::check), rows_of(report, Role::context));
  out += fmt::format("{:<18}{:>6}{:>12}{:>12}{:>6}\n", "constant", "of", "fitted", "shipped", "rows");
  for (const FittedConstant& c : report.constants) {
    out += fmt::format("{:<18}{:>6}{:>12.2f}{:>12.2f}{:>6}\n", c.name, c.target, c.value, c.shipped, c.rows);
  }
  for (const Role role : {Role::fit, Role::check, Role::context}) {
    if (rows_of(report, role) == 0) continue;
    out +=
        fmt::format("\n{:<9}{:<7}{:<12}{:<9}{:>12}{:>12}{:>10}{:>10}  {}\n", backend::name_of(role), "target",
                    "timer", "device", "measured us", "clock us", "error", "left out", "workload");
    for (const RowResult& r : report.rows) {
      if (r.row.role != role) continue;
      const bool named = r.predicted_us.has_value();
      out +=
          fmt::format("{:<9}{:<7}{:<12}{:<9}{:>12}{:>12}{:>10}{:>10}  {}\n", r.row.id,
                      named ? backend::core(r.row.target).name : "-", backend::name_of(r.row.boundary),
                      r.row.certainty, microseconds(r.row.measured_us),
                      r.predicted_us ? microseconds(*r.predicted_us) : "-", signed_percent(r.error),
                      signed_percent(r.left_out_error), r.row.workload.empty() ? r.row.note : r.row.workload);
    }
  }
  out += fmt::format(
      "\nmedian absolute error: fit {}, leave-one-out {}, check {}\n"
      "Errors are clock / measured - 1. Left out: constants fitted to all other rows of the fit.\n",
      plain_percent(report.fit_error), plain_percent(report.left_out_error),
      plain_percent(report.check_error));
  return out;
}

Json number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json json(const CalibrationReport& report) {
  Json constants = Json::array(), rows = Json::array();
  for (const FittedConstant& c : report.constants) {
    constants.push_back({{"name", c.name},
                         {"target", c.target},
                         {"fitted", c.value},
                         {"shipped", c.shipped},
                         {"rows", c.rows}});
  }
  for (const RowResult& r : report.rows) {
    rows.push_back({{"id", r.row.id},
                    {"workload", r.row.workload},
                    {"target", backend::core(r.row.target).name},
                    {"boundary", backend::name_of(r.row.boundary)},
                    {"certainty", r.row.certainty},
                    {"role", backend::name_of(r.row.role)},
                    {"measured_us", r.row.measured_us},
                    {"predicted_us", number(r.predicted_us)},
                    {"error", number(r.error)},
                    {"left_out_error", number(r.left_out_error)},
                    {"not_predicted", r.not_predicted},
                    {"source", r.row.source},
                    {"note", r.row.note}});
  }
  return {{"fitted_constants", report.constants.size()},
          {"median_absolute_error",
           {{"fit", number(report.fit_error)},
            {"leave_one_out", number(report.left_out_error)},
            {"check", number(report.check_error)}}},
          {"constants", constants},
          {"rows", rows}};
}

}  // namespace

int bench_calibration(const CalibrationFlags& flags) {
  const std::string path = flags.file.empty() ? find_data("backend/calibration/calibration.csv") : flags.file;
  require_input(path, "a table of measurements (CSV)");
  const CalibrationReport report = backend::calibrate(read_rows(path));
  const std::string document = json(report).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::string written = flags.out + "/calibration.json";
  write_file(written, document);
  std::printf("%s", flags.json ? document.c_str() : (text(report) + written + "\n").c_str());
  bool predicted = false;
  for (const RowResult& row : report.rows) predicted = predicted || row.predicted_us.has_value();
  return predicted ? kOk : kNothingPassed;
}

}  // namespace assay::cli
