// Reports about views, joins and index tensors.
#include <string>

#include "suites/ops/generate/report_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

constexpr Report kMovementReports[] = {
    // An index out of range is an error, never a read outside.
    {"pytorch-151918", "aten::gather.default", "bad: self[5] dim=0 index[2]{0,-1}:i64", "f32", "", "minus-1"},
    {"pytorch-151918", "aten::gather.default", "bad: self[5] dim=0 index[2]{0,5}:i64", "f32", "", "size"},
    {"pytorch-145267", "aten::embedding.default", "bad: weight[5,2] indices[2]{0,-1}:i64", "f32 bf16", "",
     "minus-1"},
    {"pytorch-145267", "aten::embedding.default", "bad: weight[5,2] indices[2]{0,5}:i64", "f32 bf16", "",
     "size"},
    {"pytorch-145267", "aten::index_select.default", "bad: self[5,2] dim=0 index[2]{0,5}:i64", "f32", "",
     "size"},
    {"pytorch-145267", "aten::index.Tensor", "bad: self[5,2] indices[2]{0,5}:i64", "f32", "", "size"},
    {"pytorch-145267", "aten::index.Tensor", "bad: self[5,2] indices[2]{0,-6}:i64", "f32", "", "minus-6"},
    {"pytorch-145267", "aten::scatter_add.default", "bad: self[5] dim=0 index[2]{0,5}:i64 src[2]", "f32", "",
     "size"},
    // Negative indices count from the end where the operator says so.
    {"onnx-gather-minus-1", "aten::index.Tensor", "self[4]{10,20,30,40} indices[3]{-1,-4,0}:i64",
     "f32 bf16 i64", "40,10,10"},
    // Duplicate indices accumulate.
    {"scatter-duplicates", "aten::scatter_add.default",
     "self[3]{1,1,1} dim=0 index[5]{2,2,2,0,2}:i64 src[5]{1,2,4,8,16}", "f32 bf16 f16 i32 i64", "9,1,24"},
    {"scatter-duplicates", "aten::index_put.default",
     "self[3]{1,1,1} indices[4]{0,2,0,0}:i64 values[4]{1,2,4,8} accumulate=true", "f32 bf16 i64", "14,1,3"},
    // A slice with a negative step is refused, flip gives it; slices may be empty and stop at the end.
    {"iree-24584", "aten::slice.Tensor", "bad: self[4] dim=0 step=-1", "f32"},
    {"iree-24584", "aten::flip.default", "self[4]{0,1,2,3} dims=[0]", "f32 bf16 i64", "3,2,1,0"},
    {"torch-mlir-4630", "aten::slice.Tensor", "self[5]{0,1,2,3,4} dim=0 start=1 end=5 step=3", "f32 i64",
     "1,4"},
    {"tvm-19537", "aten::slice.Tensor", "self[5] dim=0 start=4 end=2", "f32 i64"},
    // Views that begin inside their storage.
    {"pytorch-171602", "aten::exp.default", "self[3,5]", "f32 bf16", "", "", Layout::offset},
    {"pytorch-171602", "aten::add.Tensor", "self[3,5] other[3,5]", "f32 bf16", "", "", Layout::offset},
    {"pytorch-105801", "aten::sum.dim_IntList", "self[3,5] dim=[1]", "f32 bf16", "", "", Layout::transposed},
    {"aiter-5292", "aten::mm.default", "self[9,7] mat2[7,9]", "f32 bf16", "", "transposed",
     Layout::transposed},
    {"aiter-5292", "aten::mm.default", "self[9,7] mat2[7,9]", "f32 bf16", "", "strided", Layout::strided},
    {"aiter-5292", "aten::bmm.default", "self[3,9,7] mat2[3,7,9]", "f32 bf16", "", "selected",
     Layout::selected},
    // More strides than four.
    {"optimum-neuron-754", "aten::clone.default", "self[2,3,2,3,2,3]", "f32 bf16", "", "",
     Layout::transposed},
    {"optimum-neuron-754", "aten::add.Tensor", "self[2,3,2,3,2] other[2,3,2,3,2]", "f32", "", "",
     Layout::transposed},
};

// Every way to take a part, along every dim from both ends: bit for bit.
void parts(const CaseSink& sink) {
  constexpr char kDtypes[] = "f32 bf16 i32";
  for (int dim = -3; dim < 3; ++dim) {
    const std::string d = " dim=" + std::to_string(dim);
    const std::string split = "self[6,6,6]" + d + " split_size=4";
    const std::string sizes = "self[6,6,6]" + d + " split_sizes=[1,3,2]";
    const std::string slice = "self[6,6,6]" + d + " start=1 end=5";
    const std::string strided = "self[6,6,6]" + d + " start=1 step=2";
    const std::string select = "self[6,6,6]" + d + " index=-2";
    const std::string about = "dim" + std::to_string(dim);
    const std::string strided_about = about + "-step";
    const Report reports[] = {
        {"neuron-sdk-1140", "aten::split.Tensor", split.c_str(), kDtypes, "", about.c_str()},
        {"xla-8640", "aten::split_with_sizes.default", sizes.c_str(), kDtypes, "", about.c_str()},
        {"neuron-sdk-1140", "aten::slice.Tensor", slice.c_str(), kDtypes, "", about.c_str()},
        {"neuron-sdk-1140", "aten::slice.Tensor", strided.c_str(), kDtypes, "", strided_about.c_str()},
        {"neuron-sdk-1140", "aten::select.int", select.c_str(), kDtypes, "", about.c_str()},
    };
    add_reports(sink, reports);
  }
}

}  // namespace

void register_reported_movement(OpFamilies& table) {
  table.add([](const CaseSink& sink) { add_reports(sink, kMovementReports); });
  table.add(parts);
}

}  // namespace assay::suites
