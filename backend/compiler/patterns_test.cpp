// Patterns of custom kernels in graphs.
#include "backend/compiler/patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/graph/builder.h"
#include "core/opset/schema.h"

namespace assay::backend {
namespace {

using testing::HasSubstr;

// gelu(x w), however gelu is approximated.
Pattern product_and_gelu(const std::string& name) {
  Pattern p(name);
  const PatternValue x = p.input("x"), w = p.input("w"), form = p.attribute("form", "str");
  const PatternValue product = p.call("aten::mm.default", {{"self", x}, {"mat2", w}});
  p.returns(p.call("aten::gelu.default", {{"self", product}, {"approximate", form}}));
  return p;
}

struct Form {
  bool reshaped = false, split_rows = false, returned = false;
  std::string approximate = "none";
};

Graph product_graph(const Form& form) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", DType::f32, {6, 4}), w = b.input("w", DType::f32, {4, 8});
  const ValueId product = b.call("aten::mm.default", {{"self", ValueArg{x}}, {"mat2", ValueArg{w}}});
  ValueId y = product;
  const auto view = [&](std::vector<int64_t> size) {
    y = b.call("aten::view.default", {{"self", ValueArg{y}}, {"size", IntListArg{std::move(size), {}}}});
  };
  if (form.reshaped) view({2, 3, 8});
  if (form.split_rows) view({12, 4});
  y = b.call("aten::gelu.default", {{"self", ValueArg{y}}, {"approximate", form.approximate}},
             {"net.py:3", ""});
  b.output(y);
  if (form.returned) b.output(product);
  return b.build();
}

int occurrences(const CustomKernels& kernels, const Graph& graph) {
  const Graph found = with_custom_kernels(graph, kernels, core(Generation::trn2));
  int calls = 0;
  for (const Node& node : found.nodes) calls += node.op.starts_with("custom::") ? 1 : 0;
  // A call takes the place of the nodes it stands for; all others stay.
  EXPECT_EQ(found.nodes.size(), calls == 0 ? graph.nodes.size() : 1U);
  return calls;
}

TEST(PatternsTest, OccurrencesBecomeCalls) {
  CustomKernels kernels;
  kernels.fuse(product_and_gelu("test_gelu"), [](KernelContext&) {});
  const Graph graph = product_graph({.reshaped = true, .approximate = "tanh"});
  const Graph found = with_custom_kernels(graph, kernels, core(Generation::trn2));
  ASSERT_EQ(found.nodes.size(), 1U);
  const Node& call = found.nodes[0];
  EXPECT_EQ(call.op, "custom::test_gelu.default");
  EXPECT_EQ(call.name, graph.nodes.back().name);
  EXPECT_EQ(call.source.location, "net.py:3");
  EXPECT_EQ(call.outputs, graph.nodes.back().outputs);
  const OpCall read(found, call);
  EXPECT_EQ(read.string("form"), "tanh");
  EXPECT_EQ(read.input(read.tensor("w")).shape, (Shape{4, 8}));
  EXPECT_EQ(read.output(0).shape, (Shape{2, 3, 8}));
}

TEST(PatternsTest, WhatIsNeededElsewhereStays) {
  CustomKernels kernels;
  kernels.fuse(product_and_gelu("test_gelu"), [](KernelContext&) {});
  EXPECT_EQ(occurrences(kernels, product_graph({})), 1);
  EXPECT_EQ(occurrences(kernels, product_graph({.returned = true})), 0);
  // Rows of other lengths are not the product's rows.
  EXPECT_EQ(occurrences(kernels, product_graph({.split_rows = true})), 0);
}

TEST(PatternsTest, ArgumentsThatAreNotNamedHaveTheirDefaults) {
  Pattern p("test_plain_gelu");
  const PatternValue product = p.call("aten::mm.default", {{"self", p.input("x")}, {"mat2", p.input("w")}});
  p.returns(p.call("aten::gelu.default", {{"self", product}}));
  CustomKernels kernels;
  kernels.fuse(p, [](KernelContext&) {});
  EXPECT_EQ(occurrences(kernels, product_graph({})), 1);
  EXPECT_EQ(occurrences(kernels, product_graph({.approximate = "tanh"})), 0);
}

TEST(PatternsTest, AKernelNeedNotTakeAll) {
  CustomKernels kernels;
  kernels.fuse(
      product_and_gelu("test_gelu"), [](KernelContext&) {},
      [](const OpCall& call, const CoreDescription&) { return call.string("form") == "tanh"; });
  EXPECT_EQ(occurrences(kernels, product_graph({})), 0);
  EXPECT_EQ(occurrences(kernels, product_graph({.approximate = "tanh"})), 1);
}

TEST(PatternsTest, PatternsThatCannotBeAreRefused) {
  const auto refusal = [](const Pattern& pattern) -> std::string {
    try {
      CustomKernels().fuse(pattern, [](KernelContext&) {});
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  Pattern nothing("test_nothing");
  EXPECT_THAT(refusal(nothing), HasSubstr("returns no node"));
  Pattern unknown("test_unknown");
  unknown.returns(unknown.call("aten::frobnicate.default", {{"self", unknown.input("x")}}));
  EXPECT_THAT(refusal(unknown), HasSubstr("aten::frobnicate.default"));
  Pattern argument("test_argument");
  argument.returns(argument.call("aten::relu.default", {{"slef", argument.input("x")}}));
  EXPECT_THAT(refusal(argument), HasSubstr("slef"));
  Pattern unread("test_unread");
  const PatternValue x = unread.input("x");
  unread.input("y");
  unread.returns(unread.call("aten::relu.default", {{"self", x}}));
  EXPECT_THAT(refusal(unread), HasSubstr("nothing reads"));
  CustomKernels kernels;
  kernels.fuse(product_and_gelu("test_gelu"), [](KernelContext&) {});
  EXPECT_THROW(kernels.fuse(product_and_gelu("test_gelu"), [](KernelContext&) {}), Error);
  EXPECT_THROW(kernels.add("aten::frobnicate.default", [](KernelContext&) {}), Error);
}

}  // namespace
}  // namespace assay::backend
