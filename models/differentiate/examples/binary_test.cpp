#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> binary_examples() {
  const Given a{"self", {2, 3}}, b{"other", {3}, 2, 1}, column{"other", {4, 2, 1}, 2, 1};
  std::vector<Example> examples;
  for (const char* op : {"aten::add.Tensor", "aten::sub.Tensor"}) {
    examples.push_back({op, {a, b}, {{"alpha", 1.5}}});
    examples.push_back({op, {a, column}});
    examples.push_back({op, {a}, {{"other", 0.5}}});
    examples.push_back({op, {{"self", {}}, b}});
  }
  for (const char* op : {"aten::mul.Tensor", "aten::div.Tensor", "aten::maximum.default",
                         "aten::minimum.default", "aten::atan2.default"}) {
    examples.push_back({op, {a, b}});
    examples.push_back({op, {a, column}});
    examples.push_back({op, {{"self", {2, 1}, 2, 1}, {"other", {1, 3}, 2, 1}}});
  }
  for (const char* op : {"aten::add.Scalar", "aten::sub.Scalar", "aten::mul.Scalar", "aten::div.Scalar"}) {
    examples.push_back({op, {a}, {{"other", 1.7}}});
  }
  for (const double e : {0.0, 1.0, 2.0, 3.0, -1.5, 0.5}) {
    examples.push_back({"aten::pow.Tensor_Scalar", {{"self", {5}, 2, 1}}, {{"exponent", e}}});
  }
  examples.push_back({"aten::pow.Scalar", {{"exponent", {5}}}, {{"self", 2.5}}});
  examples.push_back({"aten::pow.Tensor_Tensor", {{"self", {2, 3}, 2, 1}, {"exponent", {3}}}});
  const Given mask{"condition", {2, 3}, 0, 1, {1, 0, 0, 1, 1, 0}, true};
  examples.push_back({"aten::where.self", {mask, {"self", {2, 3}}, {"other", {3}}}});
  examples.push_back({"aten::where.self", {mask, {"self", {}}, {"other", {2, 1}}}});
  const Given fill{"mask", {3}, 0, 1, {1, 0, 1}, true};
  examples.push_back({"aten::masked_fill.Scalar", {{"self", {2, 3}}, fill}, {{"value", 2.0}}});
  examples.push_back({"aten::masked_fill.Tensor", {{"self", {2, 3}}, fill, {"value", {}}}});
  examples.push_back(
      {"aten::clamp.Tensor", {{"self", {2, 5}}, {"min", {5}, -0.4, 0.3}, {"max", {5}, 0.2, 0.3}}});
  examples.push_back({"aten::clamp.Tensor", {{"self", {2, 5}}, {"max", {2, 1}}}});
  for (const char* op : {"fmod", "remainder"}) {
    const std::string name = std::string("aten::") + op;
    examples.push_back({name + ".Tensor", {{"self", {2, 3}, 0, 9}, {"other", {3}, 2, 1}}});
    examples.push_back({name + ".Tensor", {{"self", {4}, 0, 9}, {"other", {}, -2, 0.5}}});
    examples.push_back({name + ".Scalar", {{"self", {5}, 0, 9}}, {{"other", -1.7}}});
  }
  examples.push_back({"aten::copysign.Tensor", {a, {"other", {3}}}});
  examples.push_back({"aten::copysign.Scalar", {a}, {{"other", -0.0}}});
  examples.push_back({"aten::frexp.Tensor", {{"self", {5}, 0, 9}}});
  return examples;
}

const Examples added_binary_examples(binary_examples);

}  // namespace
}  // namespace assay::models
