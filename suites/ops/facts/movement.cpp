// Views, copies, casts, joins and factories: the result's elements are bits of the inputs or constants.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kViews[] = {
    {"aten::alias.default", "@shapes", {}, kFloat8},
    {"aten::detach.default", "@shapes", {}, kFloat8},
    {"aten::clone.default", "@shapes", {}, kFloat8},
    {"aten::contiguous.default", "@shapes", {}, kFloat8},
    {"aten::view.default",
     "self[3,5] size=[15] | self[3,5] size=[5,3] | self[3,5] size=[-1] | self[3,5] size=[1,15,1] | self[] "
     "size=[1,1] | "
     "self[1] size=[] | self[0,3] size=[3,0] | self[2,3,4,5] size=[6,-1] | self[129,4] size=[4,129] | "
     "self[512] size=[2,256] | "
     "self[2,513] size=[513,2] | bad: self[3,5] size=[4,4] | bad: self[3,5] size=[-1,-1] | bad: self[3,5] "
     "size=[-2]",
     {},
     kFloat8},
    {"aten::_unsafe_view.default",
     "self[3,5] size=[15] | self[3,5] size=[-1,1] | self[2,3,4] size=[6,4] | self[0,3] size=[0] | self[] "
     "size=[1] | bad: self[3,5] size=[16]",
     {},
     kFloat8},
    {"aten::reshape.default",
     "self[3,5] shape=[15] | self[3,5] shape=[5,-1] | self[2,3,4] shape=[4,6] | self[0,3] shape=[-1,3] | "
     "self[] shape=[1,1,1] | "
     "self[127,3] shape=[3,127] | bad: self[3,5] shape=[7,-1]",
     {},
     kFloat8},
    {"aten::permute.default",
     "self[3,5] dims=[1,0] | self[3,5] dims=[-1,-2] | self[2,3,4] dims=[2,0,1] | self[2,3,4] dims=[0,-1,1] | "
     "self[] dims=[] | "
     "self[0,3] dims=[1,0] | self[2,3,4,5] dims=[3,1,0,2] | self[129,3] dims=[1,0] | self[3,513] dims=[1,0] "
     "| "
     "self[1,2,1,3,1,2] dims=[5,4,3,2,1,0] | bad: self[2,3,4] dims=[0,1] | bad: self[2,3,4] dims=[0,1,1]",
     {},
     kFloat8},
    {"aten::transpose.int",
     "self[3,5] dim0=0 dim1=1 | self[3,5] dim0=-1 dim1=-2 | self[2,3,4] dim0=0 dim1=2 | self[2,3,4] dim0=1 "
     "dim1=1 | self[] dim0=0 dim1=-1 | "
     "self[0,3] dim0=0 dim1=1 | self[127,129] dim0=1 dim1=0 | self[2,3,4,5] dim0=-3 dim1=3 | self[513,2] "
     "dim0=0 dim1=1",
     {},
     kFloat8},
    {"aten::t.default",
     "self[3,5] | self[7] | self[] | self[0,3] | self[129,2] | self[1,1] | bad: self[2,3,4]",
     {},
     kFloat8},
    {"aten::unsqueeze.default",
     "self[3,5] dim=0 | self[3,5] dim=1 | self[3,5] dim=2 | self[3,5] dim=-1 | self[3,5] dim=-3 | self[] "
     "dim=0 | self[0,3] dim=1 | self[2,3,4,5] dim=2",
     {},
     kFloat8},
    {"aten::squeeze.dim",
     "self[3,1] dim=1 | self[3,1] dim=-1 | self[3,1] dim=0 | self[1,1] dim=0 | self[] dim=0 | self[0,1] "
     "dim=1 | self[2,1,3] dim=-2",
     {},
     kFloat8},
    {"aten::squeeze.dims",
     "self[3,1] dim=[1] | self[1,3,1] dim=[0,2] | self[1,3,1] dim=[-1,1] | self[1,1] dim=[] | self[] dim=[0] "
     "| self[0,1] dim=[1]",
     {},
     kFloat8},
    {"aten::expand.default",
     "self[1,5] size=[3,5] | self[5] size=[3,5] | self[3,1] size=[-1,4] | self[] size=[2,3] | self[1] "
     "size=[0] | self[1,5] size=[2,-1,5] | "
     "self[1,129] size=[3,129] | self[2,3] size=[2,3] | bad: self[3,5] size=[4,5] | bad: self[3,5] size=[5] "
     "| bad: self[3] size=[-1,3]",
     {},
     kFloat8},
    {"aten::as_strided.default",
     "self[15] size=[3,5] stride=[5,1] | self[15] size=[5,3] stride=[1,5] | self[15] size=[3,3] stride=[2,1] "
     "storage_offset=4 | self[15] size=[4] stride=[0] | "
     "self[15] size=[] stride=[] storage_offset=7 | self[3,5] size=[2,0] stride=[1,1] | self[3,5] "
     "size=[2,2,2] stride=[4,2,1] | "
     "bad: self[15] size=[4,5] stride=[5,1] | bad: self[15] size=[3] stride=[1,1]",
     {},
     kFloat8},
    {"aten::diagonal.default",
     "self[4,4] | self[3,5] | self[5,3] | self[2,3,4] dim1=1 dim2=2 | self[2,3,4] dim1=-1 dim2=0 | self[0,3] "
     "| bad: self[4,4] dim1=1 dim2=1 | bad: self[4]",
     {},
     kFloat8,
     "offset=1 | offset=-2 | offset=9"},
    {"aten::select.int",
     "self[3,5] dim=0 index=1 | self[3,5] dim=1 index=-1 | self[3,5] dim=-1 index=0 | self[2,3,4] dim=1 "
     "index=2 | self[2,3,4] dim=-3 index=-2 | self[129,3] dim=0 index=128 | "
     "self[3,0] dim=0 index=1 | bad: self[3,5] dim=0 index=3 | bad: self[3,5] dim=0 index=-4 | bad: self[] "
     "dim=0 index=0",
     {},
     kFloat8},
    {"aten::slice.Tensor",
     "self[5,7] dim=1 start=2 end=5 | self[5,7] dim=-1 start=1 end=9223372036854775807 step=2 | self[5,7] "
     "dim=0 start=-3 end=-1 | self[5,7] dim=-2 start=-100 end=100 | "
     "self[5,7] dim=0 start=4 end=2 | self[5,7] start=None end=None | self[5,7] dim=1 step=3 | self[130,3] "
     "dim=0 start=1 end=129 | self[3,515] dim=1 start=2 end=514 | "
     "self[2,3,4,5] dim=2 start=1 end=3 | self[2,3,4,5] dim=-4 start=1 | self[0,3] dim=0 start=0 end=5 | "
     "self[17] start=16 | self[17] start=17 | self[17] end=-17 | "
     "bad: self[5,7] dim=0 step=0 | bad: self[5,7] dim=0 step=-1 | bad: self[] dim=0 start=0 end=1",
     {},
     kFloat8},
    {"aten::split.Tensor",
     "self[5,7] split_size=2 dim=0 | self[5,7] split_size=3 dim=1 | self[5,7] split_size=3 dim=-1 | "
     "self[5,7] split_size=7 dim=-2 | self[2,3,4] split_size=1 dim=1 | "
     "self[2,3,4] split_size=2 dim=-1 | self[2,3,4] split_size=1 dim=-3 | self[130,3] split_size=128 dim=0 | "
     "self[3,130] split_size=65 dim=1 | self[2,3,4,6] split_size=4 dim=-1 | "
     "self[2,3,4,6] split_size=2 dim=2 | self[0,3] split_size=2 dim=0 | bad: self[5,7] split_size=-1 dim=0 | "
     "bad: self[5,7] split_size=0 dim=0 | bad: self[] split_size=1",
     {},
     kFloat8},
    {"aten::split_with_sizes.default",
     "self[5,7] split_sizes=[2,3] dim=0 | self[5,7] split_sizes=[1,4,2] dim=1 | self[5,7] split_sizes=[7] "
     "dim=-1 | self[5,7] split_sizes=[0,5] dim=-2 | "
     "self[2,3,4] split_sizes=[1,2] dim=1 | self[2,3,4] split_sizes=[3,1] dim=-1 | self[129,3] "
     "split_sizes=[128,1] dim=0 | self[0,3] split_sizes=[0,0] | "
     "bad: self[5,7] split_sizes=[2,2] dim=0 | bad: self[5,7] split_sizes=[6,-1] dim=0",
     {},
     kFloat8},
    {"aten::unflatten.int",
     "self[6,5] dim=0 sizes=[2,3] | self[6,5] dim=-2 sizes=[-1,2] | self[3,12] dim=1 sizes=[2,3,2] | "
     "self[0,3] dim=0 sizes=[0,2] | bad: self[6,5] dim=0 sizes=[4,2]",
     {},
     kFloat8},
    {"aten::flatten.using_ints",
     "self[3,5] | self[2,3,4] start_dim=1 | self[2,3,4] end_dim=1 | self[2,3,4,5] start_dim=-3 end_dim=-2 | "
     "self[] | self[0,3] | self[7] | bad: self[2,3,4] start_dim=2 end_dim=1",
     {},
     kFloat8},
    {"aten::unfold.default",
     "self[9] dimension=0 size=3 step=1 | self[9] dimension=0 size=3 step=2 | self[5,8] dimension=1 size=4 "
     "step=3 | self[5,8] dimension=-2 size=5 step=1 | self[5] dimension=0 size=0 step=1 | bad: self[5] "
     "dimension=0 size=6 step=1 | bad: self[5] dimension=0 size=2 step=0",
     {},
     kFloat8},
    {"aten::view_as_complex.default",
     "self[3,2] | self[2] | self[4,5,2] | self[0,2] | bad: self[3,5] | bad: self[]",
     {},
     0,
     "",
     "f32 f64"},
    {"aten::view_as_real.default", "self[3,5] | self[] | self[0,3] | self[2,3,4] | self[7]"},
};

constexpr OpFacts kCopies[] = {
    {"aten::copy.default",
     "self[3,5] src[3,5] | self[3,5] src[5] | self[3,5] src[] | self[0,3] src[3] | self[129,3] src[129,1] | "
     "self[3,5] src[3,5]:f32 | self[3,5] src[3,5]:i32 | bad: self[3,5] src[4,5]",
     {},
     kFloat8},
    {"aten::cat.default",
     "tensors[3,5][2,5] | tensors[3,5][3,2] dim=1 | tensors[3,5][3,2] dim=-1 | tensors[2,3][2,3][2,3] dim=-2 "
     "| tensors[7] | tensors[127,3][2,3] | tensors[0][3,5] | "
     "tensors[0,3][2,3] | tensors[2,3,4][2,1,4] dim=1 | tensors[3,511][3,2] dim=1 | tensors[3,5][3,5]:f32 | "
     "tensors[3,5][3,5]:i64 | bad: tensors[3,5][2,4] | bad: tensors[3,5][3,5,1] | bad: tensors[][]",
     {},
     kFloat8},
    {"aten::stack.default",
     "tensors[3,5][3,5] | tensors[3,5][3,5] dim=1 | tensors[3,5][3,5] dim=-1 | tensors[3,5][3,5][3,5] dim=-3 "
     "| tensors[][] | tensors[0,3][0,3] dim=1 | tensors[129][129] dim=1 | tensors[7] | bad: "
     "tensors[3,5][3,4]",
     {},
     kFloat8},
    {"aten::repeat.default",
     "self[3,5] repeats=[2,1] | self[3,5] repeats=[2,3,1] | self[] repeats=[3] | self[5] repeats=[0] | "
     "self[0,3] repeats=[2,2] | self[1,127] repeats=[3,2] | bad: self[3,5] repeats=[2] | bad: self[3,5] "
     "repeats=[2,-1]",
     {},
     kFloat8},
    {"aten::flip.default",
     "self[3,5] dims=[0] | self[3,5] dims=[-1] | self[3,5] dims=[0,1] | self[2,3,4] dims=[2,0] | self[] "
     "dims=[] | self[0,3] dims=[1] | self[129,2] dims=[0] | self[2,513] dims=[1] | bad: self[3,5] "
     "dims=[0,-2]",
     {},
     kFloat8},
    {"aten::tril.default",
     "self[4,4] | self[3,5] | self[5,3] | self[2,3,4] | self[0,3] | self[129,3] | self[1,1] | bad: self[4]",
     {},
     0,
     "diagonal=1 | diagonal=-2 | diagonal=9 | diagonal=-9"},
    {"aten::triu.default",
     "self[4,4] | self[3,5] | self[5,3] | self[2,3,4] | self[0,3] | self[129,3] | self[1,1] | bad: self[4]",
     {},
     0,
     "diagonal=1 | diagonal=-2 | diagonal=9 | diagonal=-9"},
    {"aten::constant_pad_nd.default",
     "self[3,5] pad=[1,2] | self[3,5] pad=[1,2,0,1] | self[3,5] pad=[-1,0] | self[3,5] pad=[-1,2,1,-1] | "
     "self[5] pad=[0,0] | self[0,3] pad=[1,1,1,1] | self[2,127] pad=[1,1] | self[2,3,4] pad=[1,0,0,1,2,0] | "
     "bad: self[3,5] pad=[1] | bad: self[3,5] pad=[-3,-3] | bad: self[3] pad=[1,1,1,1]",
     {},
     0,
     "value=2.5 | value=-1 | value=nan | value=inf"},
    {"aten::masked_fill.Scalar",
     "@pointwise mask:bool value=2",
     {},
     0,
     "value=-1 | value=2.5 | value=nan | value=-inf | value=0"},
    {"aten::masked_fill.Tensor",
     "self[3,5] mask[3,5]:bool value[] | self[3,5] mask[5]:bool value[] | self[] mask[]:bool value[] | "
     "self[5] mask[3,5]:bool value[] | self[0,3] mask[3]:bool value[] | self[129,3] mask[129,1]:bool value[] "
     "| bad: self[3,5] mask[3,5]:bool value[1] | bad: self[3,5] mask[3,5]:f32 value[]"},
    {"aten::masked_scatter.default",
     "self[3,5] mask[3,5]:bool source[15] | self[3,5] mask[5]:bool source[20] | self[7] "
     "mask[7]:bool{0,0,0,0,0,0,0} source[1] | self[7] mask[7]:bool{1,1,1,1,1,1,1} source[7] | self[0,3] "
     "mask[0,3]:bool source[2] | bad: self[7] mask[7]:bool{1,1,1,1,1,1,1} source[3] | bad: self[3,5] "
     "mask[3,5]:i64 source[15]"},
    {"aten::fill.Scalar",
     "@shapes value=3",
     {},
     kFloat8,
     "value=2.5 | value=nan | value=-inf | value=true | value=0"},
    {"aten::slice_scatter.default",
     "self[5,7] src[2,7] dim=0 start=1 end=3 | self[5,7] src[5,3] dim=1 start=-3 | self[5,7] src[5,4] dim=-1 "
     "step=2 | self[5,7] src[0,7] start=3 end=3 | self[17] src[5] start=12 end=100 | self[130,3] src[128,3] "
     "start=1 end=129 | bad: self[5,7] src[3,7] start=1 end=3 | bad: self[5,7] src[5,7] step=0"},
    {"aten::select_scatter.default",
     "self[5,7] src[7] dim=0 index=1 | self[5,7] src[5] dim=1 index=-1 | self[5,7] src[7] dim=-2 index=-5 | "
     "self[2,3,4] src[2,4] dim=1 index=2 | self[3] src[] dim=0 index=0 | bad: self[5,7] src[7] dim=0 index=5 "
     "| bad: self[5,7] src[5] dim=0 index=1"},
};

constexpr OpFacts kCasts[] = {
    {"aten::_to_copy.default",
     "@shapes dtype=f32 | self[3,5] dtype=bf16 | self[3,5] dtype=f16 | self[3,5] dtype=f64 | self[3,5] "
     "dtype=i64 | self[3,5] dtype=i32 | self[3,5] dtype=i16 | self[3,5] dtype=i8 | self[3,5] dtype=u8 | "
     "self[3,5] dtype=bool | self[3,5] dtype=f8_e4m3fn | self[3,5] dtype=f8_e5m2 | self[3,5] dtype=c64",
     {30, 30},
     kFloat8},
    {"aten::to.dtype",
     "@shapes dtype=f32 | self[3,5] dtype=bf16 | self[3,5] dtype=f16 | self[3,5] dtype=i64 | self[3,5] "
     "dtype=i8 | self[3,5] dtype=u8 | self[3,5] dtype=bool",
     {30, 30},
     kFloat8},
};

constexpr OpFacts kFactories[] = {
    {"aten::full.default",
     "size=[3,5] fill_value=2 dtype=T | size=[3,5] fill_value=2.5 dtype=T | size=[] fill_value=1 dtype=T | "
     "size=[0,3] fill_value=1 dtype=T | size=[129,2] fill_value=-1 dtype=T | size=[7] fill_value=nan "
     "dtype=f32 | size=[7] fill_value=-inf dtype=bf16 | size=[7] fill_value=true | size=[7] fill_value=3 | "
     "size=[7] fill_value=2.5 | bad: size=[-1] fill_value=1",
     {},
     kNoValues},
    {"aten::ones.default",
     "size=[3,5] dtype=T | size=[] dtype=T | size=[0,3] dtype=T | size=[513] dtype=T | size=[2,3] | bad: "
     "size=[2,-3]",
     {},
     kNoValues},
    {"aten::zeros.default",
     "size=[3,5] dtype=T | size=[] dtype=T | size=[0,3] dtype=T | size=[513] dtype=T | size=[2,3] | bad: "
     "size=[2,-3]",
     {},
     kNoValues},
    {"aten::full_like.default",
     "@shapes fill_value=2",
     {},
     kNoEdges,
     "fill_value=2.5 | fill_value=nan | fill_value=true"},
    {"aten::ones_like.default", "@shapes", {}, kNoEdges},
    {"aten::zeros_like.default", "@shapes", {}, kNoEdges},
    {"aten::scalar_tensor.default",
     "s=3 dtype=T | s=2.5 dtype=T | s=-1 dtype=T | s=nan dtype=f32 | s=inf dtype=f16 | s=true | s=7 | s=2.5 "
     "| s=1e300 dtype=f32",
     {},
     kNoValues},
    {"aten::arange.start_step",
     "start=0 end=7 dtype=T | start=2 end=11 step=3 dtype=T | start=7 end=0 step=-2 dtype=f32 | start=0 "
     "end=7 | start=0.5 end=4 step=0.25 | start=0 end=1 step=0.1 | "
     "start=5 end=5 | start=-3 end=3 dtype=bf16 | start=0 end=513 dtype=i32 | start=1 end=129 dtype=f32 | "
     "start=0.0 end=3.0 step=0.3 dtype=f64 | "
     "bad: start=0 end=7 step=0 | bad: start=0 end=7 step=-1 | bad: start=nan end=1",
     {},
     kNoValues,
     "",
     "f32 bf16 f16 f64 i64 i32 i16 i8 u8"},
    {"aten::empty.memory_format",
     "size=[3,5] dtype=T | size=[] dtype=T | size=[0,3] dtype=T | size=[129] dtype=T | size=[2,3] | bad: "
     "size=[-1]",
     {},
     kNoValues},
    {"aten::empty_strided.default",
     "size=[3,5] stride=[5,1] dtype=T | size=[3,5] stride=[1,3] dtype=T | size=[] stride=[] dtype=T | "
     "size=[0,3] stride=[3,1] dtype=T | bad: size=[3,5] stride=[1] | bad: size=[-1] stride=[1]",
     {},
     kNoValues},
    {"aten::empty_permuted.default",
     "size=[3,5] physical_layout=[1,0] dtype=T | size=[2,3,4] physical_layout=[2,0,1] dtype=T | size=[] "
     "physical_layout=[] dtype=T | size=[0,3] physical_layout=[0,1] dtype=T | bad: size=[3,5] "
     "physical_layout=[0,0]",
     {},
     kNoValues},
};

}  // namespace

void register_movement(FactTable& table) {
  table.add(kViews);
  table.add(kCopies);
  table.add(kCasts);
  table.add(kFactories);
}

}  // namespace assay::suites
