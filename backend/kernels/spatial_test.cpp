// Kernels of spatial operators and distances on every call of core/decompose/testdata/spatial_calls.json, in
// fp32 and bf16, against the reference's Bound.
#include <set>

#include "backend/kernels/against_reference_test.h"
#include "reference/call_text_test.h"

namespace assay::backend {
namespace {

using reference::Json;
using reference::Wide;

Wide converted(const Tensor& tensor, DType to) {
  if (is_integral(tensor.dtype())) return Wide::from(tensor);
  return Wide::from(Tensor::from_doubles(to, tensor.shape(), tensor.to_doubles()));
}

// The call in another dtype; results as the shape rules give them.
void check_in(const Json& call, DType dtype) {
  const reference::Composite composite(call);
  const OpCall given(composite.graph, composite.graph.nodes.at(0));
  // Inputs in the order in which the call numbers them.
  std::vector<Wide> inputs;
  std::vector<TensorMeta> metas;
  std::vector<NamedArgument> arguments = composite.graph.nodes.at(0).arguments;
  for (const ValueId id : given.input_values()) {
    const auto number = static_cast<ValueId>(inputs.size());
    inputs.push_back(converted(composite.inputs.at(static_cast<std::size_t>(id)), dtype));
    metas.push_back(inputs.back().meta);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto* was = std::get_if<ValueArg>(&composite.graph.nodes.at(0).arguments[i].value);
      if (was != nullptr && was->id == id) arguments[i].value = ValueArg{number};
    }
  }
  std::vector<const Wide*> operands;
  for (const Wide& wide : inputs) operands.push_back(&wide);
  const auto results = infer(OpCall(call.at(0).get<std::string>(), metas, arguments));
  ASSERT_TRUE(results);
  check_call(OpCall(call.at(0).get<std::string>(), metas, arguments, *results), operands);
}

TEST(SpatialKernels, LieWithinTheBoundOfTheReference) {
  std::set<std::string> seen;
  for (const Json& call : reference::calls_in("spatial_calls.json")) {
    const std::string op = call.at(0).get<std::string>();
    if (kernels().find(op) == nullptr || !reference::has_operator(op)) continue;
    bool integral = false;
    for (const auto& [name, value] : call.at(1).items()) {
      integral = integral || (name != "indices" && value.is_object() && value.at("t") != "f64");
    }
    if (integral && op.find("_pad") == std::string::npos && op.find("nearest") == std::string::npos) continue;
    SCOPED_TRACE(call.dump().substr(0, 300));
    seen.insert(op);
    check_in(call, DType::f32);
    if (op.find("cdist") == std::string::npos && op.find("pdist") == std::string::npos)
      check_in(call, DType::bf16);
    if (HasFailure()) break;
  }
  EXPECT_GE(seen.size(), 30u);
}

}  // namespace
}  // namespace assay::backend
