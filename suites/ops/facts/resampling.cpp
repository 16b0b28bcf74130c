// Resampling by sizes and factors, and at the places of a grid.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

// 8-bit images are interpolated in fixed point whose precision PyTorch does not document.
// PyTorch filters in f32 and f64 alone.
constexpr const char* kWideSamples = "f32 f64";

// Whole factors, sizes without a common factor, down to one element, down, up from one.
constexpr const char* kSizes1d =
    "self[2,3,7] output_size=[14] | self[1,2,7] output_size=[10] | self[1,2,25] output_size=[30] | "
    "self[1,2,9] "
    "output_size=[1] | self[1,2,9] output_size=[4] | self[1,1,1] output_size=[5] | self[1,2,5] "
    "output_size=[5] "
    "| self[0,2,5] output_size=[7] | bad: self[2,7] output_size=[14] | bad: self[1,2,7] output_size=[0] | "
    "bad: "
    "self[1,2,0] output_size=[3]";
constexpr const char* kSizes2d =
    "self[2,3,5,7] output_size=[10,14] | self[1,2,5,7] output_size=[8,10] | self[1,2,6,25] "
    "output_size=[7,30] | "
    "self[1,2,9,8] output_size=[4,3] | self[1,2,9,8] output_size=[1,1] | self[1,1,1,1] output_size=[3,5] | "
    "self[1,130,3,3] output_size=[4,4] | self[0,2,3,3] output_size=[4,4] | bad: self[2,5,7] "
    "output_size=[8,8] | "
    "bad: self[1,0,5,7] output_size=[8,8] | bad: self[1,2,5,7] output_size=[8,0]";
constexpr const char* kSizes3d =
    "self[1,2,3,4,5] output_size=[6,8,10] | self[1,2,3,4,5] output_size=[4,3,7] | self[1,1,2,5,3] "
    "output_size=[1,2,3] | self[0,2,3,3,3] output_size=[4,4,4] | self[1,1,1,1,1] output_size=[2,3,2] | bad: "
    "self[1,2,4,5] output_size=[6,8,10] | bad: self[1,2,3,4,5] output_size=[0,1,1]";
constexpr const char* kFactors1d =
    "input[2,3,7] output_size=None scale_factors=[2.0] | input[1,2,7] output_size=None scale_factors=[1.7] | "
    "input[1,2,9] output_size=None scale_factors=[0.4] | input[1,2,25] output_size=[30] scale_factors=None | "
    "bad: input[1,2,9] output_size=None scale_factors=[0.01] | bad: input[1,2,9] output_size=[3] "
    "scale_factors=[2.0]";
constexpr const char* kFactors2d =
    "input[2,3,5,7] output_size=None scale_factors=[2.0,2.0] | input[1,2,5,7] output_size=None "
    "scale_factors=[1.7,1.5] | input[1,2,9,8] output_size=None scale_factors=[0.4,2.3] | input[1,2,6,25] "
    "output_size=[7,30] scale_factors=None | bad: input[1,2,9,9] output_size=None scale_factors=None | bad: "
    "input[1,2,9,9] output_size=None scale_factors=[2.0]";
constexpr const char* kFactors3d =
    "input[1,2,3,4,5] output_size=None scale_factors=[2.0,1.5,1.0] | input[1,1,4,4,4] output_size=None "
    "scale_factors=[0.5,0.7,1.3] | input[1,1,2,3,4] output_size=[3,4,7] scale_factors=None | bad: "
    "input[1,1,4,4,4] "
    "output_size=None scale_factors=[2.0,2.0]";

constexpr OpFacts kNearest[] = {
    {"aten::upsample_nearest1d.default", kSizes1d, {0, 4}, 0, "scales=1.5"},
    {"aten::upsample_nearest1d.vec", kFactors1d},
    {"aten::upsample_nearest2d.default", kSizes2d, {0, 4}, 0, "scales_h=1.9 scales_w=2.1"},
    {"aten::upsample_nearest3d.default", kSizes3d, {0, 4}, 0, "scales_d=2.1"},
    {"aten::upsample_nearest3d.vec", kFactors3d},
    {"aten::_upsample_nearest_exact1d.default", kSizes1d, {0, 4}, 0, "scales=1.5"},
    {"aten::_upsample_nearest_exact1d.vec", kFactors1d},
    {"aten::_upsample_nearest_exact2d.default", kSizes2d, {0, 4}, 0, "scales_h=1.9 scales_w=2.1"},
    {"aten::_upsample_nearest_exact2d.vec", kFactors2d},
    {"aten::_upsample_nearest_exact3d.default", kSizes3d, {0, 4}, 0, "scales_d=2.1"},
    {"aten::_upsample_nearest_exact3d.vec", kFactors3d},
};

constexpr OpFacts kInterpolated[] = {
    {"aten::upsample_linear1d.default",
     "self[2,3,7] output_size=[14] align_corners=false | self[1,2,7] output_size=[10] align_corners=true | "
     "self[1,2,25] output_size=[30] align_corners=false | self[1,2,9] output_size=[1] align_corners=true | "
     "self[1,2,9] output_size=[4] align_corners=false | self[1,1,1] output_size=[5] align_corners=true | "
     "self[0,2,5] output_size=[7] align_corners=false | bad: self[2,7] output_size=[14] align_corners=false",
     {0, 4},
     0,
     "scales=1.5",
     kFloatDTypes},
    {"aten::upsample_linear1d.vec",
     "input[2,3,7] output_size=None align_corners=false scale_factors=[2.0] | input[1,2,7] output_size=None "
     "align_corners=false scale_factors=[1.7] | input[1,2,9] output_size=[4] align_corners=true "
     "scale_factors=None | bad: input[1,2,9] output_size=[3] align_corners=true scale_factors=[2.0]",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_bilinear2d.default",
     "self[2,3,5,7] output_size=[10,14] align_corners=false | self[1,2,5,7] output_size=[8,10] "
     "align_corners=true | self[1,2,9,8] output_size=[4,3] align_corners=false | self[1,2,9,8] "
     "output_size=[1,1] align_corners=true | self[1,1,1,1] output_size=[3,5] align_corners=false | "
     "self[1,130,3,3] output_size=[4,4] align_corners=false | self[1,1,40,130] output_size=[80,260] "
     "align_corners=false | self[0,2,3,3] output_size=[4,4] align_corners=true | bad: self[2,5,7] "
     "output_size=[8,8] align_corners=false",
     {0, 4},
     0,
     "scales_h=1.9 scales_w=2.1",
     kFloatDTypes},
    {"aten::upsample_trilinear3d.default",
     "self[1,2,3,4,5] output_size=[6,8,10] align_corners=false | self[1,2,3,4,5] output_size=[4,3,7] "
     "align_corners=true | self[1,1,2,5,3] output_size=[1,2,3] align_corners=false | self[0,2,3,3,3] "
     "output_size=[4,4,4] align_corners=false | bad: self[1,2,4,5] output_size=[6,8,10] align_corners=false",
     {0, 4},
     0,
     "scales_d=2.1",
     kFloatDTypes},
    {"aten::upsample_trilinear3d.vec",
     "input[1,2,3,4,5] output_size=None align_corners=false scale_factors=[2.0,1.5,1.0] | input[1,1,2,3,4] "
     "output_size=[3,4,7] align_corners=true scale_factors=None | bad: input[1,1,4,4,4] output_size=None "
     "align_corners=false scale_factors=[2.0,2.0]",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_bicubic2d.default",
     "self[2,3,5,7] output_size=[10,14] align_corners=false | self[1,2,5,7] output_size=[8,10] "
     "align_corners=true | self[1,2,9,8] output_size=[4,3] align_corners=false | self[1,1,1,1] "
     "output_size=[3,5] align_corners=false | self[0,2,3,3] output_size=[4,4] align_corners=true | bad: "
     "self[2,5,7] output_size=[8,8] align_corners=false",
     {0, 4},
     0,
     "scales_h=1.9 scales_w=2.1",
     kFloatDTypes},
    {"aten::upsample_bicubic2d.vec",
     "input[2,3,5,7] output_size=None align_corners=false scale_factors=[2.0,2.0] | input[1,2,5,7] "
     "output_size=None align_corners=false scale_factors=[1.7,0.6] | input[1,2,5,5] output_size=[3,9] "
     "align_corners=true scale_factors=None | bad: input[1,2,9,9] output_size=None align_corners=false "
     "scale_factors=None",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::_upsample_bilinear2d_aa.default",
     "self[2,3,5,7] output_size=[10,14] align_corners=false | self[1,2,9,8] output_size=[4,3] "
     "align_corners=false | self[1,2,9,8] output_size=[5,2] align_corners=true | self[1,2,30,20] "
     "output_size=[3,4] align_corners=false | bad: self[2,5,7] output_size=[8,8] align_corners=false",
     {0, 4},
     0,
     "scales_h=1.9 scales_w=2.1",
     kWideSamples},
    {"aten::_upsample_bilinear2d_aa.vec",
     "input[2,3,5,7] output_size=None align_corners=false scale_factors=[0.5,0.4] | input[1,2,5,5] "
     "output_size=[3,9] align_corners=true scale_factors=None | bad: input[1,2,9,9] output_size=None "
     "align_corners=false scale_factors=None",
     {0, 4},
     0,
     "",
     kWideSamples},
    {"aten::_upsample_bicubic2d_aa.default",
     "self[2,3,5,7] output_size=[10,14] align_corners=false | self[1,2,9,8] output_size=[4,3] "
     "align_corners=false | self[1,2,9,8] output_size=[5,2] align_corners=true | self[1,2,30,20] "
     "output_size=[3,4] align_corners=false | bad: self[2,5,7] output_size=[8,8] align_corners=false",
     {0, 4},
     0,
     "scales_h=1.9 scales_w=2.1",
     kWideSamples},
    {"aten::_upsample_bicubic2d_aa.vec",
     "input[2,3,5,7] output_size=None align_corners=false scale_factors=[0.5,0.4] | input[1,2,5,5] "
     "output_size=[3,9] align_corners=true scale_factors=None | bad: input[1,2,9,9] output_size=None "
     "align_corners=false scale_factors=None",
     {0, 4},
     0,
     "",
     kWideSamples},
};

constexpr OpFacts kGrids[] = {
    {"aten::grid_sampler_2d.default",
     "input[2,3,5,7] grid[2,4,5,2]~0,1.25 interpolation_mode=0 padding_mode=0 align_corners=false | "
     "input[1,2,4,6] "
     "grid[1,3,3,2]~0,1.25 interpolation_mode=0 padding_mode=1 align_corners=true | input[1,2,4,6] "
     "grid[1,3,3,2]~0,2.5 interpolation_mode=0 padding_mode=2 align_corners=false | input[1,2,4,6] "
     "grid[1,3,3,2]~0,1.25 interpolation_mode=1 padding_mode=0 align_corners=false | input[1,2,4,6] "
     "grid[1,3,3,2]~0,2.5 interpolation_mode=1 padding_mode=2 align_corners=true | input[1,2,4,6] "
     "grid[1,3,3,2]~0,1.25 interpolation_mode=2 padding_mode=0 align_corners=false | input[1,2,4,6] "
     "grid[1,3,3,2]~0,1.25 interpolation_mode=2 padding_mode=1 align_corners=true | input[1,2,1,1] "
     "grid[1,2,2,2]~0,1.25 interpolation_mode=0 padding_mode=2 align_corners=true | input[0,2,3,3] "
     "grid[0,2,2,2] "
     "interpolation_mode=0 padding_mode=0 align_corners=false | bad: input[1,2,4,6] grid[1,3,3,3] "
     "interpolation_mode=0 padding_mode=0 align_corners=false | bad: input[1,2,4,6] grid[2,3,3,2] "
     "interpolation_mode=0 padding_mode=0 align_corners=false | bad: input[1,2,4,6] grid[1,3,3,2] "
     "interpolation_mode=3 padding_mode=0 align_corners=false | bad: input[1,2,4,6] grid[1,3,3,2] "
     "interpolation_mode=0 padding_mode=3 align_corners=false",
     {0, 4}},
    {"aten::grid_sampler_3d.default",
     "input[2,3,2,5,4] grid[2,2,4,3,3]~0,1.25 interpolation_mode=0 padding_mode=0 align_corners=false | "
     "input[1,2,3,4,2] grid[1,2,2,3,3]~0,1.25 interpolation_mode=0 padding_mode=1 align_corners=true | "
     "input[1,2,3,4,2] grid[1,2,2,3,3]~0,2.5 interpolation_mode=1 padding_mode=2 align_corners=false | bad: "
     "input[1,2,3,4,2] grid[1,2,2,3,2] interpolation_mode=0 padding_mode=0 align_corners=false | bad: "
     "input[1,2,3,4,2] grid[1,2,2,3,3] interpolation_mode=2 padding_mode=0 align_corners=false",
     {0, 4}},
};

}  // namespace

void register_resampling(FactTable& table) {
  table.add(kNearest);
  table.add(kInterpolated);
  table.add(kGrids);
}

}  // namespace assay::suites
