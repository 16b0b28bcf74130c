#include "suites/layers/growth.h"

#include <string>

#include "suites/graph_case.h"

namespace assay::suites {
namespace {

constexpr int64_t kNodesOfABlock = 5, kRows = 64, kWidth = 128;

Case case_of_nodes(int64_t nodes) {
  GraphCase graph("growth/" + std::to_string(nodes), "nodes");
  models::Emitter& e = graph.emit();
  const auto input = [&](const char* name, const Shape& shape, double scale) {
    return graph.draw(name, DType::bf16, shape, 0, scale);
  };
  ValueId x = input("x", {kRows, kWidth}, 1);
  const ValueId weight = input("weight", {kWidth, kWidth}, 0.15), bias = input("bias", {kWidth}, 1);
  for (int64_t block = 0; block < nodes / kNodesOfABlock; ++block) {
    const ValueId normed =
        e.call_all("aten::native_layer_norm.default", {{"input", ValueArg{x}},
                                                       {"normalized_shape", IntListArg{{kWidth}, {}}},
                                                       {"weight", NoneArg{}},
                                                       {"bias", NoneArg{}},
                                                       {"eps", 1e-5}})
            .front();
    const ValueId h =
        e.call("aten::addmm.default",
               {{"self", ValueArg{bias}}, {"mat1", ValueArg{normed}}, {"mat2", ValueArg{weight}}});
    const ValueId activated = e.call("aten::gelu.default", {{"self", ValueArg{h}}});
    const double factor = 1 / static_cast<double>(block + 2);
    const ValueId scaled = e.call("aten::mul.Scalar", {{"self", ValueArg{activated}}, {"other", factor}});
    x = e.call("aten::add.Tensor", {{"self", ValueArg{scaled}}, {"other", ValueArg{x}}});
  }
  graph.output(x);
  return graph.build();
}

}  // namespace

std::vector<Case> growth_cases() {
  std::vector<Case> cases;
  for (const int64_t nodes : {100, 1'000, 5'000, 20'000}) cases.push_back(case_of_nodes(nodes));
  return cases;
}

}  // namespace assay::suites
