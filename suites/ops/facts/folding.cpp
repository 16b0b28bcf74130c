// Padding by what lies at the edges, adaptive and random pooling, unpooling, folding.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kPads[] = {
    {"aten::reflection_pad1d.default",
     "self[2,3,7] padding=[2,3] | self[3,7] padding=[6,0] | self[1,2,5] padding=[0,0] | self[1,2,5] "
     "padding=[-1,2] | "
     "self[0,2,5] padding=[1,1] | self[2,130] padding=[129,1] | bad: self[1,2,5] padding=[5,0] | bad: "
     "self[5] "
     "padding=[1,1] | bad: self[1,2,5] padding=[1]"},
    {"aten::reflection_pad2d.default",
     "self[2,3,4,5] padding=[1,2,3,0] | self[3,4,5] padding=[4,4,3,3] | self[1,2,4,5] padding=[-1,1,2,-2] | "
     "self[0,2,4,5] padding=[1,1,1,1] | bad: self[1,2,4,5] padding=[5,0,0,0] | bad: self[1,2,4,5] "
     "padding=[1,1]"},
    {"aten::reflection_pad3d.default",
     "self[1,2,3,4,5] padding=[1,2,3,0,1,2] | self[2,2,3,4] padding=[1,1,1,1,1,1] | self[1,1,3,3,3] "
     "padding=[-1,0,0,1,2,0] | bad: self[1,2,3,4,5] padding=[0,0,0,0,3,0]"},
    {"aten::replication_pad1d.default",
     "self[2,3,7] padding=[2,3] | self[3,7] padding=[9,0] | self[1,2,1] padding=[4,4] | self[1,2,5] "
     "padding=[-1,2] | "
     "self[0,2,5] padding=[1,1] | self[2,130] padding=[200,1] | bad: self[1,2,5] padding=[-3,-3] | bad: "
     "self[5] "
     "padding=[1,1]"},
    {"aten::replication_pad2d.default",
     "self[2,3,4,5] padding=[1,2,3,0] | self[3,4,5] padding=[7,6,5,8] | self[1,2,4,5] padding=[-1,1,2,-2] | "
     "self[0,2,4,5] padding=[1,1,1,1] | bad: self[1,2,4,5] padding=[-5,0,0,0] | bad: self[1,2,4,5] "
     "padding=[1,1]"},
    {"aten::replication_pad3d.default",
     "self[1,2,3,4,5] padding=[1,2,3,0,1,2] | self[2,2,3,4] padding=[1,1,1,1,1,1] | self[1,1,3,3,3] "
     "padding=[-1,0,0,1,5,0] | bad: self[1,2,3,4,5] padding=[0,0,0,0]"},
};

constexpr OpFacts kPools[] = {
    {"aten::_adaptive_avg_pool3d.default",
     "self[2,3,4,5,6] output_size=[2,5,3] | self[2,3,5,7] output_size=[1,1,1] | self[1,2,3,4,5] "
     "output_size=[4,3,7] | "
     "self[0,2,3,4,5] output_size=[2,2,2] | bad: self[2,3,4] output_size=[1,1,1] | bad: self[1,2,3,4,5] "
     "output_size=[2,-1,2]",
     {0.25, 1}},
    {"aten::adaptive_max_pool2d.default",
     "self[2,3,5,7] output_size=[3,4] | self[3,8,8] output_size=[2,4] | self[1,2,4,5] output_size=[1,1] | "
     "self[1,2,3,4] output_size=[5,7] | self[0,2,4,5] output_size=[2,2] | self[1,130,5,5] output_size=[2,3] "
     "| bad: "
     "self[5,7] output_size=[2,2] | bad: self[1,0,4,5] output_size=[2,2] | bad: self[1,2,4,5] "
     "output_size=[-1,2]"},
    {"aten::adaptive_max_pool3d.default",
     "self[2,3,4,5,6] output_size=[2,5,3] | self[2,3,5,7] output_size=[1,1,1] | self[1,2,3,4,5] "
     "output_size=[4,3,7] | "
     "self[0,2,3,4,5] output_size=[2,2,2] | bad: self[2,3,4] output_size=[1,1,1]"},
    {"aten::fractional_max_pool2d.default",
     "self[2,3,9,11] kernel_size=[2,3] output_size=[4,5] random_samples[2,3,2]~0.5,0.4 | self[3,7,7] "
     "kernel_size=[2,2] output_size=[3,1] random_samples[1,3,2]~0.5,0.4 | self[1,2,6,6] kernel_size=[3,3] "
     "output_size=[4,4] random_samples[1,2,2]~0.5,0.4 | bad: self[1,2,6,6] kernel_size=[7,3] "
     "output_size=[2,2] "
     "random_samples[1,2,2]~0.5,0.4 | bad: self[1,2,6,6] kernel_size=[3,3] output_size=[5,2] "
     "random_samples[1,2,2]~0.5,0.4 | bad: self[1,2,6,6] kernel_size=[3,3] output_size=[2,2] "
     "random_samples[1,2,3]~0.5,0.4",
     {0, 4},
     kNoEdges},
    {"aten::fractional_max_pool3d.default",
     "self[2,2,5,6,7] kernel_size=[2,2,3] output_size=[3,2,4] random_samples[2,2,3]~0.5,0.4 | self[2,5,5,5] "
     "kernel_size=[2,2,2] output_size=[1,3,2] random_samples[1,2,3]~0.5,0.4 | self[1,3,4,6,5] "
     "kernel_size=[1,3,2] output_size=[2,2,2] random_samples[1,3,3]~0.5,0.4 | bad: self[1,2,5,5,5] "
     "kernel_size=[6,2,2] output_size=[2,2,2] random_samples[1,2,3]~0.5,0.4",
     {0, 4},
     kNoEdges},
    {"aten::max_unpool2d.default",
     "self[1,1,2,2] indices[1,1,2,2]:i64{0,3,9,14} output_size=[4,4] | self[2,2,2] "
     "indices[2,2,2]:i64{5,2,1,15,0,3,7,11} "
     "output_size=[4,4] | self[1,2,1,3] indices[1,2,1,3]:i64{2,0,8,4,1,5} output_size=[3,3] | self[0,1,2,2] "
     "indices[0,1,2,2]=0..4 output_size=[4,4] | bad: self[1,1,2,2] indices[1,1,2,2]:i64{0,3,9,16} "
     "output_size=[4,4] | "
     "bad: self[1,1,2,2] indices[1,1,2,3]=0..4 output_size=[4,4] | bad: self[2,2] indices[2,2]=0..4 "
     "output_size=[4,4]"},
    {"aten::max_unpool3d.default",
     "self[1,1,1,2,2] indices[1,1,1,2,2]:i64{0,3,9,14} output_size=[2,2,4] stride=[2,2,2] padding=[0,0,0] | "
     "self[1,1,2,2] "
     "indices[1,1,2,2]:i64{5,2,1,15} output_size=[2,2,4] stride=[2,2,2] padding=[0,0,0] | bad: "
     "self[1,1,1,2,2] "
     "indices[1,1,1,2,2]:i64{0,3,9,16} output_size=[2,2,4] stride=[2,2,2] padding=[0,0,0]"},
    {"aten::im2col.default",
     "self[2,3,5,6] kernel_size=[2,3] dilation=[1,1] padding=[0,0] stride=[1,1] | self[2,5,6] "
     "kernel_size=[3,2] "
     "dilation=[1,2] padding=[1,1] stride=[2,1] | self[1,2,4,4] kernel_size=[1,1] dilation=[1,1] "
     "padding=[0,1] "
     "stride=[3,2] | self[0,2,4,4] kernel_size=[2,2] dilation=[1,1] padding=[0,0] stride=[1,1] | bad: "
     "self[1,2,4,4] "
     "kernel_size=[5,1] dilation=[1,1] padding=[0,0] stride=[1,1] | bad: self[1,2,4,4] kernel_size=[2,2] "
     "dilation=[0,1] padding=[0,0] stride=[1,1] | bad: self[4,4] kernel_size=[2,2] dilation=[1,1] "
     "padding=[0,0] "
     "stride=[1,1]"},
    {"aten::col2im.default",
     "self[2,18,16] output_size=[5,6] kernel_size=[2,3] dilation=[1,1] padding=[0,0] stride=[1,1] | "
     "self[12,18] "
     "output_size=[5,6] kernel_size=[3,2] dilation=[1,2] padding=[1,1] stride=[2,1] | self[0,8,9] "
     "output_size=[4,4] "
     "kernel_size=[2,2] dilation=[1,1] padding=[0,0] stride=[1,1] | self[1,4,4] output_size=[4,4] "
     "kernel_size=[2,2] "
     "dilation=[1,1] padding=[0,0] stride=[2,2] | bad: self[1,4,5] output_size=[4,4] kernel_size=[2,2] "
     "dilation=[1,1] padding=[0,0] stride=[2,2] | bad: self[1,5,4] output_size=[4,4] kernel_size=[2,2] "
     "dilation=[1,1] padding=[0,0] stride=[2,2]",
     {0.25, 1},
     kExactOnIntegers},
    {"aten::resize.default",
     "self[3,4] size=[2,5] | self[3,4] size=[12] | self[] size=[1,1] | self[5] size=[0,3] | bad: self[3] "
     "size=[-1]",
     {},
     kNoLayouts},
    // A graph cannot give an input another size: in place only what keeps it is a case.
    {"aten::resize_.default", "self[3,4] size=[3,4] | self[] size=[] | bad: self[3] size=[-1]"},
    {"aten::resize_as.default",
     "self[3,4] the_template[2,5] | self[3,4] the_template[12] | self[5] the_template[0,3]",
     {},
     kNoLayouts},
};

}  // namespace

void register_folding(FactTable& table) {
  table.add(kPads);
  table.add(kPools);
}

}  // namespace assay::suites
