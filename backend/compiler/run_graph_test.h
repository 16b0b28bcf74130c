// For tests: a graph on the simulated device, node by node and as one Program, without the plug-in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include "backend/compiler/eager.h"
#include "backend/compiler/graph_compiler.h"
#include "backend/compiler/legalise.h"
#include "backend/simulator/prepared.h"
#include "backend/simulator/simulator.h"
#include "core/philox.h"
#include "core/tensor.h"

namespace assay::backend {

inline constexpr int64_t kTestHbm = int64_t{12} << 30;

inline constexpr DivisionLimits kWhateverCanBe{0, 1e9};

inline std::vector<Tensor> run_program(FunctionalSimulator& simulator, const Program& program,
                                       const std::vector<Tensor>& inputs,
                                       const std::vector<TensorMeta>& results) {
  std::vector<Tensor> copies;
  std::vector<HbmBinding> in;
  for (const Tensor& tensor : inputs) {
    copies.push_back(tensor.clone());
    in.push_back({copies.back().mutable_data(), copies.back().bytes()});
  }
  const auto run = [&](const Prepared* prepared) {
    std::vector<Tensor> outputs;
    std::vector<HbmBinding> out;
    for (const TensorMeta& meta : results) {
      outputs.emplace_back(meta.dtype, meta.shape);
      out.push_back({outputs.back().mutable_data(), outputs.back().bytes()});
    }
    const ExecutionCounts counts = simulator.run(program, in, out, prepared);
    EXPECT_EQ(counts.instructions, program.instructions.size());
    return outputs;
  };
  std::vector<Tensor> outputs = run(nullptr);
  // By workers that do not wait for each other: the same bits.
  Prepared prepared = simulator.prepare(program);
  prepared.division = divide(program, 3, kWhateverCanBe);
  if (prepared.division.groups.empty()) return outputs;
  const std::vector<Tensor> divided = run(&prepared);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    EXPECT_TRUE(outputs[k].bitwise_equal(divided[k])) << "output " << k << ", divided";
  return outputs;
}

inline std::vector<Tensor> run_program(const Program& program, const std::vector<Tensor>& inputs,
                                       const std::vector<TensorMeta>& results,
                                       SimulatorOptions options = {}) {
  options.cores = program.cores;
  FunctionalSimulator simulator(core(program.target), options);
  return run_program(simulator, program, inputs, results);
}

// Every node alone, as eager mode does. `inputs` are the graph's tensor inputs in their order.
inline std::vector<Tensor> run_eagerly(const Graph& graph, const std::vector<Tensor>& inputs,
                                       const CompileOptions& options = {}) {
  SimulatorOptions simulated;
  simulated.cores = options.lnc;
  FunctionalSimulator simulator(core(Generation::trn2), simulated);
  std::map<ValueId, Tensor> values;
  std::size_t next = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0) values[input.value] = inputs.at(next++);
  }
  for (const Node& node : graph.nodes) {
    const LegalNode legal = read_node(graph, node);
    const Program program = compile_call(legal.call, core(Generation::trn2), options).program;
    std::vector<Tensor> given;
    for (const ValueId id : legal.inputs) given.push_back(values.at(id));
    const std::vector<Tensor> results = run_program(simulator, program, given, legal.call.outputs());
    for (std::size_t k = 0; k < results.size(); ++k) values[legal.outputs[k]] = results[k];
  }
  std::vector<Tensor> out;
  for (const GraphOutput& output : graph.outputs) {
    if (output.value >= 0) out.push_back(values.at(output.value));
  }
  return out;
}

// Numbers in [-1, 1), small non-negative integers.
inline Tensor drawn(DType dtype, const Shape& shape, const std::string& name) {
  const PhiloxKey key = key_of_name(name);
  const auto count = static_cast<uint64_t>(element_count(shape));
  if (is_float(dtype)) {
    std::vector<double> values;
    for (uint64_t i = 0; i < count; ++i) values.push_back(draw_symmetric(key, 0, i));
    return Tensor::from_doubles(dtype, shape, values);
  }
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < count; ++i) values.push_back(draw_integer(key, 0, i, 0, 2));
  return Tensor::from_ints(dtype, shape, values);
}

inline std::vector<Tensor> drawn_inputs(const Graph& graph) {
  std::vector<Tensor> out;
  for (const GraphInput& input : graph.inputs) {
    if (input.value < 0) continue;
    const Value& value = graph.values[static_cast<std::size_t>(input.value)];
    out.push_back(drawn(value.dtype, value.shape, value.name));
  }
  return out;
}

}  // namespace assay::backend
