// Layers with parameters or running statistics, in training and backward.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kNorms[] = {
    {"aten::native_layer_norm_backward.default",
     "grad_out[16,64] input[16,64] normalized_shape=[64] mean[16,1]~0,0.5 rstd[16,1]~1,0.5 weight[64]~1,0.5 "
     "bias[64]~0,0.5 output_mask=[true,true,true] | grad_out[3,127] input[3,127] normalized_shape=[127] "
     "mean[3,1]~0,0.5 rstd[3,1]~1,0.5 weight=None bias=None output_mask=[true,false,false] | grad_out[2,3,4] "
     "input[2,3,4] normalized_shape=[3,4] mean[2,1,1]~0,0.5 rstd[2,1,1]~1,0.5 weight[3,4]~1,0.5 bias[3,4] "
     "output_mask=[true,true,true] | grad_out[129,3] input[129,3] normalized_shape=[3] mean[129,1]~0,0.5 "
     "rstd[129,1]~1,0.5 weight[3] bias=None output_mask=[true,true,false] | bad: gradient: grad_out[4,5] "
     "input[4,6] "
     "normalized_shape=[6] mean[4,1] rstd[4,1] weight[6] bias[6] output_mask=[true,true,true] | bad: mask: "
     "grad_out[4,6] input[4,6] normalized_shape=[6] mean[4,1] rstd[4,1] weight[6] bias[6] "
     "output_mask=[true,true]",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::native_group_norm_backward.default",
     "grad_out[2,8,30] input[2,8,30] mean[2,4]~0,0.5 rstd[2,4]~1,0.5 weight[8]~1,0.5 N=2 C=8 HxW=30 group=4 "
     "output_mask=[true,true,true] | grad_out[1,6,5] input[1,6,5] mean[1,3]~0,0.5 rstd[1,3]~1,0.5 "
     "weight=None "
     "N=1 C=6 HxW=5 group=3 output_mask=[true,false,false] | grad_out[2,6,7] input[2,6,7] mean[2,1]~0,0.5 "
     "rstd[2,1]~1,0.5 weight[6] N=2 C=6 HxW=7 group=1 output_mask=[true,true,true] | grad_out[2,130,3] "
     "input[2,130,3] mean[2,130]~0,0.5 rstd[2,130]~1,0.5 weight[130] N=2 C=130 HxW=3 group=130 "
     "output_mask=[true,true,true] | bad: grad_out[2,8,30] input[2,8,30] mean[2,3] rstd[2,4] weight=None N=2 "
     "C=8 HxW=30 group=4 output_mask=[true,true,true]",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::native_batch_norm_backward.default",
     "grad_out[2,5,6,7] input[2,5,6,7] weight[5]~1,0.5 running_mean=None running_var=None "
     "save_mean[5]~0,0.5 save_invstd[5]~1,0.5 train=true eps=1e-5 output_mask=[true,true,true] | "
     "grad_out[3,4] input[3,4] weight=None running_mean=None running_var=None save_mean[4]~0,0.5 "
     "save_invstd[4]~1,0.5 train=true eps=1e-3 output_mask=[true,false,false] | grad_out[2,130,3] "
     "input[2,130,3] weight[130] running_mean[130]~0,0.5 running_var[130]~1,0.5 save_mean=None "
     "save_invstd=None train=false eps=1e-5 output_mask=[true,true,true] | bad: gradient: grad_out[3,5] "
     "input[3,4] "
     "weight[4] running_mean=None running_var=None save_mean[4] save_invstd[4] train=true eps=1e-5 "
     "output_mask=[true,true,true]",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::_native_batch_norm_legit_functional.default",
     "input[2,5,6,7] weight[5]~1,0.5 bias[5] running_mean[5] running_var[5]~1,0.5 training=true momentum=0.1 "
     "eps=1e-5 | input[3,4] weight=None bias=None running_mean[4] running_var[4]~1,0.5 training=true "
     "momentum=1.0 eps=1e-3 | input[2,130,3] weight[130]~1,0.5 bias=None running_mean[130] "
     "running_var[130]~1,0.5 training=true momentum=0.0 eps=1e-5 | input[2,3,5] weight=None bias[3] "
     "running_mean[3] running_var[3]~1,0.5 training=false momentum=0.1 eps=1e-5 | bad: weight: "
     "input[2,5,6,7] weight[4] bias=None running_mean[5] running_var[5]~1,0.5 training=true momentum=0.1 "
     "eps=1e-5 | bad: mean: input[2,5,6,7] weight=None bias=None running_mean[6] running_var[5]~1,0.5 "
     "training=true momentum=0.1 eps=1e-5",
     {0, 3},
     kParts,
     "",
     kFloatDTypes},
    // In training it changes its running statistics: exports are made functional first.
    {"aten::_native_batch_norm_legit.default",
     "input[2,5,6,7] weight[5]~1,0.5 bias[5] running_mean[5] running_var[5]~1,0.5 training=false "
     "momentum=0.1 eps=1e-5 | input[3,4] weight=None bias=None running_mean[4] running_var[4]~1,0.5 "
     "training=false momentum=0.1 eps=1e-3 | bad: weight: input[2,5,6,7] weight[4] bias=None running_mean[5] "
     "running_var[5]~1,0.5 training=false momentum=0.1 eps=1e-5",
     {0, 3},
     kParts,
     "",
     kFloatDTypes},
};

constexpr OpFacts kOthers[] = {
    {"aten::convolution_backward.default",
     "grad_output[2,4,6,6] input[2,3,6,6] weight[4,3,3,3] bias_sizes=[4] stride=[1,1] padding=[1,1] "
     "dilation=[1,1] transposed=false output_padding=[0,0] groups=1 output_mask=[true,true,true] | 1d: "
     "grad_output[1,6,4] input[1,4,9] weight[6,2,3] bias_sizes=None stride=[2] padding=[0] dilation=[1] "
     "transposed=false output_padding=[0] groups=2 output_mask=[true,true,false] | dilated: "
     "grad_output[1,3,3,3] input[1,2,7,7] weight[3,2,3,3] bias_sizes=None stride=[1,1] padding=[0,0] "
     "dilation=[2,2] transposed=false output_padding=[0,0] groups=1 output_mask=[true,false,false] | "
     "depthwise: grad_output[2,6,5] input[2,6,7] weight[6,1,3] bias_sizes=[6] stride=[1] padding=[0] "
     "dilation=[1] transposed=false output_padding=[0] groups=6 output_mask=[true,true,true] | transposed: "
     "grad_output[2,4,10] input[2,3,5] weight[3,4,3] bias_sizes=[4] stride=[2] padding=[1] dilation=[1] "
     "transposed=true output_padding=[1] groups=1 output_mask=[true,true,true] | 3d: grad_output[1,3,1,2,3] "
     "input[1,2,2,3,4] weight[3,2,2,2,2] bias_sizes=[3] stride=[1,1,1] padding=[0,0,0] dilation=[1,1,1] "
     "transposed=false output_padding=[0,0,0] groups=1 output_mask=[true,true,true] | bad: "
     "grad_output[2,4,5,6] input[2,3,6,6] weight[4,3,3,3] bias_sizes=[4] stride=[1,1] padding=[1,1] "
     "dilation=[1,1] transposed=false output_padding=[0,0] groups=1 output_mask=[true,true,true] | bad: "
     "groups: grad_output[2,4,6,6] input[2,3,6,6] weight[4,3,3,3] bias_sizes=[4] stride=[1,1] padding=[1,1] "
     "dilation=[1,1] transposed=false output_padding=[0,0] groups=2 output_mask=[true,true,true]",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::native_dropout_backward.default",
     "grad_output[5,7] mask[5,7]:bool scale=2.0 | grad_output[129] mask[129]:bool scale=1.25 | grad_output[] "
     "mask[]:bool scale=0.0 | bad: grad_output[5,7] mask[5,6]:bool scale=2.0",
     {0, 4},
     kParts,
     "",
     kFloatDTypes},
    {"aten::adaptive_avg_pool1d.default",
     "self[2,3,12] output_size=[5] | self[3,7] output_size=[7] | self[2,3,7] output_size=[1] | self[1,2,3] "
     "output_size=[8] | self[1,130,13] output_size=[4] | bad: self[7] output_size=[2] | bad: zero: "
     "self[2,3,0] output_size=[2]",
     {0, 4},
     kParts,
     "",
     kFloatDTypes},
    {"aten::atan2.out",
     "self[5,7] other[5,7] out[5,7] | self[5,1] other[7] out[5,7] | self[129] other[129] out[129]:f64 | bad: "
     "self[5,7] other[5,6] out[5,7] | bad: integers: self[5,7] other[5,7] out[5,7]:i64",
     {0, 4},
     kParts,
     "",
     kFloatDTypes},
};

}  // namespace

void register_layer_gradients(FactTable& table) {
  table.add(kNorms);
  table.add(kOthers);
}

}  // namespace assay::suites
