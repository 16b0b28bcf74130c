// Matrix products and convolution.
#include <cmath>

#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

struct Product {
  const char* name;
  int64_t m, k, n;
};

// Around the tile sizes of a 128 x 128 array with 512 moving columns, and degenerate ones.
constexpr Product kMatrixProducts[] = {
    {"1x1x1", 1, 1, 1},     {"odd", 5, 7, 3},       {"k0", 2, 0, 3},
    {"m0", 0, 4, 3},        {"127", 127, 127, 127}, {"128", 128, 128, 128},
    {"129", 129, 129, 129}, {"n513", 3, 64, 513},   {"k300", 17, 300, 9},
};

void mm(const CaseSink& sink) {
  for (DType dtype : compute_floats()) {
    const std::string tag = dtype_tag(dtype);
    for (int64_t k : {16, 64, 256, 1024}) {
      sink(OpCase("aten::mm.default", tag + "/drawn-k" + std::to_string(k))
               .tensor("self", uniform(dtype, {32, k}))
               .tensor("mat2", uniform(dtype, {k, 32}))
               .drawn()
               .build());
    }
    // Small integers: every partial sum is exact in fp32, so any order gives the same; the result fits 8
    // bits.
    sink(OpCase("aten::mm.default", tag + "/probe")
             .tensor("self", integers(dtype, {40, 60}, -2, 3))
             .tensor("mat2", integers(dtype, {60, 50}, -2, 3))
             .probe()
             .build());
    for (const Product& p : kMatrixProducts) {
      sink(OpCase("aten::mm.default", tag + "/shape-" + p.name)
               .tensor("self", uniform(dtype, {p.m, p.k}))
               .tensor("mat2", uniform(dtype, {p.k, p.n}))
               .build());
    }
  }
  // Input width: 1 + 2^-12 survives in fp32 and is lost in tf32, fp16 and bf16.
  sink(OpCase("aten::mm.default", "f32/probe-input-width")
           .tensor("self", values(DType::f32, {1, 2}, {1.000244140625, 1}))
           .tensor("mat2", values(DType::f32, {2, 1}, {1, -1}))
           .probe()
           .build());
  // Accumulator width: 2^12 + 1 - 2^12 needs more than 12 bits.
  sink(OpCase("aten::mm.default", "bf16/probe-accumulator-width")
           .tensor("self", values(DType::bf16, {1, 3}, {4096, 1, -4096}))
           .tensor("mat2", values(DType::bf16, {3, 1}, {1, 1, 1}))
           .probe()
           .build());
  sink(OpCase("aten::mm.default", "f32/special")
           .tensor("self", values(DType::f32, {2, 2}, {INFINITY, 1, NAN, 0}))
           .tensor("mat2", values(DType::f32, {2, 2}, {1, 0, -1, 2}))
           .build());
  sink(OpCase("aten::mm.default", "bad/k")
           .tensor("self", uniform(DType::f32, {3, 4}))
           .tensor("mat2", uniform(DType::f32, {5, 2}))
           .negative("mat2")
           .build());
  sink(OpCase("aten::mm.default", "bad/rank")
           .tensor("self", uniform(DType::f32, {3, 4, 2}))
           .tensor("mat2", uniform(DType::f32, {2, 2}))
           .negative("self")
           .build());
}

void bmm(const CaseSink& sink) {
  for (DType dtype : compute_floats()) {
    const std::string tag = dtype_tag(dtype);
    sink(OpCase("aten::bmm.default", tag + "/drawn")
             .tensor("self", uniform(dtype, {8, 16, 64}))
             .tensor("mat2", uniform(dtype, {8, 64, 16}))
             .drawn()
             .build());
    sink(OpCase("aten::bmm.default", tag + "/probe")
             .tensor("self", integers(dtype, {3, 20, 30}, -2, 3))
             .tensor("mat2", integers(dtype, {3, 30, 10}, -2, 3))
             .probe()
             .build());
  }
  for (const Product& p : kMatrixProducts) {
    sink(OpCase("aten::bmm.default", std::string("f32/shape-") + p.name)
             .tensor("self", uniform(DType::f32, {3, p.m, p.k}))
             .tensor("mat2", uniform(DType::f32, {3, p.k, p.n}))
             .build());
  }
  sink(OpCase("aten::bmm.default", "bad/batch")
           .tensor("self", uniform(DType::f32, {2, 3, 4}))
           .tensor("mat2", uniform(DType::f32, {3, 4, 5}))
           .negative("mat2")
           .build());
}

void addmm(const CaseSink& sink) {
  const auto base = [](DType dtype, const std::string& variant, const Shape& bias) {
    return OpCase("aten::addmm.default", variant)
        .tensor("self", uniform(dtype, bias))
        .tensor("mat1", uniform(dtype, {16, 64}))
        .tensor("mat2", uniform(dtype, {64, 32}));
  };
  for (DType dtype : compute_floats()) {
    const std::string tag = dtype_tag(dtype);
    sink(base(dtype, tag + "/drawn", {32}).drawn().build());
    sink(base(dtype, tag + "/drawn-full", {16, 32}).drawn().build());
    sink(base(dtype, tag + "/alpha-beta", {32}).arg("alpha", 0.5).arg("beta", 2.0).drawn().build());
    sink(OpCase("aten::addmm.default", tag + "/probe")
             .tensor("self", integers(dtype, {20}, -9, 9))
             .tensor("mat1", integers(dtype, {10, 30}, -2, 3))
             .tensor("mat2", integers(dtype, {30, 20}, -2, 3))
             .probe()
             .build());
  }
  // beta = 0: `self` is not read, even if it holds NaN (BLAS rule).
  sink(OpCase("aten::addmm.default", "f32/beta-0-nan")
           .tensor("self", values(DType::f32, {2, 2}, {NAN, NAN, NAN, NAN}))
           .tensor("mat1", values(DType::f32, {2, 2}, {1, 1, 1, 1}))
           .tensor("mat2", values(DType::f32, {2, 2}, {1, 1, 1, 1}))
           .arg("beta", int64_t{0})
           .probe()
           .build());
  sink(OpCase("aten::addmm.default", "f32/k0")
           .tensor("self", values(DType::f32, {3}, {1, 1, 1}))
           .tensor("mat1", uniform(DType::f32, {2, 0}))
           .tensor("mat2", uniform(DType::f32, {0, 3}))
           .arg("beta", 2.0)
           .build());
  sink(OpCase("aten::addmm.default", "bad/bias")
           .tensor("self", uniform(DType::f32, {5}))
           .tensor("mat1", uniform(DType::f32, {2, 3}))
           .tensor("mat2", uniform(DType::f32, {3, 4}))
           .negative("self")
           .build());
}

struct Conv {
  const char* name;
  Shape input, weight;
  bool bias;
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups;
};

const std::vector<Conv>& convolutions() {
  static const std::vector<Conv> all{
      {"1d", {2, 8, 33}, {16, 8, 3}, true, {1}, {1}, {1}, 1},
      {"1d-depthwise", {2, 32, 32}, {32, 1, 4}, true, {1}, {3}, {1}, 32},
      {"1d-stride", {1, 4, 101}, {12, 4, 10}, false, {5}, {0}, {1}, 1},
      {"1d-grouped-wide", {2, 64, 20}, {64, 4, 16}, true, {1}, {8}, {1}, 16},
      {"2d", {2, 3, 12, 12}, {8, 3, 3, 3}, true, {1, 1}, {1, 1}, {1, 1}, 1},
      {"2d-patch", {2, 3, 32, 32}, {64, 3, 8, 8}, true, {8, 8}, {0, 0}, {1, 1}, 1},
      {"2d-stride-pad", {1, 4, 15, 13}, {6, 4, 3, 5}, false, {2, 3}, {2, 1}, {1, 1}, 1},
      {"2d-dilated", {1, 2, 14, 14}, {4, 2, 3, 3}, true, {1, 1}, {3, 3}, {3, 2}, 1},
      {"2d-groups", {1, 6, 9, 9}, {9, 2, 3, 3}, true, {1, 1}, {0, 0}, {1, 1}, 3},
      {"2d-depthwise", {2, 16, 8, 8}, {16, 1, 7, 7}, true, {1, 1}, {3, 3}, {1, 1}, 16},
      {"2d-1x1", {2, 130, 4, 4}, {12, 130, 1, 1}, false, {1, 1}, {0, 0}, {1, 1}, 1},
      {"2d-empty-batch", {0, 3, 5, 5}, {4, 3, 3, 3}, true, {1, 1}, {0, 0}, {1, 1}, 1},
  };
  return all;
}

OpCase convolution_case(const Conv& c, DType dtype, const std::string& variant, bool whole) {
  const auto spec = [&](const Shape& shape) {
    return whole ? integers(dtype, shape, -2, 3) : uniform(dtype, shape);
  };
  OpCase made("aten::convolution.default", variant);
  made.tensor("input", spec(c.input)).tensor("weight", spec(c.weight));
  if (c.bias) {
    made.tensor("bias", spec({c.weight[0]}));
  } else {
    made.arg("bias", NoneArg{});
  }
  return made.ints("stride", c.stride)
      .ints("padding", c.padding)
      .ints("dilation", c.dilation)
      .arg("transposed", false)
      .ints("output_padding", std::vector<int64_t>(c.stride.size(), 0))
      .arg("groups", c.groups);
}

void convolution(const CaseSink& sink) {
  for (const Conv& c : convolutions()) {
    for (DType dtype : compute_floats()) {
      sink(convolution_case(c, dtype, dtype_tag(dtype) + "/" + c.name, false).drawn().build());
    }
    sink(convolution_case(c, DType::f32, std::string("f32/probe-") + c.name, true).probe().build());
  }
  Conv bad = convolutions().front();
  bad.weight = {16, 5, 3};
  sink(convolution_case(bad, DType::f32, "bad/channels", false).negative("channels").build());
}

}  // namespace

void register_matrix(OpFamilies& table) {
  table.add(mm);
  table.add(bmm);
  table.add(addmm);
  table.add(convolution);
}

}  // namespace assay::suites
