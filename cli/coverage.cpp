#include "cli/coverage.h"

#include <utility>

#include "cli/suites.h"
#include "core/graph/json.h"
#include "core/opset/schema.h"
#include "harness/worker/worker_client.h"
#include "reference/evaluate.h"
#include "suites/distributed/distributed_suite.h"

namespace assay::cli {
namespace {

// One call of an operator in one computation dtype, as the suites make it.
struct Probe {
  std::string op, dtype, graph_json;
};

// The dtype that a node computes in: its first tensor input's, else its result's.
std::string computation_dtype(const Graph& graph) {
  const Node& node = graph.nodes.at(0);
  const auto inputs = inputs_of(node);
  const ValueId id = inputs.empty() ? node.outputs.at(0) : inputs.front();
  return std::string(name_of(graph.values.at(static_cast<std::size_t>(id)).dtype));
}

std::vector<Probe> probes(std::map<std::string, int64_t>& cases) {
  std::map<std::pair<std::string, std::string>, std::string> first;
  for (const Case& c : suite_cases({}, 0, suites::kDefaultRanks)) {
    if (!c.graph) continue;
    // A case of an operator may view its inputs first.
    ++cases[c.subject];
    if (c.checks.negative || c.graph->nodes.size() != 1) continue;
    std::string& json = first[{c.graph->nodes[0].op, computation_dtype(*c.graph)}];
    if (json.empty()) json = graph_to_json(single_node_graph(*c.graph, c.graph->nodes[0]));
  }
  std::vector<Probe> made;
  for (auto& [key, json] : first) made.push_back({key.first, key.second, std::move(json)});
  return made;
}

std::vector<NodeSupport> ask(const std::string& backend, const std::vector<Probe>& all) {
  WorkerClient client(parse_backend(backend), HelloRequest{}, ExchangeLimits{});
  client.hello();
  std::vector<std::string> graphs;
  for (const Probe& probe : all) graphs.push_back(probe.graph_json);
  return client.supports(graphs);
}

}  // namespace

std::vector<OperatorCoverage> operator_coverage() {
  std::map<std::string, int64_t> cases;
  const std::vector<Probe> all = probes(cases);
  std::map<std::string, OperatorCoverage> table;
  for (const Schema& schema : all_schemas()) {
    OperatorCoverage row;
    row.name = schema.full_name();
    row.schema = schema.text;
    row.cases = cases.contains(row.name) ? cases.at(row.name) : 0;
    const auto& model = reference::error_model(row.name);
    row.error_model = model.name.empty() ? "unmodelled" : model.name;
    if (row.cases == 0) row.reason = "no case of the suites calls it";
    table[row.name] = std::move(row);
  }
  for (const char* backend : {"reference", "trainium"}) {
    const auto answers = ask(backend, all);
    for (std::size_t i = 0; i < all.size() && i < answers.size(); ++i) {
      OperatorCoverage& row = table[all[i].op];
      row.backends[backend][all[i].dtype] = !answers[i].supported    ? "unsupported"
                                            : answers[i].native == 2 ? "native_gpsimd"
                                                                     : "native";
      if (!answers[i].supported && row.reason.empty()) {
        row.reason = std::string(backend) + ", " + all[i].dtype + ": " + answers[i].reason +
                     (answers[i].message.empty() ? "" : ": " + answers[i].message);
      }
    }
    for (auto& [name, row] : table) row.backends.try_emplace(backend);
  }
  std::vector<OperatorCoverage> rows;
  for (auto& [name, row] : table) rows.push_back(std::move(row));
  return rows;
}

}  // namespace assay::cli
