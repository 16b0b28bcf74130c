#include "reference/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "reference/ops/op_test.h"

namespace assay::reference {
namespace {

constexpr std::size_t kElements = 2 * PiecewiseCall::kPiece + 37;

// More than one piece, with special numbers in all of them, or in the last one only.
Wide numbers(DType dtype, const Shape& shape, double step, bool everywhere) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special{
      0.0, -0.0, infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), 1e-40, 3e38, -65504};
  std::vector<double> values;
  for (std::size_t i = 0; i < kElements; ++i)
    values.push_back((static_cast<double>(i * i % 10'007) - 5000) * step);
  for (std::size_t i = 0; i < special.size(); ++i) {
    values[kElements - 1 - i] = special[i];
    if (everywhere) values[i * 1000] = special[i];
  }
  return Wide::from(Tensor::from_doubles(dtype, shape, values));
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  });
}

using Named = std::vector<std::pair<std::string, Wide>>;

Named operands(std::string_view op, DType dtype, const Shape& shape, bool everywhere) {
  const Wide self = numbers(dtype, shape, 0.0007, everywhere),
             other = numbers(dtype, shape, -0.0013, everywhere);
  if (op == "aten::where.self") {
    Wide condition = make_array<double>({DType::boolean, shape});
    for (std::size_t i = 0; i < condition.integer.size(); i += 3) condition.integer[i] = 1;
    return {{"condition", condition}, {"self", self}, {"other", other}};
  }
  for (const char* binary : {"add", "sub", "mul", "div", "atan2", "maximum", "minimum"}) {
    if (op.starts_with(std::string("aten::") + binary + ".")) return {{"self", self}, {"other", other}};
  }
  return {{"self", self}};
}

Named part_of(const Named& whole, std::size_t first, std::size_t count) {
  Named out;
  for (const auto& [name, wide] : whole) {
    Wide part;
    part.meta = {wide.meta.dtype, {static_cast<int64_t>(count)}};
    const auto cut = [&](const auto& from, auto& to) {
      if (!from.empty()) to.assign(&from[first], &from[first] + count);
    };
    cut(wide.real, part.real);
    cut(wide.integer, part.integer);
    out.emplace_back(name, std::move(part));
  }
  return out;
}

// Cut elsewhere, into pieces too small to be taken apart again.
void expect_the_bits_of_smaller_calls(const std::string& op, const Named& whole) {
  const OpUnderTest large(op, whole);
  ASSERT_TRUE(PiecewiseCall::of(large.call(), large.inputs()).has_value());
  const auto at_once = [](const OpCall& call, const std::vector<const Wide*>& inputs) {
    return evaluate_bounded(call, inputs, f32_precision());
  };
  const BoundedWide joined =
      PiecewiseCall::of(large.call(), large.inputs())->join(large.inputs(), at_once)[0];
  EXPECT_EQ(joined.value.meta, large.call().output(0));
  constexpr std::size_t kCut = 1000;
  const auto mark = [](const std::vector<uint8_t>& marks, std::size_t at) {
    return marks.empty() ? 0 : marks.at(at);
  };
  for (std::size_t first = 0; first < kElements; first += kCut) {
    const std::size_t count = std::min(kCut, kElements - first);
    const OpUnderTest small(op, part_of(whole, first, count));
    ASSERT_FALSE(PiecewiseCall::of(small.call(), small.inputs()).has_value());
    const BoundedWide part = small.bounded(f32_precision())[0];
    const auto cut = [&](const std::vector<double>& from) {
      return from.empty() ? from : std::vector<double>(&from[first], &from[first] + count);
    };
    ASSERT_TRUE(same_bits(cut(joined.value.real), part.value.real)) << first;
    ASSERT_TRUE(same_bits(cut(joined.bound), part.bound)) << first;
    ASSERT_TRUE(same_bits(cut(joined.sigma), part.sigma)) << first;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(mark(joined.special, first + i), mark(part.special, i)) << first + i;
      ASSERT_EQ(mark(joined.value.undefined, first + i), mark(part.value.undefined, i)) << first + i;
    }
  }
}

TEST(Pieces, HaveTheBitsOfTheWhole) {
  for (const std::string_view op : elementwise_operators()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const bool everywhere : {true, false}) {
        SCOPED_TRACE(std::string(op) + " " + std::string(name_of(dtype)));
        expect_the_bits_of_smaller_calls(std::string(op),
                                         operands(op, dtype, {static_cast<int64_t>(kElements)}, everywhere));
      }
    }
  }
}

TEST(Pieces, ShapesThatDifferAreNone) {
  const Wide column = make_array<double>({DType::f32, {128, 1}}),
             square = make_array<double>({DType::f32, {128, 128}});
  const OpUnderTest broadcast("aten::add.Tensor", {{"self", square}, {"other", column}});
  EXPECT_FALSE(PiecewiseCall::of(broadcast.call(), broadcast.inputs()).has_value());
  const OpUnderTest alike("aten::add.Tensor", {{"self", square}, {"other", square}});
  EXPECT_TRUE(PiecewiseCall::of(alike.call(), alike.inputs()).has_value());
  const OpUnderTest sum("aten::cumsum.default", {{"self", square}}, {{"dim", int64_t{0}}});
  EXPECT_FALSE(PiecewiseCall::of(sum.call(), sum.inputs()).has_value());
}

}  // namespace
}  // namespace assay::reference
