// Distances between rows, and bags of rows of a table.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

// PyTorch has distances in f32 and f64 alone.
constexpr const char* kWideFloats = "f32 f64";

// With include_last_offset the last offset is the number of indices.
constexpr const char* kBagsOfRows =
    "weight[7,5] indices[9]=0..7 offsets[4]:i64{0,2,6,9} | weight[7,5] indices[9]=0..7 "
    "offsets[4]:i64{0,0,5,9} | "
    "weight[200,24] indices[60]=0..200 offsets[5]:i64{0,10,20,20,60} | weight[3,1] indices[4]=0..3 "
    "offsets[2]:i64{0,4} | weight[7,5] indices[4]=0..7 offsets[3]:i64{0,3,4} per_sample_weights[4] | "
    "weight[7,130] indices[9]=0..7 offsets[4]:i64{0,2,6,9} | weight[7,3] indices[9]=0..7 "
    "offsets[3]:i64{0,2,6} | "
    "bad: weight[7,5] indices[2]:i64{0,7} offsets[1]:i64{0} | bad: weight[7] indices[4]=0..7 "
    "offsets[1]:i64{0} | "
    "bad: weight[7,5] indices[4]=0..7 offsets[1]:i64{0} mode=3";

constexpr OpFacts kDistances[] = {
    {"aten::_cdist_forward.default",
     "x1[3,5,4] x2[3,6,4] p=2.0 compute_mode=None | x1[5,4] x2[6,4] p=1.0 compute_mode=None | x1[5,4] "
     "x2[6,4] p=0.0 "
     "compute_mode=None | x1[5,4] x2[6,4] p=inf compute_mode=None | x1[5,4] x2[6,4] p=3.0 compute_mode=None "
     "| x1[5,4] "
     "x2[6,4] p=0.5 compute_mode=None | x1[2,1,30,9] x2[3,27,9] p=2.0 compute_mode=None | x1[130,3] x2[2,3] "
     "p=2.0 "
     "compute_mode=1 | x1[30,3] x2[29,3] p=2.0 compute_mode=2 | x1[2,0] x2[3,0] p=2.0 compute_mode=None | "
     "x1[0,4] "
     "x2[3,4] p=2.0 compute_mode=None | bad: x1[5,4] x2[6,3] p=2.0 compute_mode=None | bad: x1[5,4] x2[6,4] "
     "p=-1.0 "
     "compute_mode=None | bad: x1[4] x2[6,4] p=2.0 compute_mode=None",
     {0, 2},
     0,
     "",
     kWideFloats},
    {"aten::_pdist_forward.default",
     "self[5,4] p=2.0 | self[6,3] p=1.0 | self[6,3] p=0.0 | self[6,3] p=inf | self[6,3] p=3.0 | self[140,3] "
     "p=2.0 | "
     "self[1,4] p=2.0 | self[0,4] p=2.0 | self[3,0] p=2.0 | bad: self[5] p=2.0 | bad: self[5,4] p=-1.0",
     {0, 2},
     0,
     "",
     kWideFloats},
    {"aten::_cdist_backward.default",
     "grad[5,6] x1[5,4] x2[6,4] p=2.0 cdist[5,6]~4,1 | grad[5,6] x1[5,4] x2[6,4] p=1.0 cdist[5,6]~4,1 | "
     "grad[5,6] "
     "x1[5,4] x2[6,4] p=0.0 cdist[5,6]~4,1 | grad[2,5,6] x1[2,5,4] x2[2,6,4] p=3.0 cdist[2,5,6]~4,1 | bad: "
     "grad[5,5] "
     "x1[5,4] x2[6,4] p=2.0 cdist[5,6]~4,1 | bad: grad[5,6] x1[5,4] x2[6,4] p=-2.0 cdist[5,6]~4,1",
     {0, 2},
     kNoEdges,
     "",
     kWideFloats},
};

constexpr OpFacts kBags[] = {
    {"aten::_embedding_bag.default",
     kBagsOfRows,
     {0, 4},
     kNoEdges,
     "mode=1 | mode=2 | mode=1 padding_idx=2 | padding_idx=2 | mode=2 padding_idx=2 | "
     "include_last_offset=true"},
    {"aten::_embedding_bag_forward_only.default",
     kBagsOfRows,
     {0, 4},
     kNoEdges,
     "mode=1 | mode=2 | padding_idx=2 | include_last_offset=true"},
    {"aten::embedding_bag.default",
     kBagsOfRows,
     {0, 4},
     kNoEdges,
     "mode=1 | mode=2 | include_last_offset=true"},
    {"aten::embedding_bag.padding_idx",
     "weight[7,5] indices[9]=0..7 offsets[3]:i64{0,2,6} scale_grad_by_freq=false mode=0 sparse=false "
     "per_sample_weights=None include_last_offset=false padding_idx=-1 | weight[7,5] indices[9]=0..7 "
     "offsets[3]:i64{0,2,6} scale_grad_by_freq=false mode=1 sparse=false per_sample_weights=None "
     "include_last_offset=false padding_idx=3 | weight[7,5] indices[9]=0..7 offsets[3]:i64{0,2,6} "
     "scale_grad_by_freq=false mode=0 sparse=false per_sample_weights=None include_last_offset=false "
     "padding_idx=None | bad: weight[7,5] indices[2]:i64{0,7} offsets[1]:i64{0} scale_grad_by_freq=false "
     "mode=0 "
     "sparse=false per_sample_weights=None include_last_offset=false padding_idx=None",
     {0, 4},
     kNoEdges},
    {"aten::embedding_renorm.default",
     "self[7,5] indices[4]=0..7 max_norm=1.5 norm_type=2.0 | self[7,5] indices[9]=0..7 max_norm=8.0 "
     "norm_type=1.0 | "
     "self[20,3] indices[5]=0..20 max_norm=2.0 norm_type=inf | self[7,5] indices[2,2]=0..7 max_norm=100.0 "
     "norm_type=2.0 | bad: self[7] indices[4]=0..7 max_norm=1.5 norm_type=2.0 | bad: self[7,5] "
     "indices[2]:i64{0,7} "
     "max_norm=1.5 norm_type=2.0",
     {0, 4},
     kNoEdges},
};

}  // namespace

void register_distances(FactTable& table) {
  table.add(kDistances);
  table.add(kBags);
}

}  // namespace assay::suites
