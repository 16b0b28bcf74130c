// Views, copies, indexing, factories and casts: exact to the bit.
#include <cmath>

#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

const std::vector<DType>& carried() {
  static const std::vector<DType> dtypes{DType::f32, DType::bf16, DType::i64, DType::boolean};
  return dtypes;
}

TensorSpec any_of(DType dtype, const Shape& shape) {
  return is_float(dtype) ? uniform(dtype, shape, 0, 8)
                         : integers(dtype, shape, 0, dtype == DType::boolean ? 2 : 1000);
}

void views(const CaseSink& sink) {
  for (DType dtype : carried()) {
    const std::string tag = dtype_tag(dtype) + "/";
    const auto one = [&](const char* op, const std::string& variant, const Shape& shape) {
      OpCase made(op, tag + variant);
      made.tensor("self", any_of(dtype, shape));
      return made;
    };
    sink(one("aten::view.default", "merge", {2, 3, 4, 5}).ints("size", {6, -1}).build());
    sink(one("aten::view.default", "empty", {0, 6}).ints("size", {2, 0, 3}).build());
    sink(one("aten::permute.default", "reverse", {2, 3, 4, 5}).ints("dims", {3, 2, 1, 0}).build());
    sink(one("aten::permute.default", "heads", {2, 33, 4, 16}).ints("dims", {0, 2, 1, 3}).build());
    sink(one("aten::permute.default", "transpose-129", {129, 130}).ints("dims", {1, 0}).build());
    sink(one("aten::unsqueeze.default", "last", {3, 4}).arg("dim", int64_t{-1}).build());
    sink(one("aten::squeeze.dims", "two", {3, 1, 4, 1}).ints("dim", {1, 3}).build());
    sink(one("aten::expand.default", "rows", {1, 5}).ints("size", {7, 5}).build());
    sink(one("aten::expand.default", "new-dims", {3, 1}).ints("size", {2, 3, -1}).build());
    sink(one("aten::select.int", "negative", {4, 5, 6})
             .arg("dim", int64_t{1})
             .arg("index", int64_t{-1})
             .build());
    sink(one("aten::slice.Tensor", "middle", {4, 50})
             .arg("dim", int64_t{1})
             .arg("start", int64_t{3})
             .arg("end", int64_t{40})
             .arg("step", int64_t{4})
             .build());
    sink(one("aten::slice.Tensor", "clamped", {4, 5})
             .arg("dim", int64_t{0})
             .arg("start", int64_t{-3})
             .arg("end", int64_t{9223372036854775807})
             .build());
    sink(one("aten::slice.Tensor", "nothing", {4, 5})
             .arg("dim", int64_t{1})
             .arg("start", int64_t{4})
             .arg("end", int64_t{2})
             .build());
    sink(one("aten::split_with_sizes.default", "last", {3, 12})
             .ints("split_sizes", {1, 0, 5, 6})
             .arg("dim", int64_t{-1})
             .build());
    sink(one("aten::alias.default", "same", {3, 4}).build());
    sink(one("aten::clone.default", "same", {3, 4, 5}).build());
    sink(one("aten::repeat.default", "tile", {2, 3}).ints("repeats", {2, 1, 3}).build());
    sink(OpCase("aten::cat.default", tag + "last")
             .tensors("tensors", {any_of(dtype, {4, 3}), any_of(dtype, {4, 1}), any_of(dtype, {4, 130})})
             .arg("dim", int64_t{-1})
             .build());
    sink(OpCase("aten::cat.default", tag + "with-empty")
             .tensors("tensors", {any_of(dtype, {0}), any_of(dtype, {2, 3})})
             .arg("dim", int64_t{0})
             .build());
  }
  sink(OpCase("aten::view.default", "bad/size")
           .tensor("self", uniform(DType::f32, {3, 4}))
           .ints("size", {5, -1})
           .negative("viewed")
           .build());
  sink(OpCase("aten::permute.default", "bad/dims")
           .tensor("self", uniform(DType::f32, {3, 4}))
           .ints("dims", {0, 0})
           .negative("twice")
           .build());
  sink(OpCase("aten::expand.default", "bad/size")
           .tensor("self", uniform(DType::f32, {3, 4}))
           .ints("size", {5, 4})
           .negative("size")
           .build());
  sink(OpCase("aten::cat.default", "bad/shape")
           .tensors("tensors", {uniform(DType::f32, {2, 3}), uniform(DType::f32, {2, 4})})
           .arg("dim", int64_t{0})
           .negative("tensor 1 has shape")
           .build());
  sink(OpCase("aten::select.int", "bad/index")
           .tensor("self", uniform(DType::f32, {3, 4}))
           .arg("dim", int64_t{0})
           .arg("index", int64_t{3})
           .negative("index")
           .build());
}

void indexing(const CaseSink& sink) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    sink(OpCase("aten::embedding.default", dtype_tag(dtype) + "/drawn")
             .tensor("weight", uniform(dtype, {200, 24}))
             .tensor("indices", integers(DType::i64, {3, 17}, 0, 200))
             .build());
    sink(OpCase("aten::embedding.default", dtype_tag(dtype) + "/padding")
             .tensor("weight", uniform(dtype, {20, 5}))
             .tensor("indices", integers(DType::i64, {40}, 0, 20))
             .arg("padding_idx", int64_t{1})
             .build());
  }
  for (DType dtype : {DType::f32, DType::i64, DType::boolean}) {
    const std::string tag = dtype_tag(dtype) + "/";
    sink(OpCase("aten::index.Tensor", tag + "rows")
             .tensor("self", any_of(dtype, {30, 7}))
             .none_or_tensors("indices", {integers(DType::i64, {11}, -30, 30)})
             .build());
    sink(OpCase("aten::index.Tensor", tag + "second-dim")
             .tensor("self", any_of(dtype, {4, 30}))
             .none_or_tensors("indices", {std::nullopt, integers(DType::i64, {2, 5}, 0, 30)})
             .build());
    sink(OpCase("aten::index.Tensor", tag + "broadcast")
             .tensor("self", any_of(dtype, {5, 40}))
             .none_or_tensors("indices", {integers(DType::i64, {5, 1, 1, 1}, 0, 5),
                                          integers(DType::i64, {1, 1, 9, 1}, 0, 40)})
             .build());
    sink(OpCase("aten::gather.default", tag + "last")
             .tensor("self", any_of(dtype, {6, 20}))
             .arg("dim", int64_t{1})
             .tensor("index", integers(DType::i64, {6, 9}, 0, 20))
             .build());
    sink(OpCase("aten::gather.default", tag + "first")
             .tensor("self", any_of(dtype, {12, 8}))
             .arg("dim", int64_t{0})
             .tensor("index", integers(DType::i64, {5, 8}, 0, 12))
             .build());
  }
  sink(OpCase("aten::embedding.default", "bad/index-dtype")
           .tensor("weight", uniform(DType::f32, {4, 3}))
           .tensor("indices", uniform(DType::f32, {2}))
           .negative("indices")
           .build());
}

void factories(const CaseSink& sink) {
  for (DType dtype : carried()) {
    sink(OpCase("aten::full.default", dtype_tag(dtype))
             .ints("size", {3, 130})
             .arg("fill_value", int64_t{1})
             .arg("dtype", DTypeArg{dtype})
             .build());
    sink(OpCase("aten::full_like.default", dtype_tag(dtype))
             .tensor("self", any_of(dtype, {5, 6}))
             .arg("fill_value", int64_t{1})
             .build());
    sink(OpCase("aten::scalar_tensor.default", dtype_tag(dtype))
             .arg("s", int64_t{1})
             .arg("dtype", DTypeArg{dtype})
             .build());
  }
  sink(OpCase("aten::full.default", "f32/lowest")
           .ints("size", {2, 2})
           .arg("fill_value", -3.4028234663852886e38)
           .arg("dtype", DTypeArg{DType::f32})
           .build());
  sink(OpCase("aten::full.default", "bf16/rounded")
           .ints("size", {4})
           .arg("fill_value", 0.1)
           .arg("dtype", DTypeArg{DType::bf16})
           .build());
  sink(OpCase("aten::arange.start_step", "i64")
           .arg("start", int64_t{-3})
           .arg("end", int64_t{300})
           .arg("step", int64_t{2})
           .build());
  sink(OpCase("aten::arange.start_step", "i64/down")
           .arg("start", int64_t{5})
           .arg("end", int64_t{-5})
           .arg("step", int64_t{-3})
           .build());
  sink(OpCase("aten::arange.start_step", "f32").arg("start", 0.0).arg("end", 2.0).arg("step", 0.25).build());
}

void casts(const CaseSink& sink) {
  for (DType from : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::boolean}) {
    for (DType to : {DType::f32, DType::bf16, DType::f16, DType::i32, DType::i64, DType::boolean}) {
      TensorSpec spec = is_float(from) ? uniform(from, drawn_shape(), 0, 100)
                                       : integers(from, drawn_shape(), from == DType::boolean ? 0 : -1000,
                                                  from == DType::boolean ? 2 : 1000);
      OpCase made("aten::_to_copy.default", dtype_tag(from) + "-to-" + dtype_tag(to));
      made.tensor("self", spec).arg("dtype", DTypeArg{to});
      if (is_float(from) && is_float(to) && size_of(to) < size_of(from)) made.drawn();
      sink(made.build());
    }
  }
  // 3.14, 0.26914 and a tie, which goes to even (IEEE 754).
  sink(OpCase("aten::_to_copy.default", "f32-to-bf16/ties")
           .tensor("self", values(DType::f32, {4}, {3.14, 0.26914, 1.00390625, 1.01171875}))
           .arg("dtype", DTypeArg{DType::bf16})
           .probe()
           .build());
  sink(OpCase("aten::_to_copy.default", "i64-to-f32/beyond-2^24")
           .tensor("self", integers(DType::i64, {256}, 16777216, 33554432))
           .arg("dtype", DTypeArg{DType::f32})
           .build());
  // What a narrower integer does not hold wraps around.
  for (const DType to : {DType::i32, DType::i16, DType::i8, DType::u8}) {
    sink(OpCase("aten::_to_copy.default", "i64-to-" + dtype_tag(to) + "/wraps")
             .tensor("self", values(DType::i64, {12},
                                    {0x1p31, -0x1p31 - 1, 0x1p32 + 5, -0x1p40 - 7, 32768, -32769, 65537, 300,
                                     255, 128, -1, -129}))
             .arg("dtype", DTypeArg{to})
             .build());
  }
  sink(OpCase("aten::_to_copy.default", "f32-to-bf16/special")
           .tensor("self", values(DType::f32, {6}, {NAN, INFINITY, -INFINITY, -0.0, 3.4e38, -3.4e38}))
           .arg("dtype", DTypeArg{DType::bf16})
           .build());
}

}  // namespace

void register_movement(OpFamilies& table) {
  table.add(views);
  table.add(indexing);
  table.add(factories);
  table.add(casts);
}

}  // namespace assay::suites
