#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> normalisation_examples() {
  std::vector<Example> examples;
  examples.push_back({"aten::native_layer_norm.default",
                      {{"input", {2, 3, 4}}, {"weight", {3, 4}, 1, 0.5}, {"bias", {3, 4}}},
                      {{"normalized_shape", ints({3, 4})}, {"eps", 1e-2}}});
  examples.push_back(
      {"aten::native_layer_norm.default",
       {{"input", {2, 5}}},
       {{"normalized_shape", ints({5})}, {"weight", NoneArg{}}, {"bias", NoneArg{}}, {"eps", 1e-2}}});
  examples.push_back(
      {"aten::native_group_norm.default",
       {{"input", {2, 4, 3}}, {"weight", {4}, 1, 0.5}, {"bias", {4}}},
       {{"N", int64_t{2}}, {"C", int64_t{4}}, {"HxW", int64_t{3}}, {"group", int64_t{2}}, {"eps", 1e-2}}});
  examples.push_back({"aten::_native_batch_norm_legit_no_training.default",
                      {{"input", {2, 3, 2}},
                       {"weight", {3}, 1, 0.5},
                       {"bias", {3}},
                       {"running_mean", {3}},
                       {"running_var", {3}, 1, 0.5}},
                      {{"momentum", 0.1}, {"eps", 1e-2}}});
  examples.push_back({"aten::_native_batch_norm_legit.no_stats",
                      {{"input", {3, 2, 2}}, {"weight", {2}, 1, 0.5}, {"bias", {2}}},
                      {{"training", true}, {"momentum", 0.1}, {"eps", 1e-2}}});
  for (Example& example : examples) example.outputs = {0};  // saved statistics have no derivative
  return examples;
}

const Examples added_normalisation_examples(normalisation_examples);

}  // namespace
}  // namespace assay::models
