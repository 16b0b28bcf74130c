// Training graphs of real models, written by sweeps/export/joint.py: our joint graph of each loss against the
// one that PyTorch's autograd made of it, and against the fp64 gradients of PyTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/io/model.h"
#include "core/io/safetensors.h"
#include "models/differentiate/differentiate.h"
#include "reference/evaluate.h"

namespace assay::models {
namespace {

using reference::Wide;
using testing::HasSubstr;

const std::string kFolder = std::string(ASSAY_SOURCE_DIR) + "/sweeps/joint/";

std::vector<std::string> trained() {
  std::vector<std::string> ids;
  const std::string suffix = "-joint.json.zst";
  for (const auto& entry : std::filesystem::directory_iterator(kFolder + "models")) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) ids.push_back(name.substr(0, name.size() - suffix.size()));
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<Wide> evaluated(const Graph& graph, const Model& model) {
  std::vector<Wide> inputs;
  for (const GraphInput& input : graph.inputs) {
    if (input.value < 0) continue;
    inputs.push_back(Wide::from(input.kind == InputKind::user
                                    ? materialise(model.inputs.at(input.target), "input:" + input.target, 0)
                                    : model.weights.at(input.target)));
  }
  std::vector<const Wide*> pointers;
  for (const Wide& input : inputs) pointers.push_back(&input);
  return reference::Walker(graph).run_wide(pointers);
}

// Parameters in the order of the graph's inputs, those that share storage together, without what nobody
// reads.
std::vector<std::vector<std::string>> parameters_of(const Model& model) {
  std::set<ValueId> read;
  for (const Node& node : model.graph.nodes) {
    for (const ValueId id : inputs_of(node)) read.insert(id);
  }
  std::set<const std::byte*> used;
  std::vector<std::vector<std::string>> groups;
  for (const GraphInput& input : model.graph.inputs) {
    if (input.kind != InputKind::parameter || input.value < 0) continue;
    const std::byte* data = model.weights.at(input.target).data();
    if (read.contains(input.value)) used.insert(data);
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return model.weights.at(group.front()).data() == data;
    });
    if (same != groups.end()) {
      same->push_back(input.target);
    } else {
      groups.push_back({input.target});
    }
  }
  std::erase_if(groups,
                [&](const auto& group) { return !used.contains(model.weights.at(group.front()).data()); });
  return groups;
}

// The loss, then the gradients; of what is shared the sum.
std::vector<Wide> own_gradients(const Model& model) {
  const std::vector<std::vector<std::string>> groups = parameters_of(model);
  JointOptions options;
  for (const auto& group : groups) options.wrt.insert(options.wrt.end(), group.begin(), group.end());
  const std::vector<Wide> results = evaluated(joint_graph(model.graph, options), model);
  std::vector<Wide> out{results.front()};
  std::size_t at = 1;
  for (const auto& group : groups) {
    Wide sum = results.at(at++);
    for (std::size_t i = 1; i < group.size(); ++i, ++at) {
      for (std::size_t e = 0; e < sum.real.size(); ++e) sum.real[e] += results.at(at).real.at(e);
    }
    out.push_back(std::move(sum));
  }
  EXPECT_EQ(at, results.size());
  return out;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double v : values) most = std::max(most, std::fabs(v));
  return most;
}

double largest_difference(const std::vector<double>& got, const std::vector<double>& want) {
  EXPECT_EQ(got.size(), want.size());
  double worst = 0;
  for (std::size_t e = 0; e < std::min(got.size(), want.size()); ++e)
    worst = std::max(worst, std::isfinite(got[e]) ? std::fabs(got[e] - want[e]) : HUGE_VAL);
  return worst;
}

class TrainedModels : public testing::TestWithParam<std::string> {};

TEST_P(TrainedModels, OwnGradientsArePyTorchs) {
  const Model loss = read_model(kFolder + "models/" + GetParam() + "-loss.json.zst");
  Model joint = read_model(kFolder + "models/" + GetParam() + "-joint.json.zst");
  decompose(joint.graph);
  const std::vector<Wide> own = own_gradients(loss), theirs = evaluated(joint.graph, joint);
  ASSERT_EQ(own.size(), theirs.size());
  const TensorFile golden = read_safetensors(kFolder + "golden/" + GetParam() + "-joint.safetensors");
  double most = 0;
  for (const Wide& gradient : theirs) most = std::max(most, largest(gradient.real));
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i].meta.shape, theirs[i].meta.shape);
    // Some gradients are 0 but for rounding: of what is added to every score of a softmax's row.
    const double scale = std::max(largest(theirs[i].real), 1e-6 * most);
    EXPECT_LT(largest_difference(own[i].real, theirs[i].real), 1e-10 * scale) << "gradient " << i;
    const std::string key = std::to_string(i);
    const auto stride = static_cast<std::size_t>(std::stoll(golden.metadata.at(key + ".stride")));
    const std::vector<double> want = golden.tensors.at(key).to_doubles();
    std::vector<double> got;
    for (std::size_t e = 0; e < want.size(); ++e) got.push_back(own[i].real.at(e * stride));
    EXPECT_LT(largest_difference(got, want), 1e-9 * scale) << "gradient " << i << " against the stored one";
  }
}

INSTANTIATE_TEST_SUITE_P(Joint, TrainedModels, testing::ValuesIn(trained()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Fused attention after PyTorch's Core ATen decomposition: its loss is right, its gradients are not, because
// what the forward pass leaves as the logarithms of its sums are the softmax's rows.
TEST(TrainedModels, PyTorchsDecompositionOfFusedAttentionIsRefused) {
  try {
    read_model(kFolder + "models/llama-flash-wrong.json.zst");
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("logsumexp has shape [2, 4, 32, 32]; it must have shape [2, 4, 32]"));
  }
}

}  // namespace
}  // namespace assay::models
