// On every catalogue model the fp64 chain agrees with the slice of PyTorch's own fp64 outputs that is stored
// beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/io/model.h"
#include "core/io/safetensors.h"
#include "reference/evaluate.h"

namespace assay::reference {
namespace {

std::vector<std::string> catalogue_models() {
  std::vector<std::string> names;
  const std::filesystem::path folder = std::filesystem::path(ASSAY_SOURCE_DIR) / "sweeps/catalogue/golden";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Wide> model_inputs(const Model& model, uint64_t seed) {
  std::vector<Wide> inputs;
  for (const GraphInput& input : model.graph.inputs) {
    if (input.value < 0) continue;
    if (input.kind != InputKind::user) {
      inputs.push_back(Wide::from(model.weights.at(input.target)));
    } else {
      inputs.push_back(Wide::from(materialise(model.inputs.at(input.target), "input:" + input.target, seed)));
    }
  }
  return inputs;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Fp64ChainAgreesWithPyTorch) {
  const std::string root = std::string(ASSAY_SOURCE_DIR) + "/sweeps/catalogue/";
  const Model model = read_model(root + "models/" + GetParam() + ".json.zst");
  const TensorFile golden = read_safetensors(root + "golden/" + GetParam() + ".safetensors");
  const std::vector<Wide> inputs = model_inputs(model, 0);
  std::vector<const Wide*> pointers;
  for (const Wide& input : inputs) pointers.push_back(&input);
  const std::vector<Wide> outputs = Walker(model.graph).run_wide(pointers);

  std::size_t user = 0, compared = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (model.graph.outputs[o].kind != OutputKind::user) continue;
    const std::string key = std::to_string(user++);
    const auto it = golden.tensors.find(key);
    if (it == golden.tensors.end()) continue;
    const std::vector<double> want = it->second.to_doubles();
    const auto stride = static_cast<std::size_t>(std::stoll(golden.metadata.at(key + ".stride")));
    const double largest = std::stod(golden.metadata.at(key + ".max_abs"));
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::size_t at = i * stride;
      const double got =
          outputs[o].is_integral() ? static_cast<double>(outputs[o].integer.at(at)) : outputs[o].real.at(at);
      const bool same_special = (std::isnan(got) && std::isnan(want[i])) || got == want[i];
      worst = std::max(worst, same_special ? 0 : std::fabs(got - want[i]));
      ASSERT_TRUE(same_special || (std::isfinite(got) && std::isfinite(want[i]))) << key << " element " << at;
    }
    EXPECT_LE(worst, 1e-12 * largest) << "output " << key;
    compared += want.size();
  }
  EXPECT_GT(compared, 0U);
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Golden, testing::ValuesIn(catalogue_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace assay::reference
