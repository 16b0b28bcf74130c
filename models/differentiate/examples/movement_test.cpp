#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> movement_examples() {
  std::vector<Example> examples;
  const Given line{"self", {2, 3, 5}}, image{"self", {2, 3, 4}}, volume{"self", {1, 3, 2, 3}};
  for (const char* kind : {"reflection", "replication"}) {
    const std::string pad = std::string("aten::") + kind + "_pad";
    examples.push_back({pad + "1d.default", {line}, {{"padding", ints({4, 2})}}});
    examples.push_back({pad + "2d.default", {image}, {{"padding", ints({3, 1, 0, 2})}}});
    examples.push_back({pad + "3d.default", {volume}, {{"padding", ints({1, 2, 1, 0, 2, 2})}}});
  }
  examples.push_back({"aten::replication_pad1d.default", {line}, {{"padding", ints({7, -1})}}});
  examples.push_back(
      {"aten::as_strided.default",
       {{"self", {3, 4}}},
       {{"size", ints({3, 3, 2})}, {"stride", ints({2, 1, 3})}, {"storage_offset", int64_t{1}}}});
  examples.push_back(
      {"aten::as_strided.default", {{"self", {4}}}, {{"size", ints({5})}, {"stride", ints({0})}}});
  examples.push_back({"aten::diagonal.default", {{"self", {3, 4}}}});
  examples.push_back({"aten::diagonal.default",
                      {{"self", {3, 2, 4}}},
                      {{"offset", int64_t{-1}}, {"dim1", int64_t{-1}}, {"dim2", int64_t{0}}}});
  examples.push_back({"aten::unfold.default",
                      {{"self", {2, 7}}},
                      {{"dimension", int64_t{-1}}, {"size", int64_t{3}}, {"step", int64_t{2}}}});
  examples.push_back({"aten::unfold.default",
                      {{"self", {5, 2}}},
                      {{"dimension", int64_t{0}}, {"size", int64_t{3}}, {"step", int64_t{1}}}});
  for (const Shape& shape : {Shape{1, 2, 5, 6}, Shape{2, 5, 4}}) {
    examples.push_back({"aten::im2col.default",
                        {{"self", shape}},
                        {{"kernel_size", ints({2, 3})},
                         {"dilation", ints({2, 1})},
                         {"padding", ints({1, 0})},
                         {"stride", ints({2, 1})}}});
  }
  examples.push_back({"aten::col2im.default",
                      {{"self", {1, 8, 6}}},
                      {{"output_size", ints({4, 3})},
                       {"kernel_size", ints({2, 2})},
                       {"dilation", ints({1, 1})},
                       {"padding", ints({0, 0})},
                       {"stride", ints({1, 1})}}});
  examples.push_back({"aten::resize.default", {{"self", {3, 4}}}, {{"size", ints({2, 5})}}});
  examples.push_back({"aten::resize_as.default", {{"self", {3, 4}}, {"the_template", {2, 2}}}});
  examples.push_back({"aten::copy.default", {{"self", {3, 4}}, {"src", {4}}}});

  return examples;
}

const Examples added_movement_examples(movement_examples);

}  // namespace
}  // namespace assay::models
