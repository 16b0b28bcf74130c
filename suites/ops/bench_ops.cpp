#include "suites/ops/bench_ops.h"

#include "suites/ops/op_case.h"

namespace assay::suites {

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
