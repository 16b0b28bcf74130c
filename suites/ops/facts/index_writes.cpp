// Reductions by index and by segment, selections whose size depends on data, writes that meet.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kIndexWrites[] = {
    {"aten::scatter_reduce.two",
     "self[5,7] dim=1 index[5,9]=0..7 src[5,9] reduce=sum | self[5,7] dim=0 index[3,7]=0..5 src[3,7] "
     "reduce=mean | "
     "self[6] dim=0 index[8]{5,0,0,5,5,2,2,2}:i64 src[8] reduce=amax | self[6] dim=-1 index[3]{0,0,0}:i64 "
     "src[5] "
     "reduce=amin | self[6] dim=0 index[4]{0,0,3,3}:i64 src[4] reduce=prod | self[] dim=0 index[]{0}:i64 "
     "src[] "
     "reduce=sum | self[5,7] dim=1 index[0,2]=0..7 src[5,2] reduce=mean | self[130] dim=0 index[260]=0..130 "
     "src[260] "
     "reduce=mean | bad: self[6] dim=0 index[3]=-2..0 src[3] reduce=sum | bad: self[6] dim=0 index[2]=6..9 "
     "src[3] "
     "reduce=amax | bad: self[6] dim=0 index[3]=0..6 src[3] reduce=median",
     {0.25, 1},
     kExactOnIntegers,
     "include_self=false | include_self=false reduce=mean | include_self=false reduce=amax | "
     "include_self=false reduce=amin | include_self=false reduce=prod | reduce=mean | reduce=amax | "
     "reduce=amin | "
     "reduce=prod",
     "f32 bf16 f16 f64 i64 i32 i16 i8 u8 bool"},
    {"aten::segment_reduce.default",
     "data[6,2] reduce=sum lengths[3]:i64{2,0,4} | data[6,2] reduce=mean lengths[2]:i64{5,1} | data[7] "
     "reduce=max "
     "lengths[3]:i64{3,3,1} | data[7] reduce=min offsets[4]:i64{0,2,2,7} | data[6] reduce=prod "
     "lengths[2]:i64{2,4} "
     "initial=2 | data[2,4] reduce=sum lengths[2,2]:i64{1,3,4,0} axis=1 | data[0] reduce=sum "
     "lengths[1]:i64{0} | "
     "bad: data[6,2] reduce=median lengths[3]:i64{2,0,4} | bad: data[6,2] reduce=sum lengths[2]:i64{2,9} "
     "| bad: data[6,2] reduce=sum",
     {0.5, 1},
     0,
     "initial=1"},
    {"aten::masked_select.default",
     "self[5,7] mask[5,7]:bool=0..2 | self[5,7] mask[7]:bool{1,0,0,1,1,0,1} | self[7] mask[3,1]:bool{1,0,1} "
     "| self[] "
     "mask[]:bool{1} | self[4] mask[4]:bool{0,0,0,0} | self[0] mask[0]:bool=0..2 | self[129] "
     "mask[129]:bool=0..2 | "
     "bad: self[5] mask[5]:i64=0..2 | bad: self[5] mask[4]:bool=0..2",
     {0, 4}},
    {"aten::nonzero_static.default",
     "self[3,5] size=4 | self[7] size=20 | self[] size=2 | self[0,3] size=2 | self[5]{0,1,0,2,3} size=2 | "
     "self[5]{0,0,0,0,0} size=0 | bad: self[5] size=-1",
     {0, 1},
     0,
     "fill_value=7",
     "f32 bf16 f16 f64 i64 i32 i16 i8 u8 bool"},
    {"aten::repeat_interleave.Tensor",
     "repeats[3]:i64{2,0,3} | repeats[0]:i64 | repeats[4]:i32{1,1,2,0} output_size=4 | repeats[130]:i64=0..3 "
     "| repeats[1]:i64{5} | repeats[1]:i32{0} | repeats[3]:i64{0,0,0} output_size=0 | "
     "repeats[5]:i32{3,0,0,1,2} "
     "| repeats[3]:i64{2,0,3} output_size=5 | repeats[513]:i32=0..2 "
     "| bad: "
     "repeats[2]:i64{1,-1} | bad: repeats[2,2]:i64{1,1,1,1} | bad: repeats[2]:f32",
     {},
     kNoValues},
    {"aten::repeat_interleave.self_Tensor",
     "self[3,5] repeats[3]:i64{2,0,1} dim=0 | self[3,5] repeats[5]:i64{2,0,1,1,3} dim=-1 | self[3,5] "
     "repeats[]:i64{2} "
     "| self[6] repeats[1]:i64{3} dim=0 output_size=18 | bad: self[3,5] repeats[4]:i64{1,1,1,1} dim=0 | bad: "
     "self[3] "
     "repeats[3]:i64{1,-1,1} dim=0",
     {0, 4}},
};

}  // namespace

void register_index_writes(FactTable& table) { table.add(kIndexWrites); }

}  // namespace assay::suites
