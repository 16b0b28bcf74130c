// Reductions, normalisations, softmax, scans.
#include <cmath>

#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

// Row lengths around one tile and past it.
const std::vector<int64_t>& lengths() {
  static const std::vector<int64_t> all{1, 3, 64, 127, 129, 513, 1000};
  return all;
}

void sums(const CaseSink& sink) {
  for (const char* op : {"aten::sum.dim_IntList", "aten::mean.dim"}) {
    const bool is_sum = std::string(op) == "aten::sum.dim_IntList";
    for (DType dtype : compute_floats()) {
      const std::string tag = dtype_tag(dtype);
      sink(OpCase(op, tag + "/drawn-last")
               .tensor("self", uniform(dtype, {512, 100}))
               .ints("dim", {-1})
               .drawn()
               .build());
      sink(OpCase(op, tag + "/drawn-first")
               .tensor("self", uniform(dtype, {100, 512}, 1, 1))
               .ints("dim", {0})
               .arg("keepdim", true)
               .drawn()
               .build());
      sink(OpCase(op, tag + "/drawn-two")
               .tensor("self", uniform(dtype, {7, 300, 9}))
               .ints("dim", {0, 2})
               .drawn()
               .build());
    }
    for (int64_t n : lengths()) {
      sink(OpCase(op, "f32/length-" + std::to_string(n))
               .tensor("self", uniform(DType::f32, {5, n}, 0.5, 1))
               .ints("dim", {1})
               .build());
    }
    sink(OpCase(op, "f32/all").tensor("self", uniform(DType::f32, {3, 4, 5})).ints("dim", {}).build());
    sink(OpCase(op, "f32/special")
             .tensor("self",
                     values(DType::f32, {4, 2}, {NAN, 1, INFINITY, 1, INFINITY, -INFINITY, -0.0, -0.0}))
             .ints("dim", {1})
             .build());
    sink(OpCase(op, "bad/dim")
             .tensor("self", uniform(DType::f32, {3, 4}))
             .ints("dim", {2})
             .negative("dim")
             .build());
    // 16-bit sums keep an fp32 accumulator: 1,024 ones are 1,024 (a bf16 accumulator sticks at 256).
    const Tensor ones = Tensor::from_doubles(DType::bf16, {2, 1024}, std::vector<double>(2048, 1.0));
    sink(OpCase(op, "bf16/probe-ones")
             .tensor("self", {DType::bf16, {2, 1024}, ones})
             .ints("dim", {1})
             .probe()
             .build());
    if (is_sum) {
      sink(OpCase(op, "f32/probe")
               .tensor("self", integers(DType::f32, {64, 200}, -100, 100))
               .ints("dim", {1})
               .probe()
               .build());
      sink(OpCase(op, "f32/empty").tensor("self", uniform(DType::f32, {3, 0})).ints("dim", {1}).build());
      sink(OpCase(op, "i64/drawn")
               .tensor("self", integers(DType::i64, {20, 30}, -1000000, 1000000))
               .ints("dim", {1})
               .build());
      sink(OpCase(op, "bool/drawn")
               .tensor("self", integers(DType::boolean, {20, 30}, 0, 2))
               .ints("dim", {0})
               .build());
    }
  }
  for (DType dtype : {DType::boolean, DType::i64}) {
    sink(OpCase("aten::cumsum.default", dtype_tag(dtype) + "/drawn")
             .tensor("self", integers(dtype, {6, 40}, 0, 2))
             .arg("dim", int64_t{-1})
             .build());
  }
  for (DType dtype : compute_floats()) {
    sink(OpCase("aten::cumsum.default", dtype_tag(dtype) + "/last")
             .tensor("self", uniform(dtype, {8, 128}, 0.25, 1))
             .arg("dim", int64_t{-1})
             .build());
    sink(OpCase("aten::cumsum.default", dtype_tag(dtype) + "/first")
             .tensor("self", uniform(dtype, {70, 9}))
             .arg("dim", int64_t{0})
             .build());
  }
  sink(OpCase("aten::cumsum.default", "f32/probe")
           .tensor("self", integers(DType::f32, {4, 200}, -100, 100))
           .arg("dim", int64_t{1})
           .probe()
           .build());
}

void softmax(const CaseSink& sink) {
  const char* op = "aten::_softmax.default";
  for (DType dtype : compute_floats()) {
    const std::string tag = dtype_tag(dtype);
    sink(OpCase(op, tag + "/drawn-last")
             .tensor("self", uniform(dtype, {16, 64}, 0, 6))
             .arg("dim", int64_t{-1})
             .arg("half_to_float", false)
             .drawn()
             .build());
    sink(OpCase(op, tag + "/middle")
             .tensor("self", uniform(dtype, {3, 20, 11}, 0, 6))
             .arg("dim", int64_t{1})
             .arg("half_to_float", false)
             .build());
    sink(OpCase(op, tag + "/large")
             .tensor("self", uniform(dtype, {4, 40}, 1000, 30))
             .arg("dim", int64_t{1})
             .arg("half_to_float", false)
             .build());
  }
  for (int64_t n : lengths()) {
    sink(OpCase(op, "f32/length-" + std::to_string(n))
             .tensor("self", uniform(DType::f32, {5, n}, 0, 8))
             .arg("dim", int64_t{1})
             .arg("half_to_float", false)
             .build());
  }
  // A row of one -infinity counts as masked; a row of nothing else is NaN; [inf, 0] is NaN (PyTorch).
  sink(OpCase(op, "f32/special")
           .tensor("self",
                   values(DType::f32, {4, 2}, {-INFINITY, 1, -INFINITY, -INFINITY, INFINITY, 0, NAN, 1}))
           .arg("dim", int64_t{1})
           .arg("half_to_float", false)
           .build());
  // Masks as transformers write them: the most negative float instead of -infinity.
  sink(OpCase(op, "f32/masked")
           .tensor("self", values(DType::f32, {2, 3},
                                  {-3.4028234663852886e38, -3.4028234663852886e38, 0.5,
                                   -3.4028234663852886e38, -3.4028234663852886e38, -3.4028234663852886e38}))
           .arg("dim", int64_t{1})
           .arg("half_to_float", false)
           .build());
}

void layer_norm(const CaseSink& sink) {
  const char* op = "aten::native_layer_norm.default";
  const auto base = [&](DType dtype, const std::string& variant, int64_t rows, int64_t n, double center,
                        double scale) {
    OpCase made(op, variant);
    made.tensor("input", uniform(dtype, {rows, n}, center, scale))
        .ints("normalized_shape", {n})
        .tensor("weight", uniform(dtype, {n}, 1, 0.5))
        .tensor("bias", uniform(dtype, {n}, 0, 0.5))
        .arg("eps", 1e-5);
    return made;
  };
  for (DType dtype : compute_floats()) {
    sink(base(dtype, dtype_tag(dtype) + "/drawn", 16, 64, 0, 2).drawn().build());
    sink(base(dtype, dtype_tag(dtype) + "/offset-mean", 8, 64, 10, 1).build());
  }
  for (int64_t n : lengths()) sink(base(DType::f32, "f32/length-" + std::to_string(n), 5, n, 0, 1).build());
  sink(OpCase(op, "f32/no-affine")
           .tensor("input", uniform(DType::f32, {4, 3, 16}))
           .ints("normalized_shape", {3, 16})
           .arg("weight", NoneArg{})
           .arg("bias", NoneArg{})
           .arg("eps", 1e-5)
           .build());
  // A constant row normalises to zero; a tiny variance is floored by eps alone.
  sink(OpCase(op, "f32/constant")
           .tensor("input", values(DType::f32, {1, 8}, std::vector<double>(8, 1234.0)))
           .ints("normalized_shape", {8})
           .arg("weight", NoneArg{})
           .arg("bias", NoneArg{})
           .arg("eps", 1e-5)
           .build());
  sink(OpCase(op, "f32/tiny-variance")
           .tensor("input", values(DType::f32, {1, 2}, {9.9e-4, -9.9e-4}))
           .ints("normalized_shape", {2})
           .arg("weight", NoneArg{})
           .arg("bias", NoneArg{})
           .arg("eps", 1e-12)
           .build());
  sink(OpCase(op, "bad/normalized-shape")
           .tensor("input", uniform(DType::f32, {4, 6}))
           .ints("normalized_shape", {5})
           .arg("weight", NoneArg{})
           .arg("bias", NoneArg{})
           .arg("eps", 1e-5)
           .negative("normalized_shape")
           .build());
}

void other_norms(const CaseSink& sink) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    sink(OpCase("aten::native_group_norm.default", dtype_tag(dtype) + "/groups-4")
             .tensor("input", uniform(dtype, {2, 8, 30}))
             .tensor("weight", uniform(dtype, {8}, 1, 0.5))
             .tensor("bias", uniform(dtype, {8}, 0, 0.5))
             .arg("N", int64_t{2})
             .arg("C", int64_t{8})
             .arg("HxW", int64_t{30})
             .arg("group", int64_t{4})
             .arg("eps", 1e-5)
             .build());
    sink(OpCase("aten::native_group_norm.default", dtype_tag(dtype) + "/per-channel")
             .tensor("input", uniform(dtype, {2, 6, 300}))
             .arg("weight", NoneArg{})
             .arg("bias", NoneArg{})
             .arg("N", int64_t{2})
             .arg("C", int64_t{6})
             .arg("HxW", int64_t{300})
             .arg("group", int64_t{6})
             .arg("eps", 1e-5)
             .build());
    sink(OpCase("aten::_native_batch_norm_legit_no_training.default", dtype_tag(dtype) + "/4d")
             .tensor("input", uniform(dtype, {2, 5, 6, 7}, 0, 3))
             .tensor("weight", uniform(dtype, {5}, 1, 0.5))
             .tensor("bias", uniform(dtype, {5}, 0, 0.5))
             .tensor("running_mean", uniform(dtype, {5}))
             .tensor("running_var", uniform(dtype, {5}, 1, 0.5))
             .arg("momentum", 0.1)
             .arg("eps", 1e-5)
             .drawn()
             .build());
    sink(OpCase("aten::linalg_vector_norm.default", dtype_tag(dtype) + "/two")
             .tensor("self", uniform(dtype, {64, 16, 16}))
             .arg("ord", int64_t{2})
             .ints("dim", {0, 1})
             .arg("keepdim", true)
             .build());
  }
  sink(OpCase("aten::linalg_vector_norm.default", "f32/all")
           .tensor("self", uniform(DType::f32, {30, 5}))
           .build());
}

void pooling(const CaseSink& sink) {
  const char* op = "aten::max_pool2d_with_indices.default";
  for (DType dtype : {DType::f32, DType::bf16}) {
    sink(OpCase(op, dtype_tag(dtype) + "/3x3-stride-2")
             .tensor("self", uniform(dtype, {2, 4, 16, 16}))
             .ints("kernel_size", {3, 3})
             .ints("stride", {2, 2})
             .ints("padding", {1, 1})
             .build());
  }
  sink(OpCase(op, "f32/ceil")
           .tensor("self", uniform(DType::f32, {1, 2, 7, 10}))
           .ints("kernel_size", {2, 3})
           .ints("stride", {2, 3})
           .arg("ceil_mode", true)
           .build());
  sink(OpCase(op, "f32/ties")
           .tensor("self", integers(DType::f32, {1, 2, 9, 9}, 0, 2))
           .ints("kernel_size", {3, 3})
           .build());
  sink(OpCase(op, "f32/negative-padded")
           .tensor("self", uniform(DType::f32, {1, 1, 4, 4}, -10, 1))
           .ints("kernel_size", {3, 3})
           .ints("stride", {1, 1})
           .ints("padding", {1, 1})
           .build());
  sink(OpCase(op, "f32/nan")
           .tensor("self", values(DType::f32, {1, 1, 2, 2}, {NAN, 1, 2, 3}))
           .ints("kernel_size", {1, 2})
           .build());
  sink(OpCase(op, "bad/padding")
           .tensor("self", uniform(DType::f32, {1, 1, 8, 8}))
           .ints("kernel_size", {2, 2})
           .ints("padding", {2, 2})
           .negative("padding")
           .build());
}

void topk(const CaseSink& sink) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    sink(OpCase("aten::topk.default", dtype_tag(dtype) + "/2-of-4")
             .tensor("self", uniform(dtype, {64, 4}))
             .arg("k", int64_t{2})
             .build());
    sink(OpCase("aten::topk.default", dtype_tag(dtype) + "/smallest")
             .tensor("self", uniform(dtype, {5, 50}))
             .arg("k", int64_t{7})
             .arg("dim", int64_t{-1})
             .arg("largest", false)
             .build());
  }
  sink(OpCase("aten::topk.default", "f32/ties")
           .tensor("self", integers(DType::f32, {6, 30}, 0, 4))
           .arg("k", int64_t{9})
           .build());
  sink(OpCase("aten::topk.default", "f32/first-dim")
           .tensor("self", uniform(DType::f32, {20, 3}))
           .arg("k", int64_t{4})
           .arg("dim", int64_t{0})
           .build());
  sink(OpCase("aten::topk.default", "bad/k")
           .tensor("self", uniform(DType::f32, {3, 4}))
           .arg("k", int64_t{5})
           .negative("k")
           .build());
}

}  // namespace

void register_reduction(OpFamilies& table) {
  table.add(sums);
  table.add(softmax);
  table.add(layer_norm);
  table.add(other_norms);
  table.add(pooling);
  table.add(topk);
}

}  // namespace assay::suites
