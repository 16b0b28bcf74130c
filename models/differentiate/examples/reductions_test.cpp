#include <limits>

#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> reduction_examples() {
  const Given x{"self", {2, 3, 4}};
  std::vector<Example> examples;
  for (const char* op :
       {"aten::sum.default", "aten::mean.default", "aten::max.default", "aten::prod.default"}) {
    examples.push_back({op, {{"self", {2, 3}}}});
    examples.push_back({op, {{"self", {}}}});
  }
  for (const char* op : {"aten::sum.dim_IntList", "aten::mean.dim", "aten::amax.default",
                         "aten::amin.default", "aten::linalg_vector_norm.default", "aten::var.correction"}) {
    for (const bool keepdim : {false, true}) {
      examples.push_back({op, {x}, {{"dim", ints({-1})}, {"keepdim", keepdim}}});
      examples.push_back({op, {x}, {{"dim", ints({0, 2})}, {"keepdim", keepdim}}});
    }
  }
  examples.push_back({"aten::linalg_vector_norm.default", {x}});
  examples.push_back({"aten::linalg_vector_norm.default", {x}, {{"ord", 1.0}, {"dim", ints({1})}}});
  for (const double p : {0.0, 3.0, 2.5, -1.0, std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity()}) {
    examples.push_back({"aten::linalg_vector_norm.default", {x}, {{"ord", p}, {"dim", ints({0, -1})}}});
    examples.push_back({"aten::linalg_vector_norm.default", {{"self", {}}}, {{"ord", p}}});
  }
  examples.push_back({"aten::var.correction", {x}, {{"dim", ints({1})}, {"correction", 0.0}}});
  examples.push_back({"aten::var.dim", {x}, {{"dim", ints({1})}, {"unbiased", true}}});
  for (const char* op : {"aten::max.dim", "aten::min.dim"}) {
    examples.push_back({op, {x}, {{"dim", int64_t{1}}}});
    examples.push_back({op, {x}, {{"dim", int64_t{-1}}, {"keepdim", true}}});
  }
  examples.push_back({"aten::topk.default", {x}, {{"k", int64_t{2}}, {"dim", int64_t{-1}}}});
  examples.push_back({"aten::sort.default", {x}, {{"dim", int64_t{1}}, {"descending", true}}});
  for (const int64_t dim : {0, 1, -1}) {
    examples.push_back({"aten::cumsum.default", {x}, {{"dim", dim}}});
    examples.push_back({"aten::_softmax.default", {x}, {{"dim", dim}, {"half_to_float", false}}});
    examples.push_back({"aten::_log_softmax.default", {x}, {{"dim", dim}, {"half_to_float", false}}});
    examples.push_back({"aten::prod.dim_int", {x}, {{"dim", dim}, {"keepdim", dim == 1}}});
  }
  examples.push_back({"aten::cumsum.default", {{"self", {}}}, {{"dim", int64_t{0}}}});
  return examples;
}

const Examples added_reduction_examples(reduction_examples);

}  // namespace
}  // namespace assay::models
