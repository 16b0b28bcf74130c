#include "harness/judge/expected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "harness/judge/testing/graphs.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Graph> graph_with_state() {
  emulation::GraphBuilder builder;
  const ValueId a = builder.input("a", DType::f32, {2, 3});
  const ValueId r = builder.node("aten::relu.default", {emulation::arg("self", a)});
  builder.buffer_output(r, "running_mean");
  builder.output(r);
  builder.output(a);
  return builder.build();
}

std::string message_of(const Graph& graph, const std::map<std::string, Tensor>& file) {
  try {
    match_expected(graph, file, "OUT.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::malformed_file);
    return error.what();
  }
  return "";
}

TEST(Expected, KeysNumberUserOutputsAlone) {
  const auto graph = graph_with_state();
  EXPECT_EQ(output_key(*graph, 0), "buffer:running_mean");
  EXPECT_EQ(output_key(*graph, 1), "0");
  EXPECT_EQ(output_key(*graph, 2), "1");
}

TEST(Expected, AFileMayBePartialAndOfAnyFloatWidth) {
  const auto graph = graph_with_state();
  const auto matched = match_expected(
      *graph, {{"1", Tensor(DType::f64, {2, 3})}, {"buffer:running_mean", Tensor(DType::bf16, {2, 3})}}, "f");
  EXPECT_TRUE(matched[0].has_value());
  EXPECT_FALSE(matched[1].has_value());
  EXPECT_TRUE(matched[2].has_value());
  EXPECT_EQ(matched[0]->file_roundoff, 0x1p-8);
  EXPECT_EQ(matched[2]->file_roundoff, 0x1p-53);
  EXPECT_EQ(matched[0]->value.meta.dtype, DType::f32);
}

TEST(Expected, UnknownNamesListWhatThereIs) {
  const std::string message = message_of(*graph_with_state(), {{"2", Tensor(DType::f32, {2, 3})}});
  EXPECT_THAT(message, HasSubstr("OUT.safetensors"));
  EXPECT_THAT(message, HasSubstr("\"2\""));
  EXPECT_THAT(message, HasSubstr("buffer:running_mean"));
}

TEST(Expected, ShapesAndKindsMustFit) {
  const auto graph = graph_with_state();
  EXPECT_THAT(message_of(*graph, {{"0", Tensor(DType::f32, {3, 2})}}), HasSubstr("[3, 2]"));
  EXPECT_THAT(message_of(*graph, {{"0", Tensor(DType::i32, {2, 3})}}), HasSubstr("i32"));
  EXPECT_THAT(message_of(*graph, {{"0", Tensor(DType::c64, {2, 3})}}), HasSubstr("complex"));
}

TEST(Expected, IntegersMayComeAsFloatsWithoutFraction) {
  emulation::GraphBuilder builder;
  builder.output(builder.input("a", DType::i64, {2}));
  const auto graph = builder.build();
  const auto matched = match_expected(*graph, {{"0", Tensor::from_doubles(DType::f64, {2}, {3, -4})}}, "f");
  EXPECT_EQ(matched[0]->value.integer, (std::vector<int64_t>{3, -4}));
  EXPECT_THAT(message_of(*graph, {{"0", Tensor::from_doubles(DType::f64, {2}, {3.5, -4})}}),
              HasSubstr("no integers"));
  EXPECT_THAT(message_of(*graph, {{"0", Tensor::from_doubles(DType::f64, {2}, {1e300, 0})}}),
              HasSubstr("no integers"));
}

TEST(Expected, ComplexComesAsARealView) {
  emulation::GraphBuilder builder;
  builder.output(builder.input("a", DType::c64, {3}));
  const auto graph = builder.build();
  const auto matched = match_expected(*graph, {{"0", Tensor(DType::f64, {3, 2})}}, "f");
  EXPECT_EQ(matched[0]->value.real.size(), 6U);
  EXPECT_THAT(message_of(*graph, {{"0", Tensor(DType::f64, {3})}}), HasSubstr("real and imaginary"));
}

TEST(Expected, GoldenSlicesAreEvenlySpaced) {
  emulation::GraphBuilder builder;
  builder.output(builder.input("a", DType::f32, {2, 32, 256}));
  const auto graph = builder.build();
  const std::map<std::string, Tensor> file{{"0", Tensor(DType::f64, {512})}};
  const auto matched = match_expected(*graph, file, "golden:x.safetensors");
  ASSERT_EQ(matched[0]->positions.size(), 512U);
  EXPECT_EQ(matched[0]->positions[1], 32);
  EXPECT_EQ(matched[0]->positions.back(), 511 * 32);
  EXPECT_THAT(message_of(*graph, file), HasSubstr("[512]")) << "only golden files are slices";
  Tensor numbers = emulation::draw({DType::f32, {2, 32, 256}}, "n", 1);
  const Tensor taken = take(numbers, matched[0]->positions);
  EXPECT_EQ(taken.to_doubles()[3], numbers.to_doubles()[96]);
}

}  // namespace
}  // namespace assay
