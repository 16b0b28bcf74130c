// Elementwise functions of one tensor.
#include <cmath>
#include <utility>

#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

struct Unary {
  const char* op;
  double center, scale;  // where its argument is drawn
  bool exact;            // the result is an exact function of the argument's bits
};

// Domains keep the functions finite and cover both signs where they are defined there.
constexpr Unary kUnary[] = {
    {"aten::abs.default", 0, 4, true},           {"aten::neg.default", 0, 4, true},
    {"aten::relu.default", 0, 4, true},          {"aten::exp.default", 0, 8, false},
    {"aten::log.default", 8, 7.5, false},        {"aten::log1p.default", 3, 3.5, false},
    {"aten::sigmoid.default", 0, 8, false},      {"aten::tanh.default", 0, 4, false},
    {"aten::sin.default", 0, 30, false},         {"aten::cos.default", 0, 30, false},
    {"aten::rsqrt.default", 8, 7.5, false},      {"aten::sqrt.default", 8, 7.5, false},
    {"aten::reciprocal.default", 8, 7.5, false}, {"aten::erf.default", 0, 3, false},
    {"aten::floor.default", 0, 30, true},        {"aten::ceil.default", 0, 30, true},
};

void unary(const CaseSink& sink) {
  for (const Unary& fact : kUnary) {
    for (DType dtype : compute_floats()) {
      const std::string tag = dtype_tag(dtype);
      sink(OpCase(fact.op, tag + "/drawn")
               .tensor("self", uniform(dtype, drawn_shape(), fact.center, fact.scale))
               .drawn()
               .build());
      sink(OpCase(fact.op, tag + "/special")
               .tensor("self", values(dtype, {7}, {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0}))
               .build());
    }
    for (const NamedShape& shape : edge_shapes()) {
      sink(OpCase(fact.op, std::string("f32/shape-") + shape.name)
               .tensor("self", uniform(DType::f32, shape.shape, fact.center, fact.scale))
               .build());
    }
  }
  for (const char* op : {"aten::abs.default", "aten::neg.default", "aten::relu.default"}) {
    for (DType dtype : {DType::i32, DType::i64}) {
      sink(OpCase(op, dtype_tag(dtype) + "/drawn")
               .tensor("self", integers(dtype, drawn_shape(), -1000, 1000))
               .build());
    }
  }
  for (DType dtype : {DType::boolean, DType::i32, DType::u8}) {
    sink(OpCase("aten::bitwise_not.default", dtype_tag(dtype) + "/drawn")
             .tensor("self", integers(dtype, drawn_shape(), 0, 2))
             .build());
  }
  sink(OpCase("aten::logical_not.default", "f32/drawn")
           .tensor("self", uniform(DType::f32, drawn_shape()))
           .build());
}

void gelu(const CaseSink& sink) {
  for (const char* approximate : {"none", "tanh"}) {
    for (DType dtype : compute_floats()) {
      sink(OpCase("aten::gelu.default", dtype_tag(dtype) + "/" + approximate + "/drawn")
               .tensor("self", uniform(dtype, drawn_shape(), 0, 6))
               .arg("approximate", std::string(approximate))
               .drawn()
               .build());
    }
    for (const NamedShape& shape : edge_shapes()) {
      sink(OpCase("aten::gelu.default", std::string("f32/") + approximate + "/shape-" + shape.name)
               .tensor("self", uniform(DType::f32, shape.shape, 0, 6))
               .arg("approximate", std::string(approximate))
               .build());
    }
  }
}

void pow_scalar(const CaseSink& sink) {
  const std::pair<const char*, double> exponents[] = {{"2", 2.0},        {"3", 3.0},           {"half", 0.5},
                                                      {"minus-1", -1.0}, {"minus-half", -0.5}, {"0", 0.0},
                                                      {"1.75", 1.75}};
  for (DType dtype : compute_floats()) {
    for (const auto& [name, exponent] : exponents) {
      sink(OpCase("aten::pow.Tensor_Scalar", dtype_tag(dtype) + "/exponent-" + name)
               .tensor("self", uniform(dtype, drawn_shape(), 4, 3.5))
               .arg("exponent", exponent)
               .drawn()
               .build());
    }
  }
  // No 16-bit type holds 1.7; whether it is rounded to the tensor's type first is a question of its own.
  sink(OpCase("aten::pow.Tensor_Scalar", "f32/exponent-1.7")
           .tensor("self", uniform(DType::f32, drawn_shape(), 4, 3.5))
           .arg("exponent", 1.7)
           .drawn()
           .build());
  sink(OpCase("aten::pow.Tensor_Scalar", "f32/square-negative")
           .tensor("self", uniform(DType::f32, drawn_shape(), 0, 4))
           .arg("exponent", 2.0)
           .drawn()
           .build());
  sink(OpCase("aten::pow.Tensor_Scalar", "i64/cube")
           .tensor("self", integers(DType::i64, drawn_shape(), -100, 100))
           .arg("exponent", int64_t{3})
           .build());
  sink(OpCase("aten::pow.Tensor_Tensor", "f32/base-0d")
           .tensor("self", values(DType::f32, {}, {0.5}))
           .tensor("exponent", integers(DType::i32, {64}, 0, 12))
           .build());
  // C99 and IEEE 754: 0^0, NaN^0, 1^NaN, (-8)^(1/3), (-0)^-1, (-inf)^3, (-1)^inf.
  sink(OpCase("aten::pow.Tensor_Tensor", "f32/special")
           .tensor("self", values(DType::f32, {7}, {0, NAN, 1, -8, -0.0, -INFINITY, -1}))
           .tensor("exponent", values(DType::f32, {7}, {0, 0, NAN, 1.0 / 3, -1, 3, INFINITY}))
           .build());
}

}  // namespace

void register_unary(OpFamilies& table) {
  table.add(unary);
  table.add(gelu);
  table.add(pow_scalar);
}

}  // namespace assay::suites
