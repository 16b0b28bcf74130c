#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> random_examples() {
  return {{"aten::native_dropout.default", {{"input", {4, 5}}}, {{"p", 0.3}, {"train", true}}},
          {"aten::native_dropout.default", {{"input", {4}}}, {{"p", 1.0}, {"train", true}}},
          {"aten::native_dropout.default", {{"input", {4}}}, {{"p", 0.3}, {"train", false}}}};
}

const Examples added_random_examples(random_examples);

}  // namespace
}  // namespace assay::models
