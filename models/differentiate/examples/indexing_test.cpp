#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> indexing_examples() {
  const Given rows{"index", {3}, 0, 1, {2, 0, 2}};
  std::vector<Example> examples{
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
  // src is larger than index: the rest of it is not read.
  for (const char* op : {"aten::scatter.src", "aten::scatter_add.default"}) {
    examples.push_back({op,
                        {{"self", {2, 3}}, {"src", {3, 4}}, {"index", {2, 2}, 0, 1, {0, 2, 1, 0}}},
                        {{"dim", int64_t{1}}}});
  }
  // Element 0 of each row gets several, element 1 none; zeros in a group: none, its only one, two.
  Given self{"self", {3, 3}, 0, 2}, src{"src", {3, 4}, 0, 2},
      index{"index", {3, 3}, 0, 1, {0, 0, 2, 0, 2, 0, 2, 2, 0}};
  Given zeros_self = self, zeros_src = src;
  zeros_self.reals = {2, 3, 0.5, 0, -1, 2, 0, 0, 1.5};
  zeros_src.reals = {0, 1.5, 2, 9, -3, 0.25, 2, 9, 0, 0, 3, 9};
  for (const char* reduce : {"sum", "mean", "prod", "amax", "amin"}) {
    for (const bool include : {true, false}) {
      const std::vector<NamedArgument> how{
          {"dim", int64_t{-1}}, {"reduce", std::string(reduce)}, {"include_self", include}};
      examples.push_back({"aten::scatter_reduce.two", {self, src, index}, how});
      if (std::string(reduce) == "prod")
        examples.push_back({"aten::scatter_reduce.two", {zeros_self, zeros_src, index}, how});
    }
  }
  const Given mask{"mask", {2, 3}, 0, 1, {1, 0, 1, 1, 0, 0}, true}, row{"mask", {3}, 0, 1, {1, 0, 1}, true};
  examples.push_back({"aten::masked_scatter.default", {{"self", {2, 3}}, mask, {"source", {2, 2}}}});
  examples.push_back({"aten::masked_scatter.default", {{"self", {2, 3}}, row, {"source", {5}}}});
  return examples;
}

const Examples added_indexing_examples(indexing_examples);

}  // namespace
}  // namespace assay::models
