// Reports about products and convolutions.
#include "suites/ops/generate/report_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

constexpr char kConvolution[] = "aten::convolution.default";

constexpr Report kProductsReports[] = {
    // beta = 0: the matrix that would be added is not read (BLAS). alpha = 0: neither are the factors.
    {"pytorch-196596", "aten::addmm.default",
     "self[2,2]{nan,nan,nan,nan} mat1[2,2]{1,1,1,1} mat2[2,2]{1,1,1,1} beta=0", "f32 bf16 f16", "2,2,2,2"},
    {"pytorch-194442", "aten::baddbmm.default",
     "self[1,2,2]{nan,inf,nan,inf} batch1[1,2,2]{1,1,1,1} batch2[1,2,2]{1,1,1,1} beta=0", "f32 bf16 f16",
     "2,2,2,2"},
    {"pytorch-187521", "aten::addmm.default",
     "self[2,2]{1,2,3,4} mat1[2,2]{nan,1,1,1} mat2[2,2]{1,1,1,1} alpha=0", "f32 bf16", "1,2,3,4"},
    // An empty sum is zero.
    {"tvm-19578", "aten::mm.default", "self[2,0] mat2[0,3]", "f32 bf16 f16 f64 i64", "0,0,0,0,0,0"},
    {"pytorch-63352", "aten::addmm.default", "self[2,3]{1,1,1,1,1,1} mat1[2,0] mat2[0,3] beta=2",
     "f32 bf16 f16", "2,2,2,2,2,2"},
    {"pytorch-137406", "aten::bmm.default", "self[2,2,0] mat2[2,0,1]", "f32 bf16", "0,0,0,0"},
    {"onnxruntime-4559", "aten::baddbmm.default", "self[1,2,2]{1,2,3,4} batch1[1,2,0] batch2[1,0,2]", "f32",
     "1,2,3,4"},
    // Tails: one more than a block in every dim.
    {"onednn-5912", "aten::mm.default", "self[129,17] mat2[17,3]", "f32 bf16 f16", "", "m129"},
    {"onednn-6003", "aten::mm.default", "self[3,129] mat2[129,17]", "f32 bf16 f16", "", "k129"},
    {"onednn-5377", "aten::mm.default", "self[3,17] mat2[17,513]", "f32 bf16 f16", "", "n513"},
    {"openvino-38256", "aten::bmm.default", "self[3,33,65] mat2[3,65,129]", "bf16 f16"},
    // Groups are blocks of channels; dilation and padding: 0 - 2, 0 - 3, 1 - 4, 2 - 0.
    {"pytorch-188335", kConvolution,
     "input[1,2,1,2]{0,1,2,3} weight[2,1,1,1]{1,10} bias=None stride=[1,1] padding=[0,0] dilation=[1,1] "
     "transposed=false output_padding=[0,0] groups=2",
     "f32 bf16 f16", "0,1,20,30"},
    {"modular-6712", kConvolution,
     "input[1,1,5]{0,1,2,3,4} weight[1,1,2]{1,-1} bias=None stride=[1] padding=[1] dilation=[3] "
     "transposed=false output_padding=[0] groups=1",
     "f32 bf16 f16", "-2,-3,-3,2"},
    {"pytorch-21597", kConvolution,
     "input[2,1,1,1]{1,2} weight[1,1,3,3]{1,1,1,1,1,1,1,1,1} bias=None stride=[1,1] padding=[1,1] "
     "dilation=[1,1] transposed=false output_padding=[0,0] groups=1",
     "f32 bf16", "1,2"},
};

// One result for one row whatever else is in the batch: every batch size compilers were seen to differ on.
void batches(const CaseSink& sink) {
  for (int batch = 1; batch <= 8; ++batch) {
    const std::string b = std::to_string(batch);
    const std::string bmm = "self[" + b + ",5,7] mat2[" + b + ",7,9]";
    const std::string softmax = "self[" + b + ",3,17]~0,6 dim=2 half_to_float=false";
    const std::string norm = "input[" + b + ",33] normalized_shape=[33] weight=None bias=None eps=1e-5";
    const std::string convolution =
        "input[" + b +
        ",3,5,5] weight[4,3,3,3] bias=None stride=[1,1] padding=[1,1] dilation=[1,1] "
        "transposed=false output_padding=[0,0] groups=1";
    const std::string about = "batch-" + b;
    const Report reports[] = {
        {"neuron-sdk-1323", "aten::bmm.default", bmm.c_str(), "f32 bf16", "", about.c_str()},
        {"neuron-sdk-1323", "aten::_softmax.default", softmax.c_str(), "f32 bf16", "", about.c_str()},
        {"neuron-sdk-1323", "aten::native_layer_norm.default", norm.c_str(), "f32 bf16", "", about.c_str()},
        {"neuron-sdk-1323", kConvolution, convolution.c_str(), "f32 bf16", "", about.c_str()},
    };
    add_reports(sink, reports);
  }
}

}  // namespace

void register_reported_products(OpFamilies& table) {
  table.add([](const CaseSink& sink) { add_reports(sink, kProductsReports); });
  table.add(batches);
}

}  // namespace assay::suites
