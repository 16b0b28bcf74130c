#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> view_examples() {
  const Given x{"self", {2, 3, 4}};
  return {
      {"aten::view.default", {x}, {{"size", ints({6, 4})}}},
      {"aten::_unsafe_view.default", {x}, {{"size", ints({-1})}}},
      {"aten::permute.default", {x}, {{"dims", ints({2, 0, -2})}}},
      {"aten::transpose.int", {x}, {{"dim0", int64_t{0}}, {"dim1", int64_t{-1}}}},
      {"aten::t.default", {{"self", {2, 3}}}},
      {"aten::expand.default", {{"self", {3, 1}}}, {{"size", ints({2, -1, 4})}}},
      {"aten::unsqueeze.default", {x}, {{"dim", int64_t{-2}}}},
      {"aten::squeeze.dim", {{"self", {2, 1, 3}}}, {{"dim", int64_t{1}}}},
      {"aten::squeeze.dims", {{"self", {1, 2, 1}}}, {{"dim", ints({0, 2})}}},
      {"aten::flatten.using_ints", {x}, {{"start_dim", int64_t{1}}}},
      {"aten::unflatten.int", {x}, {{"dim", int64_t{2}}, {"sizes", ints({2, 2})}}},
      {"aten::slice.Tensor",
       {x},
       {{"dim", int64_t{2}}, {"start", int64_t{1}}, {"end", int64_t{4}}, {"step", int64_t{2}}}},
      {"aten::slice.Tensor", {x}, {{"dim", int64_t{1}}, {"start", int64_t{-2}}}},
      {"aten::select.int", {x}, {{"dim", int64_t{1}}, {"index", int64_t{-1}}}},
      {"aten::split_with_sizes.default", {x}, {{"split_sizes", ints({1, 3})}, {"dim", int64_t{-1}}}},
      {"aten::split.Tensor", {x}, {{"split_size", int64_t{2}}, {"dim", int64_t{1}}}},
      {"aten::repeat.default", {{"self", {2, 3}}}, {{"repeats", ints({2, 1, 3})}}},
      {"aten::flip.default", {x}, {{"dims", ints({0, 2})}}},
      {"aten::constant_pad_nd.default", {x}, {{"pad", ints({1, 2, -1, 1})}, {"value", 3.0}}},
      {"aten::tril.default", {x}, {{"diagonal", int64_t{-1}}}},
      {"aten::triu.default", {x}, {{"diagonal", int64_t{1}}}},
      {"aten::slice_scatter.default",
       {x, {"src", {2, 3, 2}}},
       {{"dim", int64_t{2}}, {"start", int64_t{0}}, {"end", int64_t{4}}, {"step", int64_t{2}}}},
      {"aten::select_scatter.default", {x, {"src", {2, 4}}}, {{"dim", int64_t{1}}, {"index", int64_t{1}}}},
      {"aten::cat.default",
       {{"part", {2, 3}}, {"part", {2, 1}}, {"part", {2, 2}}},
       {{"dim", int64_t{-1}}},
       "tensors"},
      {"aten::stack.default", {{"part", {2, 3}}, {"part", {2, 3}}}, {{"dim", int64_t{1}}}, "tensors"},
  };
}

const Examples added_view_examples(view_examples);

}  // namespace
}  // namespace assay::models
