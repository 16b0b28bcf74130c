#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> indexing_examples() {
  const Given rows{"index", {3}, 0, 1, {2, 0, 2}};
  return {
      {"aten::index.Tensor",
       {{"self", {3, 4}}, {"i", {2, 1}, 0, 1, {2, 0}}, {"i", {3}, 0, 1, {1, 1, 3}}},
       {},
       "indices"},
      {"aten::index_put.default",
       {{"self", {3, 2}}, {"values", {2, 2}}, {"i", {2}, 0, 1, {2, 0}}},
       {{"accumulate", false}},
       "indices"},
      {"aten::index_put.default",
       {{"self", {3, 2}}, {"values", {3, 2}}, {"i", {3}, 0, 1, {2, 0, 2}}},
       {{"accumulate", true}},
       "indices"},
      {"aten::index_select.default", {{"self", {2, 3, 2}}, rows}, {{"dim", int64_t{1}}}},
      {"aten::embedding.default", {{"weight", {4, 3}}, {"indices", {2, 2}, 0, 1, {3, 0, 3, 1}}}},
      {"aten::gather.default",
       {{"self", {2, 3}}, {"index", {2, 4}, 0, 1, {0, 2, 2, 1, 1, 1, 0, 0}}},
       {{"dim", int64_t{1}}}},
      {"aten::scatter.src",
       {{"self", {2, 3}}, {"src", {2, 2}}, {"index", {2, 2}, 0, 1, {0, 2, 1, 0}}},
       {{"dim", int64_t{1}}}},
      {"aten::scatter.value",
       {{"self", {2, 3}}, {"index", {2, 2}, 0, 1, {0, 2, 1, 0}}},
       {{"dim", int64_t{1}}, {"value", 2.0}}},
      {"aten::scatter_add.default",
       {{"self", {2, 3}}, {"src", {2, 2}}, {"index", {2, 2}, 0, 1, {0, 0, 1, 2}}},
       {{"dim", int64_t{1}}}},
  };
}

const Examples added_indexing_examples(indexing_examples);

}  // namespace
}  // namespace assay::models
