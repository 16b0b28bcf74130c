#include <limits>

#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> distances_examples() {
  std::vector<Example> examples;
  for (const double p : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    examples.push_back({"aten::_cdist_forward.default",
                        {{"x1", {2, 3, 4}}, {"x2", {2, 2, 4}}},
                        {{"p", p}, {"compute_mode", NoneArg{}}}});
    examples.push_back({"aten::_cdist_forward.default",
                        {{"x1", {3, 4}}, {"x2", {2, 4}}},
                        {{"p", p}, {"compute_mode", int64_t{2}}}});
    examples.push_back({"aten::_pdist_forward.default", {{"self", {4, 3}}}, {{"p", p}}});
  }

  return examples;
}

const Examples added_distances_examples(distances_examples);

}  // namespace
}  // namespace assay::models
