// Whether the judge tells a right optimiser from a wrong one by the curve of the loss: runs of the small
// models by a device that rounds every node, with and without a defect.
#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "harness/judge/steps.h"
#include "reference/evaluate.h"
#include "suites/training/training_suite.h"

namespace assay::suites {
namespace {

constexpr int kSteps = 24;

const Case& small_case() {
  static const Case found = [] {
    Case made;
    make_training_suite()->make_cases(0, [&](Case c) {
      if (c.id == "training/gla/f32/mini/60-steps") made = std::move(c);
    });
    return made;
  }();
  return found;
}

// How a device is wrong: in what it executes, and in what it carries to the next step.
struct Defect {
  std::function<void(Graph&)> graph = [](Graph&) {};
  std::function<Tensor(const std::string& name, const Tensor& value)> carried =
      [](const std::string&, const Tensor& value) { return value; };
};

// Every argument that is the number `from`, such as a coefficient of an optimiser, becomes `to`.
void replace_number(Graph& graph, double from, double to) {
  int replaced = 0;
  for (Node& node : graph.nodes) {
    for (NamedArgument& argument : node.arguments) {
      auto* number = std::get_if<double>(&argument.value);
      if (number == nullptr || *number != from) continue;
      *number = to;
      ++replaced;
    }
  }
  ASSERT_GT(replaced, 0) << from;
}

Verdict judged(const Defect& defect = {}) {
  const Case& c = small_case();
  StepsRequest request;
  request.request.case_id = c.id;
  request.request.graph = c.graph;
  request.request.mode = "eager";
  request.request.inputs = materialise_inputs(c, 0);
  request.steps = kSteps;
  request.carry = c.carry;
  // The reference's trajectories, for the next defect.
  request.cache_dir = ::testing::TempDir() + "curves" + std::to_string(getpid());
  Graph device = *c.graph;
  defect.graph(device);
  std::vector<Tensor> inputs = request.request.inputs;
  const std::size_t loss = observed_outputs(*c.graph, c.carry).at(0);
  std::vector<double> losses;
  for (int t = 0; t < kSteps; ++t) {
    const std::vector<Tensor> chain = reference::local_chain(device, inputs);
    const auto output = [&](std::size_t i) {
      return chain.at(static_cast<std::size_t>(device.outputs.at(i).value));
    };
    losses.push_back(output(loss).to_doubles().at(0));
    for (const auto& [from, name] : c.carry)
      inputs[input_number(device, name)] = defect.carried(name, output(static_cast<std::size_t>(from)));
  }
  request.observed = {Tensor::from_doubles(DType::f32, {kSteps}, losses)};
  return judge_steps(request);
}

// Found, and for what reason.
void expect_found(const Defect& defect, const char* what) {
  const Verdict verdict = judged(defect);
  EXPECT_EQ(verdict.status, Status::wrong) << what << ", margin " << verdict.margin.value_or(0);
  EXPECT_EQ(verdict.reason, "end_to_end") << what;
}
Defect with_number(double from, double to) {
  Defect defect;
  defect.graph = [=](Graph& graph) { replace_number(graph, from, to); };
  return defect;
}
Defect with_iterations(int64_t steps) {
  Defect defect;
  defect.graph = [=](Graph& graph) {
    for (Node& node : graph.nodes) {
      for (NamedArgument& argument : node.arguments) {
        if (argument.name == "steps" && node.op.starts_with("assay::muon")) argument.value = steps;
      }
    }
  };
  return defect;
}
Defect forgetting(const std::string& state) {
  Defect defect;
  defect.carried = [=](const std::string& name, const Tensor& value) {
    return name.ends_with(state) ? Tensor(value.dtype(), value.shape()) : value;
  };
  return defect;
}

TEST(Curves, RightOnesPass) {
  const Verdict verdict = judged();
  EXPECT_EQ(verdict.status, Status::pass) << verdict.detail;
  EXPECT_LT(*verdict.margin, 1);
}

TEST(Curves, SlightlyWrongOptimisersAreFound) {
  expect_found(with_number(0.95, 0.949), "Muon's momentum");
  expect_found(with_number(-3e-3, -3.01e-3), "AdamW's rate");
  expect_found(with_number(0.999, 0.9985), "AdamW's second moment");
  expect_found(with_iterations(4), "Muon's iterations");
}

TEST(Curves, WhatIsNotCarriedIsFound) {
  for (const char* state : {"_momentum", "_first", "_second", "step", "_weight"}) {
    expect_found(forgetting(state), state);
  }
}

}  // namespace
}  // namespace assay::suites
