#include "backend/calibration/calibration.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "backend/calibration/least_squares.h"
#include "backend/calibration/predictor.h"
#include "core/error.h"
#include "core/median.h"

namespace assay::backend {
namespace {

constexpr std::string_view kBoundaries[] = {"device", "host", "launch", "transfer", "instruction", "outside"};
constexpr std::string_view kRoles[] = {"fit", "check", "context"};
constexpr std::string_view kCertainties[] = {"stated", "inferred", "unknown"};

template <std::size_t N>
std::size_t choice(const std::string_view (&names)[N], const std::string& text, const char* column,
                   const std::string& origin) {
  std::string known;
  for (std::size_t k = 0; k < N; ++k) {
    if (text == names[k]) return k;
    known += (k == 0 ? "" : ", ") + std::string(names[k]);
  }
  throw Error(ErrorCode::malformed_file,
              origin + ": " + column + " is \"" + text + "\"; use one of " + known);
}

}  // namespace

std::string_view name_of(Boundary boundary) { return kBoundaries[static_cast<std::size_t>(boundary)]; }
std::string_view name_of(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

CalibrationRow read_row(const std::map<std::string, std::string, std::less<>>& fields,
                        const std::string& origin) {
  const auto at = [&](const char* column) -> const std::string& {
    const auto it = fields.find(column);
    if (it == fields.end()) throw Error(ErrorCode::malformed_file, origin + ": there is no column " + column);
    return it->second;
  };
  CalibrationRow row;
  row.id = at("id");
  if (row.id.empty()) throw Error(ErrorCode::malformed_file, origin + ": id is empty");
  row.workload = at("workload");
  const std::string& target = at("target");
  if (!target.empty()) {
    try {
      row.target = parse_target(target);
    } catch (const Error& error) {
      throw Error(ErrorCode::malformed_file, origin + ": " + error.what());
    }
  }
  row.boundary = static_cast<Boundary>(choice(kBoundaries, at("boundary"), "boundary", origin));
  row.role = static_cast<Role>(choice(kRoles, at("role"), "role", origin));
  row.certainty = kCertainties[choice(kCertainties, at("certainty"), "certainty", origin)];
  const std::string& measured = at("measured_us");
  const char* end = measured.data() + measured.size();
  const auto [stop, error] = std::from_chars(measured.data(), end, row.measured_us);
  if (error != std::errc() || stop != end || !(row.measured_us > 0) || !std::isfinite(row.measured_us)) {
    throw Error(ErrorCode::malformed_file,
                origin + ": measured_us is \"" + measured + "\", not a time above 0");
  }
  row.source = at("source");
  row.note = at("note");
  if (row.source.empty())
    throw Error(ErrorCode::malformed_file, origin + ": source is empty; a measurement needs one");
  const bool predicted =
      row.boundary == Boundary::launch || (!row.workload.empty() && row.boundary != Boundary::outside);
  if (!predicted && row.role != Role::context) {
    throw Error(ErrorCode::malformed_file, origin + ": a row of role " + std::string(name_of(row.role)) +
                                               " needs a workload and a boundary that the clock models");
  }
  return row;
}

CalibrationReport calibrate(const std::vector<CalibrationRow>& rows) {
  std::set<std::string> ids;
  for (const CalibrationRow& row : rows) {
    if (!ids.insert(row.id).second) {
      throw Error(ErrorCode::malformed_file, "calibration row " + row.id + " is given twice");
    }
  }
  Predictor predictor(rows);
  std::vector<std::size_t> fit_rows;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].role == Role::fit) fit_rows.push_back(r);
  }
  const std::vector<double> shipped = predictor.shipped();
  // log(predicted / measured), the same weight for every row.
  const Residual residual = [&](std::size_t row, const std::vector<double>& constants) {
    return std::log(predictor.predict_us(row, constants) / rows[row].measured_us);
  };
  const ConstantFit fit = fit_with_sources(residual, fit_rows, shipped);
  CalibrationReport report;
  for (std::size_t k = 0; k < shipped.size(); ++k) {
    FittedConstant constant = predictor.describe(k);
    constant.value = fit.constants[k];
    constant.shipped = shipped[k];
    constant.rows = static_cast<int>(fit.told_by[k].size());
    if (constant.rows > 0) report.constants.push_back(std::move(constant));
  }

  std::vector<double> fit_errors, left_out_errors, check_errors;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    RowResult result{rows[r], {}, {}, {}, predictor.why_not(r)};
    if (result.not_predicted.empty()) {
      result.predicted_us = predictor.predict_us(r, fit.constants);
      result.error = *result.predicted_us / rows[r].measured_us - 1;
    }
    if (rows[r].role == Role::check) check_errors.push_back(std::abs(*result.error));
    if (rows[r].role == Role::fit) {
      fit_errors.push_back(std::abs(*result.error));
      if (const auto k = told_only_by(fit, r)) {
        const FittedConstant constant = predictor.describe(*k);
        result.not_predicted = "no other row tells " + constant.name + " of " + constant.target;
      } else {
        const std::vector<double> without = fit_without(residual, fit_rows, r, fit);
        result.left_out_error = predictor.predict_us(r, without) / rows[r].measured_us - 1;
        left_out_errors.push_back(std::abs(*result.left_out_error));
      }
    }
    report.rows.push_back(std::move(result));
  }
  report.fit_error = median(fit_errors);
  report.left_out_error = median(left_out_errors);
  report.check_error = median(check_errors);
  return report;
}

}  // namespace assay::backend
