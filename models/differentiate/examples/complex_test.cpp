#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

Given complex(const std::string& name, Shape shape, double center = 0, double scale = 0.8) {
  shape.push_back(2);
  Given given{name, std::move(shape), center, scale};
  given.complex = true;
  return given;
}

std::vector<Example> complex_examples() {
  std::vector<Example> examples;
  for (const char* op : {"neg", "exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos",
                         "atan", "asinh", "acosh", "atanh", "sigmoid", "clone", "_conj_physical", "_conj"}) {
    examples.push_back({std::string("aten::") + op + ".default", {complex("self", {2, 3})}});
  }
  for (const char* op : {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "abs", "angle"})
    examples.push_back({std::string("aten::") + op + ".default", {complex("self", {2, 3}, 1, 0.8)}});
  // Of real numbers.
  for (const char* op : {"_conj_physical", "angle"})
    examples.push_back({std::string("aten::") + op + ".default", {{"self", {4}}}});
  const Given z = complex("self", {2, 3}), w = complex("other", {3}, 1, 0.5), x{"other", {2, 1}, 2, 1};
  for (const char* op : {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::div.Tensor"}) {
    examples.push_back({op, {z, w}});
    examples.push_back({op, {z, x}});
    examples.push_back({op, {{"self", {2, 3}}, w}});
  }
  for (const char* op : {"aten::mul.Scalar", "aten::div.Scalar"})
    examples.push_back({op, {z}, {{"other", 1.7}}});
  examples.push_back({"aten::where.self", {{"condition", {2, 3}, 0, 1, {1, 0, 0, 1, 1, 0}, true}, z, w}});
  examples.push_back({"aten::view.default", {z}, {{"size", ints({3, 2})}}});
  examples.push_back({"aten::_unsafe_view.default", {z}, {{"size", ints({6})}}});
  examples.push_back({"aten::permute.default", {z}, {{"dims", ints({1, 0})}}});
  examples.push_back({"aten::transpose.int", {z}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}});
  examples.push_back({"aten::expand.default", {complex("self", {3, 1})}, {{"size", ints({2, 3, 2})}}});
  examples.push_back({"aten::unsqueeze.default", {z}, {{"dim", int64_t{1}}}});
  examples.push_back({"aten::squeeze.dim", {complex("self", {2, 1})}, {{"dim", int64_t{1}}}});
  examples.push_back({"aten::squeeze.dims", {complex("self", {2, 1})}, {{"dim", ints({1})}}});
  examples.push_back({"aten::_to_copy.default", {z}, {{"dtype", DTypeArg{DType::c128}}}});
  examples.push_back({"aten::flip.default", {z}, {{"dims", ints({1})}}});
  examples.push_back({"aten::repeat.default", {z}, {{"repeats", ints({2, 1})}}});
  examples.push_back({"aten::cat.default",
                      {complex("part", {2, 3}), complex("part", {2, 1})},
                      {{"dim", int64_t{1}}},
                      "tensors"});
  examples.push_back({"aten::slice.Tensor", {z}, {{"dim", int64_t{1}}, {"start", int64_t{1}}}});
  examples.push_back({"aten::select.int", {z}, {{"dim", int64_t{0}}, {"index", int64_t{1}}}});
  examples.push_back(
      {"aten::split_with_sizes.default", {z}, {{"split_sizes", ints({1, 2})}, {"dim", int64_t{1}}}});
  examples.push_back({"aten::slice_scatter.default",
                      {z, complex("src", {2, 2})},
                      {{"dim", int64_t{1}}, {"start", int64_t{0}}, {"end", int64_t{2}}}});
  examples.push_back({"aten::select_scatter.default",
                      {z, complex("src", {3})},
                      {{"dim", int64_t{0}}, {"index", int64_t{1}}}});
  for (const char* op : {"aten::sum.dim_IntList", "aten::mean.dim"})
    examples.push_back({op, {z}, {{"dim", ints({0})}, {"keepdim", true}}});
  Example polar{"aten::polar.default", {{"abs", {2, 3}, 1, 0.5}, {"angle", {3}, 0, 2}}};
  Example parts{"aten::complex.default", {{"real", {2, 3}}, {"imag", {2, 1}}}};
  polar.gives_complex = parts.gives_complex = true;
  examples.push_back(polar);
  examples.push_back(parts);
  for (const int64_t normalization : {0, 1, 2}) {
    const NamedArgument scaled{"normalization", normalization};
    for (const bool forward : {true, false}) {
      examples.push_back({"aten::_fft_c2c.default",
                          {complex("self", {2, 5})},
                          {{"dim", ints({-1})}, scaled, {"forward", forward}}});
      examples.push_back({"aten::_fft_c2c.default",
                          {complex("self", {3, 2, 4})},
                          {{"dim", ints({0, 2})}, scaled, {"forward", forward}}});
    }
    for (const int64_t size : {6, 7}) {
      for (const bool onesided : {true, false}) {
        Example real{"aten::_fft_r2c.default",
                     {{"self", {3, size}}},
                     {{"dim", ints({0, 1})}, scaled, {"onesided", onesided}}};
        real.gives_complex = true;
        examples.push_back(real);
      }
      examples.push_back({"aten::_fft_c2r.default",
                          {complex("self", {3, size / 2 + 1})},
                          {{"dim", ints({0, 1})}, scaled, {"last_dim_size", size}}});
    }
  }
  return examples;
}

const Examples added_complex_examples(complex_examples);

}  // namespace
}  // namespace assay::models
