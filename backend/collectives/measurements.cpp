#include "backend/collectives/measurements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "backend/calibration/least_squares.h"
#include "core/error.h"
#include "core/median.h"

namespace assay::backend {
namespace {

using Fields = std::map<std::string, std::string, std::less<>>;

struct Cell {
  const Fields& fields;
  const std::string& origin;

  const std::string& text(const char* column) const {
    const auto it = fields.find(column);
    if (it == fields.end()) throw Error(ErrorCode::malformed_file, origin + ": there is no column " + column);
    return it->second;
  }
  [[noreturn]] void fail(const char* column, const std::string& wanted) const {
    throw Error(ErrorCode::malformed_file,
                origin + ": " + column + " is \"" + text(column) + "\"; it must be " + wanted);
  }
  template <typename T>
  T number(const char* column, T least, const std::string& wanted) const {
    const std::string& s = text(column);
    T value{};
    const auto [stop, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    const bool finite = std::isfinite(static_cast<double>(value));
    if (error != std::errc() || stop != s.data() + s.size() || !finite || value < least) fail(column, wanted);
    return value;
  }
  int choice(const char* column, std::initializer_list<std::string_view> names) const {
    std::string known;
    int k = 0;
    for (const std::string_view name : names) {
      if (text(column) == name) return k;
      known += (k++ == 0 ? "" : ", ") + std::string(name);
    }
    fail(column, "one of " + known);
  }
};

// Equal parts of nccom-test's size; throws what Collective::validate throws.
Collective collective_of(CollectiveOp op, int ranks, DType dtype, int64_t bytes) {
  Collective one = equal_parts(op, ranks, dtype, 1);
  one.validate();
  const int64_t unit = std::max<int64_t>(one.size_bytes(), 1);
  return equal_parts(op, ranks, dtype, (bytes + unit - 1) / unit);
}

CollectiveMeasurement read_unchecked(const Cell& cell) {
  CollectiveMeasurement row;
  row.id = cell.text("id");
  if (row.id.empty()) cell.fail("id", "a name");
  std::optional<CollectiveOp> op;
  std::string ops;
  for (int k = 0; k < kCollectiveOps; ++k) {
    const auto name = name_of(static_cast<CollectiveOp>(k));
    if (cell.text("op") == name) op = static_cast<CollectiveOp>(k);
    ops += (k == 0 ? "" : ", ") + std::string(name);
  }
  if (!op) cell.fail("op", "one of " + ops);
  const std::optional<DType> dtype = parse_dtype(cell.text("dtype"));
  if (!dtype) cell.fail("dtype", "a dtype such as f32");
  const int ranks = cell.number<int>("ranks", 1, "a number of ranks");
  if (ranks > 4096) cell.fail("ranks", "at most 4096");
  const auto bytes = cell.number<int64_t>("bytes", 0, "a number of bytes");
  row.instance = cell.text("instance");
  row.lnc = cell.number<int>("lnc", 1, "1 or 2");
  row.modelled = cell.choice("timer", {"collective", "outside"}) == 0;
  row.certainty = cell.text("certainty");
  cell.choice("certainty", {"stated", "inferred", "unknown"});
  row.role = static_cast<Role>(cell.choice("role", {"fit", "check", "context"}));
  row.measured_us = cell.number<double>("measured_us", 0, "a time above 0");
  if (row.measured_us <= 0) cell.fail("measured_us", "a time above 0");
  row.source = cell.text("source");
  if (row.source.empty()) cell.fail("source", "where the measurement is from");
  row.note = cell.text("note");
  if (!row.modelled && row.role != Role::context) cell.fail("role", "context, for the timer is \"outside\"");
  const Topology topology = Topology::of(row.instance, row.lnc);
  row.collective = collective_of(*op, ranks, *dtype, bytes);
  if (!cell.text("algorithm").empty()) row.algorithm = parse_algorithm(cell.text("algorithm"));
  if (row.modelled) {
    const Group group = first_cores(topology, ranks);
    if (row.algorithm) make_schedule(equal_parts(*op, ranks, *dtype, 0), group, *row.algorithm);
  }
  return row;
}

// The constants that are fitted; a generation's are fitted to its own rows.
struct Constant {
  Generation generation;
  const char* name;
  Sourced<double> NeuronLinkDescription::*field;
};
const Constant kConstants[] = {
    {Generation::trn1, "collective_launch_us", &NeuronLinkDescription::collective_launch_us},
    {Generation::trn1, "stream_bytes_per_ns", &NeuronLinkDescription::stream_bytes_per_ns},
    {Generation::trn2, "collective_launch_us", &NeuronLinkDescription::collective_launch_us},
    {Generation::trn2, "step_us", &NeuronLinkDescription::step_us},
    {Generation::trn2, "stream_bytes_per_ns", &NeuronLinkDescription::stream_bytes_per_ns},
    {Generation::trn2, "hbm_efficiency", &NeuronLinkDescription::hbm_efficiency},
};

class CollectivePredictor {
 public:
  explicit CollectivePredictor(const std::vector<CollectiveMeasurement>& rows) : rows_(rows) {
    for (const CollectiveMeasurement& row : rows) {
      Built built{Topology::of(row.instance, row.lnc), {}, {}, {}, {}};
      if (row.modelled) {
        const Group group = first_cores(built.topology, row.collective.ranks);
        PlanOptions options;
        options.algorithm = row.algorithm;
        const Plan plan = make_plan(row.collective, group, options);
        built.algorithm = name_of(plan.schedule.algorithm);
        built.variant = plan.schedule.variant;
        built.loads = step_loads(plan.schedule, group);
        built.bytes = collective_ledger(plan.schedule, group);
      }
      built_.push_back(std::move(built));
    }
  }
  CollectiveTime predict(std::size_t row, const std::vector<double>& constants) const {
    const Built& built = built_[row];
    NeuronLinkDescription link = neuron_link(built.topology.generation());
    for (std::size_t k = 0; k < constants.size(); ++k) {
      if (kConstants[k].generation == link.generation) (link.*kConstants[k].field).value = constants[k];
    }
    return collective_time(built.loads, rows_[row].collective, built.topology, link);
  }
  void describe(std::size_t row, CollectiveRowResult& out) const {
    out.algorithm = built_[row].algorithm;
    out.variant = built_[row].variant;
    out.bytes = built_[row].bytes;
  }

 private:
  struct Built {
    Topology topology;
    std::vector<StepLoad> loads;
    CollectiveLedger bytes;
    std::string algorithm, variant;
  };
  const std::vector<CollectiveMeasurement>& rows_;
  std::vector<Built> built_;
};

}  // namespace

CollectiveMeasurement read_measurement(const Fields& fields, const std::string& origin) {
  try {
    return read_unchecked({fields, origin});
  } catch (const Error& error) {
    if (error.code() == ErrorCode::malformed_file) throw;
    throw Error(ErrorCode::malformed_file, origin + ": " + error.what());
  }
}

CollectiveReport calibrate_collectives(const std::vector<CollectiveMeasurement>& rows) {
  std::set<std::string> ids;
  std::vector<std::size_t> fit_rows;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!ids.insert(rows[r].id).second) {
      throw Error(ErrorCode::malformed_file, "measurement " + rows[r].id + " is given twice");
    }
    if (rows[r].role == Role::fit) fit_rows.push_back(r);
  }
  const CollectivePredictor predictor(rows);
  const Residual residual = [&](std::size_t row, const std::vector<double>& constants) {
    return std::log(predictor.predict(row, constants).seconds * 1e6 / rows[row].measured_us);
  };
  std::vector<double> shipped;
  for (const Constant& c : kConstants) shipped.push_back((neuron_link(c.generation).*c.field).value);
  const ConstantFit fit = fit_with_sources(residual, fit_rows, shipped);
  CollectiveReport report;
  for (std::size_t k = 0; k < shipped.size(); ++k) {
    if (fit.told_by[k].empty()) continue;
    report.constants.push_back({kConstants[k].name, core(kConstants[k].generation).name, fit.constants[k],
                                shipped[k], static_cast<int>(fit.told_by[k].size())});
  }
  std::vector<double> fit_errors, left_out_errors, check_errors;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    CollectiveRowResult result;
    result.row = rows[r];
    if (rows[r].modelled) {
      predictor.describe(r, result);
      result.predicted = predictor.predict(r, fit.constants);
      result.error = result.predicted->seconds * 1e6 / rows[r].measured_us - 1;
    } else {
      result.not_predicted = rows[r].note.empty() ? "its timer contains more than is modelled" : rows[r].note;
    }
    if (rows[r].role == Role::check) check_errors.push_back(std::abs(*result.error));
    if (rows[r].role == Role::fit) {
      fit_errors.push_back(std::abs(*result.error));
      if (const auto k = told_only_by(fit, r)) {
        result.not_predicted = std::string("no other row tells ") + kConstants[*k].name;
      } else {
        const std::vector<double> without = fit_without(residual, fit_rows, r, fit);
        result.left_out_error = predictor.predict(r, without).seconds * 1e6 / rows[r].measured_us - 1;
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
