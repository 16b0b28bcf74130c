#include "models/differentiate/examples/examples_test.h"

namespace assay::models {
namespace {

std::vector<Example> resampling_examples() {
  std::vector<Example> examples;
  struct Way {
    const char* op;
    std::size_t dims;
    bool corners;  // has align_corners
  };
  for (const Way& way : {Way{"upsample_nearest", 1, false}, Way{"upsample_nearest", 2, false},
                         Way{"upsample_nearest", 3, false}, Way{"_upsample_nearest_exact", 1, false},
                         Way{"_upsample_nearest_exact", 2, false}, Way{"_upsample_nearest_exact", 3, false},
                         Way{"upsample_linear", 1, true}, Way{"upsample_bilinear", 2, true},
                         Way{"upsample_trilinear", 3, true}, Way{"upsample_bicubic", 2, true},
                         Way{"_upsample_bilinear", 2, true}, Way{"_upsample_bicubic", 2, true}}) {
    const bool antialiased = way.corners && way.op[0] == '_';
    const std::string op =
        std::string("aten::") + way.op + std::to_string(way.dims) + "d" + (antialiased ? "_aa" : "");
    const std::vector<int64_t> in{3, 4, 2}, out{5, 2, 3};
    const auto dims = static_cast<std::ptrdiff_t>(way.dims);
    Shape shape{1, 2};
    shape.insert(shape.end(), in.begin(), in.begin() + dims);
    const std::vector<int64_t> size(out.begin(), out.begin() + dims);
    const std::vector<double> factors(way.dims, 1.7);
    for (const bool corners : {false, true}) {
      if (corners && !way.corners) continue;
      std::vector<NamedArgument> rest;
      if (way.corners) rest.push_back({"align_corners", corners});
      const auto with = [&](NamedArgument one, NamedArgument two) {
        std::vector<NamedArgument> all = rest;
        all.push_back(std::move(one));
        all.push_back(std::move(two));
        return all;
      };
      const NamedArgument sized{"output_size", ints(size)};
      const char* scale = way.dims == 1 ? "scales" : "scales_w";
      examples.push_back({op + ".default", {{"self", shape}}, with(sized, {scale, NoneArg{}})});
      examples.push_back({op + ".default", {{"self", shape}}, with(sized, {scale, 1.3})});
      if (way.op[0] != '_') {
        Shape large{1, 2};
        large.insert(large.end(), size.begin(), size.end());
        std::vector<NamedArgument> back = with(sized, {scale, 1.3});
        back.push_back({"input_size", ints(shape)});
        examples.push_back({op + "_backward.default", {{"grad_output", large}}, back});
      }
      examples.push_back({op + ".vec", {{"input", shape}}, with(sized, {"scale_factors", NoneArg{}})});
      examples.push_back(
          {op + ".vec", {{"input", shape}}, with({"output_size", NoneArg{}}, {"scale_factors", factors})});
    }
  }
  for (const int64_t mode : {0, 1, 2}) {
    for (const int64_t padding : {0, 1, 2}) {
      for (const bool corners : {false, true}) {
        const std::vector<NamedArgument> how{
            {"interpolation_mode", mode}, {"padding_mode", padding}, {"align_corners", corners}};
        examples.push_back({"aten::grid_sampler_2d.default",
                            {{"input", {1, 2, 3, 4}}, {"grid", {1, 2, 3, 2}, 0, 1.4}},
                            how});
        if (mode == 2) continue;
        examples.push_back({"aten::grid_sampler_3d.default",
                            {{"input", {1, 1, 2, 3, 3}}, {"grid", {1, 1, 2, 2, 3}, 0, 1.4}},
                            how});
      }
    }
  }

  return examples;
}

const Examples added_resampling_examples(resampling_examples);

}  // namespace
}  // namespace assay::models
