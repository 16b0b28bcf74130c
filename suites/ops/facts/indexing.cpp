// Gathers, scatters and selections by index tensors: duplicate, negative and first and last indices.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kIndexing[] = {
    {"aten::embedding.default",
     "weight[10,4] indices[3,5]=0..10 | weight[10,4] indices[6]{0,9,9,0,4,4}:i64 | weight[10,4] "
     "indices[]=0..10 | weight[10,4] indices[0]=0..10 | weight[130,3] indices[140]=0..130 | "
     "weight[10,4] indices[3]:i32=0..10 | weight[1,513] indices[2]=0..1 | bad: weight[10,4] indices[3]=-1..0 "
     "| bad: weight[10,4,2] indices[3]=0..4",
     {},
     0,
     "padding_idx=3 | padding_idx=-1"},
    {"aten::index_select.default",
     "self[5,7] dim=0 index[3]=0..5 | self[5,7] dim=1 index[9]=0..7 | self[5,7] dim=-1 index[4]{6,0,0,6}:i64 "
     "| self[2,3,4] dim=1 index[5]=0..3 | self[7] dim=0 index[]=0..7 | self[5,7] dim=0 index[0]=0..5 | "
     "self[130,2] dim=0 index[131]=0..130 | self[2,513] dim=-1 index[3]=500..513 | self[5,7] dim=0 "
     "index[3]:i32=0..5 | bad: self[5,7] dim=0 index[2]=-2..0 | bad: self[5,7] dim=0 index[2,2]=0..5",
     {},
     kFloat8},
    {"aten::gather.default",
     "self[5,7] dim=1 index[5,3]=0..7 | self[5,7] dim=0 index[3,7]=0..5 | self[5,7] dim=-1 index[4,9]=0..7 | "
     "self[6] dim=0 index[6]{5,0,0,5,2,2}:i64 | self[2,3,4] dim=1 index[2,5,4]=0..3 | self[] dim=0 "
     "index[]=0..1 | "
     "self[5,7] dim=1 index[0,3]=0..7 | self[3,130] dim=1 index[3,129]=0..130 | bad: self[5,7] dim=1 "
     "index[5,3]=-3..0 | bad: self[5,7] dim=1 index[6,3]=0..7 | bad: self[5,7] dim=1 index[5]=0..7",
     {},
     0},
    {"aten::index.Tensor",
     "self[5,7] indices[4]=0..5 | self[5,7] indices[4]=-5..5 | self[5,7] indices[-][4]=-7..7 | self[6,6] "
     "indices[-][6]=0..6 | self[5,7] "
     "indices[3]=0..5[3]=0..7 | self[5,7] indices[3,1]=0..5[4]=0..7 | self[2,3,4] indices[3]=0..2[-][3]=0..4 "
     "| "
     "self[5,7] indices[]=0..5 | self[5,7] indices[0]=0..5 | self[130,3] indices[140]=-130..130 | self[5,7] "
     "indices[4]{4,0,-5,-1}:i64 | self[5] indices[5]:bool{1,0,1,1,0} | self[5,7] indices[5,7]:bool=0..2 | "
     "self[2,3,4] "
     "indices[-][3]:bool{1,0,1} | self[5,7] indices[4]:i32=0..5 | "
     "bad: self[5,7] indices[2]=5..6 | bad: self[5,7] indices[2]=-7..-6 | bad: self[5] "
     "indices[2]=0..5[2]=0..5 | bad: self[5,7] indices[2]=0..5[3]=0..7 | bad: self[5,7] indices[2]:f32=0..5",
     {},
     kFloat8},
    {"aten::index_put.default",
     "self[5,7] indices[3]{0,2,4}:i64 values[3,7] | self[5,7] indices[3]{-1,0,2}:i64 values[7] | self[5,7] "
     "indices[2]{1,3}:i64 values[] | self[5,7] indices[-][2]{0,6}:i64 values[5,2] | self[5,7] "
     "indices[2]{0,4}:i64[2]{6,-7}:i64 values[2] | "
     "self[6] indices[3]:i64{5,0,3} values[3] | self[5,7] indices[0]=0..5 values[0,7] | self[130,2] "
     "indices[2]{0,129}:i64 values[2,2] | self[5] indices[5]:bool{1,0,1,1,0} values[3] | self[5] "
     "indices[5]:bool{1,0,1,1,0} values[] | self[5,7] indices[5,7]:bool=0..2 values[] | self[5,7] "
     "indices[5]:bool{1,0,1,1,0} values[7] | self[2,3,4] indices[-][3]:bool{1,0,1} values[2,1,4] | "
     "self[2,3,4] "
     "indices[2,3]:bool{1,0,1,0,0,1} values[1] accumulate=true | self[5,7] "
     "indices[5]:bool{1,0,1,1,0}[3]:i64{0,6,2} "
     "values[3] | meeting: self[5,7] indices[4]{1,3,1,1}:i64 values[4,7] | meeting-negative: self[5] "
     "indices[4]{-1,4,0,-5}:i64 values[4] | "
     "dup: self[5,7] indices[6]{0,2,0,2,2,4}:i64 values[6,7] accumulate=true | dup-negative: self[5] "
     "indices[4]{-1,4,4,-5}:i64 values[4] accumulate=true | "
     "bad: self[5,7] indices[2]=5..6 values[2,7] | bad: self[5,7] indices[2]=0..5 values[3,7] | bad: "
     "self[5,7] indices[2]:f32=0..5 values[2,7]",
     {},
     0},
    {"aten::scatter.src",
     "self[5,7] dim=1 index[5,2]{0,6,1,5,2,4,3,0,6,5}:i64 src[5,2] | self[5,7] dim=0 "
     "index[1,7]{0,1,2,3,4,0,1}:i64 src[1,7] | self[6] dim=0 index[3]{5,0,2}:i64 src[3] | self[6] dim=-1 "
     "index[3]{5,0,2}:i64 src[4] | "
     "self[] dim=0 index[]{0}:i64 src[] | self[5,7] dim=1 index[0,2]=0..7 src[5,2] | self[130,1] dim=0 "
     "index[2,1]{129,0}:i64 src[2,1] | meeting: self[5,7] dim=1 "
     "index[5,9]=0..7 src[5,9] | bad: self[6] dim=0 index[3]=-2..0 src[3] | bad: self[6] dim=0 "
     "index[7]=0..6 src[3] | bad: self[5,7] dim=0 index[3]=0..5 src[3,7]",
     {},
     0},
    {"aten::scatter.value",
     "self[5,7] dim=1 index[5,3]=0..7 value=2 | self[5,7] dim=0 index[3,7]=0..5 value=2 | self[6] dim=-1 "
     "index[4]{5,0,0,5}:i64 value=2 | self[] dim=0 index[]{0}:i64 value=2 | self[5,7] dim=1 index[0,3]=0..7 "
     "value=2 | "
     "self[3,130] dim=1 index[3,9]=120..130 value=2 | bad: self[6] dim=0 index[3]=-2..0 value=2 | bad: "
     "self[5,7] dim=1 index[6,3]=0..7 value=2",
     {},
     0,
     "value=2.5 | value=nan | value=-inf | value=0"},
    {"aten::scatter_add.default",
     "self[5,7] dim=1 index[5,9]=0..7 src[5,9] | self[5,7] dim=0 index[3,7]=0..5 src[3,7] | self[6] dim=0 "
     "index[8]{5,0,0,5,5,2,2,2}:i64 src[8] | self[6] dim=-1 index[3]{0,0,0}:i64 src[5] | self[] dim=0 "
     "index[]{0}:i64 src[] | "
     "self[5,7] dim=1 index[0,2]=0..7 src[5,2] | self[130] dim=0 index[260]=0..130 src[260] | bad: self[6] "
     "dim=0 index[3]=-2..0 src[3] | bad: self[6] dim=0 index[7]=0..6 src[3]",
     {0.25, 1},
     kExactOnIntegers},
    {"aten::nonzero.default",
     "self[3,5] | self[7] | self[] | self[0,3] | self[129,2] | self[2,3,4] | self[5]{0,0,0,0,0}",
     {0, 1}},
};

}  // namespace

void register_indexing(FactTable& table) { table.add(kIndexing); }

}  // namespace assay::suites
