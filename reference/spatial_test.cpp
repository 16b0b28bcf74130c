// Kernels of spatial operators, distances and bags against PyTorch's fp64 answers (core/decompose/testdata/
// spatial_calls.py), and where rounding decides which element is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "core/decompose/decompose.h"
#include "reference/call_text_test.h"
#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

TEST(Spatial, KernelsAgreeWithPyTorch) {
  std::set<std::string> seen;
  for (const Json& call : calls_in("spatial_calls.json")) {
    const std::string op = call.at(0).get<std::string>();
    if (!has_operator(op)) {
      EXPECT_NE(decompose_rules().find(op), nullptr) << op;
      continue;
    }
    SCOPED_TRACE(call.dump().substr(0, 400));
    seen.insert(op);
    const Composite composite(call);
    const std::vector<Tensor> got = composite.run();
    expect_expected(composite, got);
  }
  EXPECT_GE(seen.size(), 45u);
}

using Floats = std::vector<float>;

Floats drawn(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& v : values) v = normal(generator);
  return values;
}

TEST(Spatial, LinearResamplingInSinglePrecisionLiesInsideTheBoundAndAShiftedWeightDoesNot) {
  for (const auto& [in, out] : {std::pair<int64_t, int64_t>{7, 50}, {50, 7}, {100, 300}, {33, 66}, {9, 9}}) {
    const Floats x = drawn(static_cast<std::size_t>(in), 3);
    for (const bool align : {false, true}) {
      const BoundedWide bounded =
          OpUnderTest("aten::upsample_linear1d.default", {{"self", singles({1, 1, in}, x)}},
                      {int_list("output_size", {out}), {"align_corners", align}})
              .bounded(f32_precision())[0];
      const float step = align ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                               : static_cast<float>(in) / static_cast<float>(out);
      const auto interpolated = [&](float shift) {
        Floats y;
        for (int64_t i = 0; i < out; ++i) {
          float at = align ? static_cast<float>(i) * step : (static_cast<float>(i) + 0.5f) * step - 0.5f;
          at = std::clamp(at + shift, 0.0f, static_cast<float>(in - 1));
          const auto low = static_cast<std::size_t>(at);
          const std::size_t high = std::min(low + 1, x.size() - 1);
          const float w = at - static_cast<float>(low);
          y.push_back(x[low] * (1.0f - w) + x[high] * w);
        }
        return y;
      };
      EXPECT_LE(margin(bounded, interpolated(0)), 1) << in << " to " << out;
      EXPECT_GT(margin(bounded, interpolated(1e-3f)), 10) << in << " to " << out;
    }
  }
}

TEST(Spatial, EitherNeighbourIsNearestWhereRoundingDecides) {
  // 25 elements to 30: 6 * (25 / 30) is 5, but 25 / 30 is not representable.
  std::vector<double> x(25), y(30);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const OpUnderTest op("aten::upsample_nearest1d.default", {{"self", reals(DType::f32, {1, 1, 25}, x)}},
                       {int_list("output_size", {30})});
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<double>(i * 25 / 30);
  const auto verdict = [&] {
    return check_choice(op.call(), op.inputs(), {Tensor::from_doubles(DType::f32, {1, 1, 30}, y)});
  };
  ASSERT_TRUE(verdict().has_value());
  EXPECT_EQ(*verdict(), "");
  y[6] = 4;
  EXPECT_EQ(*verdict(), "");
  y[6] = 6;
  EXPECT_NE(*verdict(), "");
  y[6] = 5;
  y[7] = 4;
  EXPECT_NE(*verdict(), "");
  // By a whole factor nothing is uncertain: results are compared bit for bit.
  const OpUnderTest twice("aten::upsample_nearest1d.default", {{"self", reals(DType::f32, {1, 1, 25}, x)}},
                          {int_list("output_size", {50})});
  EXPECT_FALSE(check_choice(twice.call(), twice.inputs(), {Tensor(DType::f32, {1, 1, 50})}).has_value());
}

TEST(Spatial, DistancesThroughProductsHaveTheErrorOfTheProducts) {
  const int64_t rows = 30, width = 16;
  Floats a = drawn(static_cast<std::size_t>(rows * width), 5);
  for (float& v : a) v += 100;  // far from the origin: the products cancel
  Floats b = a;
  for (float& v : b) v += 0.01f;
  Floats through;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < rows; ++j) {
      float aa = 0, bb = 0, ab = 0;
      for (int64_t k = 0; k < width; ++k) {
        const float u = a[static_cast<std::size_t>(i * width + k)],
                    v = b[static_cast<std::size_t>(j * width + k)];
        aa += u * u;
        bb += v * v;
        ab += u * v;
      }
      through.push_back(std::sqrt(std::max(0.0f, aa + bb - 2 * ab)));
    }
  }
  const auto bounded = [&](int64_t mode) {
    return OpUnderTest("aten::_cdist_forward.default",
                       {{"x1", singles({rows, width}, a)}, {"x2", singles({rows, width}, b)}},
                       {{"p", 2.0}, {"compute_mode", mode}})
        .bounded(f32_precision())[0];
  };
  EXPECT_LE(margin(bounded(0), through), 1);
  EXPECT_LE(margin(bounded(1), through), 1);
  EXPECT_GT(margin(bounded(2), through), 100);
}

TEST(Spatial, AnUncertainPlaceInTheGridTakesEitherElement) {
  // (x + 1) / 2 * 6 is 3 + 1/2 at x = 1/6, which rounding moves to either side.
  const Wide image = reals(DType::f32, {1, 1, 1, 7}, {0, 1, 2, 3, 4, 5, 6});
  const float sixth = 1.0f / 6.0f;
  const BoundedWide bounded =
      OpUnderTest("aten::grid_sampler_2d.default",
                  {{"input", image}, {"grid", singles({1, 1, 2, 2}, {sixth, 0, 0.5f, 0})}},
                  {{"interpolation_mode", int64_t{1}}, {"padding_mode", int64_t{0}}, {"align_corners", true}})
          .bounded(f32_precision())[0];
  EXPECT_GE(bounded.bound[0], 1);
  EXPECT_LE(bounded.bound[0], 1.001);
  EXPECT_NEAR(bounded.bound[1], 1, 1e-3);  // 4.5: a tie
}

}  // namespace
}  // namespace assay::reference
