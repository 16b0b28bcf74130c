#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> embedding_examples() {
  const Given weight{"weight", {4, 3}}, indices{"indices", {5}, 0, 1, {3, 0, 3, 1, 0}};
  std::vector<Example> examples{
      {"aten::embedding.default", {{"weight", {4, 3}}, {"indices", {2, 2}, 0, 1, {3, 0, 3, 1}}}}};
  const auto bags = [&](const std::string& op, std::vector<Given> tensors,
                        std::vector<NamedArgument> arguments, int64_t count, int64_t mode) {
    tensors.insert(tensors.begin(), {weight, indices});
    arguments.push_back({"mode", mode});
    Example example{"aten::" + op, std::move(tensors), std::move(arguments), {}, {0}};
    example.results = {{DType::f64, {count, 3}},
                       {DType::i64, {5}},
                       {DType::i64, {count}},
                       {DType::i64, mode == 2 ? Shape{count, 3} : Shape{count}}};
    examples.push_back(std::move(example));
  };
  const Given offsets{"offsets", {3}, 0, 1, {0, 2, 2}};  // two bags and an empty one between them
  for (const int64_t mode : {0, 1, 2}) {
    for (const char* op : {"_embedding_bag.default", "_embedding_bag_forward_only.default"}) {
      bags(op, {offsets}, {}, 3, mode);
      bags(op, {offsets}, {{"padding_idx", int64_t{3}}}, 3, mode);
      if (mode == 0) bags(op, {offsets, {"per_sample_weights", {5}}}, {{"padding_idx", int64_t{0}}}, 3, mode);
    }
    bags("embedding_bag.default", {{"offsets", {1}, 0, 1, {0}}}, {}, 1, mode);
    bags("embedding_bag.padding_idx", {{"offsets", {3}, 0, 1, {0, 2, 5}}},
         {{"padding_idx", NoneArg{}},
          {"scale_grad_by_freq", false},
          {"sparse", false},
          {"per_sample_weights", NoneArg{}},
          {"include_last_offset", true}},
         2, mode);
  }
  return examples;
}

const Examples added_embedding_examples(embedding_examples);

}  // namespace
}  // namespace assay::models
