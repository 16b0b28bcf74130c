// Decompositions against PyTorch's fp64 answers (core/decompose/testdata/composite_calls.py): each call is
// decomposed and its parts evaluated.
#include "core/decompose/decompose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"
#include "reference/call_text_test.h"

namespace assay::reference {
namespace {

using ::testing::HasSubstr;

Json all_calls() {
  Json calls = calls_in("composite_calls.json");
  for (const char* file : {"alias_calls.json", "raw_calls.json", "gradient_calls.json"}) {
    for (Json& call : calls_in(file)) calls.push_back(std::move(call));
  }
  for (const char* file : {"spatial_calls.json", "order_calls.json", "pointwise_calls.json"}) {
    for (Json& call : calls_in(file)) {
      if (decompose_rules().find(call.at(0).get<std::string>()) != nullptr) calls.push_back(std::move(call));
    }
  }
  return calls;
}

TEST(Decompose, EveryRuleAgreesWithPyTorch) {
  std::set<std::string> seen;
  for (const Json& call : all_calls()) {
    const std::string op = call.at(0).get<std::string>();
    SCOPED_TRACE(call.dump().substr(0, 300));
    Composite composite(call);
    ASSERT_NO_THROW(decompose(composite.graph));
    for (const Node& node : composite.graph.nodes) {
      if (!has_operator(op)) {
        EXPECT_NE(node.op, op);
      }
    }
    EXPECT_NO_THROW(validate(composite.graph));
    seen.insert(op);
    std::vector<Tensor> got;
    try {
      got = composite.run();
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
      continue;
    }
    expect_expected(composite, got);
  }
  // Results without a value, or on a device: nothing to compare with.
  for (const std::string& name : decompose_rules().names()) {
    if (name == "aten::empty_like.default" || name == "aten::to.device") continue;
    // Not PyTorch's, or not to be called with text: reference/attention_test.cpp.
    if (name.starts_with("assay::") || name.starts_with("higher_order::")) continue;
    EXPECT_TRUE(seen.contains(name)) << name << " has a rule and no call in composite_calls.py";
  }
}

Json call_of(const std::string& op) {
  for (const Json& call : all_calls()) {
    if (call.at(0) == op) return call;
  }
  ADD_FAILURE() << op;
  return {};
}

TEST(Decompose, DeclaredResultsMustBeThoseOfTheParts) {
  Json call = call_of("aten::mv.default");
  call[2][0]["s"] = {4};
  call[2][0]["d"] = {0, 0, 0, 0};
  Composite composite(call);
  try {
    decompose(composite.graph);
    FAIL() << "a false declaration was believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    EXPECT_THAT(error.what(), HasSubstr("aten::mv.default"));
    EXPECT_THAT(error.what(), HasSubstr("its arguments give f64[3]"));
  }
}

TEST(Decompose, ArgumentsThatDoNotFitAreRefusedByName) {
  for (const char* op :
       {"aten::mv.default", "aten::conv3d.default", "aten::gru_cell.default", "aten::nll_loss_nd.default",
        "aten::instance_norm.default", "aten::lerp.Tensor", "aten::outer.default"}) {
    const Json good = call_of(op);
    for (const auto& [name, value] : good.at(1).items()) {
      if (!value.is_object()) continue;
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{2, 7}, Shape{1, 2, 7, 3, 2, 1}}) {
        Json bad = good;
        bad[1][name]["s"] = shape;
        bad[1][name]["d"] = std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0);
        if (bad[1][name]["s"] == good[1][name]["s"]) continue;
        Composite composite(bad);
        try {
          decompose(composite.graph);  // refused, left alone, or of parts that fit together
          EXPECT_NO_THROW(validate(composite.graph)) << bad.dump();
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::malformed_file) << error.what();
          EXPECT_THAT(error.what(), HasSubstr(op)) << bad.dump();
        }
      }
    }
  }
}

TEST(Decompose, KeepsNamesOfInputsAndOutputs) {
  GraphBuilder builder("named");
  const ValueId x = builder.input("x", DType::f32, {2, 4});
  const ValueId w = builder.input("w", DType::f32, {3, 4}, InputKind::parameter, "layer.weight");
  builder.output(builder.call("aten::linear.default", {{"input", ValueArg{x}}, {"weight", ValueArg{w}}}));
  Graph graph = builder.build();
  const std::string name = graph.values[static_cast<std::size_t>(graph.outputs[0].value)].name;
  decompose(graph);
  EXPECT_EQ(graph.values[static_cast<std::size_t>(graph.outputs[0].value)].name, name);
  EXPECT_EQ(graph.inputs[1].target, "layer.weight");
  EXPECT_EQ(graph.nodes.back().op, "aten::mm.default");
}

}  // namespace
}  // namespace assay::reference
