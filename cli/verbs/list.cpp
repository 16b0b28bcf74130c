// assay list: what there is.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/coverage.h"
#include "cli/suites.h"
#include "cli/verb.h"
#include "core/error.h"
#include "core/opset/required.h"
#include "harness/worker/locate.h"
#include "suites/distributed/distributed_suite.h"
#include "sweeps/csv.h"

namespace assay::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ListFlags {
  std::string what, generated;
  bool json = false;
};

void print(const Json& rows, bool as_json, const std::vector<std::string>& columns) {
  if (as_json) {
    std::printf("%s\n", rows.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
    return;
  }
  for (const Json& row : rows) {
    std::string line;
    for (const std::string& column : columns) {
      const Json& cell = row.at(column);
      line += (line.empty() ? "" : "  ") + (cell.is_string() ? cell.get<std::string>() : cell.dump());
    }
    std::printf("%s\n", line.c_str());
  }
}

Json ops() {
  Json rows = Json::array();
  for (const OperatorCoverage& row : operator_coverage()) {
    rows.push_back({{"name", row.name},
                    {"schema", row.schema},
                    {"required", is_required_operator(row.name)},
                    {"backends", row.backends},
                    {"reason", row.reason},
                    {"cases", row.cases},
                    {"error_model", row.error_model}});
  }
  return rows;
}

Json cases() {
  Json rows = Json::array();
  for (const Case& c : suite_cases({}, 0, suites::kDefaultRanks))
    rows.push_back({{"id", c.id}, {"suite", c.suite}, {"subject", c.subject}});
  return rows;
}

Json models() {
  Json rows = Json::array();
  for (const sweeps::CsvRow& row :
       sweeps::read_csv(find_data("sweeps/catalogue/architectures.csv"), {"id", "file"})) {
    rows.push_back({{"id", row.at("id")},
                    {"kind", row.at("kind")},
                    {"model", row.at("model")},
                    {"attention", row.at("attention")},
                    {"nodes", row.at("nodes")},
                    {"parameters", row.at("parameters")}});
  }
  return rows;
}

Json backends() {
  return Json::array(
      {{{"name", "reference"}, {"about", "fp64 arithmetic on the CPU, judged by float128"}},
       {{"name", "trainium"}, {"about", "simulated NeuronCore-v3; the same as trainium:trn2"}},
       {{"name", "trainium:trn1"}, {"about", "simulated NeuronCore-v2"}},
       {{"name", "trainium:trn3"}, {"about", "simulated NeuronCore-v4"}},
       {{"name", "null"}, {"about", "accepts everything, computes nothing; never passes"}},
       {{"name", "torch:cpu"}, {"about", "PyTorch on the CPU, in a worker of its own"}},
       {{"name", "torch:gloo"}, {"about", "PyTorch processes over gloo, for distributed cases"}},
       {{"name", "mpi"}, {"about", "processes over Open MPI, for distributed cases"}},
       {{"name", "PATH.so"}, {"about", "a plug-in (abi/assay/backend.h)"}}});
}

Json suites() {
  Json rows = Json::array();
  for (const auto& suite : all_suites())
    rows.push_back({{"name", suite->name()}, {"about", suite->description()}});
  return rows;
}

int list(const ListFlags& flags) {
  if (!flags.generated.empty()) {
    throw Error(ErrorCode::unsupported,
                "list --generated: generated configurations are not built in this version");
  }
  if (flags.what == "ops") {
    print(ops(), flags.json, {"name", "error_model", "cases", "backends"});
  } else if (flags.what == "cases") {
    print(cases(), flags.json, {"id"});
  } else if (flags.what == "models") {
    print(models(), flags.json, {"id", "kind", "nodes", "parameters"});
  } else if (flags.what == "backends") {
    print(backends(), flags.json, {"name", "about"});
  } else {
    print(suites(), flags.json, {"name", "about"});
  }
  return kOk;
}

}  // namespace

void register_list(VerbTable& table) {
  table.add(
      {"list", "operators, cases, models, backends or suites", [](CLI::App& command) -> std::function<int()> {
         auto flags = std::make_shared<ListFlags>();
         command.add_option("WHAT", flags->what, "ops, cases, models, backends or suites")
             ->required()
             ->check(CLI::IsMember({"ops", "cases", "models", "backends", "suites"}));
         command.add_flag("--json", flags->json, "machine-readable");
         command.add_option("--generated", flags->generated, "N[:SEED]: generated model configurations");
         return [flags] { return list(*flags); };
       }});
}

}  // namespace assay::cli
