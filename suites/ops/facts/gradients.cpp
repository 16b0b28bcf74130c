// Backward operators and losses in training.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kPointwise[] = {
    {"aten::sigmoid_backward.default", "@pointwise output~0.5,0.5", {0, 4}, kParts, "", kFloatDTypes},
    {"aten::tanh_backward.default", "@pointwise output~0,1", {0, 4}, kParts, "", kFloatDTypes},
    {"aten::silu_backward.default", "@pointwise", {0, 8}, kParts, "", kFloatDTypes},
    {"aten::gelu_backward.default", "@pointwise", {0, 6}, kParts, "approximate=tanh", kFloatDTypes},
    {"aten::threshold_backward.default",
     "@pointwise threshold=0 | @pointwise threshold=-0.5",
     {0, 4},
     kParts,
     "",
     kFloatDTypes},
    {"aten::hardsigmoid_backward.default", "@pointwise", {0, 5}, kParts, "", kFloatDTypes},
    {"aten::hardswish_backward.default", "@pointwise", {0, 5}, kParts, "", kFloatDTypes},
    {"aten::hardtanh_backward.default", "@pointwise min_val=-1 max_val=2", {0, 4}, kParts, "", kFloatDTypes},
    {"aten::leaky_relu_backward.default",
     "@pointwise negative_slope=0.01 self_is_result=false",
     {0, 4},
     kParts,
     "",
     kFloatDTypes},
    {"aten::elu_backward.default",
     "@pointwise alpha=1.5 scale=0.75 input_scale=2 is_result=false",
     {0, 4},
     kParts,
     "",
     kFloatDTypes},
    {"aten::logit_backward.default", "@pointwise self~0.5,0.49", {0, 2}, kParts, "eps=0.1", kFloatDTypes},
    {"aten::mish_backward.default", "@pointwise", {0, 8}, kParts, "", kFloatDTypes},
    {"aten::softplus_backward.default",
     "@pointwise beta=1 threshold=20 | @pointwise beta=2 threshold=3",
     {0, 8},
     kParts,
     "",
     kFloatDTypes},
    {"aten::softshrink_backward.default", "@pointwise lambd=0.5", {0, 4}, kParts, "", kFloatDTypes},
    {"aten::hardshrink_backward.default", "@pointwise lambd=0.5", {0, 4}, kParts, "", kFloatDTypes},
};

constexpr OpFacts kLosses[] = {
    {"aten::_softmax_backward_data.default",
     "grad_output[5,7] output[5,7]~0.2,0.1 dim=1 input_dtype=T | grad_output[3,130] output[3,130]~0.01,0.01 "
     "dim=-1 "
     "input_dtype=T | grad_output[4,5,6] output[4,5,6]~0.2,0.1 dim=0 input_dtype=T | grad_output[0,3] "
     "output[0,3] dim=1 input_dtype=T | bad: grad_output[5,7] output[5,6] dim=1 input_dtype=T",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::_log_softmax_backward_data.default",
     "grad_output[5,7] output[5,7]~-2,1 dim=1 input_dtype=T | grad_output[3,130] output[3,130]~-5,2 dim=-1 "
     "input_dtype=T | grad_output[4,5,6] output[4,5,6]~-2,1 dim=0 input_dtype=T | bad: grad_output[5,7] "
     "output[5,7] dim=2 input_dtype=T",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::mse_loss_backward.default",
     "grad_output[5,7] self[5,7] target[5,7] reduction=0 | grad_output[] self[5,7] target[5,7] reduction=1 | "
     "grad_output[] self[129] target[129] reduction=2 | bad: grad_output[5,7] self[5,7] target[5,6] "
     "reduction=0",
     {0, 3},
     kParts,
     "",
     kFloatDTypes},
    {"aten::smooth_l1_loss_backward.default",
     "grad_output[5,7] self[5,7] target[5,7] reduction=0 beta=1.0 | grad_output[] self[5,7] target[5,7] "
     "reduction=1 "
     "beta=0.5 | grad_output[] self[129] target[129] reduction=2 beta=0.0",
     {0, 3},
     kParts,
     "",
     kFloatDTypes},
    {"aten::huber_loss_backward.default",
     "grad_output[5,7] self[5,7] target[5,7] reduction=0 delta=1.0 | grad_output[] self[5,7] target[5,7] "
     "reduction=1 "
     "delta=0.5",
     {0, 3},
     kParts,
     "",
     kFloatDTypes},
    {"aten::binary_cross_entropy_backward.default",
     "grad_output[5,7] self[5,7]~0.5,0.4 target[5,7]~0.5,0.5 weight=None reduction=0 | grad_output[] "
     "self[5,7]~0.5,0.4 target[5,7]~0.5,0.5 weight[5,7]~1,0.5 reduction=1",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::nll_loss_forward.default",
     "self[5,7] target[5]=0..7 weight[7]~1,0.5 reduction=1 ignore_index=-100 | self[5,7] target[5]=0..7 "
     "weight=None "
     "reduction=0 ignore_index=3 | self[129,4] target[129]=0..4 weight=None reduction=2 ignore_index=-100 | "
     "bad: "
     "self[5,7] target[4]=0..7 weight=None reduction=1 ignore_index=-100",
     {-2, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::nll_loss_backward.default",
     "grad_output[] self[5,7] target[5]=0..7 weight[7]~1,0.5 reduction=1 ignore_index=-100 "
     "total_weight[]~5,1 | "
     "grad_output[5] self[5,7] target[5]=0..7 weight=None reduction=0 ignore_index=3 total_weight[]~5,1 | "
     "bad: "
     "grad_output[4] self[5,7] target[5]=0..7 weight=None reduction=0 ignore_index=3 total_weight[]~5,1",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
};

constexpr OpFacts kWindows[] = {
    {"aten::avg_pool2d_backward.default",
     "grad_output[2,3,3,4] self[2,3,6,8] kernel_size=[2,2] stride=[2,2] padding=[0,0] ceil_mode=false "
     "count_include_pad=true divisor_override=None | grad_output[1,2,4,3] self[1,2,7,5] kernel_size=[3,3] "
     "stride=[2,2] padding=[1,1] ceil_mode=false count_include_pad=false divisor_override=None | bad: "
     "grad_output[2,3,3,3] self[2,3,6,8] kernel_size=[2,2] stride=[2,2] padding=[0,0] ceil_mode=false "
     "count_include_pad=true divisor_override=None",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::_adaptive_avg_pool2d_backward.default",
     "grad_output[2,3,2,4] self[2,3,6,8] | grad_output[1,2,3,2] self[1,2,7,5] | grad_output[2,5,1,1] "
     "self[2,5,7,7]",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::max_pool2d_with_indices_backward.default",
     "grad_output[1,2,2,2] self[1,2,4,4] kernel_size=[2,2] stride=[2,2] padding=[0,0] dilation=[1,1] "
     "ceil_mode=false indices[1,2,2,2]=0..16 | bad: grad_output[1,2,2,2] self[1,2,4,4] kernel_size=[2,2] "
     "stride=[2,2] padding=[0,0] dilation=[1,1] ceil_mode=false indices[1,2,2,3]=0..16",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
    {"aten::embedding_dense_backward.default",
     "grad_output[4,5,8] indices[4,5]=0..7 num_weights=7 padding_idx=-1 scale_grad_by_freq=false | "
     "grad_output[9,8] indices[9]=0..3 num_weights=5 padding_idx=1 scale_grad_by_freq=true | bad: "
     "grad_output[4,5,8] indices[4,4]=0..7 num_weights=7 padding_idx=-1 scale_grad_by_freq=false",
     {0, 2},
     kParts,
     "",
     kFloatDTypes},
};

// Sampling's gradients: whole factors, sizes without a common factor, down, up from one.
constexpr OpFacts kSampling[] = {
    {"aten::upsample_nearest1d_backward.default",
     "grad_output[2,3,14] output_size=[14] input_size=[2,3,7] | grad_output[1,2,10] output_size=[10] "
     "input_size=[1,2,7] | grad_output[1,2,4] output_size=[4] input_size=[1,2,9] | grad_output[1,1,5] "
     "output_size=[5] input_size=[1,1,1] | bad: grad_output[1,2,9] output_size=[10] input_size=[1,2,7]",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_nearest2d_backward.default",
     "grad_output[2,3,10,14] output_size=[10,14] input_size=[2,3,5,7] | grad_output[1,2,8,10] "
     "output_size=[8,10] "
     "input_size=[1,2,5,7] | grad_output[1,2,4,3] output_size=[4,3] input_size=[1,2,9,8] | bad: "
     "grad_output[1,2,4,4] output_size=[4,3] input_size=[1,2,9,8]",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_nearest3d_backward.default",
     "grad_output[1,2,6,8,10] output_size=[6,8,10] input_size=[1,2,3,4,5] | grad_output[1,2,4,3,7] "
     "output_size=[4,3,7] input_size=[1,2,3,4,5] | bad: grad_output[1,2,4,3,6] output_size=[4,3,7] "
     "input_size=[1,2,3,4,5]",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_linear1d_backward.default",
     "grad_output[2,3,14] output_size=[14] input_size=[2,3,7] align_corners=false | grad_output[1,2,10] "
     "output_size=[10] input_size=[1,2,7] align_corners=true | grad_output[1,2,4] output_size=[4] "
     "input_size=[1,2,9] align_corners=false | bad: grad_output[1,2,9] output_size=[10] input_size=[1,2,7] "
     "align_corners=false",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_bilinear2d_backward.default",
     "grad_output[2,3,10,14] output_size=[10,14] input_size=[2,3,5,7] align_corners=false | "
     "grad_output[1,2,8,10] "
     "output_size=[8,10] input_size=[1,2,5,7] align_corners=true | grad_output[1,2,4,3] output_size=[4,3] "
     "input_size=[1,2,9,8] align_corners=false | bad: grad_output[1,2,4,4] output_size=[4,3] "
     "input_size=[1,2,9,8] align_corners=false",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_trilinear3d_backward.default",
     "grad_output[1,2,6,8,10] output_size=[6,8,10] input_size=[1,2,3,4,5] align_corners=false | "
     "grad_output[1,2,4,3,7] output_size=[4,3,7] input_size=[1,2,3,4,5] align_corners=true | bad: "
     "grad_output[1,2,4,3,6] output_size=[4,3,7] input_size=[1,2,3,4,5] align_corners=true",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::upsample_bicubic2d_backward.default",
     "grad_output[2,3,10,14] output_size=[10,14] input_size=[2,3,5,7] align_corners=false | "
     "grad_output[1,2,4,3] "
     "output_size=[4,3] input_size=[1,2,9,8] align_corners=true | bad: grad_output[1,2,4,3] "
     "output_size=[4,3] input_size=[1,2,9] align_corners=true",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::grid_sampler_2d_backward.default",
     "grad_output[2,3,4,5] input[2,3,5,7] grid[2,4,5,2]~0,1.25 interpolation_mode=0 padding_mode=0 "
     "align_corners=false output_mask=[true,true] | grad_output[1,2,3,3] input[1,2,4,6] grid[1,3,3,2]~0,1.25 "
     "interpolation_mode=0 padding_mode=1 align_corners=true output_mask=[true,true] | grad_output[1,2,3,3] "
     "input[1,2,4,6] grid[1,3,3,2]~0,2.5 interpolation_mode=1 padding_mode=2 align_corners=false "
     "output_mask=[true,true] | grad_output[1,2,3,3] input[1,2,4,6] grid[1,3,3,2]~0,1.25 "
     "interpolation_mode=2 "
     "padding_mode=0 align_corners=false output_mask=[true,true] | bad: grad_output[1,2,3,4] input[1,2,4,6] "
     "grid[1,3,3,2]~0,1.25 interpolation_mode=0 padding_mode=0 align_corners=false output_mask=[true,true]",
     {0, 2},
     kNoEdges,
     "",
     "f32 f64"},
    {"aten::grid_sampler_3d_backward.default",
     "grad_output[1,2,2,2,3] input[1,2,3,4,2] grid[1,2,2,3,3]~0,1.25 interpolation_mode=0 padding_mode=1 "
     "align_corners=true output_mask=[true,true] | bad: grad_output[1,2,2,2,2] input[1,2,3,4,2] "
     "grid[1,2,2,3,3]~0,1.25 interpolation_mode=0 padding_mode=1 align_corners=true output_mask=[true,true]",
     {0, 2},
     kNoEdges,
     "",
     "f32 f64"},
    // `output` is the running product of `input`: with another one the gradient is not defined.
    {"aten::cumprod_backward.default",
     "grad[2,4] input[2,4]{2,0.5,-4,0.25,3,-1,0.5,8} dim=1 output[2,4]{2,1,-4,-1,3,-3,-1.5,-12} | "
     "grad[2,4] input[2,4]{2,0,-4,0.25,0,0,0.5,8} dim=1 output[2,4]{2,0,0,0,0,0,0,0} | "
     "grad[2,4] input[2,4]{2,0.5,-4,0.25,3,-1,0.5,8} dim=0 output[2,4]{2,0.5,-4,0.25,6,-0.5,-2,2} | "
     "bad: grad[5,6] input[5,7] dim=1 output[5,7]",
     {0, 2},
     kNoEdges,
     "",
     "f32 f64"},
};

}  // namespace

void register_gradients(FactTable& table) {
  table.add(kPointwise);
  table.add(kLosses);
  table.add(kWindows);
  table.add(kSampling);
}

}  // namespace assay::suites
