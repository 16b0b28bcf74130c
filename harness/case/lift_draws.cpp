#include "harness/case/lift_draws.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/opset/call.h"
#include "core/opset/classify.h"
#include "reference/draws.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

class Lifting {
 public:
  Lifting(const Graph& graph, const std::vector<std::string>& names, const std::vector<Tensor>& values,
          uint64_t seed)
      : seed_(seed) {
    result_.graph = graph;
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) known_[names[i]] = values[i];
  }

  LiftedDraws run(bool compiled) {
    Graph& graph = result_.graph;
    const std::vector<Node> old = std::exchange(graph.nodes, {});
    for (const Node& node : old) {
      if (!is_random_op(node.op)) {
        graph.nodes.push_back(node);
      } else if (!compiled) {
        keep_aside(node);
      } else if (node.op == "aten::native_dropout.default") {
        apply_mask(node);
      } else {
        for (const ValueId id : node.outputs) lift(id);
      }
    }
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const ValueId id : graph.nodes[n].outputs) {
        if (id >= 0) value(id).producer = static_cast<int32_t>(n);
      }
    }
    return std::move(result_);
  }

 private:
  Value& value(ValueId id) { return result_.graph.values.at(static_cast<std::size_t>(id)); }

  ValueId add(Value fresh) {
    result_.graph.values.push_back(std::move(fresh));
    return static_cast<ValueId>(result_.graph.values.size()) - 1;
  }

  void make_input(ValueId id, Tensor tensor) {
    value(id).producer = -1;
    GraphInput input;
    input.value = id;
    input.target = value(id).name;
    result_.graph.inputs.push_back(std::move(input));
    result_.inputs.push_back(std::move(tensor));
  }

  bool lift(ValueId id) {
    if (id < 0) return false;
    const auto found = known_.find(value(id).name);
    if (found == known_.end()) return false;
    make_input(id, found->second);
    return true;
  }

  void keep_aside(Node node) {
    for (ValueId& id : node.outputs) {
      const ValueId read = id;
      if (!lift(read)) continue;
      Value drawn = value(read);
      drawn.name += "_drawn";
      id = add(std::move(drawn));
    }
    result_.graph.nodes.push_back(std::move(node));
  }

  // y = x * mask * 1 / (1 - p): of the draw nothing but the mask is lifted.
  void apply_mask(const Node& node) {
    const OpCall call(result_.graph, node);
    const ValueId x = call.input_values().at(static_cast<std::size_t>(call.tensor("input"))),
                  y = node.outputs.at(0);
    const double p = call.floating("p");
    const bool train = call.is_none("train") || call.boolean("train");
    ValueId mask = node.outputs.at(1);
    if (!lift(mask)) {
      const reference::DrawSeed draws(seed_);
      const reference::Wide zeros = reference::Wide::from(Tensor(call.input(0).dtype, call.input(0).shape));
      Tensor drawn = reference::evaluate(call, {&zeros})[1].rounded();
      if (mask < 0) {
        Value fresh;
        fresh.name = node.name + "_mask";
        fresh.dtype = DType::boolean;
        fresh.shape = call.input(0).shape;
        mask = add(std::move(fresh));
      }
      make_input(mask, std::move(drawn));
    }
    if (y < 0) return;
    Value kept = value(y);
    kept.name += "_kept";
    const ValueId product = add(std::move(kept));
    const double scale = !train ? 1 : p < 1 ? 1 / (1 - p) : 0;
    result_.graph.nodes.push_back({node.name + "_kept",
                                   "aten::mul.Tensor",
                                   {{"self", ValueArg{x}}, {"other", ValueArg{mask}}},
                                   {product},
                                   node.source});
    result_.graph.nodes.push_back(
        {node.name, "aten::mul.Tensor", {{"self", ValueArg{product}}, {"other", scale}}, {y}, node.source});
  }

  LiftedDraws result_;
  std::map<std::string, Tensor> known_;
  uint64_t seed_;
};

}  // namespace

std::vector<ValueId> draws_to_lift(const Graph& graph) {
  std::vector<ValueId> ids;
  if (graph.nodes.size() < 2) return ids;
  for (const Node& node : graph.nodes) {
    if (!is_random_op(node.op)) continue;
    for (const ValueId id : node.outputs) {
      if (id >= 0) ids.push_back(id);
    }
  }
  return ids;
}

std::optional<LiftedDraws> lift_draws(const Graph& graph, std::string_view mode,
                                      const std::vector<std::string>& names,
                                      const std::vector<Tensor>& values, uint64_t seed) {
  if (draws_to_lift(graph).empty() || values.empty()) return std::nullopt;
  return Lifting(graph, names, values, seed).run(mode == "compile");
}

}  // namespace assay
