#include "suites/ops/generate/shape_lists.h"

#include <utility>

namespace assay::suites {
namespace {

using Pair = std::pair<Shape, Shape>;

// Left and right operand.
const std::vector<Pair>& broadcast_pairs() {
  static const std::vector<Pair> pairs{
      {{5, 7}, {1, 7}},       {{5, 7}, {5, 1}},     {{5, 1}, {1, 7}},       {{2, 3, 4}, {4}},
      {{3, 5}, {}},           {{}, {3, 5}},         {{0, 4}, {1, 4}},       {{0, 4}, {4}},
      {{2, 1, 5}, {2, 3, 1}}, {{129, 5}, {129, 1}}, {{1}, {513}},           {{2, 3, 4, 5}, {3, 1, 5}},
      {{1, 1}, {3, 1, 2}},    {{3, 127}, {1, 127}}, {{3}, {2, 1, 3, 1, 3}},
  };
  return pairs;
}

}  // namespace

const std::vector<Shape>& single_shapes() {
  static const std::vector<Shape> shapes{
      {8, 128}, {3, 5},   {},    {0, 3},   {2, 0, 3}, {1, 1},   {17},         {3, 5, 7},
      {127},    {129, 3}, {128}, {2, 511}, {512},     {2, 513}, {2, 3, 4, 5}, {1, 2, 1, 3, 1, 2},
      {1025},
  };
  return shapes;
}

std::vector<std::vector<Shape>> pointwise_shapes(std::size_t count, bool in_place) {
  std::vector<std::vector<Shape>> out;
  for (const Shape& shape : single_shapes()) out.emplace_back(count, shape);
  if (count < 2) return out;
  for (const auto& [left, right] : broadcast_pairs()) {
    // The third and later operands alternate between the two.
    std::vector<Shape> shapes{left, right};
    while (shapes.size() < count) shapes.push_back(shapes.size() % 2 == 0 ? left : right);
    if (in_place) {
      // Only what does not enlarge the first operand can be written into it.
      bool fits = right.size() <= left.size();
      for (std::size_t i = 0; fits && i < right.size(); ++i) {
        const int64_t size = right[right.size() - 1 - i];
        fits = size == 1 || size == left[left.size() - 1 - i];
      }
      if (!fits) continue;
    }
    out.push_back(std::move(shapes));
  }
  return out;
}

const std::vector<ShapeAndDims>& shapes_and_dims() {
  static const std::vector<ShapeAndDims> entries{
      {{16, 64}, {1}},   {{5, 7}, {1}},       {{5, 7}, {0}},        {{5, 7}, {-1}},
      {{5, 7}, {-2}},    {{5, 7}, {0, 1}},    {{17}, {0}},          {{2, 3, 4}, {1}},
      {{2, 3, 4}, {-2}}, {{2, 3, 4}, {0, 2}}, {{2, 3, 4}, {-1, 0}}, {{3, 127}, {1}},
      {{3, 128}, {1}},   {{3, 129}, {-1}},    {{129, 3}, {0}},      {{2, 511}, {1}},
      {{2, 513}, {1}},   {{513, 2}, {0}},     {{2, 3, 4, 5}, {2}},  {{2, 3, 4, 5}, {-4, 3}},
      {{}, {0}},         {{}, {-1}},          {{0, 3}, {1}},        {{3, 0}, {0}},
      {{3, 0}, {1}},     {{1, 1}, {0}},       {{5, 1}, {1}},        {{1, 2, 1, 3, 1, 2}, {3}},
  };
  return entries;
}

}  // namespace assay::suites
