#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> composites_examples() {
  std::vector<Example> examples;
  const auto add = [&](const std::string& op, std::vector<Given> tensors,
                       std::vector<NamedArgument> arguments, const std::vector<Shape>& results) {
    Example example{"aten::" + op, std::move(tensors), std::move(arguments)};
    for (const Shape& shape : results) example.results.push_back({DType::f64, shape});
    examples.push_back(std::move(example));
  };
  Given line{"self", {7}};
  line.reals = {-2.5, -1, 0, 0.25, 1, 2.5, 40};
  for (const char* op : {"log_sigmoid", "mish", "sinc"}) add(std::string(op) + ".default", {line}, {}, {{7}});
  add("log_sigmoid_forward.default", {line}, {}, {{7}, {7}});
  examples.back().outputs = {0};
  add("softplus.default", {line}, {{"beta", 2.0}, {"threshold", 3.0}}, {{7}});
  // exp(12000) overflows in float128; differences of results of this size have few digits.
  Given far{"self", {2}};
  far.reals = {-12000, 12000};
  for (const char* op : {"softplus", "mish", "log_sigmoid"}) {
    add(std::string(op) + ".default", {far}, {}, {{2}});
    examples.back().tolerance = 1e-5;
  }
  for (const char* op : {"relu6", "hardsigmoid", "hardswish"})
    add(std::string(op) + ".default", {{"self", {9}, 1.5, 7}}, {}, {{9}});
  add("special_entr.default", {{"self", {5}, 1, 0.8}}, {}, {{5}});
  add("special_log_ndtr.default", {{"self", {7}, -12, 17}}, {}, {{7}});
  add("logit.default", {{"self", {5}, 0.5, 0.4}}, {}, {{5}});
  add("logit.default", {{"self", {5}, 0.5, 0.4}}, {{"eps", 0.3}}, {{5}});

  Given logits{"self", {2, 3}};
  logits.reals = {0, -1.5, 2, 0.5, 0, 30};
  const Given target{"target", {2, 3}, 0.5, 0.5};
  for (const int64_t reduction : {0, 1, 2}) {
    const Shape result = reduction == 0 ? Shape{2, 3} : Shape{};
    const NamedArgument how{"reduction", reduction};
    const std::string op = "binary_cross_entropy_with_logits.default";
    add(op, {logits, target}, {how}, {result});
    add(op, {logits, target, {"weight", {3}, 1, 0.5}}, {how}, {result});
    add(op, {logits, target, {"weight", {2, 1}, 1, 0.5}, {"pos_weight", {3}, 2, 1}}, {how}, {result});
  }

  Given share{"self", {2, 3}};
  share.reals = {0, 0.5, -2, 1, 0, 3};
  for (const char* op : {"xlogy.Tensor", "special_xlog1py.default"}) {
    add(op, {share, {"other", {3}, 2, 1}}, {}, {{2, 3}});
    add(op, {share, {"other", {2, 1}, 2, 1}}, {}, {{2, 3}});
  }

  const Given x{"self", {2, 3, 4}};
  const NamedArgument keep{"keepdim", true};
  add("std.default", {x}, {{"unbiased", false}}, {{}});
  add("std.dim", {x}, {{"dim", ints({-1, 0})}, {"unbiased", true}}, {{3}});
  add("std.correction", {x}, {{"dim", ints({1})}, {"correction", 0.5}, keep}, {{2, 1, 4}});
  add("std.correction", {x}, {{"dim", NoneArg{}}}, {{}});
  add("std_mean.default", {x}, {{"unbiased", true}}, {{}, {}});
  add("std_mean.dim", {x}, {{"dim", ints({2})}, {"unbiased", false}, keep}, {{2, 3, 1}, {2, 3, 1}});
  add("std_mean.correction", {x}, {{"dim", ints({1})}, {"correction", int64_t{0}}}, {{2, 4}, {2, 4}});
  examples.push_back(examples.back());
  examples.back().outputs = {1};
  return examples;
}

const Examples added_composites_examples(composites_examples);

}  // namespace
}  // namespace assay::models
