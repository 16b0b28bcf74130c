// Elementwise functions of two tensors, comparisons, selection.
#include <cmath>

#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

struct Broadcast {
  const char* name;
  Shape left, right;
};

const std::vector<Broadcast>& broadcasts() {
  static const std::vector<Broadcast> all{
      {"rows", {5, 7}, {1, 7}},         {"columns", {5, 7}, {5, 1}}, {"both", {5, 1}, {1, 7}},
      {"rank", {2, 3, 4}, {4}},         {"0d", {3, 5}, {}},          {"empty", {0, 4}, {1, 4}},
      {"middle", {2, 1, 5}, {2, 3, 1}}, {"129", {129, 5}, {129, 1}},
  };
  return all;
}

// add, sub, mul, div: an fp32 unit with one rounding on write is exact on 16-bit operands (NUMERICS §3,
// probes).
void arithmetic(const CaseSink& sink) {
  for (const char* op : {"aten::add.Tensor", "aten::sub.Tensor", "aten::mul.Tensor", "aten::div.Tensor"}) {
    const bool division = std::string(op) == "aten::div.Tensor";
    const double center = division ? 4 : 0;  // keep divisors away from zero
    for (DType dtype : compute_floats()) {
      const std::string tag = dtype_tag(dtype);
      OpCase drawn(op, tag + "/drawn");
      drawn.tensor("self", uniform(dtype, drawn_shape(), 0, 4))
          .tensor("other", uniform(dtype, drawn_shape(), center, 3));
      drawn.drawn();
      if (dtype != DType::f32) drawn.probe();
      sink(drawn.build());
      sink(OpCase(op, tag + "/special")
               .tensor("self", values(dtype, {8}, {NAN, INFINITY, INFINITY, -INFINITY, 0, -0.0, -0.0, 1}))
               .tensor("other", values(dtype, {8}, {1, INFINITY, -INFINITY, 1, -1, 1, -0.0, NAN}))
               .build());
    }
    for (const Broadcast& shape : broadcasts()) {
      sink(OpCase(op, std::string("f32/broadcast-") + shape.name)
               .tensor("self", uniform(DType::f32, shape.left, 0, 4))
               .tensor("other", uniform(DType::f32, shape.right, center, 3))
               .build());
    }
    for (const NamedShape& shape : edge_shapes()) {
      sink(OpCase(op, std::string("f32/shape-") + shape.name)
               .tensor("self", uniform(DType::f32, shape.shape, 0, 4))
               .tensor("other", uniform(DType::f32, shape.shape, center, 3))
               .build());
    }
    // A whole number and a fraction given as PyTorch Scalars promoted to 0-d tensors.
    sink(OpCase(op, "f32/probe")
             .tensor("self", integers(DType::f32, drawn_shape(), -64, 64))
             .tensor("other", values(DType::f32, {}, {4.0}))
             .probe()
             .build());
    sink(OpCase(op, "promote-i64-f32")
             .tensor("self", integers(DType::i64, {64}, -100, 100))
             .tensor("other", uniform(DType::f32, {64}, center, 3))
             .build());
    sink(OpCase(op, "promote-bf16-f32")
             .tensor("self", uniform(DType::bf16, {64}, 0, 4))
             .tensor("other", uniform(DType::f32, {64}, center, 3))
             .build());
    sink(OpCase(op, "bad/broadcast")
             .tensor("self", uniform(DType::f32, {3, 4}))
             .tensor("other", uniform(DType::f32, {3, 5}))
             .negative("broadcast")
             .build());
    if (!division) {
      for (DType dtype : {DType::i32, DType::i64}) {
        sink(OpCase(op, dtype_tag(dtype) + "/drawn")
                 .tensor("self", integers(dtype, drawn_shape(), -30000, 30000))
                 .tensor("other", integers(dtype, drawn_shape(), -30000, 30000))
                 .build());
      }
      // Beyond 2^24, where an integer unit made of fp32 loses bits.
      sink(OpCase(op, "i32/beyond-2^24")
               .tensor("self", integers(DType::i32, {256}, 1 << 25, (1 << 25) + 1000))
               .tensor("other", integers(DType::i32, {256}, 1, 7))
               .build());
    }
  }
  for (const char* op : {"aten::add.Tensor", "aten::sub.Tensor"}) {
    sink(OpCase(op, "f32/alpha")
             .tensor("self", uniform(DType::f32, drawn_shape()))
             .tensor("other", uniform(DType::f32, drawn_shape()))
             .arg("alpha", 0.25)
             .drawn()
             .build());
    sink(OpCase(op, "i64/alpha")
             .tensor("self", integers(DType::i64, {100}, -9, 9))
             .tensor("other", integers(DType::i64, {100}, -9, 9))
             .arg("alpha", int64_t{3})
             .build());
  }
}

void comparisons(const CaseSink& sink) {
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    const std::string tensor_op = std::string("aten::") + name + ".Tensor";
    const std::string scalar_op = std::string("aten::") + name + ".Scalar";
    for (DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64}) {
      const std::string tag = dtype_tag(dtype);
      // Few distinct values, so that equality happens.
      sink(OpCase(tensor_op, tag + "/drawn")
               .tensor("self", integers(dtype, drawn_shape(), -4, 5))
               .tensor("other", integers(dtype, drawn_shape(), -4, 5))
               .build());
      sink(OpCase(scalar_op, tag + "/drawn")
               .tensor("self", integers(dtype, drawn_shape(), -4, 5))
               .arg("other", int64_t{1})
               .build());
    }
    sink(OpCase(tensor_op, "f32/special")
             .tensor("self", values(DType::f32, {6}, {NAN, NAN, 0, INFINITY, -INFINITY, 1}))
             .tensor("other", values(DType::f32, {6}, {NAN, 1, -0.0, INFINITY, INFINITY, NAN}))
             .build());
    sink(OpCase(tensor_op, "i64/neighbours")
             .tensor("self", integers(DType::i64, {256}, 16777216, 16777220))
             .tensor("other", integers(DType::i64, {256}, 16777216, 16777220))
             .build());
    for (const Broadcast& shape : broadcasts()) {
      sink(OpCase(tensor_op, std::string("i64/broadcast-") + shape.name)
               .tensor("self", integers(DType::i64, shape.left, -4, 5))
               .tensor("other", integers(DType::i64, shape.right, -4, 5))
               .build());
    }
  }
}

void logic(const CaseSink& sink) {
  for (const char* op : {"aten::bitwise_and.Tensor", "aten::bitwise_or.Tensor"}) {
    for (DType dtype : {DType::boolean, DType::i32, DType::i64}) {
      const int64_t high = dtype == DType::boolean ? 2 : 1 << 20;
      sink(OpCase(op, dtype_tag(dtype) + "/drawn")
               .tensor("self", integers(dtype, drawn_shape(), 0, high))
               .tensor("other", integers(dtype, drawn_shape(), 0, high))
               .build());
    }
    for (const Broadcast& shape : broadcasts()) {
      sink(OpCase(op, std::string("bool/broadcast-") + shape.name)
               .tensor("self", integers(DType::boolean, shape.left, 0, 2))
               .tensor("other", integers(DType::boolean, shape.right, 0, 2))
               .build());
    }
    sink(OpCase(op, "bad/float")
             .tensor("self", uniform(DType::f32, {4}))
             .tensor("other", uniform(DType::f32, {4}))
             .negative("integer dtype")
             .build());
  }
  sink(OpCase("aten::logical_and.default", "bool/drawn")
           .tensor("self", integers(DType::boolean, drawn_shape(), 0, 2))
           .tensor("other", integers(DType::boolean, drawn_shape(), 0, 2))
           .build());
}

void extremes(const CaseSink& sink) {
  for (const char* op : {"aten::minimum.default", "aten::maximum.default"}) {
    for (DType dtype : {DType::f32, DType::bf16, DType::i32, DType::i64}) {
      sink(OpCase(op, dtype_tag(dtype) + "/drawn")
               .tensor("self", integers(dtype, drawn_shape(), -50, 50))
               .tensor("other", integers(dtype, drawn_shape(), -50, 50))
               .build());
    }
    sink(OpCase(op, "f32/special")
             .tensor("self", values(DType::f32, {5}, {NAN, 1, INFINITY, -INFINITY, NAN}))
             .tensor("other", values(DType::f32, {5}, {1, NAN, 1, 1, NAN}))
             .build());
    for (const Broadcast& shape : broadcasts()) {
      sink(OpCase(op, std::string("f32/broadcast-") + shape.name)
               .tensor("self", uniform(DType::f32, shape.left))
               .tensor("other", uniform(DType::f32, shape.right))
               .build());
    }
  }
}

void selection(const CaseSink& sink) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    sink(OpCase("aten::where.self", dtype_tag(dtype) + "/drawn")
             .tensor("condition", integers(DType::boolean, drawn_shape(), 0, 2))
             .tensor("self", integers(dtype, drawn_shape(), -9, 9))
             .tensor("other", integers(dtype, drawn_shape(), -9, 9))
             .build());
  }
  sink(OpCase("aten::where.self", "f32/scalars")
           .tensor("condition", integers(DType::boolean, {2, 1, 33, 33}, 0, 2))
           .tensor("self", values(DType::f32, {}, {0.0}))
           .tensor("other", values(DType::f32, {}, {-3.4028234663852886e38}))
           .build());
  // Only the selected side may show: NaN and infinity on the other side must not leak through arithmetic.
  sink(OpCase("aten::where.self", "f32/special")
           .tensor("condition", values(DType::boolean, {4}, {1, 0, 1, 0}))
           .tensor("self", values(DType::f32, {4}, {1, NAN, -0.0, INFINITY}))
           .tensor("other", values(DType::f32, {4}, {NAN, 2, INFINITY, -0.0}))
           .build());
  for (const Broadcast& shape : broadcasts()) {
    sink(OpCase("aten::where.self", std::string("f32/broadcast-") + shape.name)
             .tensor("condition", integers(DType::boolean, shape.left, 0, 2))
             .tensor("self", uniform(DType::f32, shape.right))
             .tensor("other", uniform(DType::f32, shape.left))
             .build());
  }
}

}  // namespace

void register_binary(OpFamilies& table) {
  table.add(arithmetic);
  table.add(comparisons);
  table.add(logic);
  table.add(extremes);
  table.add(selection);
}

}  // namespace assay::suites
