// Every node of every catalogue model on the simulated device, fed with what the reference computed so far,
// held against the reference's value and Bound under the device's Contract.

#include <gtest/gtest.h>
#include "backend/kernels/against_reference_test.h"
#include "backend/kernels/catalogue_test.h"
#include "core/io/model.h"
#include "reference/evaluate.h"

namespace assay::backend {
namespace {

using reference::Wide;

class Models : public testing::TestWithParam<std::string> {};

TEST_P(Models, EveryNodeIsWithinItsBound) {
  const Model model = read_model(kCatalogue + GetParam());
  std::vector<Wide> given;
  for (const GraphInput& input : model.graph.inputs) {
    if (input.value < 0) continue;
    const std::string& name = model.graph.values[static_cast<std::size_t>(input.value)].name;
    given.push_back(Wide::from(input.kind == InputKind::user
                                   ? materialise(model.inputs.at(input.target), "input:" + name, 0)
                                   : model.weights.at(input.target)));
  }
  std::vector<const Wide*> inputs;
  for (const Wide& wide : given) inputs.push_back(&wide);

  const reference::Walker walker(model.graph);
  walker.run(inputs, [&](int, const OpCall& call, const std::vector<const Wide*>& operands) {
    std::vector<Wide> out;
    for (const reference::BoundedWide& w : check_call(call, operands)) {
      out.push_back(Wide::from(w.value.rounded()));
    }
    return out;
  });
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Models, testing::ValuesIn(catalogue_files()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

}  // namespace
}  // namespace assay::backend
