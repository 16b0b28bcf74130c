// Normalisations.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kNorms[] = {
    {"aten::native_layer_norm.default",
     "input[16,64] normalized_shape=[64] weight[64]~1,0.5 bias[64]~0,0.5 eps=1e-5 | input[3,5] "
     "normalized_shape=[5] weight=None bias=None eps=1e-5 | input[2,3,4] normalized_shape=[3,4] "
     "weight[3,4]~1,0.5 bias[3,4] eps=1e-5 | "
     "input[3,127] normalized_shape=[127] weight[127]~1,0.5 bias=None eps=1e-3 | input[129,3] "
     "normalized_shape=[3] weight=None bias[3] eps=1e-5 | input[2,513] normalized_shape=[513] "
     "weight[513]~1,0.5 bias[513] eps=1e-12 | "
     "input[7] normalized_shape=[7] weight=None bias=None eps=0.0 | input[0,5] normalized_shape=[5] "
     "weight=None bias=None eps=1e-5 | input[4,1] normalized_shape=[1] weight=None bias=None eps=1e-5 | "
     "far-mean: input[4,33]~100,1 normalized_shape=[33] weight=None bias=None eps=1e-5 | "
     "bad: input[4,6] normalized_shape=[5] weight=None bias=None eps=1e-5 | bad: weight: input[4,6] "
     "normalized_shape=[6] weight[5] bias=None eps=1e-5 | bad: empty: input[4,6] normalized_shape=[] "
     "weight=None bias=None eps=1e-5",
     {0, 2}},
    {"aten::native_group_norm.default",
     "input[2,8,30] weight[8]~1,0.5 bias[8]~0,0.5 N=2 C=8 HxW=30 group=4 eps=1e-5 | input[1,6,5] weight=None "
     "bias=None N=1 C=6 HxW=5 group=3 eps=1e-5 | input[2,6,7] weight[6]~1,0.5 bias=None N=2 C=6 HxW=7 "
     "group=6 eps=1e-5 | input[2,6,7] weight=None bias[6] N=2 C=6 HxW=7 group=1 eps=1e-5 | "
     "input[1,130,3] weight=None bias=None N=1 C=130 HxW=3 group=13 eps=1e-5 | bad: input[2,8,30] "
     "weight=None bias=None N=2 C=8 HxW=30 group=3 eps=1e-5",
     {0, 2}},
    {"aten::_native_batch_norm_legit_no_training.default",
     "input[2,5,6,7] weight[5]~1,0.5 bias[5] running_mean[5] running_var[5]~1,0.5 momentum=0.1 eps=1e-5 | "
     "input[3,4] weight=None bias=None running_mean[4] running_var[4]~1,0.5 momentum=0.1 eps=1e-3 | "
     "input[2,3,5] weight[3]~1,0.5 bias=None running_mean[3] running_var[3]~1,0.5 momentum=0.1 eps=1e-5 | "
     "input[2,130,3] weight[130]~1,0.5 bias[130] running_mean[130] running_var[130]~1,0.5 momentum=0.1 "
     "eps=1e-5 | input[0,3,5] weight=None bias=None running_mean[3] running_var[3]~1,0.5 momentum=0.1 "
     "eps=1e-5 | "
     "bad: weight: input[2,5,6,7] weight[4] bias=None running_mean[5] running_var[5]~1,0.5 momentum=0.1 "
     "eps=1e-5 | bad: mean: input[2,5,6,7] weight=None bias=None running_mean[6] running_var[5]~1,0.5 "
     "momentum=0.1 eps=1e-5",
     {0, 3}},
    {"aten::_native_batch_norm_legit.no_stats",
     "input[2,5,6,7] weight[5]~1,0.5 bias[5] training=true momentum=0.1 eps=1e-5 | input[3,4] weight=None "
     "bias=None training=true momentum=0.1 eps=1e-3 | input[2,3,5] weight[3]~1,0.5 bias=None training=true "
     "momentum=0.1 eps=1e-5 | input[2,130,3] weight=None bias[130] training=true momentum=0.1 eps=1e-5 | "
     "bad: weight: input[2,5,6,7] weight[4] bias=None training=true momentum=0.1 eps=1e-5",
     {0, 3}},
};

}  // namespace

void register_norm(FactTable& table) { table.add(kNorms); }

}  // namespace assay::suites
