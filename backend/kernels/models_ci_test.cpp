// Every node of every catalogue model on the simulated device, fed with what the reference computed so far,
// held against the reference's value and Bound under the device's Contract.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "backend/kernels/run_call.h"
#include "backend/runtime/contract.h"
#include "core/contract/contract.h"
#include "core/io/model.h"
#include "gtest/gtest.h"
#include "reference/evaluate.h"

namespace assay::backend {
namespace {

using reference::Wide;

DType computation_dtype(const OpCall& call) {
  for (const TensorMeta& meta : call.inputs()) {
    if (is_float(meta.dtype)) return meta.dtype;
  }
  return call.outputs().empty() ? DType::f32 : call.output(0).dtype;
}

std::string place(const OpCall& call, std::size_t output, std::size_t i) {
  return call.node_name() + " " + call.op() + " output " + std::to_string(output) + " element " +
         std::to_string(i);
}

void compare(const OpCall& call, std::size_t output, const Tensor& got, const reference::BoundedWide& want) {
  const auto undefined = [&](std::size_t i) {
    return !want.special.empty() && (want.special[i] & reference::special_undefined) != 0;
  };
  if (is_integral(got.dtype())) {
    const std::vector<int64_t> values = got.to_ints();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == want.value.integer[i] || undefined(i)) continue;
      ADD_FAILURE() << place(call, output, i) << ": got " << values[i] << ", want " << want.value.integer[i];
      return;
    }
    return;
  }
  const std::vector<double> values = got.to_doubles(), right = want.value.rounded().to_doubles();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool equal = values[i] == right[i] || (std::isnan(values[i]) && std::isnan(right[i]));
    if (equal || undefined(i) || std::fabs(values[i] - want.value.real[i]) <= want.bound[i]) continue;
    ADD_FAILURE() << place(call, output, i) << ": got " << values[i] << ", want " << want.value.real[i]
                  << " +- " << want.bound[i];
    return;
  }
}

class Models : public testing::TestWithParam<std::string> {};

TEST_P(Models, EveryNodeIsWithinItsBound) {
  const Model model = read_model(std::string(ASSAY_SOURCE_DIR) + "/sweeps/catalogue/models/" + GetParam());
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

  const Contract contract = Contract::parse(contract_json(), "backend/runtime/contract.cpp");
  const CoreDescription& device = core(Generation::trn2);
  FunctionalSimulator simulator(device);
  const reference::Walker walker(model.graph);
  walker.run(inputs, [&](int, const OpCall& call, const std::vector<const Wide*>& operands) {
    const auto want = reference::evaluate_bounded(
        call, operands, contract.precision(call.op(), computation_dtype(call), "eager"));
    std::vector<Wide> out;
    for (const reference::BoundedWide& w : want) out.push_back(Wide::from(w.value.rounded()));
    try {
      const CompiledCall compiled = compile_call(call, device, {});
      std::vector<Tensor> tensors, results;
      std::vector<HbmBinding> in, to;
      for (const Wide* wide : operands) {
        tensors.push_back(wide->rounded());
        in.push_back({tensors.back().mutable_data(), tensors.back().bytes()});
      }
      for (const TensorMeta& meta : call.outputs()) {
        results.emplace_back(meta.dtype, meta.shape);
        to.push_back({results.back().mutable_data(), results.back().bytes()});
      }
      simulator.run(compiled.program, in, to);
      const auto choice = reference::check_choice(call, operands, results);
      if (choice) {
        EXPECT_EQ(*choice, "") << place(call, 0, 0);
      } else {
        for (std::size_t i = 0; i < results.size(); ++i) compare(call, i, results[i], want[i]);
      }
    } catch (const std::exception& error) {
      ADD_FAILURE() << call.node_name() << " " << call.op() << ": " << error.what();
    }
    return out;
  });
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ASSAY_SOURCE_DIR) + "/sweeps/catalogue/models")) {
    out.push_back(entry.path().filename());
  }
  std::sort(out.begin(), out.end());
  return out;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Models, testing::ValuesIn(files()),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

}  // namespace
}  // namespace assay::backend
