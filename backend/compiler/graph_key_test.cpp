#include "backend/compiler/graph_key.h"

#include <array>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/graph/builder.h"

namespace assay::backend {
namespace {

Graph layer(const std::string& prefix, DType dtype = DType::f32, int64_t rows = 4, double epsilon = 1e-5) {
  GraphBuilder b(prefix + "graph");
  const ValueId x = b.input(prefix + "x", dtype, {rows, 8});
  const ValueId w = b.input(prefix + "w", dtype, {8}, InputKind::parameter, prefix + "layers.0.weight");
  const std::vector<ValueId> norm = b.node("aten::native_layer_norm.default",
                                           {{"input", ValueArg{x}},
                                            {"normalized_shape", IntListArg{{8}, {}}},
                                            {"weight", ValueArg{w}},
                                            {"bias", NoneArg{}},
                                            {"eps", epsilon}},
                                           {prefix + "model.py:3", prefix + "layers.0"});
  b.output(norm[0], OutputKind::user);
  Graph graph = b.build();
  for (Node& node : graph.nodes) node.name = prefix + node.name;
  for (Value& value : graph.values) value.name = prefix + "v_" + value.name;
  return graph;
}

GraphKey key(const Graph& graph, const CompileOptions& options = {}, std::string_view version = "1") {
  return graph_key(graph, Generation::trn2, options, version);
}

TEST(GraphKeyTest, NamesAndPlacesAreNotInIt) {
  EXPECT_EQ(key(layer("a_")).whole(), key(layer("b/other_")).whole());
}

TEST(GraphKeyTest, WhateverChangesTheProgramIsInItAndGivesTheReason) {
  const GraphKey base = key(layer(""));
  CompileOptions cast;
  cast.matmult_cast = DType::bf16;
  CompileOptions lnc;
  lnc.lnc = 2;
  const std::pair<GraphKey, const char*> changed[] = {
      {key(layer("", DType::bf16)), "new dtype"},
      {key(layer("", DType::f32, 5)), "new shape"},
      {key(layer("", DType::bf16, 5)), "new dtype"},
      {key(layer("", DType::f32, 4, 1e-6)), "new argument"},
      {key(layer(""), cast), "new option"},
      {key(layer(""), lnc), "new option"},
      {graph_key(layer(""), Generation::trn3, {}, "1"), "new option"},
      {key(layer(""), {}, "2"), "new version"},
  };
  for (const auto& [other, reason] : changed) {
    EXPECT_NE(other.whole(), base.whole()) << reason;
    EXPECT_EQ(other.structure, base.structure) << reason;
    EXPECT_EQ(reason_of_miss(hashes_of(other), (std::array<SectionHashes, 1>{hashes_of(base)})), reason);
  }
  // The nearest gives the reason; here that is the one of 5 columns.
  const std::array earlier{hashes_of(base), hashes_of(key(layer("", DType::f32, 5)))};
  EXPECT_EQ(reason_of_miss(hashes_of(key(layer("", DType::bf16, 5))), earlier), "new dtype");
  EXPECT_EQ(reason_of_miss(hashes_of(key(layer("", DType::f32, 6, 1e-6))), earlier), "new shape");
  EXPECT_EQ(reason_of_miss(hashes_of(base), earlier), "evicted");
  EXPECT_EQ(reason_of_miss(hashes_of(base), {}), "");
}

TEST(GraphKeyTest, NodesAreComparedByTheirInputs) {
  const auto node = [](DType dtype, int64_t size, const std::string& rest) {
    const TensorMeta input{dtype, {size}};
    return node_key("aten::mul.Scalar", std::string(name_of(dtype)) + std::to_string(size) + rest,
                    {&input, 1}, "", Generation::trn2, {}, "1");
  };
  const GraphKey base = node(DType::f32, 4, "a");
  const auto reason = [&](const GraphKey& other) {
    EXPECT_EQ(other.structure, base.structure);
    EXPECT_NE(other.whole(), base.whole());
    return std::string(reason_of_miss(hashes_of(other), std::array<SectionHashes, 1>{hashes_of(base)}));
  };
  EXPECT_EQ(reason(node(DType::bf16, 4, "a")), "new dtype");
  EXPECT_EQ(reason(node(DType::f32, 5, "a")), "new shape");
  EXPECT_EQ(reason(node(DType::f32, 4, "b")), "new argument");
}

// The same nodes wired differently, and texts that would run together without their lengths.
TEST(GraphKeyTest, WiringAndBoundariesAreInIt) {
  const auto build = [](bool twice, bool swapped) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", DType::f32, {2}), y = b.input("y", DType::f32, {2});
    const ValueId s =
        b.call("aten::sub.Tensor", {{"self", ValueArg{swapped ? y : x}}, {"other", ValueArg{twice ? x : y}}});
    b.output(s);
    return b.build();
  };
  EXPECT_NE(key(build(false, false)).whole(), key(build(true, false)).whole());
  EXPECT_NE(key(build(true, true)).whole(), key(build(false, false)).whole());
  GraphKey a, b;
  a.structure = "x1:y";
  b.structure = "x";
  b.text[0] = "y";
  EXPECT_NE(a.whole(), b.whole());
}

TEST(GraphKeyTest, ProcessGroupsCountByWhoSharesThem) {
  const auto build = [](const std::string& first, const std::string& second) {
    GraphBuilder b("g");
    ValueId x = b.input("x", DType::f32, {2});
    for (const std::string& group : {first, second}) {
      x = b.call("_c10d_functional::all_reduce.default",
                 {{"input", ValueArg{x}}, {"reduce_op", std::string("sum")}, {"group_name", group}});
    }
    b.output(x);
    return key(b.build()).whole();
  };
  EXPECT_EQ(build("0", "1"), build("tp_17", "dp_3"));
  EXPECT_NE(build("0", "0"), build("0", "1"));
}

TEST(GraphKeyTest, RandomNodesCountByNameAndSeed) {
  const auto build = [](const std::string& name, uint64_t seed) {
    GraphBuilder b("g");
    const ValueId x = b.input("x", DType::f32, {2});
    b.output(b.call("aten::rand_like.default", {{"self", ValueArg{x}}}));
    Graph graph = b.build();
    graph.nodes[0].name = name;
    CompileOptions options;
    options.draw_seed = seed;
    return key(graph, options).whole();
  };
  EXPECT_EQ(build("a", 1), build("a", 1));
  EXPECT_NE(build("a", 1), build("b", 1));
  EXPECT_NE(build("a", 1), build("a", 2));
  CompileOptions seeded;
  seeded.draw_seed = 5;
  EXPECT_EQ(key(layer(""), seeded).whole(), key(layer("")).whole()) << "nothing draws";
}

TEST(GraphKeyTest, TheCompilersVersionIsItsBuild) {
  EXPECT_THAT(compiler_version(), testing::MatchesRegex("build [0-9a-f]{16,64}"));
}

}  // namespace
}  // namespace assay::backend
