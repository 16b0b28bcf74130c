// grid_sampler_2d: positions, weights and indices on the engines, the image's elements by indirect DMA.
#include <algorithm>
#include <vector>

#include "backend/kernels/composed.h"

namespace assay::backend {
namespace {

// The call's integers, as PyTorch numbers them.
enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

// Writes the graph. Places are [N, 1, P], P the places of one image, so that they broadcast over channels.
class GridSampler {
 public:
  explicit GridSampler(KernelContext& ctx)
      : c_(ctx),
        padding_(ctx.call.integer("padding_mode")),
        align_(ctx.call.boolean("align_corners")),
        in_(ctx.call.input(ctx.call.tensor("input"))),
        out_(ctx.call.output(0)) {
    places_ = {in_.shape[0], 1, out_.shape[2] * out_.shape[3]};
    image_ = c_.view(c_.input("input"), {in_.shape[0], in_.shape[1], in_.shape[2] * in_.shape[3]});
  }

  void write(int64_t interpolation) {
    const Axis x = axis(0, in_.shape[3]), y = axis(1, in_.shape[2]);
    ValueId sum = -1;
    for (const Tap& row : taps(y, interpolation)) {
      for (const Tap& column : taps(x, interpolation)) {
        const ValueId seen = weighted(row, column);
        sum = sum < 0 ? seen : c_.binary("add.Tensor", sum, ValueArg{seen});
      }
    }
    c_.builder.output(c_.cast(c_.view(sum, out_.shape), out_.dtype));
    c_.run();
  }

 private:
  // One spatial dim: its size, and the grid's positions in elements.
  struct Axis {
    int64_t size;
    ValueId position;
  };
  // An element that a place sees along one dim: its index inside the image, its weight (-1: one) and whether
  // it lies inside (-1: always); one outside counts as 0.
  struct Tap {
    ValueId index, weight = -1, inside = -1;
  };

  ValueId plus(ValueId self, double number) { return c_.binary("add.Tensor", self, number); }
  ValueId times(ValueId self, double number) { return c_.binary("mul.Tensor", self, number); }
  ValueId times(ValueId self, ValueId other) { return c_.binary("mul.Tensor", self, ValueArg{other}); }
  ValueId minus(ValueId self, ValueId other) { return c_.binary("sub.Tensor", self, ValueArg{other}); }
  // number - self
  ValueId from(double number, ValueId self) { return plus(times(self, -1.0), number); }
  Axis axis(int64_t number, int64_t size) {
    ValueId x = c_.node("select.int",
                        {{"self", ValueArg{c_.input("grid")}}, {"dim", int64_t{-1}}, {"index", number}});
    x = c_.cast(c_.view(x, places_), DType::f32);
    // -1 .. 1 is from the first to the last element: of their centres if aligned, else of their outer edges.
    const auto n = static_cast<double>(align_ ? size - 1 : size);
    const ValueId positive = plus(x, 1.0);
    return {size, align_ ? times(times(positive, 0.5), n) : times(plus(times(positive, n), -1.0), 0.5)};
  }

  // Positions outside of the image, moved inside as the padding mode has it.
  ValueId inside(const Axis& axis, ValueId x) {
    if (padding_ == kZeros) return x;
    if (padding_ == kReflection) {
      // Between the centres of the outer elements if aligned, else between the outer edges.
      const double low = align_ ? 0 : -0.5, span = static_cast<double>(align_ ? axis.size - 1 : axis.size);
      if (span == 0) {
        x = times(x, 0.0);
      } else {
        const ValueId distance = c_.unary("abs", plus(x, -low));
        const ValueId rest = c_.binary("fmod.Scalar", distance, span);
        // A whole number, however the quotient rounds.
        const ValueId turns = c_.unary("round", times(minus(distance, rest), 1 / span));
        const ValueId even = c_.binary("eq.Scalar", c_.binary("fmod.Scalar", turns, 2.0), 0.0);
        x = c_.where(even, plus(rest, low), from(span + low, rest));
      }
    }
    return c_.clamp(x, 0.0, static_cast<double>(axis.size - 1));
  }

  // The element at a whole position, which lies inside unless padding counts as zeros or it is a neighbour.
  Tap tap(const Axis& axis, ValueId position, ValueId weight, bool neighbour = false) {
    Tap out{-1, weight, -1};
    const double last = static_cast<double>(axis.size - 1);
    if (padding_ == kZeros || neighbour) {
      out.inside = c_.binary("logical_and", c_.binary("ge.Scalar", position, 0.0),
                             ValueArg{c_.binary("le.Scalar", position, last)});
    }
    // NaN, which no comparison finds inside, becomes 0.
    out.index = c_.clamp(c_.cast(c_.clamp(position, 0.0, last), DType::i64), int64_t{0}, axis.size - 1);
    return out;
  }

  // Keys' cubic with a = -0.75, at the distances 1 + t, t, 1 - t and 2 - t.
  ValueId cubic_near(ValueId t) {  // (1.25 t - 2.25) t^2 + 1
    return plus(times(times(plus(times(t, 1.25), -2.25), t), t), 1.0);
  }
  ValueId cubic_far(ValueId t) {  // ((-0.75 t + 3.75) t - 6) t + 3
    return plus(times(plus(times(plus(times(t, -0.75), 3.75), t), -6.0), t), 3.0);
  }

  std::vector<Tap> taps(const Axis& axis, int64_t interpolation) {
    const ValueId position = interpolation == kBicubic ? axis.position : inside(axis, axis.position);
    if (interpolation == kNearest) return {tap(axis, c_.unary("round", position), -1)};
    const ValueId low = c_.unary("floor", position), t = minus(position, low);
    if (interpolation == kBilinear) return {tap(axis, low, from(1.0, t)), tap(axis, plus(low, 1.0), t, true)};
    const ValueId weights[] = {cubic_far(plus(t, 1.0)), cubic_near(t), cubic_near(from(1.0, t)),
                               cubic_far(from(2.0, t))};
    std::vector<Tap> out;
    for (int k = 0; k < 4; ++k) out.push_back(tap(axis, inside(axis, plus(low, k - 1.0)), weights[k]));
    return out;
  }

  // The image's elements of two taps, times their weights; what lies outside is 0 whatever the weights are.
  ValueId weighted(const Tap& row, const Tap& column) {
    ValueId index =
        c_.binary("add.Tensor", c_.binary("mul.Tensor", row.index, in_.shape[3]), ValueArg{column.index});
    index = c_.expand(index, {in_.shape[0], in_.shape[1], places_[2]});
    ValueId seen = c_.cast(
        c_.node("gather", {{"self", ValueArg{image_}}, {"dim", int64_t{2}}, {"index", ValueArg{index}}}),
        DType::f32);
    if (row.weight >= 0) seen = times(seen, times(row.weight, column.weight));
    if (row.inside >= 0 || column.inside >= 0) {
      ValueId both = std::max(row.inside, column.inside);
      if (row.inside >= 0 && column.inside >= 0)
        both = c_.binary("logical_and", row.inside, ValueArg{column.inside});
      const ValueId zero = c_.node("scalar_tensor", {{"s", 0.0}, {"dtype", DTypeArg{DType::f32}}});
      seen = c_.where(both, seen, zero);
    }
    return seen;
  }

  Composition c_;
  int64_t padding_;
  bool align_;
  TensorMeta in_, out_;
  Shape places_;
  ValueId image_ = -1;
};

void grid_sampler(KernelContext& ctx) {
  if (ctx.output().count() == 0) return;
  GridSampler(ctx).write(ctx.call.integer("interpolation_mode"));
}

}  // namespace

void register_grid_sample(KernelTable& table) { table.add("aten::grid_sampler_2d.default", grid_sampler); }

}  // namespace assay::backend
