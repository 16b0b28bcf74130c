// Random graphs: one Program equals node-by-node execution, whatever is fused, shared and reused.
#include <algorithm>

#include <gtest/gtest.h>
#include "backend/compiler/run_graph_test.h"
#include "backend/isa/synchronize.h"
#include "core/graph/builder.h"

namespace assay::backend {
namespace {

constexpr uint64_t kGraphs = 60;

class Dice {
 public:
  explicit Dice(uint64_t seed) : seed_(seed) {}
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(
        draw_integer(key_of_name("graph"), seed_, next_++, 0, static_cast<int64_t>(n)));
  }

 private:
  uint64_t seed_, next_ = 0;
};

// Mostly elementwise on one shape, so that chains occur, with what breaks them: other layouts, rows, several
// dtypes, values that are read late, outputs in the middle.
Graph random_graph(uint64_t seed) {
  Dice dice(seed);
  const Shape shapes[] = {{8, 24}, {128, 36}, {300, 70}, {520, 640}};
  const Shape shape = shapes[dice.below(4)];
  const Shape flat{shape[0] * shape[1]}, turned{shape[1], shape[0]};
  const DType dtype = dice.below(3) == 0 ? DType::bf16 : DType::f32;
  GraphBuilder b("random " + std::to_string(seed));
  std::vector<ValueId> values{b.input("x", dtype, shape), b.input("y", dtype, shape)};
  const ValueId row = b.input("row", dtype, {shape[1]});
  const ValueId square = b.input("square", dtype, {shape[1], shape[1]});
  const auto any = [&] {
    return values[values.size() - 1 - dice.below(std::min<std::size_t>(values.size(), 7))];
  };
  const auto unary = [&](const char* op, ValueId x) { return b.call(op, {{"self", ValueArg{x}}}); };
  const auto binary = [&](const char* op, ValueId x, ValueId y) {
    return b.call(op, {{"self", ValueArg{x}}, {"other", ValueArg{y}}});
  };
  const auto view = [&](ValueId x, const Shape& to) {
    return b.call("aten::view.default", {{"self", ValueArg{x}}, {"size", IntListArg{to, {}}}});
  };
  const auto turn = [&](ValueId x) {
    return b.call("aten::permute.default", {{"self", ValueArg{x}}, {"dims", IntListArg{{1, 0}, {}}}});
  };
  const std::size_t nodes = 4 + dice.below(16);
  for (std::size_t n = 0; n < nodes; ++n) {
    ValueId v = -1;
    switch (dice.below(14)) {
      case 0:
        v = unary("aten::tanh.default", any());
        break;
      case 1:
        v = unary("aten::sigmoid.default", any());
        break;
      case 2:
        v = binary("aten::add.Tensor", any(), any());
        break;
      case 3:
        v = binary("aten::mul.Tensor", any(), any());
        break;
      case 4:
        v = binary("aten::add.Tensor", any(), row);  // another iteration space
        break;
      case 5:
        v = view(unary("aten::neg.default", view(any(), flat)), shape);
        break;
      case 6:
        v = turn(unary("aten::abs.default", turn(any())));
        break;
      case 7:
        v = b.call("aten::_softmax.default",
                   {{"self", ValueArg{any()}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
        break;
      case 8:
        v = b.call("aten::where.self", {{"condition", ValueArg{binary("aten::gt.Tensor", any(), any())}},
                                        {"self", ValueArg{any()}},
                                        {"other", ValueArg{any()}}});
        break;
      case 9:
      case 10:
        v = b.call("aten::addmm.default", {{"self", ValueArg{row}},
                                           {"mat1", ValueArg{any()}},
                                           {"mat2", ValueArg{dice.below(2) == 0 ? square : turn(square)}}});
        break;
      case 11:
        v = b.node("aten::native_layer_norm.default", {{"input", ValueArg{any()}},
                                                       {"normalized_shape", IntListArg{{shape[1]}, {}}},
                                                       {"weight", ValueArg{row}},
                                                       {"bias", NoneArg{}},
                                                       {"eps", 1e-5}})
                .front();
        break;
      case 12:
        v = binary("aten::mul.Tensor", any(),
                   b.call("aten::mean.dim",
                          {{"self", ValueArg{any()}}, {"dim", IntListArg{{-1}, {}}}, {"keepdim", true}}));
        break;
      default:
        v = b.call("aten::_to_copy.default",
                   {{"self", ValueArg{b.call("aten::_to_copy.default",
                                             {{"self", ValueArg{any()}}, {"dtype", DTypeArg{DType::f16}}})}},
                    {"dtype", DTypeArg{dtype}}});
    }
    values.push_back(v);
    if (dice.below(6) == 0) b.output(v);
  }
  b.output(values.back());
  return b.build();
}

TEST(RandomGraphs, OneProgramEqualsEagerBitForBit) {
  int64_t kept_loads = 0, kept_stores = 0, fused = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = random_graph(seed);
    const std::vector<Tensor> inputs = drawn_inputs(graph);
    const std::vector<Tensor> want = run_eagerly(graph, inputs);
    // Less SBUF goes round sooner: tiles are overwritten while later kernels still want them.
    CoreDescription device = core(Generation::trn2);
    if (seed % 4 != 0) device.sbuf_usable_bytes_per_partition.value = 80 << 10;
    const CompiledGraph c = compile_graph(graph, device, {}, kTestHbm);
    kept_loads += c.statistics.kept_loads;
    kept_stores += c.statistics.kept_stores;
    fused += c.statistics.fused_nodes;
    if (c.program.instructions.size() < 400) {  // quadratic
      ASSERT_EQ(find_race(c.program), std::nullopt);
    }
    for (const bool shuffle : {false, true}) {
      SimulatorOptions options;
      options.shuffle = shuffle;
      options.shuffle_seed = seed;
      const std::vector<Tensor> got = run_program(c.program, inputs, c.outputs, options);
      for (std::size_t k = 0; k < got.size(); ++k) {
        ASSERT_TRUE(got[k].bitwise_equal(want[k])) << "output " << k << (shuffle ? ", shuffled" : "");
      }
    }
  }
  EXPECT_GT(kept_loads, 20);
  EXPECT_GT(kept_stores, 20);
  EXPECT_GT(fused, 100);
}

TEST(RandomGraphs, TwoCoresEqualOneBitForBit) {
  CompileOptions pair;
  pair.lnc = 2;
  int64_t divided = 0, kept_loads = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = random_graph(seed);
    const std::vector<Tensor> inputs = drawn_inputs(graph);
    const std::vector<Tensor> want = run_eagerly(graph, inputs);
    const CompiledGraph c = compile_graph(graph, core(Generation::trn2), pair, kTestHbm);
    kept_loads += c.statistics.kept_loads;
    divided += std::any_of(c.program.instructions.begin(), c.program.instructions.end(),
                           [](const Instruction& i) { return i.core == 1; });
    if (c.program.instructions.size() < 400) {  // quadratic
      ASSERT_EQ(find_race(c.program), std::nullopt);
    }
    std::vector<std::vector<Tensor>> results{run_eagerly(graph, inputs, pair)};
    for (const bool shuffle : {false, true}) {
      SimulatorOptions options;
      options.shuffle = shuffle;
      options.shuffle_seed = seed;
      results.push_back(run_program(c.program, inputs, c.outputs, options));
    }
    for (std::size_t r = 0; r < results.size(); ++r) {
      for (std::size_t k = 0; k < want.size(); ++k) {
        ASSERT_TRUE(results[r][k].bitwise_equal(want[k])) << "output " << k << " of run " << r;
      }
    }
  }
  EXPECT_GT(divided, 10);  // graphs; small tensors stay on one core
  EXPECT_GT(kept_loads, 10);
}

}  // namespace
}  // namespace assay::backend
