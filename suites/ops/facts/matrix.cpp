// Matrix products.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kProducts[] = {
    {"aten::mm.default",
     "self[32,16] mat2[16,32] | self[3,5] mat2[5,7] | self[1,1] mat2[1,1] | self[2,0] mat2[0,3] | self[0,4] "
     "mat2[4,3] | self[3,4] mat2[4,0] | self[1,17] mat2[17,1] | self[17,1] mat2[1,17] | "
     "self[127,3] mat2[3,5] | self[129,2] mat2[2,3] | self[2,127] mat2[127,3] | self[2,128] mat2[128,3] | "
     "self[2,129] mat2[129,3] | self[3,2] mat2[2,511] | self[3,2] mat2[2,513] | self[3,515] mat2[515,2] | "
     "self[31,37] mat2[37,41] | "
     "bad: self[3,5] mat2[4,7] | bad: self[3] mat2[3,2] | bad: self[3,5] mat2[5] | bad: self[2,3,5] "
     "mat2[5,7] | bad: self[3,5]:f32 mat2[5,7]:bf16",
     {},
     kDrawn | kExactOnIntegers},
    {"aten::bmm.default",
     "self[2,16,8] mat2[2,8,16] | self[2,3,5] mat2[2,5,4] | self[1,1,1] mat2[1,1,1] | self[0,3,4] "
     "mat2[0,4,2] | self[2,3,0] mat2[2,0,4] | self[3,1,129] mat2[3,129,1] | self[2,127,2] mat2[2,2,3] | "
     "self[2,2,3] mat2[2,3,513] | self[5,7,3] mat2[5,3,7] | "
     "bad: self[2,3,5] mat2[3,5,4] | bad: self[2,3,5] mat2[2,4,4] | bad: self[3,5] mat2[5,4]",
     {},
     kDrawn | kExactOnIntegers},
    {"aten::addmm.default",
     "self[32,32] mat1[32,16] mat2[16,32] | self[7] mat1[3,5] mat2[5,7] | self[3,1] mat1[3,5] mat2[5,7] | "
     "self[3,7] mat1[3,5] mat2[5,7] | self[] mat1[3,5] mat2[5,7] | self[2,3] mat1[2,0] mat2[0,3] | self[3] "
     "mat1[0,4] mat2[4,3] | self[5] mat1[2,129] mat2[129,5] | self[513] mat1[3,2] mat2[2,513] | self[3] "
     "mat1[129,2] mat2[2,3] | "
     "bad: self[6] mat1[3,5] mat2[5,7] | bad: self[7] mat1[3,5] mat2[4,7] | bad: self[7] mat1[5] mat2[5,7]",
     {},
     kDrawn | kExactOnIntegers,
     "beta=0 alpha=0 | beta=2 alpha=-3 | beta=0.5 alpha=2.5"},
    {"aten::baddbmm.default",
     "self[2,16,16] batch1[2,16,8] batch2[2,8,16] | self[4] batch1[2,3,5] batch2[2,5,4] | self[2,1,4] "
     "batch1[2,3,5] batch2[2,5,4] | self[2,3,4] batch1[2,3,0] batch2[2,0,4] | self[1,3,1] batch1[2,3,129] "
     "batch2[2,129,5] | self[0,3,4] batch1[0,3,5] batch2[0,5,4] | "
     "bad: self[5] batch1[2,3,5] batch2[2,5,4] | bad: self[4] batch1[2,3,5] batch2[3,5,4]",
     {},
     kDrawn | kExactOnIntegers,
     "beta=0 alpha=0 | beta=2 alpha=-3 | beta=0.5 alpha=2.5"},
};

}  // namespace

void register_matrix(FactTable& table) { table.add(kProducts); }

}  // namespace assay::suites
