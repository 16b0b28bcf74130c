// Operators on shapes around and beyond what one tile holds, against the reference.
#include <random>

#include "backend/kernels/against_reference_test.h"

namespace assay::backend {
namespace {

using Arguments = std::vector<NamedArgument>;
using reference::Wide;

Tensor drawn(DType dtype, const Shape& shape, double low, double high) {
  static std::mt19937 random(7);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = is_float(dtype) ? draw(random) : std::floor(draw(random));
  return Tensor::from_doubles(dtype, shape, values);
}

Tensor real(const Shape& shape, DType dtype = DType::f32) { return drawn(dtype, shape, -3, 3); }
Tensor index(const Shape& shape, int64_t low, int64_t high) {
  return drawn(DType::i64, shape, static_cast<double>(low), static_cast<double>(high));
}

NamedArgument tensor(const char* name, ValueId id) { return {name, ValueArg{id}}; }
NamedArgument ints(const char* name, std::vector<int64_t> values) {
  return {name, IntListArg{std::move(values), {}}};
}
NamedArgument number(const char* name, int64_t value) { return {name, value}; }

void check(const std::string& op, const std::vector<Tensor>& inputs, const Arguments& arguments) {
  std::vector<TensorMeta> metas;
  std::vector<Wide> wides;
  for (const Tensor& t : inputs) {
    metas.push_back({t.dtype(), t.shape()});
    wides.push_back(Wide::from(t));
  }
  const auto results = infer(OpCall(op, metas, arguments));
  ASSERT_TRUE(results) << op;
  std::vector<const Wide*> operands;
  for (const Wide& wide : wides) operands.push_back(&wide);
  for (Generation generation : {Generation::trn1, Generation::trn2, Generation::trn3}) {
    check_call(OpCall(op, metas, arguments, *results), operands, generation);
  }
}

const DType kFloats[] = {DType::f32, DType::bf16, DType::f16};

TEST(Operators, LongRows) {
  for (DType dtype : kFloats) {
    for (const Shape& shape : {Shape{3, 9001}, Shape{2, 4096}, Shape{130, 5}, Shape{1, 1}}) {
      const Tensor x = real(shape, dtype);
      const NamedArgument self = tensor("self", 0), last = number("dim", -1);
      check("aten::_softmax.default", {x}, {self, last, {"half_to_float", false}});
      check("aten::_log_softmax.default", {x}, {self, last, {"half_to_float", false}});
      check("aten::cumsum.default", {x}, {self, last});
      check("aten::cumprod.default", {drawn(dtype, shape, 0.98, 1.02)}, {self, last});
      check("aten::sum.dim_IntList", {x}, {self, ints("dim", {1})});
      check("aten::mean.dim", {x}, {self, ints("dim", {0}), {"keepdim", true}});
      check("aten::amax.default", {x}, {self, ints("dim", {1})});
      check("aten::amin.default", {x}, {self, ints("dim", {0, 1})});
      check("aten::argmax.default", {x}, {self, last});
      check("aten::max.dim", {x}, {self, last});
      check("aten::native_layer_norm.default", {x, real({shape[1]}, dtype), real({shape[1]}, dtype)},
            {tensor("input", 0),
             ints("normalized_shape", {shape[1]}),
             tensor("weight", 1),
             tensor("bias", 2),
             {"eps", 1e-5}});
      if (shape[1] > 1) check("aten::var.correction", {x}, {self, ints("dim", {1})});
      check("aten::linalg_vector_norm.default", {x}, {self, {"ord", 2.0}, ints("dim", {1})});
    }
  }
  const Tensor i = index({3, 9001}, -1000000, 1000000);
  check("aten::cumsum.default", {i}, {tensor("self", 0), number("dim", 1)});
  check("aten::cumprod.default", {i}, {tensor("self", 0), number("dim", 1)});
  check("aten::sum.dim_IntList", {i}, {tensor("self", 0), ints("dim", {})});
  check("aten::amax.default", {i}, {tensor("self", 0), ints("dim", {1})});
}

TEST(Operators, TopkMergesPieces) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    check("aten::topk.default", {drawn(dtype, {3, 20000}, -1e6, 1e6)},
          {tensor("self", 0), number("k", 50), number("dim", -1)});
    check("aten::topk.default", {drawn(dtype, {40, 3, 5}, -9, 9)},
          {tensor("self", 0), number("k", 7), number("dim", 0), {"largest", false}});
  }
  check("aten::sort.default", {drawn(DType::f32, {4, 1000}, -9, 9)}, {tensor("self", 0), number("dim", -1)});
  check("aten::sort.default", {index({7, 300}, 0, 5)},
        {tensor("self", 0), number("dim", -1), {"descending", true}});
}

TEST(Operators, MatrixProductsBeyondOneTile) {
  for (DType dtype : kFloats) {
    for (const auto& [m, k, n] : {std::tuple{130, 300, 600}, {1, 6000, 7}, {257, 5200, 515}, {3, 1, 1100}}) {
      if (dtype != DType::f32 && k > 6000) continue;
      check("aten::mm.default", {real({m, k}, dtype), real({k, n}, dtype)},
            {tensor("self", 0), tensor("mat2", 1)});
    }
    check("aten::addmm.default", {real({600}, dtype), real({130, 300}, dtype), real({300, 600}, dtype)},
          {tensor("self", 0), tensor("mat1", 1), tensor("mat2", 2)});
    check("aten::baddbmm.default", {real({1, 5, 1}, dtype), real({3, 5, 64}, dtype), real({3, 64, 9}, dtype)},
          {tensor("self", 0), tensor("batch1", 1), tensor("batch2", 2), {"beta", 0.5}, {"alpha", 2.0}});
  }
}

void convolve(const Shape& x, const Shape& w, std::vector<int64_t> stride, std::vector<int64_t> padding,
              std::vector<int64_t> dilation, int64_t groups, DType dtype = DType::f32) {
  std::vector<int64_t> none(stride.size(), 0);
  check("aten::convolution.default", {real(x, dtype), real(w, dtype), real({w[0]}, dtype)},
        {tensor("input", 0),
         tensor("weight", 1),
         tensor("bias", 2),
         ints("stride", stride),
         ints("padding", padding),
         ints("dilation", dilation),
         {"transposed", false},
         ints("output_padding", none),
         number("groups", groups)});
}

TEST(Operators, Convolutions) {
  convolve({1, 3, 112, 112}, {64, 3, 7, 7}, {2, 2}, {3, 3}, {1, 1}, 1);
  convolve({1, 200, 9, 9}, {150, 200, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1);
  convolve({1, 1, 8000}, {32, 1, 10}, {5}, {0}, {1}, 1);
  convolve({1, 4, 40, 700}, {8, 4, 3, 3}, {1, 1}, {1, 1}, {2, 2}, 1);
  convolve({2, 140, 20, 20}, {280, 1, 5, 5}, {1, 1}, {2, 2}, {1, 1}, 140);
  convolve({2, 3, 224, 64}, {96, 3, 16, 16}, {16, 16}, {0, 0}, {1, 1}, 1, DType::bf16);
  convolve({1, 2, 5, 5}, {2, 2, 3, 3}, {1, 1}, {4, 4}, {1, 1}, 1);
}

TEST(Operators, TransposedConvolutions) {
  for (const int64_t groups : {1, 2}) {
    for (const int64_t stride : {1, 2, 3}) {
      check("aten::convolution.default", {real({2, 6, 7, 9}), real({6, 5, 4, 3}), real({5 * groups})},
            {tensor("input", 0),
             tensor("weight", 1),
             tensor("bias", 2),
             ints("stride", {stride, 2}),
             ints("padding", {1, 3}),
             ints("dilation", {1, 2}),
             {"transposed", true},
             ints("output_padding", {stride - 1, 1}),
             number("groups", groups)});
    }
  }
  check("aten::convolution.default", {real({1, 150, 40}), real({150, 3, 8})},
        {tensor("input", 0),
         tensor("weight", 1),
         {"bias", NoneArg{}},
         ints("stride", {4}),
         ints("padding", {2}),
         ints("dilation", {1}),
         {"transposed", true},
         ints("output_padding", {0}),
         number("groups", 1)});
}

TEST(Operators, Indexing) {
  for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::boolean}) {
    const auto table = [&](const Shape& shape) { return drawn(dtype, shape, 0, 2); };
    check("aten::embedding.default", {drawn(dtype, {50, 3000}, 0, 2), index({2, 140}, 0, 50)},
          {tensor("weight", 0), tensor("indices", 1)});
    check("aten::gather.default", {table({3, 40, 50}), index({3, 200, 50}, 0, 40)},
          {tensor("self", 0), number("dim", 1), tensor("index", 1)});
    check("aten::gather.default", {table({5000}), index({777}, 0, 5000)},
          {tensor("self", 0), number("dim", 0), tensor("index", 1)});
    check("aten::gather.default", {table({2, 70000}), index({2, 70000}, 0, 70000)},
          {tensor("self", 0), number("dim", 1), tensor("index", 1)});
    check("aten::index_select.default", {table({6, 30, 4}), index({130}, 0, 30)},
          {tensor("self", 0), number("dim", 1), tensor("index", 1)});
    check("aten::index.Tensor", {table({6, 7, 8, 9}), index({5, 1}, -7, 7), index({4}, -9, 9)},
          {tensor("self", 0), {"indices", ValueListArg{{-1, 1, -1, 2}}}});
    check("aten::index.Tensor", {table({6, 7, 8, 9}), index({5, 1}, -7, 7), index({4}, -8, 8)},
          {tensor("self", 0), {"indices", ValueListArg{{-1, 1, 2}}}});
    check("aten::slice_scatter.default", {table({4, 20}), table({4, 5})},
          {tensor("self", 0), tensor("src", 1), number("dim", 1), number("start", 3), number("end", 13),
           number("step", 2)});
    check("aten::constant_pad_nd.default", {table({4, 5, 6})},
          {tensor("self", 0), ints("pad", {1, -2, 0, 3}), number("value", 1)});
    check("aten::tril.default", {table({2, 200, 131})}, {tensor("self", 0), number("diagonal", -2)});
    check("aten::triu.default", {table({5, 6})}, {tensor("self", 0), number("diagonal", 1)});
    check("aten::masked_fill.Scalar", {table({4, 5}), drawn(DType::boolean, {5}, 0, 2)},
          {tensor("self", 0), tensor("mask", 1), number("value", 1)});
  }
  std::vector<int64_t> order(12);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i * 5 % 12);
  const Tensor distinct = Tensor::from_ints(DType::i64, {12}, order);
  check("aten::scatter.src", {real({20}), distinct, real({12})},
        {tensor("self", 0), number("dim", 0), tensor("index", 1), tensor("src", 2)});
  check("aten::scatter.value", {real({20}), distinct},
        {tensor("self", 0), number("dim", 0), tensor("index", 1), {"value", 2.5}});
  check("aten::scatter_add.default", {real({5, 7}), index({9, 7}, 0, 5), real({9, 7})},
        {tensor("self", 0), number("dim", 0), tensor("index", 1), tensor("src", 2)});
  check("aten::index_put.default", {real({12, 3}), distinct, real({12, 3})},
        {tensor("self", 0), {"indices", ValueListArg{{1}}}, tensor("values", 2)});
  check("aten::index_put.default", {real({12, 3}), index({40}, -12, 12), real({3})},
        {tensor("self", 0), {"indices", ValueListArg{{1}}}, tensor("values", 2), {"accumulate", true}});
}

TEST(Operators, MasksAsIndicesTakeOneValueOrBroadcastOnes) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::boolean}) {
    const auto table = [&](const Shape& shape) { return drawn(dtype, shape, 0, 2); };
    const auto put = [&](const Shape& self, ValueListArg indices, const Shape& mask, const Shape& values,
                         bool accumulate) {
      check("aten::index_put.default", {table(self), drawn(DType::boolean, mask, 0, 2), table(values)},
            {tensor("self", 0),
             {"indices", std::move(indices)},
             tensor("values", 2),
             {"accumulate", accumulate}});
    };
    for (const bool accumulate : {false, true}) {
      if (accumulate && dtype == DType::boolean) continue;
      put({130, 37}, {{1}}, {130, 37}, {}, accumulate);
      put({130, 37}, {{1}}, {130, 37}, {1}, accumulate);
      put({5, 37}, {{1}}, {5}, {37}, accumulate);
      put({5, 37}, {{1}}, {5}, {1, 37}, accumulate);
      put({3, 4, 5}, {{-1, 1}}, {4}, {3, 1, 5}, accumulate);
      put({3, 4, 5}, {{-1, 1}}, {4, 5}, {3, 1}, accumulate);
    }
  }
  const auto one_each = [] {
    run_call("aten::index_put.default",
             {real({5}), Tensor::from_ints(DType::boolean, {5}, {1, 0, 1, 0, 1}), real({3})},
             {tensor("self", 0), {"indices", ValueListArg{{1}}}, tensor("values", 2)});
  };
  EXPECT_THROW(one_each(), Unsupported);
}

void check_scatter_reduce(const Tensor& self, const Tensor& at, const Tensor& src, int64_t dim,
                          const char* reduce, bool include_self) {
  check("aten::scatter_reduce.two", {self, at, src},
        {tensor("self", 0),
         number("dim", dim),
         tensor("index", 1),
         tensor("src", 2),
         {"reduce", std::string(reduce)},
         {"include_self", include_self}});
}

TEST(Operators, SumsAndMeansByIndex) {
  for (const char* reduce : {"sum", "mean"}) {
    for (const bool include_self : {true, false}) {
      const auto scattered = [&](const Tensor& self, const Tensor& at, const Tensor& src, int64_t dim) {
        check_scatter_reduce(self, at, src, dim, reduce, include_self);
      };
      scattered(real({5, 7}), index({9, 7}, 0, 5), real({9, 7}), 0);
      scattered(real({3, 200}), index({3, 50}, 0, 200), real({4, 60}), 1);
      scattered(real({}), index({}, 0, 1), real({}), 0);
      if (std::string(reduce) == "sum")
        scattered(index({40}, -9, 9), index({300}, 0, 40), index({300}, -1000000, 1000000), 0);
    }
  }
}

TEST(Operators, OutOfBoundsIndicesTrap) {
  for (int64_t bad : {int64_t{4}, int64_t{-1}}) {
    const Tensor x = real({4, 3}), i = Tensor::from_ints(DType::i64, {2}, {0, bad});
    EXPECT_THROW(run_call("aten::embedding.default", {x, i}, {tensor("weight", 0), tensor("indices", 1)}),
                 Trap);
  }
  for (int64_t bad : {int64_t{4}, int64_t{-5}}) {
    const Tensor x = real({4, 3}), i = Tensor::from_ints(DType::i64, {2}, {0, bad});
    EXPECT_THROW(run_call("aten::index.Tensor", {x, i}, {tensor("self", 0), {"indices", ValueListArg{{1}}}}),
                 Trap);
  }
}

TEST(Operators, Pools) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = real({3, 50, 13, 17}, dtype);
    const Arguments window{tensor("self", 0),
                           ints("kernel_size", {3, 2}),
                           ints("stride", {2, 3}),
                           ints("padding", {1, 0}),
                           {"ceil_mode", true}};
    check("aten::avg_pool2d.default", {x}, window);
    check("aten::max_pool2d_with_indices.default", {x}, window);
    Arguments without = window;
    without.push_back({"count_include_pad", false});
    check("aten::avg_pool2d.default", {x}, without);
    check("aten::_adaptive_avg_pool2d.default", {x}, {tensor("self", 0), ints("output_size", {5, 4})});
  }
}

// Planes and volumes that do not fit into a partition at once, and more of them than there are partitions.
TEST(Operators, PoolsAndResamplingInBands) {
  const Tensor plane = real({1, 2, 70, 301}), volume = real({1, 1, 5, 40, 50}), many = real({2, 70, 6, 7});
  const Arguments window{tensor("self", 0), ints("kernel_size", {5, 3}), ints("stride", {3, 1}),
                         ints("padding", {2, 1})};
  for (const Tensor& x : {plane, many}) {
    check("aten::avg_pool2d.default", {x}, window);
    check("aten::max_pool2d_with_indices.default", {x}, window);
    check("aten::_adaptive_avg_pool2d.default", {x}, {tensor("self", 0), ints("output_size", {3, 4})});
    const int64_t rows = x.shape()[2] * 3 / 2, columns = x.shape()[3] + 5;
    check("aten::upsample_bilinear2d.default", {x},
          {tensor("self", 0), ints("output_size", {rows, columns}), {"align_corners", false}});
    check("aten::upsample_nearest2d.default", {x}, {tensor("self", 0), ints("output_size", {rows, columns})});
  }
  const Arguments cube{tensor("self", 0),
                       ints("kernel_size", {3, 3, 2}),
                       ints("stride", {2, 1, 2}),
                       ints("padding", {1, 1, 0}),
                       {"ceil_mode", true}};
  check("aten::avg_pool3d.default", {volume}, cube);
  check("aten::avg_pool3d.default", {index({1, 3, 5, 9, 20}, -1000, 1000)}, cube);
  check("aten::avg_pool2d.default", {index({2, 70, 6, 7}, -1000, 1000)}, window);
  const Tensor line = Tensor::from_doubles(DType::f32, {1, 1, 4}, {1, INFINITY, -2, 3});
  check("aten::upsample_linear1d.default", {line},
        {tensor("self", 0), ints("output_size", {9}), {"align_corners", true}});
  check("aten::max_pool3d_with_indices.default", {volume}, cube);
  check("aten::_adaptive_avg_pool3d.default", {volume}, {tensor("self", 0), ints("output_size", {2, 3, 4})});
  check("aten::col2im.default", {real({2, 65 * 6, 80})},
        {tensor("self", 0), ints("output_size", {9, 12}), ints("kernel_size", {2, 3}),
         ints("dilation", {1, 1}), ints("padding", {0, 0}), ints("stride", {1, 1})});
  check("aten::col2im.default", {drawn(DType::boolean, {2, 4, 9}, 0, 2)},
        {tensor("self", 0), ints("output_size", {4, 4}), ints("kernel_size", {2, 2}),
         ints("dilation", {1, 1}), ints("padding", {0, 0}), ints("stride", {1, 1})});
  check("aten::_cdist_forward.default", {real({140, 300}), real({45, 300})},
        {tensor("x1", 0), tensor("x2", 1), {"p", 2.0}, {"compute_mode", NoneArg{}}});
}

TEST(Operators, ConvolutionsInThreeDimensions) {
  for (const int64_t groups : {1, 3}) {
    for (const bool transposed : {false, true}) {
      const Shape weight = transposed ? Shape{6, 4, 3, 2, 3} : Shape{9, 6 / groups, 3, 2, 3};
      check("aten::convolution.default",
            {real({2, 6, 5, 7, 9}), real(weight), real({transposed ? 4 * groups : 9})},
            {tensor("input", 0),
             tensor("weight", 1),
             tensor("bias", 2),
             ints("stride", {2, 1, 2}),
             ints("padding", {3, 0, 1}),
             ints("dilation", {1, 2, 1}),
             {"transposed", transposed},
             ints("output_padding", {transposed ? 1 : 0, 0, 0}),
             number("groups", groups)});
    }
  }
  check("aten::convolution.default",
        {real({1, 130, 2, 9, 30}, DType::bf16), real({140, 130, 2, 3, 3}, DType::bf16)},
        {tensor("input", 0),
         tensor("weight", 1),
         {"bias", NoneArg{}},
         ints("stride", {1, 1, 1}),
         ints("padding", {0, 1, 1}),
         ints("dilation", {1, 1, 1}),
         {"transposed", false},
         ints("output_padding", {0, 0, 0}),
         number("groups", 1)});
}

// Exact, so the reference's fp64 convolution of the same numbers says what is right.
TEST(Operators, ConvolutionsOfIntegers) {
  for (const DType dtype : {DType::i64, DType::i32, DType::i16}) {
    for (const bool transposed : {false, true}) {
      for (const int64_t groups : {1, 3}) {
        const std::vector<Tensor> in{
            drawn(dtype, {2, 6, 9, 70}, -9, 9),
            drawn(dtype, transposed ? Shape{6, 4, 2, 3} : Shape{9, 6 / groups, 2, 3}, -9, 9),
            drawn(dtype, {transposed ? 4 * groups : 9}, -9, 9)};
        const Arguments arguments{tensor("input", 0),         tensor("weight", 1),
                                  tensor("bias", 2),          ints("stride", {2, 1}),
                                  ints("padding", {1, 0}),    ints("dilation", {1, 2}),
                                  {"transposed", transposed}, ints("output_padding", {transposed ? 1 : 0, 0}),
                                  number("groups", groups)};
        const std::string op = "aten::convolution.default";
        const Tensor got = run_call(op, in, arguments).outputs.at(0);
        std::vector<Wide> wides;
        std::vector<TensorMeta> metas;
        for (const Tensor& t : in) {
          wides.push_back(Wide::from(Tensor::from_doubles(DType::f64, t.shape(), t.to_doubles())));
          metas.push_back({DType::f64, t.shape()});
        }
        const Wide* operands[] = {&wides[0], &wides[1], &wides[2]};
        const OpCall call(op, metas, arguments, *infer(OpCall(op, metas, arguments)));
        const auto want = reference::evaluate(call, {std::begin(operands), std::end(operands)});
        EXPECT_EQ(got.to_doubles(), want.at(0).real) << name_of(dtype) << transposed << groups;
      }
    }
  }
}

TEST(Operators, SamplingAtAGrid) {
  for (DType dtype : kFloats) {
    const Tensor image = real({2, 3, 9, 13}, dtype), grid = drawn(dtype, {2, 11, 17, 2}, -1.4, 1.4);
    for (int64_t interpolation = 0; interpolation < 3; ++interpolation) {
      for (int64_t padding = 0; padding < 3; ++padding) {
        for (const bool align : {false, true}) {
          check("aten::grid_sampler_2d.default", {image, grid},
                {tensor("input", 0),
                 tensor("grid", 1),
                 number("interpolation_mode", interpolation),
                 number("padding_mode", padding),
                 {"align_corners", align}});
        }
      }
    }
  }
}

TEST(Operators, WhatTheDataPlaces) {
  const Arguments masked{tensor("self", 0), tensor("mask", 1), tensor("source", 2)};
  for (DType dtype : {DType::f32, DType::bf16, DType::i64}) {
    check("aten::masked_scatter.default",
          {drawn(dtype, {30, 70}, -9, 9), drawn(DType::boolean, {30, 70}, 0, 2), drawn(dtype, {2100}, -9, 9)},
          masked);
    check("aten::masked_scatter.default",
          {drawn(dtype, {5, 7}, -9, 9), drawn(DType::boolean, {7}, 0, 2), drawn(dtype, {5, 7}, -9, 9)},
          masked);
  }
  // More sources than the mask takes are left over; fewer are addressed beyond the end.
  EXPECT_THROW(
      run_call("aten::masked_scatter.default",
               {real({4}), Tensor::from_doubles(DType::boolean, {4}, {1, 1, 0, 1}), real({2})}, masked),
      Trap);
  for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8}) {
    for (const char* reduce : {"sum", "mean", "prod", "amax", "amin"}) {
      for (const bool include_self : {true, false}) {
        for (const int64_t dim : {0, 1}) {
          const double low = dtype == DType::u8 ? 0 : 0.5;
          check_scatter_reduce(drawn(dtype, {140, 9}, low, 3), index({130, 9}, 0, 9),
                               drawn(dtype, {135, 9}, low, 3), dim, reduce, include_self);
        }
      }
    }
  }
}

TEST(Operators, ConvertedBeforeTheyAreReduced) {
  const Tensor x = Tensor::from_doubles(DType::f32, {2, 3}, {0.25, -0.5, 0.75, 0, 3.4e38, 3.4e38});
  for (const DType dtype : {DType::boolean, DType::bf16, DType::f16}) {
    const NamedArgument as{"dtype", DTypeArg{dtype}};
    check("aten::sum.dim_IntList", {x}, {tensor("self", 0), ints("dim", {1}), as});
    check("aten::prod.dim_int", {x}, {tensor("self", 0), number("dim", 1), as});
    if (dtype == DType::boolean) continue;
    check("aten::mean.dim", {x}, {tensor("self", 0), ints("dim", {1}), as});
    check("aten::cumprod.default", {x}, {tensor("self", 0), number("dim", 1), as});
  }
}

TEST(Operators, ElementwiseOddities) {
  for (DType dtype : kFloats) {
    const Tensor x = drawn(dtype, {300}, -5, 5);
    check("aten::clamp.default", {x}, {tensor("self", 0), {"min", -1.5}, {"max", 2.0}});
    check("aten::hardtanh.default", {x}, {tensor("self", 0)});
    check("aten::leaky_relu.default", {x}, {tensor("self", 0)});
    check("aten::elu.default", {x}, {tensor("self", 0)});
    for (const char* op :
         {"sign", "trunc", "round", "sinh", "cosh", "tan", "asinh", "expm1", "atan", "silu"}) {
      check(std::string("aten::") + op + ".default", {x}, {tensor("self", 0)});
    }
    check("aten::atan2.default", {x, real({300}, dtype)}, {tensor("self", 0), tensor("other", 1)});
  }
  check("aten::sign.default", {index({50}, -3, 3)}, {tensor("self", 0)});
  check("aten::clamp.default", {index({50}, -9, 9)},
        {tensor("self", 0), number("min", -2), number("max", 5)});
}

TEST(Operators, RoundedQuotients) {
  for (const char* mode : {"floor", "trunc"}) {
    for (DType dtype : {DType::f32, DType::bf16, DType::i64, DType::i32}) {
      check("aten::div.Tensor_mode", {drawn(dtype, {500}, -50, 50), drawn(dtype, {500}, 1, 9)},
            {tensor("self", 0), tensor("other", 1), {"rounding_mode", std::string(mode)}});
      check("aten::div.Tensor_mode", {drawn(dtype, {500}, -50, 50), drawn(dtype, {500}, -9, -1)},
            {tensor("self", 0), tensor("other", 1), {"rounding_mode", std::string(mode)}});
    }
    check("aten::div.Tensor_mode",
          {Tensor::from_doubles(DType::f32, {6}, {1, -1, 5, -5, 0, INFINITY}),
           Tensor::from_doubles(DType::f32, {6}, {0.1, INFINITY, 0, 0, 3, 2})},
          {tensor("self", 0), tensor("other", 1), {"rounding_mode", std::string(mode)}});
  }
  for (const char* op : {"fmod", "remainder"}) {
    for (DType dtype : {DType::f32, DType::i64}) {
      check(std::string("aten::") + op + ".Tensor",
            {drawn(dtype, {500}, -50, 50), drawn(dtype, {500}, -9, -1)},
            {tensor("self", 0), tensor("other", 1)});
    }
  }
}

TEST(Operators, ViewsOfOddStrides) {
  const Tensor x = real({4, 5, 6});
  check("aten::flip.default", {x}, {tensor("self", 0), ints("dims", {0, 2})});
  check("aten::diagonal.default", {x},
        {tensor("self", 0), number("offset", 1), number("dim1", 2), number("dim2", 0)});
  check("aten::unfold.default", {x},
        {tensor("self", 0), number("dimension", 1), number("size", 3), number("step", 2)});
  check("aten::as_strided.default", {x},
        {tensor("self", 0), ints("size", {3, 4}), ints("stride", {7, 2}), number("storage_offset", 5)});
  check("aten::stack.default", {x, x}, {{"tensors", ValueListArg{{0, 1}}}, number("dim", 1)});
  check("aten::transpose.int", {x}, {tensor("self", 0), number("dim0", 0), number("dim1", 2)});
  check("aten::upsample_nearest2d.vec", {real({2, 3, 4, 5})},
        {tensor("input", 0), {"output_size", NoneArg{}}, {"scale_factors", std::vector<double>{2, 3}}});
}

}  // namespace
}  // namespace assay::backend
