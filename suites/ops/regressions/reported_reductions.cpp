// Reports about reductions, norms, pooling and scans.
#include "suites/ops/generate/report_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

constexpr char kAvgPool2d[] = "aten::avg_pool2d.default";
constexpr char kMaxPool2d[] = "aten::max_pool2d_with_indices.default";
constexpr char kLayerNorm[] = "aten::native_layer_norm.default";

constexpr Report kReductionsReports[] = {
    // The maximum of what holds a NaN is NaN (Array API, NumPy), wherever it stands.
    {"pytorch-130295", "aten::amax.default", "self[3]{1,nan,3} dim=[0]", "f32 bf16 f16 f64", "nan"},
    {"pytorch-130295", "aten::amin.default", "self[3]{1,nan,3} dim=[0]", "f32 bf16 f16 f64", "nan"},
    {"pytorch-130295", "aten::max.default", "self[3]{1,nan,3}", "f32 bf16 f16 f64", "nan"},
    {"pytorch-130295", "aten::max.dim", "self[3]{1,nan,3} dim=0", "f32 bf16 f16 f64", "nan ; 1"},
    {"pytorch-130295", "aten::min.dim", "self[3]{1,nan,3} dim=0", "f32 bf16 f16 f64", "nan ; 1"},
    {"pytorch-187039", "aten::argmax.default", "self[4]{1,nan,3,nan}", "f32 bf16 f16 f64", "1"},
    {"pytorch-187039", "aten::argmin.default", "self[4]{1,nan,3,nan}", "f32 bf16 f16 f64", "1"},
    {"onnxruntime-10514", "aten::amax.default", "self[2,3]{nan,1,2,3,4,nan} dim=[1]", "f32", "nan,nan",
     "ends"},
    {"onnxruntime-10514", "aten::amax.default", "self[9]{1,2,3,4,5,6,7,8,nan} dim=[0]", "f32", "nan", "tail"},
    {"iree-24503", "aten::amax.default", "self[2]{-inf,nan} dim=[0]", "f32 bf16", "nan"},
    {"iree-24503", "aten::maximum.default", "self[3]{1,nan,nan} other[3]{nan,1,nan}", "f32 bf16 f16",
     "nan,nan,nan"},
    {"iree-24503", "aten::minimum.default", "self[3]{1,nan,nan} other[3]{nan,1,nan}", "f32 bf16 f16",
     "nan,nan,nan"},
    // 16-bit sums accumulate in fp32.
    {"pytorch-180150", "aten::sum.dim_IntList", "self[4096]~0.1,0 dim=[0]", "f16", "409.5"},
    {"pytorch-180150", "aten::cumsum.default", "self[4096]~0.1,0 dim=0", "f16 bf16"},
    {"ml_dtypes-63", "aten::sum.dim_IntList", "self[1024]~1,0 dim=[0]", "bf16 f16", "1024"},
    {"burn-4770", "aten::mean.default", "self[70000]~1,0", "f16 bf16 f32", "1"},
    {"burn-4770", "aten::mean.dim", "self[70000]~1,0 dim=[0]", "f16 bf16 f32", "1"},
    {"numpy-7930", "aten::sum.dim_IntList", "self[70000]~1,0 dim=[0]", "f16", "inf"},
    {"pytorch-int8-sum", "aten::sum.dim_IntList", "self[4]{100,100,100,100} dim=[0]", "i8 u8 i16", "400"},
    // A constant row normalises to zero; eps is the only floor of a tiny variance; (±1e30)^2 overflows f32.
    {"onnxruntime-21935", kLayerNorm,
     "input[1,8]{1234,1234,1234,1234,1234,1234,1234,1234} normalized_shape=[8] weight=None bias=None "
     "eps=1e-5",
     "f32 bf16", "0,0,0,0,0,0,0,0"},
    {"pytorch-190491", kLayerNorm,
     "input[1,2]{9.9e-4,-9.9e-4} normalized_shape=[2] weight=None bias=None eps=1e-12", "f32",
     "0.99999948984833553212,-0.99999948984833553212 ; 0 ; 1010.1005240254268074"},
    {"pytorch-layer-norm-1e30", kLayerNorm,
     "input[1,2]{1e30,-1e30} normalized_shape=[2] weight=None bias=None eps=1e-5", "f32", "1,-1"},
    // The mean of a row that holds one infinity is infinite, its variance is not defined.
    {"pytorch-welford-inf", kLayerNorm,
     "input[1,4]{inf,1,2,3} normalized_shape=[4] weight=None bias=None eps=1e-5", "f32 bf16",
     "nan,nan,nan,nan ; inf ; nan"},
    // (x - mean) / sqrt(var) * weight, not x * a + b with two infinities.
    {"pytorch-batch-norm-inf", "aten::_native_batch_norm_legit_no_training.default",
     "input[1,1,2]{3,-1} weight[1]{inf} bias=None running_mean[1]{1} running_var[1]{1} momentum=0.1 eps=0.0",
     "f32", "inf,-inf"},
    // An empty list of dims reduces nothing; None reduces all.
    {"pytorch-any-dims", "aten::any.dims", "self[3]{1,0,-2} dim=[]", "f32 bf16 i32", "1,0,1"},
    {"pytorch-any-dims", "aten::any.dims", "self[3]{0,0,-2} dim=None", "f32 bf16 i32", "1", "all"},
    // With dtype, the input is cast first: 257 is 256 in bf16.
    {"pytorch-sum-dtype", "aten::sum.dim_IntList", "self[2]{257,0.5} dim=[0] dtype=bf16", "f32"},
    {"onnxruntime-28461", "aten::logsumexp.default", "self[2]{-inf,-inf} dim=[0]", "f32", "-inf", "empty"},
    {"pytorch-6864", "aten::logsumexp.default", "self[2]{inf,1} dim=[0]", "f32", "inf"},
    {"jax-21495", "aten::logsumexp.default", "self[2]{1000,1000} dim=[0]", "f32", "1000.6931471805599453"},
    {"tinygrad-17853", "aten::_softmax.default", "self[1,2]{inf,0} dim=1 half_to_float=false", "f32 bf16 f16",
     "nan,nan"},
    {"rten-307", "aten::_softmax.default", "self[2,2]{1000,1000,-inf,0} dim=1 half_to_float=false",
     "f32 bf16", "0.5,0.5,0,1"},
    {"rten-307", "aten::_log_softmax.default", "self[2,2]{1000,1000,-inf,0} dim=1 half_to_float=false", "f32",
     "-0.69314718055994530942,-0.69314718055994530942,-inf,0"},
    // Rows of masks as models write them.
    {"aws-neuron-samples-119", "aten::_softmax.default",
     "self[3,3]{-inf,0,-inf,-inf,-inf,1,0,0,-inf} dim=1 half_to_float=false", "f32 bf16 f16",
     "0,1,0,0,0,1,0.5,0.5,0"},
    // Fewer elements than the correction takes: 0/0; real arithmetic where the mean is large.
    {"numpy-26522", "aten::var.correction", "self[1]{1}", "f32 f64", "nan", "one"},
    {"numpy-26522", "aten::var.correction", "self[0]", "f32 f64", "nan", "none"},
    {"numpy-26522", "aten::var.correction", "self[2]{1,2} correction=3", "f32"},
    {"pytorch-var-large-mean", "aten::var.correction", "self[3]{1e8,100000008,100000016}", "f32 f64", "64"},
    {"pytorch-var-large-mean", "aten::var.dim", "self[3]{1e8,100000008,100000016} dim=[0]", "f32 f64", "64"},
    // max_pool: NaN wins, -inf is a number with an index.
    {"tensorflow-13046", kMaxPool2d, "self[1,1,1,4]{nan,1,2,3} kernel_size=[1,2]", "f32 bf16", "nan,3 ; 0,3"},
    {"pytorch-7645", kMaxPool2d, "self[1,1,2,2]{-inf,-inf,-inf,-inf} kernel_size=[2,2]", "f32 bf16",
     "-inf ; 0"},
    {"pytorch-20465", kMaxPool2d,
     "self[1,1,2,2]{-inf,-inf,-inf,-inf} kernel_size=[2,2] padding=[1,1] stride=[2,2]", "f32",
     "-inf,-inf,-inf,-inf"},
    // ceil_mode and what the divisor counts (PyTorch and ONNX Runtime agree).
    {"coremltools-2772", "aten::avg_pool1d.default",
     "self[1,1,5]{1,2,3,4,5} kernel_size=[2] stride=[2] ceil_mode=true", "f32 bf16 f16", "1.5,3.5,5"},
    {"tract-2851", kAvgPool2d,
     "self[1,1,3,3]{0,1,2,3,4,5,6,7,8} kernel_size=[2,2] stride=[2,2] ceil_mode=true", "f32 bf16 f16",
     "2,3.5,6.5,8"},
    {"onnxruntime-16203", kAvgPool2d,
     "self[1,1,3,3]{0,1,2,3,4,5,6,7,8} kernel_size=[2,2] stride=[2,2] padding=[1,1] ceil_mode=true",
     "f32 bf16 f16", "0,0.75,2.25,6", "include"},
    {"onnxruntime-16203", kAvgPool2d,
     "self[1,1,3,3]{0,1,2,3,4,5,6,7,8} kernel_size=[2,2] stride=[2,2] padding=[1,1] ceil_mode=true "
     "count_include_pad=false",
     "f32 bf16 f16", "0,1.5,4.5,6", "exclude"},
    // Many rows and channels: beyond 2^16.
    {"pytorch-167086", "aten::sum.dim_IntList", "self[65537,2] dim=[1]", "f32"},
    {"onnxruntime-32299", "aten::_native_batch_norm_legit_no_training.default",
     "input[1,65537] weight=None bias=None running_mean[65537] running_var[65537]~1,0.5 momentum=0.1 "
     "eps=1e-5",
     "f32"},
    // Compilers that stop at large reductions of positions.
    {"neuron-sdk-1210", "aten::argmax.default", "self[4,5001] dim=-1", "f32 bf16"},
};

}  // namespace

void register_reported_reductions(OpFamilies& table) {
  table.add([](const CaseSink& sink) { add_reports(sink, kReductionsReports); });
}

}  // namespace assay::suites
