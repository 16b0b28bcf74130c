// Inputs that an outsider's planted defects showed to be missing: results below the normal numbers, rows
// without a finite number, factors that no narrow format holds.
#include <string>
#include <vector>

#include "suites/ops/generate/report_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

struct Planted {
  const char* source;
  std::vector<const char*> ops;
  const char* call;
  const char* dtypes;
  const char* expected = "";
  const char* about = "";
};

const std::vector<Planted>& planted() {
  static const std::vector<Planted> table{
      {"planted-subnormal-result",
       {"aten::exp.default", "aten::sigmoid.default", "aten::expm1.default"},
       "self[8]{-88,-89,-90.5,-95,-100,-103,-103.9,-110}",
       "f32 bf16"},
      {"planted-subnormal-result",
       {"aten::exp.default", "aten::sigmoid.default"},
       "self[8]{-9.75,-10,-11.5,-13,-15,-16.5,-17,-20}",
       "f16",
       "",
       "f16"},
      {"planted-subnormal-result",
       {"aten::exp.default", "aten::sigmoid.default"},
       "self[6]{-708.5,-720,-735,-744,-745,-1074}",
       "f64",
       "",
       "f64"},
      {"planted-subnormal-result",
       {"aten::_softmax.default"},
       "self[2,3]{0,-89,-95,-103,0,-100} dim=1 half_to_float=false",
       "f32"},
      {"planted-late-overflow",
       {"aten::cosh.default", "aten::sinh.default"},
       "self[6]{88.75,89,89.25,89.4,-89.3,-88.8}",
       "f32"},
      {"planted-late-overflow",
       {"aten::exp.default", "aten::expm1.default"},
       "self[3]{88.5,88.7,88.72}",
       "f32",
       "",
       "exp"},
      {"planted-infinite-row",
       {"aten::amax.default"},
       "self[3,2]{-inf,-inf,-inf,1,inf,-inf} dim=[1]",
       "f32 bf16 f16 f64",
       "-inf,1,inf"},
      {"planted-infinite-row",
       {"aten::amin.default"},
       "self[3,2]{inf,inf,inf,1,inf,-inf} dim=[1]",
       "f32 bf16 f16 f64",
       "inf,1,-inf"},
      {"planted-infinite-row",
       {"aten::max.dim"},
       "self[2,3]{-inf,-inf,-inf,-inf,2,-inf} dim=1",
       "f32 bf16 f16 f64"},
      {"planted-infinite-row",
       {"aten::min.dim"},
       "self[2,3]{inf,inf,inf,inf,2,inf} dim=1",
       "f32 bf16 f16 f64"},
      {"planted-infinite-row",
       {"aten::argmax.default"},
       "self[2,3]{-inf,-inf,-inf,-inf,2,-inf} dim=1",
       "f32 bf16 f16"},
      {"planted-infinite-row",
       {"aten::argmin.default"},
       "self[2,3]{inf,inf,inf,inf,2,inf} dim=1",
       "f32 bf16 f16"},
      {"planted-infinite-row", {"aten::cummax.default"}, "self[4]{-inf,-inf,-inf,1} dim=0", "f32 bf16"},
      {"planted-infinite-row", {"aten::cummin.default"}, "self[4]{inf,inf,inf,1} dim=0", "f32 bf16"},
      {"planted-infinite-row",
       {"aten::logsumexp.default"},
       "self[2,2]{-inf,-inf,-inf,1} dim=[1]",
       "f32 bf16 f64",
       "-inf,1"},
      {"planted-infinite-row",
       {"aten::sort.default"},
       "self[2,3]{-inf,-inf,-inf,inf,inf,inf} dim=1",
       "f32 bf16"},
      {"planted-infinite-row",
       {"aten::topk.default"},
       "self[2,4]{-inf,-inf,-inf,-inf,-inf,1,-inf,-inf} k=2",
       "f32 bf16"},
      {"planted-infinite-row",
       {"aten::max_pool2d_with_indices.default"},
       "self[1,1,2,4]{-inf,-inf,-inf,1,-inf,-inf,-inf,-inf} kernel_size=[2,2]",
       "f32 bf16"},
      {"planted-nan-is-true", {"aten::any.dim"}, "self[3,2]{nan,0,0,0,nan,1} dim=1", "f32 bf16 f16 f64"},
      {"planted-nan-is-true", {"aten::any.default"}, "self[2]{nan,nan}", "f32 bf16 f16 f64", "1"},
      {"planted-nan-is-true",
       {"aten::logical_not.default"},
       "self[3]{nan,0,-0}",
       "f32 bf16 f16 f64",
       "0,1,1"},
      {"planted-nan-is-true",
       {"aten::logical_and.default"},
       "self[3]{nan,nan,0} other[3]{1,0,nan}",
       "f32 bf16 f16 f64",
       "1,0,0"},
      {"planted-factor",
       {"aten::add.Tensor", "aten::sub.Tensor"},
       "self[8]{1,2,3,-4,0.5,7,-9,0} other[8]{3,5,-7,11,13,-17,19,23} alpha=0.1",
       "f32 f64"},
      {"planted-factor",
       {"aten::add.Scalar", "aten::sub.Scalar"},
       "self[8]{1,2,3,-4,0.5,7,-9,0} other=7 alpha=0.1",
       "f32 f64"},
      {"planted-factor",
       {"aten::add.Scalar", "aten::sub.Scalar"},
       "self[4]{1,2,3,-4} other=7 alpha=3",
       "i32 i64 f32",
       "",
       "integer"},
      {"planted-factor",
       {"aten::addmm.default"},
       "self[2,2]{1,-2,3,4} mat1[2,3]{1,2,3,-4,5,6} mat2[3,2]{7,-8,9,1,2,3} alpha=0.1 beta=0.3",
       "f32 f64"},
      {"planted-neighbours",
       {"aten::lt.Tensor", "aten::le.Tensor", "aten::gt.Tensor", "aten::ge.Tensor", "aten::eq.Tensor",
        "aten::ne.Tensor"},
       "self[4]{16777216,16777217,-16777217,2147483647} other[4]{16777217,16777216,-16777216,2147483646}",
       "i32 i64"},
  };
  return table;
}

}  // namespace

void register_planted_defects(OpFamilies& table) {
  table.add([](const CaseSink& sink) {
    for (const Planted& entry : planted()) {
      for (const char* op : entry.ops) {
        const Report report{entry.source, op, entry.call, entry.dtypes, entry.expected, entry.about};
        add_reports(sink, &report, 1);
      }
    }
  });
}

}  // namespace assay::suites
