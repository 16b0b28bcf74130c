#include "cli/coverage.h"

#include <set>
#include <utility>

#include "cli/suites.h"
#include "core/distributed/join.h"
#include "core/graph/json.h"
#include "core/opset/classify.h"
#include "core/opset/schema.h"
#include "harness/worker/worker_client.h"
#include "reference/evaluate.h"
#include "suites/distributed/distributed_suite.h"

namespace assay::cli {
namespace {

// One call of an operator in one computation dtype, as the suites make it: one node, or the parts of a
// composite operator.
struct Probe {
  std::string op, dtype;
  std::vector<std::string> graphs_json;
};

std::string dtype_of(const Graph& graph, ValueId id) {
  return std::string(name_of(graph.values.at(static_cast<std::size_t>(id)).dtype));
}

// The dtype that a node computes in: its first tensor input's, else its result's.
std::string computation_dtype(const Graph& graph, const Node& node) {
  const auto inputs = inputs_of(node);
  return dtype_of(graph, inputs.empty() ? node.outputs.at(0) : inputs.front());
}

std::vector<std::string> nodes_json(const Graph& graph) {
  std::vector<std::string> json;
  for (const Node& node : graph.nodes) json.push_back(graph_to_json(single_node_graph(graph, node)));
  return json;
}

using Calls = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

// Collectives as a rank's program writes them run as the nodes of all ranks' programs joined.
void count_collectives(const Case& c, std::map<std::string, int64_t>& cases, Calls& first) {
  const Graph& program = *c.ranks->graphs.at(0);
  std::set<std::string> seen;
  for (const Node& node : program.nodes) {
    const bool collective = node.op.starts_with("_c10d_functional::") || node.op.starts_with("assay::");
    if (!collective || !seen.insert(node.op).second || find_schema(node.op) == nullptr) continue;
    ++cases[node.op];
    if (c.checks.negative || inputs_of(node).empty()) continue;
    auto& json = first[{node.op, computation_dtype(program, node)}];
    if (json.empty()) json = nodes_json(*c.graph);
  }
}

std::vector<Probe> probes(std::map<std::string, int64_t>& cases) {
  Calls first;
  for (const Case& c : suite_cases({}, 0, suites::kDefaultRanks)) {
    if (!c.graph) continue;
    const Graph& graph = *c.graph;
    // A case of an operator may view its inputs first.
    ++cases[c.subject];
    if (c.ranks) count_collectives(c, cases, first);
    if (c.checks.negative || graph.nodes.empty()) continue;
    std::pair<std::string, std::string> call;
    if (graph.nodes.size() == 1) {
      call = {graph.nodes[0].op, computation_dtype(graph, graph.nodes[0])};
    } else if (find_schema(c.subject) != nullptr && !reference::has_operator(c.subject) &&
               !graph.inputs.empty()) {
      call = {c.subject, dtype_of(graph, graph.inputs[0].value)};
    } else {
      continue;
    }
    auto& json = first[call];
    if (json.empty()) json = nodes_json(graph);
  }
  std::vector<Probe> made;
  for (auto& [key, json] : first) made.push_back({key.first, key.second, std::move(json)});
  return made;
}

std::vector<NodeSupport> ask(const std::string& backend, const std::vector<Probe>& all) {
  WorkerClient client(parse_backend(backend), HelloRequest{}, ExchangeLimits{});
  client.hello();
  std::vector<std::string> graphs;
  for (const Probe& probe : all)
    graphs.insert(graphs.end(), probe.graphs_json.begin(), probe.graphs_json.end());
  return client.supports(graphs);
}

struct Answer {
  std::string word;
  const NodeSupport* refusal = nullptr;
};

// A composite operator runs where all its parts do, and on the slowest engine that one of them needs.
Answer summary(const std::vector<NodeSupport>& answers, std::size_t first, std::size_t count) {
  bool gpsimd = false;
  for (std::size_t i = first; i < first + count; ++i) {
    const NodeSupport& answer = answers.at(i);
    if (!answer.supported) return {"unsupported", &answer};
    gpsimd = gpsimd || answer.native == 2;
  }
  return {gpsimd ? "native_gpsimd" : "native", nullptr};
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
    row.error_model = !model.name.empty() ? model.name : is_host_scalar_op(row.name) ? "exact" : "unmodelled";
    if (is_host_scalar_op(row.name)) {
      row.reason = "a number for the host: it is computed when sizes are specialised, before any backend";
    } else if (row.cases == 0) {
      row.reason = "no case of the suites calls it";
    }
    table[row.name] = std::move(row);
  }
  for (const char* backend : {"reference", "trainium"}) {
    const auto answers = ask(backend, all);
    std::size_t next = 0;
    for (const Probe& probe : all) {
      const auto answer = summary(answers, next, probe.graphs_json.size());
      next += probe.graphs_json.size();
      OperatorCoverage& row = table[probe.op];
      row.backends[backend][probe.dtype] = answer.word;
      if (probe.graphs_json.size() > 1 || row.error_model == "unmodelled") row.error_model = "composition";
      if (answer.refusal != nullptr && row.reason.empty()) {
        row.reason = std::string(backend) + ", " + probe.dtype + ": " + answer.refusal->reason +
                     (answer.refusal->message.empty() ? "" : ": " + answer.refusal->message);
      }
    }
    for (auto& [name, row] : table) row.backends.try_emplace(backend);
  }
  std::vector<OperatorCoverage> rows;
  for (auto& [name, row] : table) rows.push_back(std::move(row));
  return rows;
}

}  // namespace assay::cli
