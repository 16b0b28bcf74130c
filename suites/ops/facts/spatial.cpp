// Convolutions, pooling and resampling.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kConvolution[] = {
    {"aten::convolution.default",
     // Two spatial dims: stride, padding, dilation, groups, one by one and together.
     "input[2,3,7,8] weight[4,3,3,3] bias[4] stride=[1,1] padding=[1,1] dilation=[1,1] transposed=false "
     "output_padding=[0,0] groups=1 | "
     "input[1,2,5,5] weight[3,2,1,1] bias=None stride=[1,1] padding=[0,0] dilation=[1,1] transposed=false "
     "output_padding=[0,0] groups=1 | "
     "input[1,2,7,9] weight[3,2,3,2] bias=None stride=[2,3] padding=[0,1] dilation=[1,1] transposed=false "
     "output_padding=[0,0] groups=1 | "
     "input[1,2,9,9] weight[2,2,3,3] bias[2] stride=[1,1] padding=[2,0] dilation=[2,3] transposed=false "
     "output_padding=[0,0] groups=1 | "
     "input[2,4,6,6] weight[6,2,3,3] bias=None stride=[1,1] padding=[1,1] dilation=[1,1] transposed=false "
     "output_padding=[0,0] groups=2 | "
     "depthwise: input[1,5,6,6] weight[5,1,3,3] bias[5] stride=[1,1] padding=[1,1] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=5 | "
     "channels-129: input[1,129,3,3] weight[2,129,2,2] bias=None stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1 | "
     "outputs-130: input[1,2,3,3] weight[130,2,2,2] bias=None stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1 | "
     "no-batch: input[0,2,5,5] weight[3,2,3,3] bias=None stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1 | "
     "input[2,3,11] weight[4,3,3] bias[4] stride=[2] padding=[1] dilation=[1] transposed=false "
     "output_padding=[0] groups=1 | "
     "input[1,2,515] weight[2,2,4] bias=None stride=[1] padding=[0] dilation=[1] transposed=false "
     "output_padding=[0] groups=1 | "
     "input[1,2,4,5,6] weight[3,2,2,2,2] bias=None stride=[1,1,1] padding=[1,0,1] dilation=[1,1,1] "
     "transposed=false output_padding=[0,0,0] groups=1 | "
     // Transposed.
     "input[2,3,4,5] weight[3,4,3,3] bias[4] stride=[2,2] padding=[1,1] dilation=[1,1] transposed=true "
     "output_padding=[1,0] groups=1 | "
     "input[1,4,5,5] weight[4,3,2,2] bias=None stride=[1,1] padding=[0,0] dilation=[2,1] transposed=true "
     "output_padding=[0,0] groups=2 | "
     "input[1,3,9] weight[3,2,4] bias=None stride=[3] padding=[1] dilation=[1] transposed=true "
     "output_padding=[2] groups=1 | "
     "bad: groups: input[1,3,5,5] weight[4,1,3,3] bias=None stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=2 | "
     "bad: kernel: input[1,3,2,2] weight[4,3,3,3] bias=None stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1 | "
     "bad: stride: input[1,3,5,5] weight[4,3,3,3] bias=None stride=[0,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1 | "
     "bad: padding: input[1,3,5,5] weight[4,3,3,3] bias=None stride=[1,1] padding=[-1,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1 | "
     "bad: bias: input[1,3,5,5] weight[4,3,3,3] bias[3] stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=1",
     {0, 2},
     kExactOnIntegers},
};

constexpr OpFacts kPooling[] = {
    {"aten::max_pool2d_with_indices.default",
     "self[2,3,7,8] kernel_size=[2,2] | self[1,2,7,9] kernel_size=[3,2] stride=[2,1] padding=[1,1] | "
     "self[1,2,9,9] kernel_size=[2,3] stride=[2,2] dilation=[2,1] | self[2,5,6] kernel_size=[3,3] | "
     "self[1,1,1,1] kernel_size=[1,1] | self[1,130,4,4] kernel_size=[2,2] | self[0,2,4,4] kernel_size=[2,2] "
     "| "
     "bad: self[1,1,8,8] kernel_size=[2,2] padding=[2,2] | bad: self[1,1,2,2] kernel_size=[3,3] | bad: "
     "self[8] kernel_size=[2,2] | bad: self[1,1,8,8] kernel_size=[0,2]",
     {0, 4},
     0,
     "stride=[1,1] | stride=[3,2] ceil_mode=true | padding=[1,1]"},
    {"aten::max_pool3d_with_indices.default",
     "self[1,2,4,5,6] kernel_size=[2,2,2] | self[1,2,5,5,5] kernel_size=[3,2,1] stride=[2,1,1] "
     "padding=[1,1,0] | self[2,4,4,4] kernel_size=[2,2,2] | bad: self[1,1,4,4,4] kernel_size=[2,2,2] "
     "padding=[2,0,0]",
     {0, 4},
     0,
     "stride=[1,1,1] | padding=[1,1,1] ceil_mode=true"},
    {"aten::avg_pool1d.default",
     "self[2,3,9] kernel_size=[3] | self[1,2,10] kernel_size=[2] stride=[3] | self[3,7] kernel_size=[2] | "
     "self[1,1,130] kernel_size=[129] | bad: self[1,2,2] kernel_size=[3] | bad: self[1,2,8] kernel_size=[2] "
     "padding=[2]",
     {0.25, 1},
     0,
     "padding=[1] | padding=[1] count_include_pad=false | stride=[2] ceil_mode=true | stride=[2] padding=[1] "
     "ceil_mode=true count_include_pad=false"},
    {"aten::avg_pool2d.default",
     "self[2,3,7,8] kernel_size=[2,2] | self[1,2,7,9] kernel_size=[3,2] stride=[2,1] | self[2,5,6] "
     "kernel_size=[3,3] | self[1,130,4,4] kernel_size=[2,2] | bad: self[1,1,2,2] kernel_size=[3,3] | bad: "
     "self[1,1,8,8] kernel_size=[2,2] padding=[2,2]",
     {0.25, 1},
     0,
     "padding=[1,1] | padding=[1,1] count_include_pad=false | stride=[2,3] ceil_mode=true | "
     "divisor_override=3 | stride=[2,2] padding=[1,1] ceil_mode=true count_include_pad=false | padding=[1,0] "
     "divisor_override=-2"},
    {"aten::avg_pool3d.default",
     "self[1,2,4,5,6] kernel_size=[2,2,2] | self[2,4,4,4] kernel_size=[3,2,1] | bad: self[1,1,2,2,2] "
     "kernel_size=[3,3,3]",
     {0.25, 1},
     0,
     "padding=[1,1,0] | padding=[1,1,1] count_include_pad=false | stride=[2,2,3] ceil_mode=true | "
     "divisor_override=3"},
    {"aten::_adaptive_avg_pool2d.default",
     "self[2,3,7,8] output_size=[3,4] | self[1,2,7,9] output_size=[1,1] | self[1,2,3,3] output_size=[5,4] | "
     "self[2,6,6] output_size=[4,6] | self[1,130,4,4] output_size=[2,3] | bad: self[6,6] output_size=[2,2] | "
     "bad: self[1,1,6,6] output_size=[-1,2]",
     {0.25, 1}},
    {"aten::adaptive_avg_pool2d.default",
     "self[2,3,7,8] output_size=[3,4] | self[1,2,7,9] output_size=[1,1] | self[2,6,6] output_size=[4,6] | "
     "bad: self[6,6] output_size=[2,2]",
     {0.25, 1}},
    {"aten::upsample_nearest2d.vec",
     "input[2,3,4,5] output_size=[7,9] scale_factors=None | input[1,2,7,8] output_size=[3,4] "
     "scale_factors=None | input[1,2,4,4] output_size=None scale_factors=[2.0,2.0] | input[1,2,5,5] "
     "output_size=None scale_factors=[1.5,0.7] | input[1,1,1,1] output_size=[3,3] scale_factors=None | bad: "
     "input[1,2,4,4] output_size=None scale_factors=None | bad: input[4,4] output_size=[2,2] "
     "scale_factors=None"},
    {"aten::upsample_bilinear2d.vec",
     "input[2,3,4,5] output_size=[7,9] align_corners=false scale_factors=None | input[1,2,7,8] "
     "output_size=[3,4] align_corners=true scale_factors=None | input[1,2,4,4] output_size=None "
     "align_corners=false scale_factors=[2.0,2.0] | input[1,2,5,5] output_size=None align_corners=true "
     "scale_factors=[1.5,0.7] | input[1,1,1,1] output_size=[3,3] align_corners=true scale_factors=None | "
     "bad: input[1,2,4,4] output_size=[4] align_corners=false scale_factors=None",
     {0, 4},
     0,
     "",
     kFloatDTypes},  // of 8-bit images PyTorch does not document the precision
};

}  // namespace

void register_spatial(FactTable& table) {
  table.add(kConvolution);
  table.add(kPooling);
}

}  // namespace assay::suites
