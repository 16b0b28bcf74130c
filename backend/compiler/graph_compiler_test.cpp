#include "backend/compiler/graph_compiler.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include "backend/compiler/compile_error.h"
#include "backend/compiler/run_graph_test.h"
#include "backend/isa/synchronize.h"
#include "core/error.h"
#include "core/graph/builder.h"

namespace assay::backend {
namespace {

using testing::HasSubstr;

CompiledGraph compiled(const Graph& graph, const CompileOptions& options = {}) {
  return compile_graph(graph, core(Generation::trn2), options, kTestHbm);
}

ValueId add(GraphBuilder& b, ValueId x, ValueId y) {
  return b.call("aten::add.Tensor", {{"self", ValueArg{x}}, {"other", ValueArg{y}}});
}
ValueId exp_of(GraphBuilder& b, ValueId x) {
  return b.call("aten::exp.default", {{"self", ValueArg{x}}}, {"model.py:12", ""});
}
ValueId view(GraphBuilder& b, ValueId x, const Shape& shape) {
  return b.call("aten::view.default", {{"self", ValueArg{x}}, {"size", IntListArg{shape, {}}}});
}

struct Sample {
  const char* name;
  std::function<void(GraphBuilder&)> build;
};

// Every way in which values share bytes or outlive one another.
const std::vector<Sample>& samples() {
  static const std::vector<Sample> all{
      {"chain",
       [](GraphBuilder& b) {
         ValueId x = b.input("x", DType::f32, {4, 96});
         for (int i = 0; i < 12; ++i) x = add(b, exp_of(b, x), x);
         b.output(x);
       }},
      {"views",
       [](GraphBuilder& b) {
         const ValueId x = b.input("x", DType::f32, {8, 24});
         const ValueId y = view(b, exp_of(b, view(b, x, {4, 48})), {192});
         const ValueId z = view(b, y, {8, 24});
         b.output(add(b, z, x));
         b.output(z);  // shares bytes with y, which nobody else returns
       }},
      {"outputs that are inputs, or each other",
       [](GraphBuilder& b) {
         const ValueId x = b.input("x", DType::bf16, {5, 7}), y = b.input("y", DType::bf16, {5, 7});
         const ValueId sum = add(b, x, y);
         b.output(x);
         b.output(view(b, x, {35}));
         b.output(sum);
         b.output(sum);
         b.output(view(b, sum, {7, 5}));
       }},
      {"products",
       [](GraphBuilder& b) {
         const ValueId x = b.input("x", DType::bf16, {70, 130});
         const ValueId w = b.input("w", DType::bf16, {130, 90}, InputKind::parameter, "w");
         const ValueId p = b.call("aten::mm.default", {{"self", ValueArg{x}}, {"mat2", ValueArg{w}}});
         const ValueId s = b.call("aten::_softmax.default",
                                  {{"self", ValueArg{p}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
         const ValueId t =
             b.call("aten::permute.default", {{"self", ValueArg{s}}, {"dims", IntListArg{{1, 0}, {}}}});
         b.output(b.call("aten::mm.default", {{"self", ValueArg{t}}, {"mat2", ValueArg{x}}}));
       }},
      {"results that nobody reads",
       [](GraphBuilder& b) {
         const ValueId x = b.input("x", DType::f32, {3, 40});
         exp_of(b, x);
         const std::vector<ValueId> top =
             b.node("aten::topk.default", {{"self", ValueArg{x}}, {"k", int64_t{3}}});
         b.output(exp_of(b, top[0]));
       }},
      {"empty",
       [](GraphBuilder& b) {
         const ValueId x = b.input("x", DType::f32, {0, 4});
         b.output(exp_of(b, x));
       }},
  };
  return all;
}

TEST(GraphCompilerTest, CompiledEqualsEagerBitForBitInAnyOrderThatSemaphoresAllow) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    GraphBuilder b(sample.name);
    sample.build(b);
    const Graph graph = b.build();
    const std::vector<Tensor> inputs = drawn_inputs(graph);
    const std::vector<Tensor> want = run_eagerly(graph, inputs);
    for (const auto& [fuse, shuffle] :
         {std::pair{true, false}, {true, true}, {false, false}, {false, true}}) {
      SCOPED_TRACE((fuse ? "fused " : "") + std::string(shuffle ? "shuffled" : ""));
      CompileOptions compile;
      compile.fuse = fuse;
      const CompiledGraph c = compiled(graph, compile);
      EXPECT_EQ(c.statistics.nodes, static_cast<int64_t>(graph.nodes.size()));
      EXPECT_EQ(find_race(c.program), std::nullopt);
      SimulatorOptions options;
      options.shuffle = shuffle;
      options.shuffle_seed = 7;
      const std::vector<Tensor> got = run_program(c.program, inputs, c.outputs, options);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t k = 0; k < got.size(); ++k)
        EXPECT_TRUE(got[k].bitwise_equal(want[k])) << "output " << k;
    }
  }
}

TEST(GraphCompilerTest, BytesAndKernelsAreReused) {
  GraphBuilder b("chain");
  samples()[0].build(b);
  const CompiledGraph c = compiled(b.build());
  const int64_t tensor = 4 * 96 * 4;
  EXPECT_EQ(c.statistics.scratch_bytes_without_reuse, 23 * tensor);
  EXPECT_EQ(c.statistics.scratch_bytes, 3 * tensor);  // x, exp(x) and their sum
  EXPECT_EQ(c.statistics.pieces, 2);
  EXPECT_EQ(c.statistics.copies, 0);
  EXPECT_THAT(c.diagnostics(), HasSubstr("24 nodes: 2 kernels written"));

  GraphBuilder v("views");
  samples()[1].build(v);
  const CompiledGraph views = compiled(v.build());
  EXPECT_EQ(views.statistics.reinterpretations, 3);
  EXPECT_EQ(views.statistics.copies, 0);
}

// A chain of elementwise operators loads its argument once and stores its result once.
TEST(GraphCompilerTest, ChainsStayInSbuf) {
  GraphBuilder b("chain");
  samples()[0].build(b);
  const Graph graph = b.build();
  const CompiledGraph c = compiled(graph);
  EXPECT_EQ(c.statistics.kept_loads, 3 * 12 - 1);
  EXPECT_EQ(c.statistics.kept_stores, 23);
  int64_t dma = 0;
  for (const Instruction& i : c.program.instructions) dma += is_dma(i.opcode);
  EXPECT_EQ(dma, 2);

  CompileOptions apart;
  apart.fuse = false;
  EXPECT_EQ(compiled(graph, apart).statistics.kept_loads, 0);
}

// Tensors of many tiles pass through SBUF again and again: a tile that was overwritten meanwhile is loaded.
TEST(GraphCompilerTest, LargeTensorsAreLoadedAgain) {
  GraphBuilder b("large");
  ValueId x = b.input("x", DType::f32, {1024, 1024});
  for (int i = 0; i < 4; ++i) x = add(b, exp_of(b, x), b.call("aten::neg.default", {{"self", ValueArg{x}}}));
  b.output(b.call("aten::tanh.default", {{"self", ValueArg{x}}}));
  const Graph graph = b.build();
  const CompiledGraph c = compiled(graph);
  const std::vector<Tensor> inputs = drawn_inputs(graph);
  EXPECT_TRUE(run_program(c.program, inputs, c.outputs)[0].bitwise_equal(run_eagerly(graph, inputs)[0]));
}

TEST(GraphCompilerTest, InstructionsKnowTheirNodeAndItsSource) {
  GraphBuilder b("sources");
  const ValueId x = b.input("x", DType::f32, {4, 4});
  b.output(add(b, exp_of(b, x), x));
  const Graph graph = b.build();
  const CompiledGraph c = compiled(graph);
  ASSERT_EQ(c.program.nodes, (std::vector<std::string>{graph.nodes[0].name, graph.nodes[1].name}));
  EXPECT_EQ(c.sources, (std::vector<std::string>{"model.py:12", ""}));
  EXPECT_EQ(c.program.instructions.front().node, 0);
  EXPECT_EQ(c.program.instructions.back().node, 1);
}

// Neighbouring pieces neither share SBUF nor all use one DMA queue, so that one may begin while the other
// ends.
TEST(GraphCompilerTest, PiecesGoRound) {
  GraphBuilder b("two");
  const ValueId x = b.input("x", DType::f32, {64, 64}), y = b.input("y", DType::f32, {64, 64});
  b.output(exp_of(b, x));
  b.output(exp_of(b, y));
  const CompiledGraph c = compiled(b.build());
  std::vector<int64_t> loads;
  std::vector<int> queues;
  for (const Instruction& i : c.program.instructions) {
    if (!is_dma(i.opcode)) continue;
    queues.push_back(i.queue);
    if (c.program.operands_of(i)[0].space == Space::sbuf) loads.push_back(c.program.operands_of(i)[0].offset);
  }
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_NE(loads[0], loads[1]);
  // Loads on the queues of sync, stores on GpSimd's: a load does not stand behind a store.
  EXPECT_EQ(queues, (std::vector<int>{0, 14, 1, 15}));
}

std::vector<CompileError> errors_of(const Graph& graph, const CoreDescription& core, int64_t hbm = kTestHbm) {
  try {
    compile_graph(graph, core, {}, hbm);
  } catch (const CompileFailure& failure) {
    return failure.errors();
  }
  return {};
}

TEST(GraphCompilerTest, EveryFaultIsListedWithItsClass) {
  GraphBuilder b("faults");
  const ValueId x = b.input("x", DType::f32, {4}), d = b.input("d", DType::f64, {4});
  b.declared_node("aten::nonzero.default", {{"self", ValueArg{x}}}, {{DType::i64, {-1, 1}}});
  add(b, d, d);
  const ValueId m = b.input("m", DType::f32, {2, 2});
  b.output(b.declared_node("aten::_linalg_det.default", {{"A", ValueArg{m}}},
                           {{DType::f32, {}}, {DType::f32, {2, 2}}, {DType::i32, {2}}})[0]);
  add(b, d, d);
  const Graph graph = b.build_unchecked();
  const std::vector<CompileError> errors = errors_of(graph, core(Generation::trn2));
  std::vector<CompileErrorClass> classes;
  for (const CompileError& e : errors) classes.push_back(e.error_class);
  EXPECT_THAT(classes,
              testing::ElementsAre(CompileErrorClass::dynamic_shape, CompileErrorClass::dtype,
                                   CompileErrorClass::unsupported_operator, CompileErrorClass::dtype));
  const std::string text = CompileFailure(errors).what();
  EXPECT_THAT(text,
              testing::AllOf(HasSubstr("[unsupported_operator] aten::_linalg_det.default (node "),
                             HasSubstr("[dynamic_shape] aten::nonzero.default"), HasSubstr("[and 1 more]")));
}

TEST(GraphCompilerTest, LimitsAreClassesOfTheirOwn) {
  GraphBuilder b("chain");
  samples()[0].build(b);
  const Graph graph = b.build();
  CoreDescription small = core(Generation::trn2);
  small.max_instructions.value = 10;
  const std::vector<CompileError> limit = errors_of(graph, small);
  ASSERT_EQ(limit.size(), 1u);
  EXPECT_EQ(limit[0].error_class, CompileErrorClass::instruction_limit);
  EXPECT_THAT(limit[0].message, HasSubstr("10 instructions"));

  const std::vector<CompileError> hbm = errors_of(graph, core(Generation::trn2), 4 * 96 * 4 * 4);
  ASSERT_EQ(hbm.size(), 1u);
  EXPECT_EQ(hbm[0].error_class, CompileErrorClass::hbm_overflow);
  EXPECT_TRUE(errors_of(graph, core(Generation::trn2), 4 * 96 * 4 * 5).empty());

  CoreDescription tight = core(Generation::trn2);
  tight.sbuf_usable_bytes_per_partition.value = 128;
  const std::vector<CompileError> sbuf = errors_of(graph, tight);
  ASSERT_FALSE(sbuf.empty());
  EXPECT_EQ(sbuf[0].error_class, CompileErrorClass::sbuf_overflow);

  GraphBuilder dynamic("dynamic");
  const ValueId x = dynamic.input("x", DType::f32, {-1, 4});
  dynamic.output(
      dynamic.declared_node("aten::exp.default", {{"self", ValueArg{x}}}, {{DType::f32, {-1, 4}}})[0]);
  const std::vector<CompileError> open = errors_of(dynamic.build_unchecked(), core(Generation::trn2));
  ASSERT_FALSE(open.empty());
  EXPECT_EQ(open[0].error_class, CompileErrorClass::dynamic_shape);
}

// The classes that are left: an argument, PSUM, and what only a defect of a kernel could bring about.
TEST(GraphCompilerTest, ArgumentsPsumAndDefectsAreClassesToo) {
  GraphBuilder b("argument");
  const ValueId q = b.input("q", DType::f32, {1, 2, 8, 16});
  b.output(
      b.call("aten::scaled_dot_product_attention.default",
             {{"query", ValueArg{q}}, {"key", ValueArg{q}}, {"value", ValueArg{q}}, {"dropout_p", 0.5}}));
  const std::vector<CompileError> argument = errors_of(b.build(), core(Generation::trn2));
  ASSERT_EQ(argument.size(), 1u);
  EXPECT_EQ(argument[0].error_class, CompileErrorClass::unsupported_argument);
  EXPECT_THAT(argument[0].message, HasSubstr("dropout_p"));

  GraphBuilder m("product");
  const ValueId x = m.input("x", DType::bf16, {64, 64});
  m.output(m.call("aten::mm.default", {{"self", ValueArg{x}}, {"mat2", ValueArg{x}}}));
  const Graph product = m.build();
  CoreDescription no_psum = core(Generation::trn2);
  no_psum.psum_banks.value = 0;
  const std::vector<CompileError> psum = errors_of(product, no_psum);
  ASSERT_EQ(psum.size(), 1u);
  EXPECT_EQ(psum[0].error_class, CompileErrorClass::psum_overflow);

  // An instruction on an engine that lacks it, a semaphore that nothing raises: no graph is at fault.
  EXPECT_EQ(class_of(ProgramErrorClass::engine), CompileErrorClass::internal);
  EXPECT_EQ(class_of(ProgramErrorClass::semaphore), CompileErrorClass::internal);
}

}  // namespace
}  // namespace assay::backend
