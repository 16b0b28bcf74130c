// Every derivative against finite differences in float128: d(loss)/dx by central differences of the forward
// graph, element by element, with step 2^-20 (truncation about 1e-12, rounding of the f64 outputs about
// 1e-10).
#include "models/differentiate/derivatives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/philox.h"
#include "models/differentiate/differentiate.h"
#include "models/testing/finite_differences_test.h"
#include "reference/evaluate.h"

namespace assay::models {
namespace {

struct Given {
  std::string name;
  Shape shape;
  double center = 0, scale = 1;
  std::vector<int64_t> integers = {};  // an i64 tensor (bool if `mask`) instead of drawn reals
  bool mask = false;
};

struct Example {
  std::string op;
  std::vector<Given> tensors;
  std::vector<NamedArgument> arguments = {};
  std::string list = {};  // all tensors are members of this list argument
};

Argument ints(std::vector<int64_t> list) { return IntListArg{std::move(list), {}}; }

FiniteDifferences differences_of(const Example& example) {
  GraphBuilder builder(example.op);
  std::vector<NamedArgument> arguments = example.arguments;
  ValueListArg list;
  std::vector<Tensor> inputs;
  for (const Given& given : example.tensors) {
    const std::string name = given.name + (example.list.empty() ? "" : std::to_string(inputs.size()));
    const DType dtype = given.integers.empty() ? DType::f64 : given.mask ? DType::boolean : DType::i64;
    const ValueId id = builder.input(name, dtype, given.shape);
    if (given.integers.empty()) {
      inputs.push_back(drawn(example.op + name, given.shape, given.center, given.scale));
    } else {
      inputs.push_back(Tensor::from_ints(dtype, given.shape, given.integers));
    }
    if (example.list.empty() || (example.list == "indices" && given.integers.empty())) {
      arguments.push_back({given.name, ValueArg{id}});
    } else {
      list.ids.push_back(id);
    }
  }
  if (!example.list.empty()) arguments.push_back({example.list, list});
  for (const ValueId id : builder.node(example.op, arguments)) builder.output(id);
  JointOptions options;
  // Saved statistics of normalisations have no derivative here.
  if (example.op.find("norm") != std::string::npos) options.outputs = {0};
  return FiniteDifferences(builder.build(), inputs, options);
}

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
  return examples;
}

std::vector<Example> reduction_examples() {
  const Given x{"self", {2, 3, 4}};
  std::vector<Example> examples;
  for (const char* op :
       {"aten::sum.default", "aten::mean.default", "aten::max.default", "aten::prod.default"}) {
    examples.push_back({op, {{"self", {2, 3}}}});
    examples.push_back({op, {{"self", {}}}});
  }
  for (const char* op : {"aten::sum.dim_IntList", "aten::mean.dim", "aten::amax.default",
                         "aten::amin.default", "aten::linalg_vector_norm.default", "aten::var.correction"}) {
    for (const bool keepdim : {false, true}) {
      examples.push_back({op, {x}, {{"dim", ints({-1})}, {"keepdim", keepdim}}});
      examples.push_back({op, {x}, {{"dim", ints({0, 2})}, {"keepdim", keepdim}}});
    }
  }
  examples.push_back({"aten::linalg_vector_norm.default", {x}});
  examples.push_back({"aten::linalg_vector_norm.default", {x}, {{"ord", 1.0}, {"dim", ints({1})}}});
  examples.push_back({"aten::var.correction", {x}, {{"dim", ints({1})}, {"correction", 0.0}}});
  examples.push_back({"aten::var.dim", {x}, {{"dim", ints({1})}, {"unbiased", true}}});
  for (const char* op : {"aten::max.dim", "aten::min.dim"}) {
    examples.push_back({op, {x}, {{"dim", int64_t{1}}}});
    examples.push_back({op, {x}, {{"dim", int64_t{-1}}, {"keepdim", true}}});
  }
  examples.push_back({"aten::topk.default", {x}, {{"k", int64_t{2}}, {"dim", int64_t{-1}}}});
  examples.push_back({"aten::sort.default", {x}, {{"dim", int64_t{1}}, {"descending", true}}});
  for (const int64_t dim : {0, 1, -1}) {
    examples.push_back({"aten::cumsum.default", {x}, {{"dim", dim}}});
    examples.push_back({"aten::_softmax.default", {x}, {{"dim", dim}, {"half_to_float", false}}});
    examples.push_back({"aten::_log_softmax.default", {x}, {{"dim", dim}, {"half_to_float", false}}});
    examples.push_back({"aten::prod.dim_int", {x}, {{"dim", dim}, {"keepdim", dim == 1}}});
  }
  examples.push_back({"aten::cumsum.default", {{"self", {}}}, {{"dim", int64_t{0}}}});
  return examples;
}

std::vector<Example> view_examples() {
  const Given x{"self", {2, 3, 4}};
  return {
      {"aten::view.default", {x}, {{"size", ints({6, 4})}}},
      {"aten::_unsafe_view.default", {x}, {{"size", ints({-1})}}},
      {"aten::permute.default", {x}, {{"dims", ints({2, 0, -2})}}},
      {"aten::transpose.int", {x}, {{"dim0", int64_t{0}}, {"dim1", int64_t{-1}}}},
      {"aten::t.default", {{"self", {2, 3}}}},
      {"aten::expand.default", {{"self", {3, 1}}}, {{"size", ints({2, -1, 4})}}},
      {"aten::unsqueeze.default", {x}, {{"dim", int64_t{-2}}}},
      {"aten::squeeze.dim", {{"self", {2, 1, 3}}}, {{"dim", int64_t{1}}}},
      {"aten::squeeze.dims", {{"self", {1, 2, 1}}}, {{"dim", ints({0, 2})}}},
      {"aten::flatten.using_ints", {x}, {{"start_dim", int64_t{1}}}},
      {"aten::unflatten.int", {x}, {{"dim", int64_t{2}}, {"sizes", ints({2, 2})}}},
      {"aten::slice.Tensor",
       {x},
       {{"dim", int64_t{2}}, {"start", int64_t{1}}, {"end", int64_t{4}}, {"step", int64_t{2}}}},
      {"aten::slice.Tensor", {x}, {{"dim", int64_t{1}}, {"start", int64_t{-2}}}},
      {"aten::select.int", {x}, {{"dim", int64_t{1}}, {"index", int64_t{-1}}}},
      {"aten::split_with_sizes.default", {x}, {{"split_sizes", ints({1, 3})}, {"dim", int64_t{-1}}}},
      {"aten::split.Tensor", {x}, {{"split_size", int64_t{2}}, {"dim", int64_t{1}}}},
      {"aten::repeat.default", {{"self", {2, 3}}}, {{"repeats", ints({2, 1, 3})}}},
      {"aten::flip.default", {x}, {{"dims", ints({0, 2})}}},
      {"aten::constant_pad_nd.default", {x}, {{"pad", ints({1, 2, -1, 1})}, {"value", 3.0}}},
      {"aten::tril.default", {x}, {{"diagonal", int64_t{-1}}}},
      {"aten::triu.default", {x}, {{"diagonal", int64_t{1}}}},
      {"aten::slice_scatter.default",
       {x, {"src", {2, 3, 2}}},
       {{"dim", int64_t{2}}, {"start", int64_t{0}}, {"end", int64_t{4}}, {"step", int64_t{2}}}},
      {"aten::select_scatter.default", {x, {"src", {2, 4}}}, {{"dim", int64_t{1}}, {"index", int64_t{1}}}},
      {"aten::cat.default",
       {{"part", {2, 3}}, {"part", {2, 1}}, {"part", {2, 2}}},
       {{"dim", int64_t{-1}}},
       "tensors"},
      {"aten::stack.default", {{"part", {2, 3}}, {"part", {2, 3}}}, {{"dim", int64_t{1}}}, "tensors"},
  };
}

std::vector<Example> product_examples() {
  return {
      {"aten::mm.default", {{"self", {2, 3}}, {"mat2", {3, 4}}}},
      {"aten::bmm.default", {{"self", {2, 2, 3}}, {"mat2", {2, 3, 2}}}},
      {"aten::addmm.default",
       {{"self", {4}}, {"mat1", {2, 3}}, {"mat2", {3, 4}}},
       {{"beta", 0.5}, {"alpha", 2.0}}},
      {"aten::addmm.default", {{"self", {2, 4}}, {"mat1", {2, 3}}, {"mat2", {3, 4}}}},
      {"aten::baddbmm.default",
       {{"self", {2, 1, 2}}, {"batch1", {2, 2, 3}}, {"batch2", {2, 3, 2}}},
       {{"beta", 3.0}, {"alpha", 0.25}}},
  };
}

std::vector<Example> normalisation_examples() {
  std::vector<Example> examples;
  examples.push_back({"aten::native_layer_norm.default",
                      {{"input", {2, 3, 4}}, {"weight", {3, 4}, 1, 0.5}, {"bias", {3, 4}}},
                      {{"normalized_shape", ints({3, 4})}, {"eps", 1e-2}}});
  examples.push_back(
      {"aten::native_layer_norm.default",
       {{"input", {2, 5}}},
       {{"normalized_shape", ints({5})}, {"weight", NoneArg{}}, {"bias", NoneArg{}}, {"eps", 1e-2}}});
  examples.push_back(
      {"aten::native_group_norm.default",
       {{"input", {2, 4, 3}}, {"weight", {4}, 1, 0.5}, {"bias", {4}}},
       {{"N", int64_t{2}}, {"C", int64_t{4}}, {"HxW", int64_t{3}}, {"group", int64_t{2}}, {"eps", 1e-2}}});
  examples.push_back({"aten::_native_batch_norm_legit_no_training.default",
                      {{"input", {2, 3, 2}},
                       {"weight", {3}, 1, 0.5},
                       {"bias", {3}},
                       {"running_mean", {3}},
                       {"running_var", {3}, 1, 0.5}},
                      {{"momentum", 0.1}, {"eps", 1e-2}}});
  examples.push_back({"aten::_native_batch_norm_legit.no_stats",
                      {{"input", {3, 2, 2}}, {"weight", {2}, 1, 0.5}, {"bias", {2}}},
                      {{"training", true}, {"momentum", 0.1}, {"eps", 1e-2}}});
  return examples;
}

std::vector<Example> indexing_examples() {
  const Given rows{"index", {3}, 0, 1, {2, 0, 2}};
  return {
      {"aten::index.Tensor",
       {{"self", {3, 4}}, {"i", {2, 1}, 0, 1, {2, 0}}, {"i", {3}, 0, 1, {1, 1, 3}}},
       {},
       "indices"},
      {"aten::index_put.default",
       {{"self", {3, 2}}, {"values", {2, 2}}, {"i", {2}, 0, 1, {2, 0}}},
       {{"accumulate", false}},
       "indices"},
      {"aten::index_put.default",
       {{"self", {3, 2}}, {"values", {3, 2}}, {"i", {3}, 0, 1, {2, 0, 2}}},
       {{"accumulate", true}},
       "indices"},
      {"aten::index_select.default", {{"self", {2, 3, 2}}, rows}, {{"dim", int64_t{1}}}},
      {"aten::embedding.default", {{"weight", {4, 3}}, {"indices", {2, 2}, 0, 1, {3, 0, 3, 1}}}},
      {"aten::gather.default",
       {{"self", {2, 3}}, {"index", {2, 4}, 0, 1, {0, 2, 2, 1, 1, 1, 0, 0}}},
       {{"dim", int64_t{1}}}},
      {"aten::scatter.src",
       {{"self", {2, 3}}, {"src", {2, 2}}, {"index", {2, 2}, 0, 1, {0, 2, 1, 0}}},
       {{"dim", int64_t{1}}}},
      {"aten::scatter.value",
       {{"self", {2, 3}}, {"index", {2, 2}, 0, 1, {0, 2, 1, 0}}},
       {{"dim", int64_t{1}}, {"value", 2.0}}},
      {"aten::scatter_add.default",
       {{"self", {2, 3}}, {"src", {2, 2}}, {"index", {2, 2}, 0, 1, {0, 0, 1, 2}}},
       {{"dim", int64_t{1}}}},
  };
}

Example convolution(Shape input, Shape weight, int64_t stride, int64_t padding, int64_t dilation,
                    int64_t groups, bool transposed = false, int64_t rest = 0) {
  const std::size_t dims = weight.size() - 2;
  const int64_t channels = transposed ? weight[1] * groups : weight[0];
  const auto each = [&](int64_t v) { return ints(std::vector<int64_t>(dims, v)); };
  return {"aten::convolution.default",
          {{"input", std::move(input)}, {"weight", std::move(weight)}, {"bias", {channels}}},
          {{"stride", each(stride)},
           {"padding", each(padding)},
           {"dilation", each(dilation)},
           {"transposed", transposed},
           {"output_padding", each(rest)},
           {"groups", groups}}};
}

std::vector<Example> spatial_examples() {
  std::vector<Example> examples{
      convolution({2, 2, 5}, {3, 2, 3}, 1, 1, 1, 1),
      convolution({1, 4, 7}, {2, 2, 3}, 2, 0, 2, 2),
      convolution({1, 2, 6}, {4, 1, 2}, 3, 2, 1, 2),
      convolution({1, 2, 4, 5}, {2, 2, 2, 3}, 2, 1, 1, 1),
      convolution({1, 4, 3}, {4, 1, 3}, 2, 1, 1, 2, true, 1),
      convolution({2, 2, 3, 2}, {2, 2, 2, 2}, 1, 0, 2, 1, true),
  };
  const Given image{"self", {1, 2, 5, 6}};
  examples.push_back({"aten::max_pool2d_with_indices.default",
                      {image},
                      {{"kernel_size", ints({3, 2})}, {"stride", ints({2, 2})}, {"padding", ints({1, 0})}}});
  examples.push_back({"aten::max_pool3d_with_indices.default",
                      {{"self", {1, 3, 4, 3}}},
                      {{"kernel_size", ints({2, 2, 2})}}});
  for (const bool padded : {false, true}) {
    examples.push_back({"aten::avg_pool2d.default",
                        {image},
                        {{"kernel_size", ints({3, 2})},
                         {"stride", ints({2, 3})},
                         {"padding", ints({1, 1})},
                         {"ceil_mode", true},
                         {"count_include_pad", padded}}});
  }
  examples.push_back({"aten::avg_pool2d.default",
                      {image},
                      {{"kernel_size", ints({2, 2})}, {"divisor_override", int64_t{3}}}});
  examples.push_back({"aten::avg_pool1d.default", {{"self", {2, 5}}}, {{"kernel_size", ints({2})}}});
  examples.push_back({"aten::avg_pool3d.default",
                      {{"self", {1, 2, 3, 3}}},
                      {{"kernel_size", ints({2, 2, 2})}, {"stride", ints({1, 1, 1})}}});
  examples.push_back({"aten::_adaptive_avg_pool2d.default", {image}, {{"output_size", ints({3, 4})}}});
  return examples;
}

std::set<std::string>& seen() {
  static std::set<std::string> ops;
  return ops;
}

void check(const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    seen().insert(example.op);
    std::string shapes = example.op;
    for (const Given& given : example.tensors) shapes += " " + given.name + to_string(given.shape);
    for (const NamedArgument& argument : example.arguments)
      shapes += " " + argument.name + "=" + to_string(argument.value);
    SCOPED_TRACE(shapes);
    try {
      differences_of(example).expect_gradients(1e-8);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Derivative, Unary) { check(unary_examples()); }
TEST(Derivative, Binary) { check(binary_examples()); }
TEST(Derivative, Reductions) { check(reduction_examples()); }
TEST(Derivative, Views) { check(view_examples()); }
TEST(Derivative, Products) { check(product_examples()); }
TEST(Derivative, Normalisation) { check(normalisation_examples()); }
TEST(Derivative, Indexing) { check(indexing_examples()); }
TEST(Derivative, ConvolutionAndPooling) { check(spatial_examples()); }

// Rules without an example would be unchecked.
TEST(Derivative, EveryRuleHasAnExample) {
  std::set<std::string> examples;
  for (const auto& group :
       {unary_examples(), binary_examples(), reduction_examples(), view_examples(), product_examples(),
        normalisation_examples(), indexing_examples(), spatial_examples()}) {
    for (const Example& example : group) examples.insert(example.op);
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
}

}  // namespace
}  // namespace assay::models
