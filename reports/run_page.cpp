#include "reports/run_page.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/median.h"
#include "reports/families.h"
#include "reports/packed_table.h"

namespace assay::reports {
namespace {

using nlohmann::json;

std::string cell(const std::optional<double>& value) { return value ? json_cell(*value) : "null"; }
std::string cell_of_text(const std::string& text) { return text.empty() ? "null" : json_cell(text); }

template <typename T>
std::string joined(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    if (!text.empty()) text += ", ";
    if constexpr (std::is_same_v<T, std::string>) {
      text += value;
    } else {
      text += std::to_string(value);
    }
  }
  return text;
}

// "ops/sum.dim_IntList/bf16" of "ops/sum.dim_IntList/bf16/5x7,dim=[1]".
std::string_view group_of(std::string_view id) {
  std::size_t at = 0;
  for (int i = 0; i < 3 && at != std::string_view::npos; ++i) at = id.find('/', at + (i > 0 ? 1 : 0));
  return id.substr(0, at);
}
std::string_view operator_of(std::string_view id) {
  const std::size_t first = id.find('/');
  if (first == std::string_view::npos) return {};
  return id.substr(first + 1, id.find('/', first + 1) - first - 1);
}

// A row of a table beside the cases.
template <typename T>
struct Part {
  int64_t of;  // index of the case
  const T* part;
};

template <typename T>
PackedTable table_of(const std::vector<Part<T>>& parts) {
  PackedTable table(parts.size());
  table.add_rising("case", [&](std::size_t i) { return parts[i].of; });
  return table;
}

class RunPage {
 public:
  explicit RunPage(const RunFolder& run) : run_(run), order_(run.records.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const Record &x = run.records[a], &y = run.records[b];
      return std::tie(x.id, y.mode) < std::tie(y.id, x.mode);  // eager before compile
    });
    for (const NodeRecord& node : run.nodes) nodes_of_[{node.case_id, node.mode}].push_back(&node);
    choose_whole();
  }

  std::string json_text() const {
    std::string out = facts().dump(-1, ' ', false, json::error_handler_t::replace);
    out.pop_back();  // the object's brace: the tables are members of it
    const auto add = [&](const char* name, const PackedTable& table) {
      out += std::string(",\"") + name + "\":" + table.json();
    };
    add("cases", cases());
    add("worst", worst());
    add("gates", gates());
    add("bad_nodes", bad_nodes());
    add("fallbacks", fallbacks());
    add("devices", devices());
    add("compiles", compiles());
    add("steady", steady());
    add("nodes", nodes());
    return out + "}";
  }

 private:
  const Record& record(std::size_t row) const { return run_.records[order_[row]]; }

  void choose_whole() {
    whole_.assign(order_.size(), true);
    std::vector<std::size_t> plain;
    for (std::size_t row = 0; row < order_.size(); ++row) {
      const Record& r = record(row);
      const bool right = r.status == Status::pass || r.status == Status::rejected_bad_input;
      if (right && r.fallbacks.empty() && !r.first_bad_node && !nodes_of_.contains({r.id, r.mode}))
        plain.push_back(row);
    }
    if (plain.size() <= kWholeRunLimit) return;
    for (const std::size_t row : plain) whole_[row] = false;
    std::stable_sort(plain.begin(), plain.end(), [&](std::size_t a, std::size_t b) {
      return record(a).margin.value_or(-1) > record(b).margin.value_or(-1);
    });
    std::set<std::pair<std::string_view, std::string_view>> seen;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const Record& r = record(plain[i]);
      if (!r.margin || *r.margin == 0) break;  // exact ones have no worst element
      if (seen.emplace(group_of(r.id), r.mode).second || i < kWorstKept) whole_[plain[i]] = true;
    }
  }

  json facts() const {
    const Totals totals = totals_of(run_);
    json data = {{"path", run_.path},
                 {"verb", run_.verb},
                 {"backend", run_.backend},
                 {"device", run_.device},
                 {"version", run_.version},
                 {"contract", run_.contract_hash},
                 {"started", run_.started},
                 {"ended", run_.ended},
                 {"machine", run_.machine},
                 {"seed", run_.seed},
                 {"loosened", run_.loosened},
                 {"torn", run_.torn_last_line},
                 {"totals",
                  {{"passed", totals.passed},
                   {"failed", totals.failed},
                   {"skipped", totals.skipped},
                   {"not_exported", totals.not_exported},
                   {"by_status", totals.by_status}}},
                 {"families", json::object()},
                 {"not_exported", json::array()}};
    for (const Record& r : run_.records) {
      if (r.suite != "ops") continue;
      const std::string op(operator_of(r.id));
      if (!data["families"].contains(op)) data["families"][op] = family_of(op);
    }
    for (const NotExportedRow& row : run_.not_exported) {
      data["not_exported"].push_back({{"id", row.id},
                                      {"kind", row.kind},
                                      {"model", row.model},
                                      {"attention", row.attention},
                                      {"reason", row.reason}});
    }
    return data;
  }

  PackedTable cases() const {
    PackedTable table(order_.size());
    table.add_names("id", [&](std::size_t i) -> std::string_view { return record(i).id; });
    const auto text = [&](const char* name, auto member) {
      table.add(name, [&, member](std::size_t i) { return json_cell(record(i).*member); });
    };
    text("suite", &Record::suite);
    text("mode", &Record::mode);
    text("reason", &Record::reason);
    text("witness", &Record::witness);
    text("same_as", &Record::same_as);
    text("detail", &Record::detail);
    table.add("status", [&](std::size_t i) { return json_cell(name_of(record(i).status)); });
    table.add("class", [&](std::size_t i) {
      const Status status = record(i).status;
      return std::string(is_pass(status) ? "\"pass\"" : is_skip(status) ? "\"skip\"" : "\"fail\"");
    });
    table.add("whole", [&](std::size_t i) { return std::string(whole_[i] ? "1" : "0"); });
    table.add("weight", [&](std::size_t i) { return json_cell(record(i).weight); });
    add_repro(table, [&](std::size_t i) { return Repro{record(i).repro, record(i).id}; });

    const auto number = [&](const char* name, int digits, const auto& value) {
      table.add(name, [&, digits](std::size_t i) {
        const std::optional<double> number = value(record(i));
        return !number ? "null" : whole_[i] ? json_cell(*number) : json_cell(*number, digits);
      });
    };
    number("margin", 5, [](const Record& r) { return r.margin; });
    number("nodes_on_device", 4,
           [](const Record& r) { return r.residency ? std::optional(r.residency->nodes) : std::nullopt; });
    number("flops_on_device", 4,
           [](const Record& r) { return r.residency ? std::optional(r.residency->flops) : std::nullopt; });
    // Microseconds, to three digits each: sums and columns of times need no more.
    const auto time = [&](const char* name, const auto& value) {
      table.add(name, [&](std::size_t i) {
        const std::optional<double> seconds = value(record(i));
        return seconds ? json_cell(*seconds * 1e6, 3) : "null";
      });
    };
    time("wall_us", [](const Record& r) { return std::optional(r.wall_s); });
    time("judge_us", [](const Record& r) { return r.judge_s; });
    time("prepare_us", [](const Record& r) { return r.phases.prepare_s; });
    time("compile_us", [](const Record& r) { return r.phases.compile_cold_s; });
    time("first_us", [](const Record& r) { return r.phases.first_run_s; });
    time("steady_us", [](const Record& r) { return median(r.phases.steady_s); });
    time("repeats_us", [](const Record& r) -> std::optional<double> {
      if (r.phases.steady_s.empty()) return std::nullopt;
      return std::accumulate(r.phases.steady_s.begin(), r.phases.steady_s.end(), 0.0);
    });
    time("device_us",
         [](const Record& r) { return r.device ? std::optional(r.device->seconds) : std::nullopt; });
    table.add("instructions", [&](std::size_t i) {
      return record(i).device ? json_cell(record(i).device->instructions) : "null";
    });
    return table;
  }

  template <typename T, typename Of>
  std::vector<Part<T>> parts(const Of& of) const {
    std::vector<Part<T>> found;
    for (std::size_t row = 0; row < order_.size(); ++row) {
      if (!whole_[row]) continue;
      of(record(row), [&](const T& part) { found.push_back({static_cast<int64_t>(row), &part}); });
    }
    return found;
  }

  static void add_worst(PackedTable& table, const std::function<const Worst&(std::size_t)>& worst) {
    table.add("output", [&](std::size_t i) { return json_cell(worst(i).output); });
    table.add("index", [&](std::size_t i) { return json_cell(joined(worst(i).index)); });
    table.add("got", [&](std::size_t i) { return json_cell(worst(i).got); });
    table.add("want", [&](std::size_t i) { return json_cell(worst(i).want); });
    table.add("bound", [&](std::size_t i) { return json_cell(worst(i).bound); });
    table.add("ulp", [&](std::size_t i) { return cell(worst(i).ulp); });
  }

  PackedTable worst() const {
    const auto found = parts<Worst>([](const Record& r, const auto& add) {
      if (r.worst) add(*r.worst);
    });
    PackedTable table = table_of(found);
    add_worst(table, [&](std::size_t i) -> const Worst& { return *found[i].part; });
    return table;
  }

  PackedTable gates() const {
    using Entry = std::pair<const std::string, Gate>;
    const auto found = parts<Entry>([](const Record& r, const auto& add) {
      for (const auto& entry : r.gates)
        if (entry.second.status != GateStatus::not_applicable) add(entry);
    });
    PackedTable table = table_of(found);
    table.add("gate", [&](std::size_t i) { return json_cell(found[i].part->first); });
    table.add("status", [&](std::size_t i) {
      switch (found[i].part->second.status) {
        case GateStatus::pass:
          return "\"pass\"";
        case GateStatus::fail:
          return "\"fail\"";
        default:
          return "\"undetermined\"";
      }
    });
    table.add("value", [&](std::size_t i) { return cell(found[i].part->second.value); });
    table.add("limit", [&](std::size_t i) { return cell(found[i].part->second.limit); });
    return table;
  }

  PackedTable bad_nodes() const {
    const auto found = parts<BadNode>([](const Record& r, const auto& add) {
      if (r.first_bad_node) add(*r.first_bad_node);
    });
    PackedTable table = table_of(found);
    table.add("name", [&](std::size_t i) { return json_cell(found[i].part->name); });
    table.add("op", [&](std::size_t i) { return json_cell(found[i].part->op); });
    table.add("source", [&](std::size_t i) { return json_cell(found[i].part->source); });
    table.add("margin", [&](std::size_t i) { return cell(found[i].part->margin); });
    return table;
  }

  PackedTable fallbacks() const {
    const auto found = parts<Fallback>([](const Record& r, const auto& add) {
      for (const Fallback& fallback : r.fallbacks) add(fallback);
    });
    PackedTable table = table_of(found);
    table.add("op", [&](std::size_t i) { return json_cell(found[i].part->op); });
    table.add("reason", [&](std::size_t i) { return json_cell(found[i].part->reason); });
    table.add("count", [&](std::size_t i) { return json_cell(found[i].part->count); });
    table.add("bytes", [&](std::size_t i) { return json_cell(found[i].part->bytes); });
    table.add("seconds", [&](std::size_t i) { return json_cell(found[i].part->seconds, 4); });
    return table;
  }

  PackedTable devices() const {
    const auto found = parts<DeviceCounters>([](const Record& r, const auto& add) {
      if (r.device) add(*r.device);
    });
    PackedTable table = table_of(found);
    table.add("cycles", [&](std::size_t i) { return json_cell(found[i].part->cycles); });
    table.add("peak_bytes", [&](std::size_t i) { return json_cell(found[i].part->peak_bytes); });
    return table;
  }

  PackedTable compiles() const {
    const auto found = parts<Record>([](const Record& r, const auto& add) {
      const Compiles& c = r.compiles;
      if (c.count || c.hits_disk || !c.misses.empty() || r.phases.compile_disk_warm_s ||
          r.phases.compile_memory_warm_s)
        add(r);
    });
    PackedTable table = table_of(found);
    const auto count = [&](const char* name, auto member) {
      table.add(name, [&, member](std::size_t i) { return json_cell(found[i].part->compiles.*member); });
    };
    count("count", &Compiles::count);
    count("hits_memory", &Compiles::hits_memory);
    count("hits_disk", &Compiles::hits_disk);
    table.add("misses", [&](std::size_t i) { return json_cell(joined(found[i].part->compiles.misses)); });
    table.add("disk_warm_s", [&](std::size_t i) { return cell(found[i].part->phases.compile_disk_warm_s); });
    table.add("memory_warm_s",
              [&](std::size_t i) { return cell(found[i].part->phases.compile_memory_warm_s); });
    return table;
  }

  PackedTable steady() const {  // of cases that were executed more than twice, every time
    std::vector<Part<double>> found = parts<double>([](const Record& r, const auto& add) {
      if (r.phases.steady_s.size() < 2) return;
      for (const double& seconds : r.phases.steady_s) add(seconds);
    });
    PackedTable table = table_of(found);
    table.add("seconds", [&](std::size_t i) { return json_cell(*found[i].part, 4); });
    return table;
  }

  PackedTable nodes() const {
    const auto found = parts<NodeRecord>([&](const Record& r, const auto& add) {
      const auto nodes = nodes_of_.find({r.id, r.mode});
      if (nodes == nodes_of_.end()) return;
      for (const NodeRecord* node : nodes->second) add(*node);
    });
    PackedTable table = table_of(found);
    const auto text = [&](const char* name, auto member) {
      table.add(name, [&, member](std::size_t i) { return cell_of_text(found[i].part->*member); });
    };
    text("name", &NodeRecord::name);
    text("op", &NodeRecord::op);
    text("source", &NodeRecord::source);
    text("module", &NodeRecord::module_path);
    text("dtype", &NodeRecord::dtype);
    text("status", &NodeRecord::status);
    text("fallback_reason", &NodeRecord::fallback_reason);
    table.add("shape", [&](std::size_t i) { return json_cell(joined(found[i].part->shape)); });
    table.add("margin", [&](std::size_t i) { return cell(found[i].part->margin); });
    table.add("worst", [&](std::size_t i) -> std::string {
      const auto& worst = found[i].part->worst;
      if (!worst) return "null";
      return json_cell(worst->output + "[" + joined(worst->index) + "] got " + json_cell(worst->got) +
                       ", want " + json_cell(worst->want) + ", Bound " + json_cell(worst->bound));
    });
    return table;
  }

  const RunFolder& run_;
  std::vector<std::size_t> order_;  // of the page's rows, as indices of records
  std::vector<bool> whole_;         // by row
  std::map<std::pair<std::string, std::string>, std::vector<const NodeRecord*>> nodes_of_;
};

}  // namespace

std::string run_page_data(const RunFolder& run) { return RunPage(run).json_text(); }

}  // namespace assay::reports
