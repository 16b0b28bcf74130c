#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> scans_examples() {
  std::vector<Example> examples;
  for (const int64_t dim : {0, 1, -1}) {
    for (const char* op : {"cumprod", "logcumsumexp", "cummax", "cummin"})
      examples.push_back({std::string("aten::") + op + ".default", {{"self", {2, 3, 4}}}, {{"dim", dim}}});
  }
  for (const char* op : {"cumprod", "logcumsumexp", "cummax", "cummin"})
    examples.push_back({std::string("aten::") + op + ".default", {{"self", {}}}, {{"dim", int64_t{0}}}});
  Given zeros{"self", {2, 4}};
  zeros.reals = {0.5, 0, 2, 0, 0, -1, 3, 0.25};
  examples.push_back({"aten::cumprod.default", {zeros}, {{"dim", int64_t{1}}}});
  examples.push_back({"aten::logcumsumexp.default", {{"self", {6}, 0, 500}}, {{"dim", int64_t{0}}}});
  for (const char* op : {"median", "nanmedian"})
    examples.push_back({std::string("aten::") + op + ".default", {{"self", {5}}}});
  for (const char* op : {"median.dim", "nanmedian.dim", "mode.default"}) {
    examples.push_back({std::string("aten::") + op, {{"self", {2, 3, 4}}}, {{"dim", int64_t{1}}}});
    examples.push_back(
        {std::string("aten::") + op, {{"self", {2, 3, 4}}}, {{"dim", int64_t{-1}}, {"keepdim", true}}});
  }
  examples.push_back(
      {"aten::kthvalue.default", {{"self", {2, 3, 4}}}, {{"k", int64_t{2}}, {"dim", int64_t{0}}}});
  examples.push_back({"aten::repeat_interleave.self_Tensor",
                      {{"self", {2, 3}}, {"repeats", {3}, 0, 1, {2, 0, 3}}},
                      {{"dim", int64_t{-1}}, {"output_size", int64_t{5}}}});
  examples.push_back({"aten::repeat_interleave.self_Tensor",
                      {{"self", {2, 2}}, {"repeats", {1}, 0, 1, {2}}},
                      {{"output_size", int64_t{8}}}});

  return examples;
}

const Examples added_scans_examples(scans_examples);

}  // namespace
}  // namespace assay::models
