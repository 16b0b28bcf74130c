// Scans, medians and other order statistics, sorted searches, unique elements and histograms.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kOrder[] = {
    {"aten::cumprod.default",
     "@dims | zero: self[7]{2,-1,0,3,-2,0,5} dim=0 | signs: self[2,513]~1,0.004 dim=1",
     {1, 0.25},
     0,
     "",
     "f32 bf16 f16 f64 i64 i32 i16 i8 u8 bool"},
    {"aten::cummax.default", "@dims | ties: self[8]{1,3,3,2,3,1,4,4} dim=0", {0, 4}},
    {"aten::cummin.default", "@dims | ties: self[8]{1,3,3,2,3,1,1,0} dim=0", {0, 4}},
    {"aten::logcumsumexp.default",
     "@dims | steep: self[6]{-200,0,100,-300,101,90} dim=0 | equal: self[4]{0,0,0,0} dim=0",
     {0, 4},
     0,
     "",
     kFloatDTypes},
    {"aten::median.default",
     "self[5,7] | self[] | self[1,1] | self[129] | self[2,3,4,5] | self[2,513] | even: self[6]{3,1,2,5,4,0} "
     "| ties: self[5]{1,3,3,2,3}",
     {0, 4}},
    {"aten::nanmedian.default",
     "self[5,7] | self[] | self[1,1] | self[129] | self[2,3,4,5] | self[2,513] | even: self[6]{3,1,2,5,4,0} "
     "| ties: self[5]{1,3,3,2,3}",
     {0, 4}},
    {"aten::median.dim", "@dims | ties: self[5]{1,3,3,2,3} dim=0", {0, 4}},
    {"aten::nanmedian.dim", "@dims | ties: self[5]{1,3,3,2,3} dim=0", {0, 4}},
    {"aten::kthvalue.default",
     "@dims k=1 | self[5,7] k=3 | self[5,7] k=7 dim=1 | self[7,5] k=2 dim=0 keepdim=true | self[3,130] k=65 "
     "| "
     "self[2,513] k=500 | ties: self[6]{2,2,1,1,2,0} k=3 | bad: self[5,7] k=8 | bad: self[5,7] k=0",
     {0, 4}},
    {"aten::mode.default",
     "@dims | ties: self[6]{5,1,5,1,3,0} dim=0 | self[2,4]{0,1,1,2,7,7,7,0} dim=1",
     {0, 3}},
    {"aten::sort.stable",
     "@dims stable=true | self[5,7] stable=false | ties: self[9]{2,1,2,0,1,2,0,1,2} stable=true | "
     "self[3,130] "
     "stable=true dim=-1",
     {0, 3},
     0,
     "descending=true"},
    {"aten::searchsorted.Tensor",
     "sorted_sequence[5]{-3,-1,0,2,4} self[3,7] | sorted_sequence[5]{-3,-1,-1,-1,4} "
     "self[5]{-1,-3,4,-4,5} | sorted_sequence[2,3]{-1,0,1,-2,0,3} self[2,4] | sorted_sequence[1]{0} "
     "self[129] "
     "| sorted_sequence[0] self[3] | sorted_sequence[4]{-2,-1,0,1} self[] | sorter: "
     "sorted_sequence[4]{1,-1,2,0} self[5] "
     "sorter[4]:i64{1,3,0,2} | bad: sorted_sequence[2,3]{-1,0,1,-2,0,3} self[3,4] | bad: "
     "sorted_sequence[3]{0,1,2} "
     "self[3] side=middle | bad: sorted_sequence[3]{0,1,2} self[3] right=true side=left",
     {0, 4},
     0,
     "side=right | side=left"},
    {"aten::searchsorted.Scalar",
     "sorted_sequence[5]{-3,-1,0,2,4} self=2 | sorted_sequence[5]{-3,-1,0,2,4} self=0.5 | "
     "sorted_sequence[3]{0,1,2} self=7 | sorted_sequence[0] self=1",
     {0, 4}},
    {"aten::bucketize.Tensor",
     "self[3,7] boundaries[5]{-3,-1,0,2,4} | self[5]{-1,-3,4,-4,5} boundaries[5]{-3,-1,-1,-1,4} | self[129] "
     "boundaries[1]{0} | self[3] boundaries[0] | self[] boundaries[4]{-2,-1,0,1} | bad: self[3] "
     "boundaries[2,2]{0,1,2,3}",
     {0, 4}},
    {"aten::bucketize.Scalar", "self=2 boundaries[5]{-3,-1,0,2,4} | self=-9 boundaries[3]{0,1,2}", {0, 4}},
    {"aten::_unique2.default",
     "self[6]{3,1,1,2,3,0} | self[3,7] | self[] | self[0] | self[129]~0,3",
     {0, 3},
     0,
     "return_inverse=true return_counts=true"},
    {"aten::unique_consecutive.default",
     "self[8]{3,1,1,1,2,2,3,3} | self[3,7] | self[0] | self[2,4]{1,1,2,2,5,5,6,6} dim=1 | "
     "self[4,2]{1,2,1,2,3,4,1,2} "
     "dim=0",
     {0, 1},
     0,
     "return_inverse=true return_counts=true"},
    {"aten::unique_dim.default",
     "self[2,4]{1,2,1,2,5,6,5,7} dim=1 | self[4,2]{1,2,1,2,3,4,0,9} dim=0 | self[3,5,2]~0,1 dim=1 | "
     "self[0,3] dim=0 "
     "| bad: self[3,5] dim=2 | bad: self[3,0] dim=0",
     {0, 2},
     0,
     "return_inverse=true return_counts=true"},
    {"aten::histc.default",
     "self[200] bins=10 min=-4 max=4 | self[3,7] bins=5 min=-1 max=2 | self[513] bins=7 | on-edges: "
     "self[6]{0,0.25,0.5,0.75,1,1.5} bins=4 min=0 max=1 | self[0] bins=3 | self[2]{1,1} bins=3 | bad: "
     "self[5] bins=0 "
     "| bad: self[5] bins=3 min=2 max=1",
     {0, 4},
     kNoEdges},
    {"aten::histogram.bin_ct",
     "self[200] bins=10 range=[-4.0,4.0] | self[3,7] bins=5 | self[40] bins=4 weight[40]~1,1 | self[600] "
     "bins=64 "
     "range=[-4.0,4.0] weight[600]~1,1 | on-edges: "
     "self[6]{0,0.25,0.5,0.75,1,1.5} bins=4 range=[0.0,1.0] | self[2]{1,1} bins=3 | bad: self[5] bins=0 | "
     "bad: "
     "self[5] bins=3 range=[2.0,1.0]",
     {0, 4},
     kNoEdges},
    {"aten::histogram.bins_tensor",
     "self[200] bins[5]{-3,-1,0,2,4} | self[3,7] bins[3]{-1,0,3} | self[40] bins[4]{-3,0,1,4} weight[40]~1,1 "
     "| "
     "on-edges: self[6]{0,0.25,0.5,0.75,1,1.5} bins[4]{0,0.25,0.5,1} | bad: self[5] bins[1]{0} | bad: "
     "self[5] "
     "bins[2,2]{0,1,2,3}",
     {0, 4},
     kNoEdges},
    {"aten::_histogramdd_bin_edges.default",
     "self[40,2] bins=[3,4] | self[5,3] bins=[1,2,3] range=[-4.0,4.0,-1.0,1.0,0.0,7.0] | bad: self[5] "
     "bins=[2] | "
     "bad: self[5,2] bins=[2]",
     {0, 4},
     kNoEdges},
    {"aten::_histogramdd_from_bin_cts.default",
     "self[200,2] bins=[3,4] range=[-4.0,4.0,-3.0,3.0] | self[40,3] bins=[1,2,3] | self[40,2] bins=[2,2] "
     "weight[40]~1,1 | bad: self[5,2] bins=[2,0]",
     {0, 4},
     kNoEdges},
    {"aten::_histogramdd_from_bin_tensors.default",
     "self[200,2] bins[3]{-3,0,3}[4]{-4,-1,0,2} | self[40,2] bins[3]{-3,0,3}[2]{-1,2} weight[40]~1,1",
     {0, 4},
     kNoEdges},
};

}  // namespace

void register_order(FactTable& table) { table.add(kOrder); }

}  // namespace assay::suites
