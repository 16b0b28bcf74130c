#include "suites/ops/layouts.h"

#include <algorithm>

namespace assay::suites {
namespace {

constexpr int64_t kOffset = 3;
constexpr int64_t kStack = 3;

std::size_t first_wide_dim(const Shape& shape) {
  return static_cast<std::size_t>(
      std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size > 1; }) - shape.begin());
}

NamedArgument ints(const char* name, Shape values) { return {name, IntListArg{std::move(values), {}}}; }

}  // namespace

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::transposed:
      return "transposed";
    case Layout::strided:
      return "strided";
    case Layout::offset:
      return "offset";
    case Layout::expanded:
      return "expanded";
    case Layout::overlapped:
      return "overlapped";
    case Layout::selected:
      return "selected";
  }
  return "";
}

std::vector<Layout> layouts_of(const Shape& shape) {
  std::vector<Layout> out{Layout::offset, Layout::selected};
  if (shape.empty()) return out;
  out.push_back(Layout::strided);
  if (first_wide_dim(shape) < shape.size()) out.push_back(Layout::expanded);
  if (shape.size() < 2) return out;
  out.push_back(Layout::transposed);
  if (element_count(shape) > 0) out.push_back(Layout::overlapped);
  return out;
}

Shape base_shape(Layout layout, const Shape& shape) {
  Shape base = shape;
  switch (layout) {
    case Layout::contiguous:
      break;
    case Layout::transposed:
      std::reverse(base.begin(), base.end());
      break;
    case Layout::strided:
      base.back() = 2 * base.back() + 1;
      break;
    case Layout::offset:
      base = {element_count(shape) + kOffset};
      break;
    case Layout::expanded:
      base[first_wide_dim(base)] = 1;
      break;
    case Layout::overlapped: {
      int64_t reach = 1;
      for (const int64_t size : shape) reach += size - 1;
      base = {reach};
      break;
    }
    case Layout::selected:
      base.insert(base.begin(), kStack);
      break;
  }
  return base;
}

ValueId append_view(GraphBuilder& builder, Layout layout, ValueId base, const Shape& shape) {
  switch (layout) {
    case Layout::contiguous:
      return base;
    case Layout::transposed: {
      Shape dims;
      for (std::size_t i = shape.size(); i-- > 0;) dims.push_back(static_cast<int64_t>(i));
      return builder.call("aten::permute.default", {{"self", ValueArg{base}}, ints("dims", dims)});
    }
    case Layout::strided:
      return builder.call("aten::slice.Tensor", {{"self", ValueArg{base}},
                                                 {"dim", static_cast<int64_t>(shape.size()) - 1},
                                                 {"start", int64_t{1}},
                                                 {"end", 2 * shape.back() + 1},
                                                 {"step", int64_t{2}}});
    case Layout::offset:
      return builder.call("aten::as_strided.default", {{"self", ValueArg{base}},
                                                       ints("size", shape),
                                                       ints("stride", contiguous_strides(shape)),
                                                       {"storage_offset", kOffset}});
    case Layout::expanded:
      return builder.call("aten::expand.default", {{"self", ValueArg{base}}, ints("size", shape)});
    case Layout::overlapped:
      return builder.call(
          "aten::as_strided.default",
          {{"self", ValueArg{base}}, ints("size", shape), ints("stride", Shape(shape.size(), 1))});
    case Layout::selected:
      return builder.call("aten::select.int",
                          {{"self", ValueArg{base}}, {"dim", int64_t{0}}, {"index", int64_t{1}}});
  }
  return base;
}

}  // namespace assay::suites
