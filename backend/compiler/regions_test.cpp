#include "backend/compiler/regions.h"

#include <functional>

#include <gtest/gtest.h>
#include "backend/compiler/graph_compiler.h"
#include "backend/compiler/run_graph_test.h"
#include "backend/isa/synchronize.h"
#include "core/graph/builder.h"

namespace assay::backend {
namespace {

// Adds nodes by the operator's name without "aten::".
class Layer {
 public:
  Layer(GraphBuilder& builder, DType dtype) : b_(builder), dtype_(dtype) {}

  ValueId input(const std::string& name, const Shape& shape) { return b_.input(name, dtype_, shape); }
  ValueId op(const std::string& name, std::vector<NamedArgument> arguments) {
    return b_.node("aten::" + name, std::move(arguments)).front();
  }
  ValueId unary(const std::string& name, ValueId x) { return op(name, {{"self", ValueArg{x}}}); }
  ValueId binary(const std::string& name, ValueId x, const Argument& y) {
    return op(name, {{"self", ValueArg{x}}, {"other", y}});
  }
  ValueId view(ValueId x, const Shape& shape) {
    return op("view.default", {{"self", ValueArg{x}}, {"size", IntListArg{shape, {}}}});
  }
  ValueId turned(ValueId x, const std::vector<int64_t>& dims) {
    return op("permute.default", {{"self", ValueArg{x}}, {"dims", IntListArg{dims, {}}}});
  }
  // With the weight as PyTorch stores it.
  ValueId linear(ValueId x, int64_t in, int64_t out, const std::string& name) {
    return op("addmm.default", {{"self", ValueArg{input(name + ".bias", {out})}},
                                {"mat1", ValueArg{x}},
                                {"mat2", ValueArg{turned(input(name + ".weight", {out, in}), {1, 0})}}});
  }
  ValueId layer_norm(ValueId x, int64_t width, const std::string& name) {
    return op("native_layer_norm.default", {{"input", ValueArg{x}},
                                            {"normalized_shape", IntListArg{{width}, {}}},
                                            {"weight", ValueArg{input(name + ".weight", {width})}},
                                            {"bias", ValueArg{input(name + ".bias", {width})}},
                                            {"eps", 1e-5}});
  }
  void output(ValueId x) { b_.output(x); }

 private:
  GraphBuilder& b_;
  DType dtype_;
};

struct Sample {
  const char* name;
  std::function<void(Layer&)> build;
  int64_t regions, fused_nodes;  // expected
};

// x W1 + b1, gelu, W2 + b2, residual, layer_norm.
void mlp(Layer& l, int64_t rows, int64_t width, int64_t inner) {
  const ValueId x = l.input("x", {rows, width});
  const ValueId h = l.op("gelu.default", {{"self", ValueArg{l.linear(x, width, inner, "up")}}});
  const ValueId y = l.binary("add.Tensor", l.linear(h, inner, width, "down"), ValueArg{x});
  l.output(l.layer_norm(y, width, "norm"));
}

// Heads are matrices of a batch; a mask [batch, 1, queries, keys].
void attention(Layer& l, int64_t batch, int64_t heads, int64_t queries, int64_t keys, int64_t depth) {
  const int64_t matrices = batch * heads;
  const ValueId q = l.input("q", {matrices, queries, depth}), k = l.input("k", {batch, heads, keys, depth});
  const ValueId v = l.input("v", {matrices, keys, depth}), mask = l.input("mask", {batch, 1, queries, keys});
  const Shape by_head{batch, heads, queries, keys};
  // Through views that leave the matrices as they are.
  const ValueId turned = l.view(l.turned(k, {0, 1, 3, 2}), {matrices, depth, keys});
  ValueId s = l.op("bmm.default", {{"self", ValueArg{q}}, {"mat2", ValueArg{turned}}});
  s = l.binary("mul.Tensor", l.view(s, by_head), 0.25);
  s = l.binary("add.Tensor", s, ValueArg{mask});
  s = l.op("_softmax.default", {{"self", ValueArg{s}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  s = l.op("expand.default", {{"self", ValueArg{s}}, {"size", IntListArg{by_head, {}}}});
  s = l.view(s, {matrices, queries, keys});
  l.output(l.op("bmm.default", {{"self", ValueArg{s}}, {"mat2", ValueArg{v}}}));
}

// x * rsqrt(mean(x^2) + eps) * w, then a product; x^2 is read twice.
void rms_norm(Layer& l, int64_t rows, int64_t width) {
  const ValueId x = l.input("x", {2, rows / 2, width});
  const ValueId square = l.op("pow.Tensor_Scalar", {{"self", ValueArg{x}}, {"exponent", int64_t{2}}});
  const ValueId mean =
      l.op("mean.dim", {{"self", ValueArg{square}}, {"dim", IntListArg{{-1}, {}}}, {"keepdim", true}});
  const ValueId scale = l.unary("rsqrt.default", l.binary("add.Tensor", mean, 1e-6));
  ValueId y = l.binary("mul.Tensor", x, ValueArg{scale});
  y = l.binary("mul.Tensor", l.input("w", {width}), ValueArg{y});
  l.output(l.op("mm.default", {{"self", ValueArg{l.view(y, {rows, width})}},
                               {"mat2", ValueArg{l.input("weight", {width, 96})}}}));
  l.output(square);
}

// The residual is read before the chain goes on: the region ends there.
void broken(Layer& l) {
  const ValueId x = l.input("x", {64, 64});
  const ValueId h = l.unary("relu.default", l.linear(x, 64, 64, "a"));
  const ValueId turned = l.op("permute.default", {{"self", ValueArg{h}}, {"dims", IntListArg{{1, 0}, {}}}});
  l.output(l.layer_norm(l.binary("add.Tensor", h, ValueArg{turned}), 64, "norm"));
}

// Bools that a region's first node reads, as losses count what they average over.
void counts(Layer& l) {
  const ValueId x = l.input("x", {32, 40});
  const ValueId positive = l.binary("gt.Scalar", x, 0.0);
  const auto mean = [&](ValueId v) {
    l.output(l.op("mean.dim", {{"self", ValueArg{v}}, {"dim", IntListArg{{-1}, {}}}}));
  };
  mean(l.op("_to_copy.default", {{"self", ValueArg{positive}}, {"dtype", DTypeArg{DType::f32}}}));
  mean(l.binary("mul.Tensor", positive, ValueArg{x}));
  mean(
      l.op("where.self", {{"condition", ValueArg{positive}}, {"self", ValueArg{x}}, {"other", ValueArg{x}}}));
  for (const char* op : {"exp", "sigmoid", "tanh", "erf", "sqrt", "rsqrt", "reciprocal", "log"})
    mean(l.unary(std::string(op) + ".default", positive));
}

const std::vector<Sample>& samples() {
  static const std::vector<Sample> all{
      {"mlp, all rows at once", [](Layer& l) { mlp(l, 70, 96, 200); }, 1, 5},
      {"mlp, wide", [](Layer& l) { mlp(l, 32, 640, 1300); }, 1, 5},
      // Long products go over tiles; what follows the second is too short to be a region of columns.
      {"mlp, many rows", [](Layer& l) { mlp(l, 300, 64, 700); }, 2, 4},
      {"attention", [](Layer& l) { attention(l, 2, 3, 32, 40, 16); }, 1, 5},
      {"attention, long", [](Layer& l) { attention(l, 1, 2, 150, 600, 64); }, 1, 5},
      {"rms_norm", [](Layer& l) { rms_norm(l, 64, 80); }, 1, 7},
      {"rms_norm, many rows", [](Layer& l) { rms_norm(l, 400, 300); }, 1, 6},
      {"broken", broken, 2, 4},
      {"counts", counts, 10, 20},
  };
  return all;
}

TEST(RegionsTest, ResultsAreThoseOfTheNodesOneByOneBitForBit) {
  for (const Sample& sample : samples()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      SCOPED_TRACE(std::string(sample.name) + " " + std::string(name_of(dtype)));
      GraphBuilder b(sample.name);
      Layer layer(b, dtype);
      sample.build(layer);
      const Graph graph = b.build();
      const std::vector<Tensor> inputs = drawn_inputs(graph);
      const std::vector<Tensor> want = run_eagerly(graph, inputs);
      const CompiledGraph c = compile_graph(graph, core(Generation::trn2), {}, kTestHbm);
      EXPECT_EQ(c.statistics.regions, sample.regions);
      EXPECT_EQ(c.statistics.fused_nodes, sample.fused_nodes);
      EXPECT_EQ(c.sources.size(), c.program.nodes.size());
      if (c.program.instructions.size() < 500) {
        EXPECT_EQ(find_race(c.program), std::nullopt);
      }
      for (const bool shuffle : {false, true}) {
        SimulatorOptions options;
        options.shuffle = shuffle;
        options.shuffle_seed = 3;
        const std::vector<Tensor> got = run_program(c.program, inputs, c.outputs, options);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t k = 0; k < got.size(); ++k)
          EXPECT_TRUE(got[k].bitwise_equal(want[k])) << "output " << k << (shuffle ? ", shuffled" : "");
      }
    }
  }
}

int64_t stored_tiles(const Program& program) {
  int64_t count = 0;
  for (const Instruction& i : program.instructions) {
    count += i.opcode == Opcode::dma_copy && program.operands_of(i)[0].space == Space::hbm;
  }
  return count;
}

TEST(RegionsTest, WhatLiesBetweenStaysInSbuf) {
  GraphBuilder b("mlp");
  Layer layer(b, DType::f32);
  mlp(layer, 70, 96, 200);
  const Graph graph = b.build();
  CompileOptions apart;
  apart.fuse = false;
  const CompiledGraph fused = compile_graph(graph, core(Generation::trn2), {}, kTestHbm);
  const CompiledGraph alone = compile_graph(graph, core(Generation::trn2), apart, kTestHbm);
  EXPECT_EQ(stored_tiles(fused.program), 1);  // no copies of weights either
  EXPECT_GT(stored_tiles(alone.program), 5);
  EXPECT_EQ(alone.statistics.regions, 0);
}

TEST(RegionsTest, ADeviceThatCannotTransposeExactlyKeepsProductsApart) {
  GraphBuilder b("attention");
  Layer layer(b, DType::f32);
  attention(layer, 1, 2, 32, 32, 16);
  const CompiledGraph c = compile_graph(b.build(), core(Generation::trn1), {}, kTestHbm);
  EXPECT_EQ(c.statistics.regions, 1);
  EXPECT_EQ(c.statistics.fused_nodes, 4);  // without the product with the values
}

}  // namespace
}  // namespace assay::backend
