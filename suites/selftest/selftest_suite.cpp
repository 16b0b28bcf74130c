#include "suites/selftest/selftest_suite.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <variant>

namespace assay::suites {
namespace {

using CasePtr = std::shared_ptr<const Case>;

// Cases that a defect can exist in and that are tried before it counts as one that changes nothing or is not
// found. Edge values, dtypes and keywords need about this many; only these two verdicts pay for all of them.
constexpr std::size_t kTrials = 32;
// So many cases are as good as their features say; among them, the ones that are likely to end a search go
// first.
constexpr std::size_t kBlock = 16;
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

bool has_fixed_input(const Case& c) {
  return std::any_of(c.inputs.begin(), c.inputs.end(),
                     [](const auto& input) { return std::holds_alternative<Tensor>(input.second.source); });
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
  features.insert((has_fixed_input(c) ? "fixed " : "plain ") + dtypes);
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
    for (const auto& [op, cases] : by_op) pairs_of(op, ranked_cases(cases), sink);
  }

 private:
  void pairs_of(const std::string& op, const std::vector<CasePtr>& cases, const CaseSink& sink) const {
    std::vector<OpCall> calls;
    for (const CasePtr& c : cases) calls.emplace_back(*c->graph, c->graph->nodes[0]);
    for (const Defect& defect : defects_) {
      Case pair;
      for (std::size_t i = 0; i < cases.size() && pair.trials.size() < kTrials; ++i) {
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

std::vector<CasePtr> ranked_cases(const std::vector<CasePtr>& cases) {
  struct Candidate {
    CasePtr c;
    int64_t size;
    std::vector<std::size_t> features;
  };
  std::vector<Candidate> rest;
  for (const CasePtr& c : cases) rest.push_back({c, elements(*c), {}});
  std::stable_sort(rest.begin(), rest.end(),
                   [](const Candidate& a, const Candidate& b) { return a.size < b.size; });
  const auto large = std::find_if(rest.begin(), rest.end(),
                                  [](const Candidate& candidate) { return candidate.size > kSmall; });
  rest.erase(large == rest.begin() && large != rest.end() ? large + 1 : large, rest.end());
  std::map<std::string, std::size_t> numbers;
  for (Candidate& candidate : rest) {
    for (const std::string& feature : features_of(*candidate.c))
      candidate.features.push_back(numbers.emplace(feature, numbers.size()).first->second);
  }

  std::vector<CasePtr> ranked;
  // Each round shows once more what the cases that are left have to show.
  while (!rest.empty()) {
    std::vector<char> shown(numbers.size(), 0);
    for (;;) {
      auto best = rest.end();
      std::ptrdiff_t most = 0;
      for (auto candidate = rest.begin(); candidate != rest.end(); ++candidate) {
        const auto fresh = std::count_if(candidate->features.begin(), candidate->features.end(),
                                         [&](std::size_t feature) { return shown[feature] == 0; });
        // A draw of a thousand numbers shows more than one number of the same kind.
        const std::ptrdiff_t worth = fresh == 0 || candidate->size < 16 ? fresh : fresh + 2;
        if (worth > most) {
          most = worth;
          best = candidate;
        }
      }
      if (best == rest.end()) break;
      for (const std::size_t feature : best->features) shown[feature] = 1;
      ranked.push_back(std::move(best->c));
      rest.erase(best);
    }
  }
  // Plain draws show most defects, and the first case that shows one ends the search.
  for (std::size_t block = 0; block < ranked.size(); block += kBlock) {
    const auto begin = ranked.begin() + static_cast<std::ptrdiff_t>(block);
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(std::min(block + kBlock, ranked.size()));
    std::stable_partition(begin, end, [](const CasePtr& c) { return !has_fixed_input(*c); });
  }
  return ranked;
}

std::unique_ptr<Suite> make_selftest_suite(std::vector<const Suite*> sources, std::vector<Defect> defects) {
  return std::make_unique<SelftestSuite>(std::move(sources), std::move(defects));
}

}  // namespace assay::suites
