#include "suites/ops/bench_ops.h"

#include <algorithm>
#include <utility>

#include "core/opset/required.h"
#include "suites/ops/op_case.h"
#include "suites/ops/ops_suite.h"

namespace assay::suites {
namespace {

// 128,000 elements and a few more, so that no two cases are equal.
Case large_case(int64_t number) {
  static constexpr const char* kUnary[] = {"relu", "neg", "exp", "tanh", "sigmoid", "sqrt", "abs", "gelu"};
  static constexpr const char* kBinary[] = {"add.Tensor", "mul.Tensor", "sub.Tensor", "maximum"};
  const std::vector<DType>& dtypes = compute_floats();
  const DType dtype = dtypes[static_cast<std::size_t>(number) % dtypes.size()];
  const Shape shape{320, 400 + number / 36};
  const auto kind = static_cast<std::size_t>(number % 12);
  const std::string variant = dtype_tag(dtype) + "/rate-" + std::to_string(number);
  if (kind < std::size(kUnary)) {
    const std::string op = std::string("aten::") + kUnary[kind] + ".default";
    return OpCase(op, variant).tensor("self", uniform(dtype, shape, 2, 2)).build();
  }
  std::string op = std::string("aten::") + kBinary[kind - std::size(kUnary)];
  if (op.find('.') == std::string::npos) op += ".default";
  return OpCase(op, variant)
      .tensor("self", uniform(dtype, shape))
      .tensor("other", uniform(dtype, shape))
      .build();
}

// No device need skip it: numbers that it holds, shapes that it knows, operators that it must have.
bool is_judged_everywhere(const Case& c) {
  if (!c.graph) return false;
  const bool holds = std::all_of(c.graph->values.begin(), c.graph->values.end(), [](const Value& value) {
    return value.dtype != DType::f64 && value.dtype != DType::f8e4m3fn && !is_complex(value.dtype) &&
           std::none_of(value.shape.begin(), value.shape.end(), [](int64_t size) { return size < 0; });
  });
  return holds && std::all_of(c.graph->nodes.begin(), c.graph->nodes.end(),
                              [](const Node& node) { return is_required_operator(node.op); });
}

}  // namespace

std::vector<Case> rate_cases(int64_t count) {
  std::vector<Case> small, cases;
  make_ops_suite()->make_cases(0, [&](Case c) {
    if (is_judged_everywhere(c)) small.push_back(std::move(c));
  });
  const auto available = static_cast<int64_t>(small.size());
  const int64_t wanted = std::clamp<int64_t>(count - count / 10, 1, available);
  for (int64_t i = 0; i < wanted; ++i) {
    cases.push_back(std::move(small[static_cast<std::size_t>(i * available / wanted)]));
    if (i % 9 == 8) cases.push_back(large_case(i / 9));
  }
  return cases;
}

std::vector<Case> bench_op_cases() {
  std::vector<Case> cases;
  for (DType dtype : {DType::bf16, DType::f32}) {
    const std::string tag = dtype_tag(dtype) + "/bench-";
    for (int64_t n : {256, 1024, 2048}) {
      cases.push_back(OpCase("aten::mm.default", tag + std::to_string(n))
                          .tensor("self", uniform(dtype, {n, n}))
                          .tensor("mat2", uniform(dtype, {n, n}))
                          .build());
    }
    cases.push_back(OpCase("aten::bmm.default", tag + "8x512x64")
                        .tensor("self", uniform(dtype, {8, 512, 64}))
                        .tensor("mat2", uniform(dtype, {8, 64, 512}))
                        .build());
    for (const char* op : {"aten::add.Tensor", "aten::mul.Tensor"}) {
      cases.push_back(OpCase(op, tag + "1M")
                          .tensor("self", uniform(dtype, {1024, 1024}))
                          .tensor("other", uniform(dtype, {1024, 1024}))
                          .build());
    }
    for (const char* op : {"aten::exp.default", "aten::gelu.default", "aten::tanh.default",
                           "aten::sigmoid.default", "aten::relu.default"}) {
      cases.push_back(OpCase(op, tag + "1M").tensor("self", uniform(dtype, {1024, 1024}, 0, 4)).build());
    }
    cases.push_back(OpCase("aten::_softmax.default", tag + "1024x1024")
                        .tensor("self", uniform(dtype, {1024, 1024}, 0, 4))
                        .arg("dim", int64_t{-1})
                        .arg("half_to_float", false)
                        .build());
    cases.push_back(OpCase("aten::native_layer_norm.default", tag + "1024x1024")
                        .tensor("input", uniform(dtype, {1024, 1024}))
                        .ints("normalized_shape", {1024})
                        .tensor("weight", uniform(dtype, {1024}, 1, 0.5))
                        .tensor("bias", uniform(dtype, {1024}))
                        .arg("eps", 1e-5)
                        .build());
    cases.push_back(OpCase("aten::sum.dim_IntList", tag + "1024x1024")
                        .tensor("self", uniform(dtype, {1024, 1024}))
                        .ints("dim", {-1})
                        .build());
    cases.push_back(OpCase("aten::convolution.default", tag + "64x56x56")
                        .tensor("input", uniform(dtype, {1, 64, 56, 56}))
                        .tensor("weight", uniform(dtype, {64, 64, 3, 3}))
                        .arg("bias", NoneArg{})
                        .ints("stride", {1, 1})
                        .ints("padding", {1, 1})
                        .ints("dilation", {1, 1})
                        .arg("transposed", false)
                        .ints("output_padding", {0, 0})
                        .arg("groups", int64_t{1})
                        .build());
  }
  for (Case& c : cases) c.suite = "bench";
  return cases;
}

}  // namespace assay::suites
