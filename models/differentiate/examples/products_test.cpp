#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> product_examples() {
  return {
      {"aten::mm.default", {{"self", {2, 3}}, {"mat2", {3, 4}}}},
      {"aten::bmm.default", {{"self", {2, 2, 3}}, {"mat2", {2, 3, 2}}}},
      {"aten::addmm.default",
       {{"self", {4}}, {"mat1", {2, 3}}, {"mat2", {3, 4}}},
       {{"beta", 0.5}, {"alpha", 2.0}}},
      {"aten::addmm.default", {{"self", {2, 4}}, {"mat1", {2, 3}}, {"mat2", {3, 4}}}},
      {"aten::baddbmm.default",
       {{"self", {2, 1, 2}}, {"batch1", {2, 2, 3}}, {"batch2", {2, 3, 2}}},
       {{"beta", 3.0}, {"alpha", 0.25}}},
  };
}

const Examples added_product_examples(product_examples);

}  // namespace
}  // namespace assay::models
