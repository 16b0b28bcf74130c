#include "suites/selftest/selftest_suite.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "core/error.h"
#include "harness/mutant/families.h"
#include "harness/mutant/mutant.h"
#include "suites/attention/attention_suite.h"
#include "suites/gla/gla_suite.h"
#include "suites/muon/muon_suite.h"
#include "suites/ops/ops_suite.h"

namespace assay::suites {
namespace {

std::vector<Defect> defects() {
  std::vector<Defect> out;
  for (const Mutant& mutant : all_mutants()) out.push_back({mutant.name, mutant.applies});
  return out;
}

// Some bit of what the reference computes is another one with the defect.
bool changes(const Mutant& mutant, const Case& c) {
  const OpCall call(*c.graph, c.graph->nodes[0]);
  std::map<ValueId, Tensor> given_for;  // by value: a call's tensors come in the order of its arguments
  std::vector<Tensor> drawn = materialise_inputs(c, 0);
  for (const GraphInput& input : c.graph->inputs) {
    const std::size_t k = given_for.size();
    if (input.value >= 0) given_for[input.value] = drawn.at(k);
  }
  std::vector<Tensor> inputs;
  for (const ValueId id : inputs_of(c.graph->nodes[0])) inputs.push_back(given_for.at(id));
  std::vector<Tensor> right;
  try {
    right = recompute(call, inputs);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    return false;
  }
  const std::vector<Tensor> given = inputs;
  std::vector<Tensor> planted = right, before;
  for (const Tensor& output : right) before.push_back(Tensor(output.dtype(), output.shape()));
  Execution execution{call, inputs, planted, before, 0};
  if (!plant_mutant(mutant, execution)) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].bitwise_equal(inputs[i])) return true;
  }
  for (std::size_t k = 0; k < right.size(); ++k) {
    if (!planted[k].bitwise_equal(right[k])) return true;
  }
  return false;
}

TEST(SelftestSuite, EveryDefectChangesAResult) {
  EXPECT_GE(all_mutants().size(), 60U);
  const auto ops = make_ops_suite(), attention = make_attention_suite(), gla = make_gla_suite(),
             muon = make_muon_suite();
  const auto suite = make_selftest_suite({ops.get(), attention.get(), gla.get(), muon.get()}, defects());
  std::map<std::string, int> operators;
  std::set<std::string> shown, ids;
  suite->make_cases(0, [&](const Case& pair) {
    EXPECT_TRUE(ids.insert(pair.id).second) << pair.id << " twice";
    ASSERT_FALSE(pair.trials.empty()) << pair.id;
    ++operators[pair.mutant];
    if (shown.contains(pair.mutant)) return;
    const Mutant& mutant = *find_mutant(pair.mutant);
    for (const auto& trial : pair.trials) {
      if (!changes(mutant, *trial)) continue;
      shown.insert(pair.mutant);
      return;
    }
  });
  for (const Mutant& mutant : all_mutants()) {
    // The first execution is right; buffers have no dtype of their own; guards are the worker's.
    if (mutant.name == "state_kept_between_calls" || mutant.effect == Effect::outside) continue;
    EXPECT_TRUE(shown.contains(mutant.name))
        << mutant.name << " changes nothing, tried on " << operators[mutant.name] << " operators";
  }
}

TEST(SelftestSuite, TheFirstCasesShowWhatAnOperatorsCasesShow) {
  std::vector<std::shared_ptr<const Case>> cases;
  std::set<std::string> edges;
  make_ops_suite()->make_cases(0, [&](const Case& c) {
    if (!c.graph || c.graph->nodes.size() != 1 || c.checks.negative || c.subject != "aten::bmm.default")
      return;
    cases.push_back(std::make_shared<const Case>(c));
  });
  const auto ranked = ranked_cases(cases);
  ASSERT_GT(ranked.size(), 24U);
  EXPECT_EQ(std::set(ranked.begin(), ranked.end()).size(), ranked.size()) << "a case twice";
  std::set<DType> dtypes;
  bool drawn = false;
  for (std::size_t i = 0; i < 24; ++i) {
    dtypes.insert(ranked[i]->graph->values[0].dtype);
    drawn |= ranked[i]->checks.suite_drawn;
  }
  EXPECT_TRUE(dtypes.contains(DType::f32) && dtypes.contains(DType::bf16));
  EXPECT_TRUE(drawn);
  EXPECT_TRUE(ranked_cases({}).empty());
}

}  // namespace
}  // namespace assay::suites
