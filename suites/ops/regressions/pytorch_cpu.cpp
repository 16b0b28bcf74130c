// What PyTorch 2.13 computes wrongly on the CPU, found by running it: docs/disagreements.md has a section for
// each. The right answers are from the definitions, with 30 digits.
#include "suites/ops/generate/report_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

constexpr char kHugeQuotients[] =
    "self[17]{3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,3e38,7} "
    "other[17]{1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,1e-38,"
    "1e-38,4}";

constexpr Report kPytorchReports[] = {
    // A vector of quotients that do not fit f32, and a tail of one that does.
    {"pytorch-cpu-fmod-huge-quotient", "aten::fmod.Tensor", kHugeQuotients, "f32"},
    {"pytorch-cpu-fmod-huge-quotient", "aten::remainder.Tensor", kHugeQuotients, "f32"},
    {"pytorch-cpu-alpha-overflow", "aten::addmm.default",
     "self[3,7]~0,0 mat1[3,2]~3e38,0 mat2[2,7]~0,0 alpha=-3", "f32"},
    {"pytorch-cpu-norm-overflow", "aten::_native_batch_norm_legit.no_stats",
     "input[2,1]{1e30,-1e30} weight=None bias=None training=true momentum=0.1 eps=1e-5", "f32", "1,-1"},
    {"pytorch-cpu-mode-nan", "aten::mode.default", "self[5]{2,nan,3,0,2} dim=0", "f32", "2"},
    {"pytorch-cpu-distance-zero", "aten::_cdist_forward.default",
     "x1[1,2]{nan,1} x2[1,2]{0,1} p=0.0 compute_mode=None", "f32", "1"},
    {"pytorch-cpu-trigamma", "aten::polygamma.default", "n=1 self[2]{1,0.5}", "f64",
     "1.64493406684822643647241516665,4.93480220054467930941724549994"},
    {"pytorch-cpu-trigamma", "aten::polygamma.default", "n=1 self[3]{0,-1,-32768}", "f32", "inf,inf,inf",
     "poles"},
    {"pytorch-cpu-bessel-precision", "aten::special_bessel_j0.default", "self[2]{5.5,7}", "f64",
     "-0.00684386941781919682395867877418,0.300079270519555596650275377612"},
    {"pytorch-cpu-bessel-precision", "aten::special_bessel_j1.default", "self[1]{7}", "f64",
     "-0.00468282348234583269911380619631"},
    {"pytorch-cpu-bessel-precision", "aten::special_bessel_y0.default", "self[1]{7}", "f64",
     "-0.0259497439672092648842849631357"},
    {"pytorch-cpu-bessel-precision", "aten::special_bessel_y1.default", "self[1]{7}", "f64",
     "-0.302667237024184870060768169558"},
    {"pytorch-cpu-bessel-precision", "aten::special_airy_ai.default", "x[1]{-2.5}", "f64",
     "-0.11232506769296608918746310014"},
    {"pytorch-cpu-bessel-range", "aten::special_bessel_j0.default", "self[1]{inf}", "f32 f64", "0"},
    {"pytorch-cpu-bessel-range", "aten::special_bessel_j1.default", "self[1]{inf}", "f32 f64", "0"},
    {"pytorch-cpu-bessel-range", "aten::special_bessel_y0.default", "self[1]{inf}", "f32 f64", "0"},
    {"pytorch-cpu-bessel-range", "aten::special_bessel_y1.default", "self[1]{inf}", "f32 f64", "0"},
    {"pytorch-cpu-incomplete-gamma", "aten::igammac.default", "self[1]{1e-30} other[1]{1}", "f32 f64",
     "2.1938393439552027367716377546e-31"},
    {"pytorch-cpu-zeta-range", "aten::special_zeta.default", "self[2]{3e38,2} other[2]{2,inf}", "f32", "0,0"},
    {"pytorch-cpu-resize-scale", "aten::upsample_nearest2d.default",
     "self[1,1,1,4]{0,1,2,3} output_size=[1,8] scales_h=None scales_w=2.1", "f32 bf16", "0,0,0,1,1,2,2,3"},
    {"pytorch-cpu-transposed-convolution", "aten::convolution.default",
     "input[1,1,5]{1,1,1,1,1} weight[1,1,5]{2048,1,1,1,1} bias=None stride=[1] padding=[0] dilation=[1] "
     "transposed=true output_padding=[0] groups=1",
     "f16", "2048,2049,2050,2051,2052,4,3,2,1"},
    {"pytorch-cpu-subtracted-zero", "aten::sub.Tensor", "self[1]{-0} other[1]{1} alpha=0", "f32"},
    {"pytorch-cpu-complex-division", "aten::div.Tensor", "self[1]{1.5e-323,0} other[1]{-5e-324,0}", "c128",
     "-3,0"},
    {"pytorch-cpu-complex-infinity", "aten::sigmoid.default", "self[1]{-inf,1}", "c128", "0,0"},
};

}  // namespace

void register_pytorch_cpu(OpFamilies& table) {
  table.add([](const CaseSink& sink) { add_reports(sink, kPytorchReports); });
}

}  // namespace assay::suites
