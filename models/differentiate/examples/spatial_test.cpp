#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

Example convolution(Shape input, Shape weight, int64_t stride, int64_t padding, int64_t dilation,
                    int64_t groups, bool transposed = false, int64_t rest = 0) {
  const std::size_t dims = weight.size() - 2;
  const int64_t channels = transposed ? weight[1] * groups : weight[0];
  const auto each = [&](int64_t v) { return ints(std::vector<int64_t>(dims, v)); };
  return {"aten::convolution.default",
          {{"input", std::move(input)}, {"weight", std::move(weight)}, {"bias", {channels}}},
          {{"stride", each(stride)},
           {"padding", each(padding)},
           {"dilation", each(dilation)},
           {"transposed", transposed},
           {"output_padding", each(rest)},
           {"groups", groups}}};
}

std::vector<Example> spatial_examples() {
  std::vector<Example> examples{
      convolution({2, 2, 5}, {3, 2, 3}, 1, 1, 1, 1),
      convolution({1, 4, 7}, {2, 2, 3}, 2, 0, 2, 2),
      convolution({1, 2, 6}, {4, 1, 2}, 3, 2, 1, 2),
      convolution({1, 2, 4, 5}, {2, 2, 2, 3}, 2, 1, 1, 1),
      convolution({1, 4, 3}, {4, 1, 3}, 2, 1, 1, 2, true, 1),
      convolution({2, 2, 3, 2}, {2, 2, 2, 2}, 1, 0, 2, 1, true),
  };
  const Given image{"self", {1, 2, 5, 6}};
  examples.push_back({"aten::max_pool2d_with_indices.default",
                      {image},
                      {{"kernel_size", ints({3, 2})}, {"stride", ints({2, 2})}, {"padding", ints({1, 0})}}});
  examples.push_back({"aten::max_pool3d_with_indices.default",
                      {{"self", {1, 3, 4, 3}}},
                      {{"kernel_size", ints({2, 2, 2})}}});
  for (const bool padded : {false, true}) {
    examples.push_back({"aten::avg_pool2d.default",
                        {image},
                        {{"kernel_size", ints({3, 2})},
                         {"stride", ints({2, 3})},
                         {"padding", ints({1, 1})},
                         {"ceil_mode", true},
                         {"count_include_pad", padded}}});
  }
  examples.push_back({"aten::avg_pool2d.default",
                      {image},
                      {{"kernel_size", ints({2, 2})}, {"divisor_override", int64_t{3}}}});
  examples.push_back({"aten::avg_pool1d.default", {{"self", {2, 5}}}, {{"kernel_size", ints({2})}}});
  examples.push_back({"aten::avg_pool3d.default",
                      {{"self", {1, 2, 3, 3}}},
                      {{"kernel_size", ints({2, 2, 2})}, {"stride", ints({1, 1, 1})}}});
  examples.push_back({"aten::_adaptive_avg_pool2d.default", {image}, {{"output_size", ints({3, 4})}}});
  for (const char* op : {"_adaptive_avg_pool3d", "adaptive_max_pool3d"}) {
    examples.push_back({std::string("aten::") + op + ".default",
                        {{"self", {1, 3, 5, 4}}},
                        {{"output_size", ints({2, 3, 3})}}});
  }
  examples.push_back({"aten::adaptive_max_pool2d.default", {image}, {{"output_size", ints({3, 4})}}});
  examples.push_back({"aten::fractional_max_pool2d.default",
                      {{"self", {1, 2, 7, 6}}, {"random_samples", {1, 2, 2}, 0.5, 0.4}},
                      {{"kernel_size", ints({2, 3})}, {"output_size", ints({3, 2})}}});
  examples.push_back({"aten::fractional_max_pool3d.default",
                      {{"self", {1, 1, 5, 4, 5}}, {"random_samples", {1, 1, 3}, 0.5, 0.4}},
                      {{"kernel_size", ints({2, 2, 2})}, {"output_size", ints({2, 2, 2})}}});
  examples.push_back({"aten::max_unpool2d.default",
                      {{"self", {1, 2, 2}}, {"indices", {1, 2, 2}, 0, 1, {5, 2, 11, 8}}},
                      {{"output_size", ints({3, 4})}}});
  examples.push_back(
      {"aten::max_unpool3d.default",
       {{"self", {1, 1, 2, 2}}, {"indices", {1, 1, 2, 2}, 0, 1, {0, 7, 17, 10}}},
       {{"output_size", ints({2, 3, 3})}, {"stride", ints({2, 2, 2})}, {"padding", ints({0, 0, 0})}}});
  return examples;
}

const Examples added_spatial_examples(spatial_examples);

}  // namespace
}  // namespace assay::models
