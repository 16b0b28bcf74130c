// Every derivative against finite differences in float128: d(loss)/dx by central differences of the forward
// graph, element by element, with step 2^-20 (truncation about 1e-12, rounding of the f64 outputs about
// 1e-10). The calls are those of examples/.
#include "models/differentiate/derivatives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/decompose/decompose.h"
#include "core/opset/classify.h"
#include "core/opset/schema.h"
#include "models/differentiate/differentiate.h"
#include "models/differentiate/examples/examples_test.h"
#include "models/testing/finite_differences_test.h"
#include "reference/evaluate.h"

namespace assay::models {
namespace {

Tensor made(const Example& example, const Given& given, const std::string& name) {
  if (!given.integers.empty())
    return Tensor::from_ints(given.mask ? DType::boolean : DType::i64, given.shape, given.integers);
  if (!given.reals.empty()) return Tensor::from_doubles(DType::f64, given.shape, given.reals);
  return drawn(example.op + name, given.shape, given.center, given.scale);
}

FiniteDifferences differences_of(const Example& example) {
  GraphBuilder builder(example.op);
  std::vector<NamedArgument> arguments = example.arguments;
  ValueListArg list;
  std::vector<Tensor> inputs;
  for (const Given& given : example.tensors) {
    const std::string name = given.name + (example.list.empty() ? "" : std::to_string(inputs.size()));
    inputs.push_back(made(example, given, name));
    ValueId id = builder.input(name, inputs.back().dtype(), given.shape);
    if (given.complex) id = builder.call("aten::view_as_complex.default", {{"self", ValueArg{id}}});
    if (example.list.empty() || (example.list == "indices" && given.integers.empty())) {
      arguments.push_back({given.name, ValueArg{id}});
    } else {
      list.ids.push_back(id);
    }
  }
  if (!example.list.empty()) arguments.push_back({example.list, list});
  const std::vector<ValueId> results = example.results.empty()
                                           ? builder.node(example.op, arguments)
                                           : builder.declared_node(example.op, arguments, example.results);
  for (const ValueId id : results) {
    const bool complex = is_complex(builder.value(id).dtype);
    builder.output(complex ? builder.call("aten::view_as_real.default", {{"self", ValueArg{id}}}) : id);
  }
  JointOptions options;
  options.outputs = example.outputs;
  return FiniteDifferences(builder.build(), inputs, options);
}

TEST(Derivatives, EqualFiniteDifferences) {
  for (const Example& example : Examples::all()) {
    std::string call = example.op;
    for (const Given& given : example.tensors) call += " " + given.name + to_string(given.shape);
    for (const NamedArgument& argument : example.arguments)
      call += " " + argument.name + "=" + to_string(argument.value);
    SCOPED_TRACE(call);
    try {
      differences_of(example).expect_gradients(example.tolerance);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

// Rules without an example would be unchecked.
TEST(Derivatives, EveryRuleHasAnExample) {
  std::set<std::string> examples, complex{"aten::view_as_complex.default", "aten::view_as_real.default"};
  for (const Example& example : Examples::all()) {
    examples.insert(example.op);
    const bool is = std::any_of(example.tensors.begin(), example.tensors.end(),
                                [](const Given& given) { return given.complex; });
    if (is || example.gives_complex) complex.insert(example.op);
  }
  // Aliases of a rule with an example; constants; checked elsewhere (models/gla, models/optimisers).
  const std::set<std::string> elsewhere{
      "aten::reshape.default",   "aten::squeeze.default",    "aten::contiguous.default",
      "aten::detach.default",    "aten::full_like.default",  "aten::zeros_like.default",
      "aten::ones_like.default", "aten::empty_like.default", "aten::new_full.default",
      "aten::new_zeros.default", "aten::new_ones.default",   "aten::fill.Scalar",
      "aten::div.Tensor_mode",   "aten::div.Scalar_mode",    "aten::adaptive_avg_pool2d.default"};
  for (const std::string& name : derivatives().names()) {
    if (name.starts_with("assay::") || elsewhere.contains(name)) continue;
    EXPECT_TRUE(examples.contains(name)) << name;
  }
  for (const std::string& name : derivatives().complex_names())
    EXPECT_TRUE(complex.contains(name)) << name << " of complex numbers";
}

}  // namespace
}  // namespace assay::models
