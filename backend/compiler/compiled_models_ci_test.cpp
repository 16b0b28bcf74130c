// Every catalogue model as one Program: bits equal those of node-by-node execution, in program order and in a
// random order among those that the semaphores allow, on one core and on the two of a logical core.

#include <gtest/gtest.h>
#include "backend/compiler/run_graph_test.h"
#include "backend/kernels/catalogue_test.h"
#include "backend/testing/steady_state.h"
#include "core/io/model.h"

namespace assay::backend {
namespace {

class CompiledModels : public testing::TestWithParam<std::string> {};

TEST_P(CompiledModels, EqualEagerBitForBit) {
  const Model model = read_model(kCatalogue + GetParam());
  std::vector<Tensor> inputs;
  for (const GraphInput& input : model.graph.inputs) {
    if (input.value < 0) continue;
    const std::string& name = model.graph.values[static_cast<std::size_t>(input.value)].name;
    inputs.push_back(input.kind == InputKind::user
                         ? materialise(model.inputs.at(input.target), "input:" + name, 0)
                         : model.weights.at(input.target));
  }
  const std::vector<Tensor> want = run_eagerly(model.graph, inputs);
  const CompiledGraph compiled = compile_graph(model.graph, core(Generation::trn2), {}, kTestHbm);
  EXPECT_LT(compiled.statistics.pieces, compiled.statistics.nodes) << "blocks repeat";
  EXPECT_LT(compiled.statistics.scratch_bytes, compiled.statistics.scratch_bytes_without_reuse);
  CompileOptions pair;
  pair.lnc = 2;
  const CompiledGraph of_two = compile_graph(model.graph, core(Generation::trn2), pair, kTestHbm);
  for (const CompiledGraph* graph : {&compiled, &of_two}) {
    std::vector<Tensor> bytes;
    std::vector<HbmBinding> in, out;
    for (const Tensor& tensor : inputs) {
      bytes.push_back(tensor.clone());
      in.push_back({bytes.back().mutable_data(), bytes.back().bytes()});
    }
    for (const TensorMeta& meta : graph->outputs) {
      bytes.emplace_back(meta.dtype, meta.shape);
      out.push_back({bytes.back().mutable_data(), bytes.back().bytes()});
    }
    expect_no_allocations(graph->program, in, out, GetParam());
    for (const bool shuffle : {false, true}) {
      SimulatorOptions options;
      options.shuffle = shuffle;
      options.shuffle_seed = 2026;
      const std::vector<Tensor> got = run_program(graph->program, inputs, graph->outputs, options);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        EXPECT_TRUE(got[k].bitwise_equal(want[k]))
            << "output " << k << (shuffle ? ", shuffled" : "") << ", cores " << graph->program.cores;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CompiledModels, testing::ValuesIn(catalogue_files()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

}  // namespace
}  // namespace assay::backend
