#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> segments_examples() {
  std::vector<Example> examples;
  Given zeros{"data", {5, 2}};
  zeros.reals = {0, 2, 1.5, 0, -1, 0, 3, 4, 0, 0.5};
  for (const char* reduce : {"sum", "mean", "prod", "max", "min"}) {
    const NamedArgument how{"reduce", std::string(reduce)}, initial{"initial", reduce[1] == 'r' ? 0.5 : 0.0};
    const auto add = [&](const Given& data, const Given& bounds, std::vector<NamedArgument> rest) {
      rest.push_back(how);
      Example example{"aten::segment_reduce.default", {data, bounds}, std::move(rest)};
      example.results = {{DType::f64, {3, 2}}};
      examples.push_back(std::move(example));
    };
    add({"data", {5, 2}}, {"lengths", {3}, 0, 1, {2, 1, 2}}, {});
    add({"data", {5, 2}}, {"lengths", {3}, 0, 1, {3, 0, 2}}, {initial});
    add({"data", {5, 2}}, {"offsets", {4}, 0, 1, {0, 2, 3, 5}}, {});
    if (reduce[0] == 'p') add(zeros, {"lengths", {3}, 0, 1, {2, 1, 2}}, {});
  }
  return examples;
}

const Examples added_segments_examples(segments_examples);

}  // namespace
}  // namespace assay::models
