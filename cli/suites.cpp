#include "cli/suites.h"

#include <algorithm>

#include "core/error.h"
#include "harness/mutant/mutant.h"
#include "suites/attention/attention_suite.h"
#include "suites/distributed/distributed_suite.h"
#include "suites/gla/gla_suite.h"
#include "suites/muon/muon_suite.h"
#include "suites/ops/ops_suite.h"
#include "suites/selftest/selftest_suite.h"
#include "suites/training/training_suite.h"
#include "suites/witness/witness_suite.h"

namespace assay::cli {

const std::vector<std::unique_ptr<Suite>>& all_suites() {
  static const auto suites = [] {
    std::vector<std::unique_ptr<Suite>> made;
    made.push_back(suites::make_ops_suite());
    made.push_back(suites::make_attention_suite());
    made.push_back(suites::make_gla_suite());
    made.push_back(suites::make_muon_suite());
    made.push_back(suites::make_witness_suite());
    std::vector<const Suite*> sources;
    for (const auto& suite : made) sources.push_back(suite.get());
    made.push_back(suites::make_training_suite());  // no case of a single operator
    std::vector<suites::Defect> defects;
    for (const Mutant& mutant : all_mutants()) defects.push_back({mutant.name, mutant.applies});
    made.push_back(suites::make_selftest_suite(std::move(sources), std::move(defects)));
    made.push_back(suites::make_distributed_suite(suites::kDefaultRanks));
    return made;
  }();
  return suites;
}

std::vector<Case> suite_cases(const std::vector<std::string>& names, uint64_t seed, int ranks) {
  for (const std::string& name : names) {
    const bool known = std::any_of(all_suites().begin(), all_suites().end(),
                                   [&](const auto& s) { return s->name() == name; });
    if (known) continue;
    std::string list;
    for (const auto& suite : all_suites()) list += (list.empty() ? "" : ", ") + suite->name();
    throw Error(ErrorCode::invalid_argument, "no suite is named '" + name + "'; there are: " + list);
  }
  std::vector<Case> cases;
  for (const auto& suite : all_suites()) {
    // selftest is about Assay, not about a backend: it runs where it is asked for.
    if (names.empty() && suite->name() == "selftest") continue;
    if (!names.empty() && std::find(names.begin(), names.end(), suite->name()) == names.end()) continue;
    const auto sink = [&](Case c) { cases.push_back(std::move(c)); };
    if (suite->name() == "distributed" && ranks > 0) {
      suites::make_distributed_suite(ranks)->make_cases(seed, sink);
    } else if (suite->name() != "distributed" || !names.empty()) {
      suite->make_cases(seed, sink);
    }
  }
  return cases;
}

}  // namespace assay::cli
