// For tests: one call on the simulated device, held against the reference's value and Bound under the
// device's Contract.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "backend/kernels/run_call_test.h"
#include "backend/runtime/contract.h"
#include "backend/simulator/prepared.h"
#include "backend/testing/steady_state.h"
#include "core/contract/contract.h"
#include "core/opset/shapes.h"
#include "reference/evaluate.h"

namespace assay::backend {

inline DType computation_dtype(const OpCall& call) {
  for (const TensorMeta& meta : call.inputs()) {
    if (is_float(meta.dtype)) return meta.dtype;
  }
  return call.outputs().empty() ? DType::f32 : call.output(0).dtype;
}

inline std::string place(const OpCall& call, std::size_t output, std::size_t i) {
  return call.node_name() + " " + call.op() + " output " + std::to_string(output) + " element " +
         std::to_string(i);
}

inline void compare(const OpCall& call, std::size_t output, const Tensor& got,
                    const reference::BoundedWide& want) {
  const auto undefined = [&](std::size_t i) {
    return !want.special.empty() && (want.special[i] & reference::special_undefined) != 0;
  };
  if (is_integral(got.dtype())) {
    const std::vector<int64_t> values = got.to_ints();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == want.value.integer[i] || undefined(i)) continue;
      ADD_FAILURE() << place(call, output, i) << ": got " << values[i] << ", want " << want.value.integer[i];
      return;
    }
    return;
  }
  const std::vector<double> values = got.to_doubles(), right = want.value.rounded().to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool early = !want.special.empty() && (want.special[i] & reference::special_early_overflow) != 0;
    const bool equal = values[i] == right[i] || (std::isnan(values[i]) && std::isnan(right[i])) ||
                       (early && !std::isfinite(values[i]));
    if (equal || undefined(i) || std::fabs(values[i] - want.value.real[i]) <= want.bound[i]) continue;
    ADD_FAILURE() << place(call, output, i) << ": got " << values[i] << ", want " << want.value.real[i]
                  << " +- " << want.bound[i];
    return;
  }
}

// Simulators of one generation: in program order, and in a random order that the semaphores allow.
struct Simulators {
  explicit Simulators(Generation generation)
      : in_order(core(generation)), shuffled(core(generation), random()) {}
  static SimulatorOptions random() {
    SimulatorOptions options;
    options.shuffle = true;
    options.shuffle_seed = 42;
    return options;
  }
  FunctionalSimulator in_order, shuffled;
};

// Runs the call; failures name the first wrong element of each output. Returns what is right.
inline std::vector<reference::BoundedWide> check_call(const OpCall& call,
                                                      const std::vector<const reference::Wide*>& operands,
                                                      Generation generation = Generation::trn2) {
  static const Contract contract = Contract::parse(contract_json(), "backend/runtime/contract.cpp");
  static Simulators simulators[] = {Simulators(Generation::trn1), Simulators(Generation::trn2),
                                    Simulators(Generation::trn3)};
  Simulators& simulator = simulators[static_cast<std::size_t>(generation)];
  auto want = reference::evaluate_bounded(call, operands,
                                          contract.precision(call.op(), computation_dtype(call), "eager"));
  try {
    const CompiledCall compiled = compile_call(call, core(generation), {});
    std::vector<Tensor> tensors, results, again;
    std::vector<HbmBinding> in, to, to_again;
    for (const reference::Wide* wide : operands) {
      tensors.push_back(wide->rounded());
      in.push_back({tensors.back().mutable_data(), tensors.back().bytes()});
    }
    for (const TensorMeta& meta : call.outputs()) {
      results.emplace_back(meta.dtype, meta.shape);
      again.emplace_back(meta.dtype, meta.shape);
      to.push_back({results.back().mutable_data(), results.back().bytes()});
      to_again.push_back({again.back().mutable_data(), again.back().bytes()});
    }
    simulator.in_order.run(compiled.program, in, to);
    simulator.shuffled.run(compiled.program, in, to_again);
    expect_no_allocations(compiled.program, in, to, place(call, 0, 0));
    Prepared prepared = simulator.in_order.prepare(compiled.program);
    prepared.division = divide(compiled.program, 3, {0, 1e9});  // whatever can be divided
    std::vector<Tensor> divided;
    if (!prepared.division.groups.empty()) {
      std::vector<HbmBinding> to_divided;
      for (const TensorMeta& meta : call.outputs()) {
        divided.emplace_back(meta.dtype, meta.shape);
        to_divided.push_back({divided.back().mutable_data(), divided.back().bytes()});
      }
      simulator.in_order.run(compiled.program, in, to_divided, &prepared);
    }
    const auto choice = reference::check_choice(call, operands, results);
    if (choice) {
      EXPECT_EQ(*choice, "") << place(call, 0, 0);
    } else {
      for (std::size_t i = 0; i < results.size(); ++i) compare(call, i, results[i], want[i]);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(results[i].bitwise_equal(again[i]))
          << place(call, i, 0) << ": depends on the order of engines";
    }
    for (std::size_t i = 0; i < divided.size(); ++i)
      EXPECT_TRUE(results[i].bitwise_equal(divided[i])) << place(call, i, 0) << ": differs when divided";
  } catch (const std::exception& error) {
    ADD_FAILURE() << call.node_name() << " " << call.op() << ": " << error.what();
  }
  return want;
}

}  // namespace assay::backend
