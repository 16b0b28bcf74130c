#include "cli/collectives.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backend/collectives/measurements.h"
#include "cli/figures.h"
#include "cli/files.h"
#include "cli/muon_traffic.h"
#include "cli/verb.h"
#include "harness/worker/locate.h"
#include "sweeps/csv.h"

namespace assay::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;
using backend::Collective;
using backend::CollectiveLedger;
using backend::CollectiveMeasurement;
using backend::CollectiveOp;
using backend::CollectiveReport;
using backend::CollectiveRowResult;
using backend::CollectiveTime;

constexpr const char* kInstance = "trn2.48xlarge";

std::vector<CollectiveMeasurement> read_measurements(const std::string& path) {
  const std::vector<std::string> columns(std::begin(backend::kCollectiveColumns),
                                         std::end(backend::kCollectiveColumns));
  std::vector<CollectiveMeasurement> rows;
  for (const sweeps::CsvRow& row : sweeps::read_csv(path, columns)) {
    rows.push_back(backend::read_measurement(row.fields, path + ": row " + std::to_string(row.line)));
  }
  return rows;
}

// A collective as planned on the first cores of the instance.
struct Planned {
  Collective collective;
  bool emulated;
  std::string algorithm, variant;
  CollectiveTime time;
  CollectiveLedger bytes;
};
Planned plan_on(const backend::Group& group, const Collective& collective,
                const backend::PlanOptions& options) {
  const backend::Plan plan = backend::make_plan(collective, group, options);
  return {collective,
          options.emulate,
          std::string(name_of(plan.schedule.algorithm)),
          plan.schedule.variant,
          backend::collective_time(plan.schedule, group),
          backend::collective_ledger(plan.schedule, group)};
}
Collective sized(CollectiveOp op, int ranks, int64_t bytes) {
  const int64_t unit = std::max<int64_t>(backend::equal_parts(op, ranks, DType::f32, 1).size_bytes(), 1);
  return backend::equal_parts(op, ranks, DType::f32, std::max<int64_t>(bytes / unit, 1));
}

// The last size of each algorithm and the first of the next, and what the other one would take there.
struct Switch {
  Planned chosen;
  std::vector<Planned> others;
};
std::vector<Switch> switches(const backend::Group& group) {
  const backend::NeuronLinkDescription& link = backend::neuron_link(group.topology->generation());
  std::vector<Switch> out;
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
        CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::all_to_all}) {
    const int64_t unit = backend::equal_parts(op, group.size(), DType::f32, 1).size_bytes();
    std::vector<int64_t> sizes{1024};
    for (const int64_t first :
         {link.single_step_limit + 1, link.mesh_limit.value, link.recursive_limit + 1}) {
      const int64_t next = (first + unit - 1) / unit * unit;
      const auto algorithm = [&](int64_t bytes) {
        return choose_algorithm(sized(op, group.size(), bytes), group);
      };
      if (algorithm(next - unit) == algorithm(next)) continue;
      sizes.push_back(next - unit);
      sizes.push_back(next);
    }
    sizes.push_back(int64_t{1} << 30);
    for (const int64_t size : sizes) {
      const Collective collective = sized(op, group.size(), size);
      Switch at{plan_on(group, collective, {}), {}};
      for (const backend::Algorithm algorithm : algorithms_of(op)) {
        if (name_of(algorithm) == at.chosen.algorithm) continue;
        // A row on every rank from every rank is more than anybody would do with large ones.
        if (algorithm == backend::Algorithm::mesh_single_step && size > link.mesh_limit) continue;
        backend::PlanOptions options;
        options.algorithm = algorithm;
        at.others.push_back(plan_on(group, collective, options));
      }
      out.push_back(std::move(at));
    }
  }
  return out;
}

// Native and emulated forms of rows of 1 MiB.
std::vector<Planned> forms(const backend::Group& group) {
  std::vector<Planned> out;
  for (const CollectiveOp op :
       {CollectiveOp::broadcast, CollectiveOp::reduce, CollectiveOp::gather, CollectiveOp::scatter}) {
    for (const bool emulate : {false, true}) {
      backend::PlanOptions options;
      options.emulate = emulate;
      out.push_back(plan_on(group, sized(op, group.size(), 1 << 20), options));
    }
  }
  return out;
}

std::string gigabytes_per_second(double bytes_per_second) {
  return fmt::format("{:.1f}", bytes_per_second / 1e9);
}

int64_t measurements_of(const CollectiveReport& report, backend::Role role) {
  return std::count_if(report.rows.begin(), report.rows.end(),
                       [&](const CollectiveRowResult& r) { return r.row.role == role; });
}

std::string rows_text(const CollectiveReport& report) {
  using backend::Role;
  std::string out = fmt::format("{} fitted constants, {} rows to fit, {} to check, {} for context\n\n",
                                report.constants.size(), measurements_of(report, Role::fit),
                                measurements_of(report, Role::check), measurements_of(report, Role::context));
  out += fmt::format("{:<22}{:>6}{:>12}{:>12}{:>6}\n", "constant", "of", "fitted", "shipped", "rows");
  for (const backend::FittedConstant& c : report.constants) {
    out += fmt::format("{:<22}{:>6}{:>12.3f}{:>12.3f}{:>6}\n", c.name, c.target, c.value, c.shipped, c.rows);
  }
  for (const Role role : {Role::fit, Role::check, Role::context}) {
    if (measurements_of(report, role) == 0) continue;
    out += fmt::format("\n{:<8}{:<15}{:>5}{:>12} {:<5}{:<17}{:<10}{:>12}{:>12}{:>10}{:>10}{:>9}  {}\n",
                       backend::name_of(role), "operation", "ranks", "bytes", "type", "instance", "which is",
                       "measured us", "clock us", "error", "left out", "bus GB/s", "algorithm");
    for (const CollectiveRowResult& r : report.rows) {
      if (r.row.role != role) continue;
      const Collective& c = r.row.collective;
      out += fmt::format(
          "{:<8}{:<15}{:>5}{:>12} {:<5}{:<17}{:<10}{:>12}{:>12}{:>10}{:>10}{:>9}  {}\n", r.row.id,
          name_of(c.op), c.ranks, c.size_bytes(), name_of(c.dtype),
          fmt::format("{}/{}", r.row.instance, r.row.lnc), r.row.certainty, microseconds(r.row.measured_us),
          r.predicted ? microseconds(r.predicted->seconds * 1e6) : "-", signed_percent(r.error),
          signed_percent(r.left_out_error), r.predicted ? gigabytes_per_second(r.predicted->busbw) : "-",
          r.predicted ? r.algorithm : r.not_predicted);
    }
  }
  out += fmt::format(
      "\nmedian absolute error: fit {}, leave-one-out {}, check {}\n"
      "Errors are clock / measured - 1. Left out: constants fitted to all other rows of the fit.\n"
      "Instances with their LNC, and whether the source states them; why a row is for context stands in the "
      "JSON.\n",
      plain_percent(report.fit_error), plain_percent(report.left_out_error),
      plain_percent(report.check_error));
  return out;
}

std::string plans_text(const backend::Group& group, const std::vector<Switch>& at,
                       const std::vector<Planned>& pairs) {
  std::string out = fmt::format(
      "\nOn both sides of each change of algorithm: {} ranks of a {}, LNC {}\n"
      "{:<15}{:>12}  {:<17}{:>6}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}  {}\n",
      group.size(), kInstance, group.topology->lnc(), "operation", "bytes", "algorithm", "steps", "clock us",
      "latency", "links", "streams", "HBM", "bus GB/s", "others would take, us");
  for (const Switch& s : at) {
    const CollectiveTime& t = s.chosen.time;
    std::string others;
    for (const Planned& other : s.others) {
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", other.algorithm,
                            microseconds(other.time.seconds * 1e6));
    }
    out += fmt::format("{:<15}{:>12}  {:<17}{:>6}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}  {}\n",
                       name_of(s.chosen.collective.op), s.chosen.collective.size_bytes(), s.chosen.algorithm,
                       t.steps, microseconds(t.seconds * 1e6), microseconds((t.launch_s + t.latency_s) * 1e6),
                       microseconds(t.link_s * 1e6), microseconds(t.stream_s * 1e6),
                       microseconds(t.hbm_s * 1e6), gigabytes_per_second(t.busbw), others);
  }
  out += fmt::format(
      "\nNative and as PyTorch's backend emulates them: the same ranks\n{:<15}{:>12}  "
      "{:<10}{:<17}{:>12}{:>16}{:>16}{:>16}\n",
      "operation", "bytes", "form", "algorithm", "clock us", "all bytes", "most received", "most on a link");
  for (const Planned& p : pairs) {
    const auto most = [](const std::vector<int64_t>& v) {
      return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
    };
    out += fmt::format("{:<15}{:>12}  {:<10}{:<17}{:>12}{:>16}{:>16}{:>16}\n", name_of(p.collective.op),
                       p.collective.size_bytes(), p.emulated ? "emulated" : "native", p.algorithm,
                       microseconds(p.time.seconds * 1e6), p.bytes.total(), most(p.bytes.received),
                       most(p.bytes.links));
  }
  return out;
}

OrderedJson optional_number(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson time_json(const CollectiveTime& t) {
  return {
      {"us", t.seconds * 1e6},     {"launch_us", t.launch_s * 1e6}, {"step_latency_us", t.latency_s * 1e6},
      {"link_us", t.link_s * 1e6}, {"stream_us", t.stream_s * 1e6}, {"hbm_us", t.hbm_s * 1e6},
      {"steps", t.steps},          {"algbw_bytes_per_s", t.algbw},  {"busbw_bytes_per_s", t.busbw}};
}

OrderedJson bytes_json(const CollectiveLedger& bytes) {
  return {{"total", bytes.total()},     {"on_chip", bytes.on_chip},   {"off_chip", bytes.off_chip},
          {"messages", bytes.messages}, {"sent", bytes.sent},         {"received", bytes.received},
          {"links", bytes.links},       {"hbm_read", bytes.hbm_read}, {"hbm_written", bytes.hbm_written}};
}

OrderedJson plan_json(const Planned& p) {
  return {{"op", name_of(p.collective.op)},
          {"bytes", p.collective.size_bytes()},
          {"dtype", name_of(p.collective.dtype)},
          {"form", p.emulated ? "emulated" : "native"},
          {"algorithm", p.algorithm},
          {"variant", p.variant},
          {"time", time_json(p.time)},
          {"ledger", bytes_json(p.bytes)}};
}

OrderedJson document(const CollectiveReport& report, const backend::Group& group,
                     const std::vector<Switch>& at, const std::vector<Planned>& pairs) {
  OrderedJson constants = OrderedJson::array(), rows = OrderedJson::array();
  for (const backend::FittedConstant& c : report.constants) {
    constants.push_back({{"name", c.name},
                         {"target", c.target},
                         {"fitted", c.value},
                         {"shipped", c.shipped},
                         {"rows", c.rows}});
  }
  for (const CollectiveRowResult& r : report.rows) {
    const Collective& c = r.row.collective;
    OrderedJson row{
        {"id", r.row.id},
        {"op", name_of(c.op)},
        {"ranks", c.ranks},
        {"bytes", c.size_bytes()},
        {"dtype", name_of(c.dtype)},
        {"instance", r.row.instance},
        {"lnc", r.row.lnc},
        {"certainty", r.row.certainty},
        {"role", backend::name_of(r.row.role)},
        {"timer", r.row.modelled ? "collective" : "outside"},
        {"measured_us", r.row.measured_us},
        {"predicted_us", r.predicted ? OrderedJson(r.predicted->seconds * 1e6) : OrderedJson(nullptr)},
        {"error", optional_number(r.error)},
        {"left_out_error", optional_number(r.left_out_error)},
        {"algorithm", r.algorithm},
        {"variant", r.variant}};
    row["time"] = r.predicted ? time_json(*r.predicted) : OrderedJson(nullptr);
    row["total_bytes"] = r.bytes ? OrderedJson(r.bytes->total()) : OrderedJson(nullptr);
    row["not_predicted"] = r.not_predicted;
    row["source"] = r.row.source;
    row["note"] = r.row.note;
    rows.push_back(std::move(row));
  }
  OrderedJson changes = OrderedJson::array(), both = OrderedJson::array();
  for (const Switch& s : at) {
    OrderedJson change = plan_json(s.chosen), others = OrderedJson::object();
    for (const Planned& other : s.others) others[other.algorithm] = other.time.seconds * 1e6;
    change["others_us"] = std::move(others);
    changes.push_back(std::move(change));
  }
  for (const Planned& p : pairs) both.push_back(plan_json(p));
  return {{"fitted_constants", report.constants.size()},
          {"median_absolute_error",
           {{"fit", optional_number(report.fit_error)},
            {"leave_one_out", optional_number(report.left_out_error)},
            {"check", optional_number(report.check_error)}}},
          {"constants", constants},
          {"rows", rows},
          {"instance", kInstance},
          {"lnc", group.topology->lnc()},
          {"ranks", group.size()},
          {"changes_of_algorithm", changes},
          {"forms", both}};
}

}  // namespace

int bench_collectives(const CollectivesFlags& flags) {
  const std::string path =
      flags.file.empty() ? find_data("backend/collectives/measurements.csv") : flags.file;
  require_input(path, "a table of measurements (CSV)");
  const CollectiveReport report = backend::calibrate_collectives(read_measurements(path));
  const backend::Topology topology = backend::Topology::of(kInstance);
  const backend::Group group = backend::first_cores(topology, flags.ranks);
  const std::vector<Switch> at = switches(group);
  const std::vector<Planned> pairs = forms(group);
  const std::vector<MuonTrafficRow> muon = muon_traffic();
  OrderedJson all = document(report, group, at, pairs);
  all["muon"] = muon_traffic_json(muon);
  const std::string text = all.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  const std::string written = flags.out + "/collectives.json";
  write_file(written, text);
  std::printf("%s", flags.json ? text.c_str()
                               : (rows_text(report) + plans_text(group, at, pairs) + muon_traffic_text(muon) +
                                  written + "\n")
                                     .c_str());
  const bool predicted = std::any_of(report.rows.begin(), report.rows.end(),
                                     [](const CollectiveRowResult& r) { return r.predicted.has_value(); });
  return predicted ? kOk : kNothingPassed;
}

}  // namespace assay::cli
