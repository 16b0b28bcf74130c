#include "suites/selftest/selftest_suite.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace assay::suites {
namespace {

using CasePtr = std::shared_ptr<const Case>;

// Edge values, dtypes and keywords need about this many; more cost time and find nothing else.
constexpr std::size_t kTrials = 24;
// Elements that a case reads and writes. Larger ones are taken only where an operator has no smaller.
constexpr int64_t kSmall = 8192;

// No size depends on data.
bool is_static(const Graph& graph) {
  return std::all_of(graph.values.begin(), graph.values.end(), [](const Value& value) {
    return std::all_of(value.shape.begin(), value.shape.end(), [](int64_t size) { return size >= 0; });
  });
}

bool is_usable(const Case& c) {
  return c.graph && is_static(*c.graph) && c.graph->nodes.size() == 1 && !c.checks.negative &&
         !c.load_expected && !c.load_weights && c.steps == 1 && c.world_size == 1;
}

int64_t elements(const Case& c) {
  int64_t sum = 0;
  for (const Value& value : c.graph->values) {
    if (value.kind == ValueKind::tensor) sum += element_count(value.shape);
  }
  return sum;
}

// "aten::add.Tensor" -> "add.Tensor", "assay::gla_chunk.default" -> "assay-gla_chunk".
std::string short_name(std::string op) {
  if (op.ends_with(".default")) op.resize(op.size() - 8);
  if (op.starts_with("aten::")) return op.substr(6);
  if (const auto at = op.find("::"); at != std::string::npos) op.replace(at, 2, "-");
  return op;
}

// What a case shows of its operator.
std::set<std::string> features_of(const Case& c) {
  std::set<std::string> features;
  std::string dtypes;
  for (const GraphInput& input : c.graph->inputs) {
    if (input.value >= 0)
      dtypes += std::string(name_of(c.graph->values[static_cast<std::size_t>(input.value)].dtype)) + " ";
  }
  features.insert("dtypes " + dtypes);
  if (c.checks.suite_drawn) features.insert("drawn " + dtypes);
  if (c.checks.exact_probe) features.insert("probe");
  const bool fixed = std::any_of(c.inputs.begin(), c.inputs.end(), [](const auto& input) {
    return std::holds_alternative<Tensor>(input.second.source);
  });
  features.insert((fixed ? "fixed " : "plain ") + dtypes);
  const std::string last = c.id.substr(c.id.rfind('/') + 1);
  if (last.starts_with("edge-") || last == "special") features.insert(last);
  const Node& node = c.graph->nodes[0];
  std::string given;
  for (const NamedArgument& argument : node.arguments) {
    given += argument.name + " ";
    if (std::holds_alternative<ValueArg>(argument.value) ||
        std::holds_alternative<ValueListArg>(argument.value))
      continue;
    features.insert(argument.name + "=" + to_string(argument.value));
  }
  features.insert("given " + given);
  for (const ValueId id : node.outputs) {
    if (id >= 0)
      features.insert("rank " + std::to_string(c.graph->values[static_cast<std::size_t>(id)].shape.size()));
  }
  return features;
}

class SelftestSuite : public Suite {
 public:
  SelftestSuite(std::vector<const Suite*> sources, std::vector<Defect> defects)
      : sources_(std::move(sources)), defects_(std::move(defects)) {}
  std::string name() const override { return "selftest"; }
  std::string description() const override {
    return "planted defects: each is to be found by the cases of every operator that it changes";
  }

  void make_cases(uint64_t seed, const CaseSink& sink) const override {
    std::map<std::string, std::vector<CasePtr>> by_op;
    for (const Suite* source : sources_) {
      source->make_cases(seed, [&](Case c) {
        if (!is_usable(c)) return;
        const std::string op = c.graph->nodes[0].op;
        by_op[op].push_back(std::make_shared<const Case>(std::move(c)));
      });
    }
    for (const auto& [op, cases] : by_op) pairs_of(op, representative_cases(cases, kTrials), sink);
  }

 private:
  void pairs_of(const std::string& op, const std::vector<CasePtr>& cases, const CaseSink& sink) const {
    std::vector<OpCall> calls;
    for (const CasePtr& c : cases) calls.emplace_back(*c->graph, c->graph->nodes[0]);
    for (const Defect& defect : defects_) {
      Case pair;
      for (std::size_t i = 0; i < cases.size(); ++i) {
        if (defect.applies(calls[i])) pair.trials.push_back(cases[i]);
      }
      if (pair.trials.empty()) continue;
      pair.id = "selftest/" + short_name(op) + "/" + defect.name;
      pair.suite = "selftest";
      pair.subject = op;
      pair.graph = pair.trials.front()->graph;
      pair.inputs = pair.trials.front()->inputs;
      pair.mutant = defect.name;
      sink(std::move(pair));
    }
  }

  std::vector<const Suite*> sources_;
  std::vector<Defect> defects_;
};

}  // namespace

std::vector<CasePtr> representative_cases(const std::vector<CasePtr>& cases, std::size_t limit) {
  struct Candidate {
    CasePtr c;
    int64_t size;
    std::set<std::string> features;
  };
  std::vector<Candidate> candidates;
  for (const CasePtr& c : cases) candidates.push_back({c, elements(*c), {}});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.size < b.size; });
  const auto large = std::find_if(candidates.begin(), candidates.end(),
                                  [](const Candidate& candidate) { return candidate.size > kSmall; });
  candidates.erase(large == candidates.begin() && large != candidates.end() ? large + 1 : large,
                   candidates.end());
  for (Candidate& candidate : candidates) candidate.features = features_of(*candidate.c);

  std::vector<CasePtr> chosen;
  std::set<std::string> shown;
  while (chosen.size() < limit) {
    const Candidate* best = nullptr;
    std::ptrdiff_t most = 0;
    for (const Candidate& candidate : candidates) {
      const auto fresh = std::count_if(candidate.features.begin(), candidate.features.end(),
                                       [&](const std::string& feature) { return shown.count(feature) == 0; });
      // A draw of a thousand numbers shows more than one number of the same kind.
      const std::ptrdiff_t worth = fresh == 0 || candidate.size < 16 ? fresh : fresh + 2;
      if (worth > most) {
        most = worth;
        best = &candidate;
      }
    }
    if (best == nullptr) break;
    chosen.push_back(best->c);
    shown.insert(best->features.begin(), best->features.end());
  }
  // Plain draws show most defects, and the first case that shows one ends the search.
  std::stable_partition(chosen.begin(), chosen.end(), [](const CasePtr& c) {
    return std::all_of(c->inputs.begin(), c->inputs.end(), [](const auto& input) {
      return !std::holds_alternative<Tensor>(input.second.source);
    });
  });
  return chosen;
}

std::unique_ptr<Suite> make_selftest_suite(std::vector<const Suite*> sources, std::vector<Defect> defects) {
  return std::make_unique<SelftestSuite>(std::move(sources), std::move(defects));
}

}  // namespace assay::suites
