// Sums, products, extrema, norms, scans and softmax over dims.
#include "suites/ops/generate/facts.h"

namespace assay::suites {
namespace {

constexpr OpFacts kReductions[] = {
    {"aten::sum.dim_IntList", "@dims", {0.25, 1}, kExactOnIntegers},
    {"aten::mean.default", "@shapes", {0.25, 1}},
    {"aten::mean.dim", "@dims", {0.25, 1}},
    {"aten::prod.default", "self[5] | self[17] | self[2,3] | self[] | self[0,3] | self[1,1]", {1, 0.25}},
    {"aten::prod.dim_int", "@dims | subnormal: self[2,3]{1e-40,1,2,3e-6,2,1} dim=1", {1, 0.25}},
    {"aten::amax.default", "@dims", {0, 4}},
    {"aten::amin.default", "@dims", {0, 4}},
    {"aten::max.default", "@shapes", {0, 4}},
    {"aten::max.dim", "@dims", {0, 4}},
    {"aten::min.dim", "@dims", {0, 4}},
    {"aten::argmax.default", "@dims", {0, 4}},
    {"aten::argmin.default", "@dims", {0, 4}},
    {"aten::any.default", "@shapes", {0, 1}},
    {"aten::any.dim", "@dims", {0, 1}},
    {"aten::any.dims", "@dims | self[5,7] dim=[]", {0, 1}},
    {"aten::_is_all_true.default", "@shapes", {0, 1}},
    {"aten::var.correction", "@dims", {0.5, 1}, 0, "correction=0 | correction=2 | correction=1.5"},
    {"aten::var.dim", "@dims", {0.5, 1}},
    {"aten::linalg_vector_norm.default",
     "@dims",
     {0.25, 1},
     0,
     "ord=1 | ord=0 | ord=3 | ord=0.5 | ord=-1 | ord=inf | ord=-inf"},
    {"aten::logsumexp.default",
     "self[8,128] dim=[1] | self[5,7] dim=[0] | self[5,7] dim=[0,1] | self[3,5,7] dim=[-2] keepdim=true | "
     "self[129,3] dim=[0] | self[2,513] dim=[-1] | self[] dim=[0] | self[0,3] dim=[1] | bad: self[5,7] "
     "dim=[2]",
     {0, 6},
     kParts,
     "",
     kFloatDTypes},
    {"aten::cumsum.default", "@dims", {0.25, 1}, kExactOnIntegers},
    {"aten::_softmax.default", "@dims half_to_float=false", {0, 6}, kDrawn, "half_to_float=true"},
    {"aten::_log_softmax.default", "@dims half_to_float=false", {0, 6}, kDrawn, "half_to_float=true"},
    {"aten::sort.default", "@dims", {0, 4}},
    {"aten::topk.default",
     "@dims k=1 | self[5,7] k=3 | self[5,7] k=7 dim=1 | self[7,5] k=2 dim=0 | self[3,130] k=9 | self[2,513] "
     "k=20 | "
     "self[5,7] k=0 | bad: self[5,7] k=8 | bad: self[5,7] k=-1",
     {0, 4}},
};

}  // namespace

void register_reduction(FactTable& table) { table.add(kReductions); }

}  // namespace assay::suites
