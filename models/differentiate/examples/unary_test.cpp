#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> unary_examples() {
  std::vector<Example> examples;
  for (const char* name : {"neg",  "clone", "alias",   "exp",   "expm1", "sin",   "cos",   "tan",   "sinh",
                           "cosh", "tanh",  "sigmoid", "silu",  "asin",  "acos",  "atan",  "asinh", "atanh",
                           "erf",  "relu",  "abs",     "floor", "ceil",  "trunc", "round", "sign"}) {
    examples.push_back({std::string("aten::") + name + ".default", {{"self", {2, 3}, 0, 0.9}}});
  }
  for (const char* name : {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"}) {
    examples.push_back({std::string("aten::") + name + ".default", {{"self", {2, 3}, 1.5, 1}}});
  }
  examples.push_back({"aten::acosh.default", {{"self", {5}, 3, 1}}});
  for (const char* form : {"none", "tanh"}) {
    examples.push_back({"aten::gelu.default", {{"self", {7}, 0, 2}}, {{"approximate", std::string(form)}}});
  }
  examples.push_back({"aten::_to_copy.default", {{"self", {3}}}, {{"dtype", DTypeArg{DType::f64}}}});
  examples.push_back({"aten::leaky_relu.default", {{"self", {7}}}, {{"negative_slope", 0.1}}});
  examples.push_back(
      {"aten::elu.default", {{"self", {7}}}, {{"alpha", 0.7}, {"scale", 1.3}, {"input_scale", 0.4}}});
  examples.push_back({"aten::clamp.default", {{"self", {9}}}, {{"min", -0.3}, {"max", 0.4}}});
  examples.push_back({"aten::clamp.default", {{"self", {9}}}, {{"max", 0.1}}});
  examples.push_back({"aten::hardtanh.default", {{"self", {9}}}, {{"min_val", -0.5}, {"max_val", 0.5}}});
  return examples;
}

const Examples added_unary_examples(unary_examples);

}  // namespace
}  // namespace assay::models
