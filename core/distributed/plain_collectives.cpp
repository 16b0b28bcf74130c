#include "core/distributed/plain_collectives.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace assay {
namespace {

constexpr std::string_view kPlain = "_c10d_functional::", kAutograd = "_c10d_functional_autograd::";

// How a variant is written as calls of `plain`.
struct CollectiveVariant {
  std::string plain;    // "" for what is plain already
  bool list = false;    // one call for each tensor of "inputs"
  std::string changed;  // the argument that is written to, "" for none
};
CollectiveVariant variant_of(const std::string& op) {
  static const std::map<std::string_view, CollectiveVariant> kVariants{
      {"all_reduce_.default", {"all_reduce.default", false, "input"}},
      {"broadcast_.default", {"broadcast.default", false, "input"}},
      {"all_reduce_coalesced.default", {"all_reduce.default", true, ""}},
      {"all_reduce_coalesced_.default", {"all_reduce.default", true, "inputs"}},
      {"all_gather_into_tensor_coalesced.default", {"all_gather_into_tensor.default", true, ""}},
      {"all_gather_into_tensor_out.default", {"all_gather_into_tensor.default", false, "out"}},
      {"reduce_scatter_tensor_coalesced.default", {"reduce_scatter_tensor.default", true, ""}},
      {"reduce_scatter_tensor_out.default", {"reduce_scatter_tensor.default", false, "out"}}};
  if (op.starts_with(kAutograd)) return {op.substr(kAutograd.size()), false, ""};
  if (!op.starts_with(kPlain)) return {};
  const auto found = kVariants.find(std::string_view(op).substr(kPlain.size()));
  return found == kVariants.end() ? CollectiveVariant{} : found->second;
}

class PlainPass {
 public:
  explicit PlainPass(const Graph& program) : graph_(program), replaced_by_(program.values.size(), -1) {
    graph_.nodes.clear();
  }

  PlainProgram run(const std::vector<Node>& nodes) {
    PlainProgram plain;
    for (Node node : nodes) {
      plain.node_at.push_back(static_cast<int>(graph_.nodes.size()));
      rename_reads(node);
      const CollectiveVariant variant = variant_of(node.op);
      if (variant.plain.empty() || !replace(node, variant)) append(std::move(node));
    }
    plain.node_at.push_back(static_cast<int>(graph_.nodes.size()));
    for (GraphOutput& output : graph_.outputs) output.value = current(output.value);
    plain.graph = std::make_shared<const Graph>(std::move(graph_));
    return plain;
  }

 private:
  ValueId current(ValueId id) const {
    while (id >= 0 && replaced_by_[static_cast<std::size_t>(id)] >= 0) {
      id = replaced_by_[static_cast<std::size_t>(id)];
    }
    return id;
  }
  void rename_reads(Node& node) const {
    for (NamedArgument& argument : node.arguments) {
      visit_values(argument.value, [&](ValueId& id) { id = current(id); });
    }
  }

  void append(Node node) {
    for (const ValueId id : node.outputs) {
      if (id >= 0) {
        graph_.values[static_cast<std::size_t>(id)].producer = static_cast<int32_t>(graph_.nodes.size());
      }
    }
    graph_.nodes.push_back(std::move(node));
  }

  // A changed tensor has a result even where nobody names it.
  ValueId result_for(ValueId given, ValueId changed, const std::string& name) {
    if (given >= 0 || changed < 0) return given;
    Value value = graph_.values[static_cast<std::size_t>(changed)];
    value.name = name + "_changed";
    graph_.values.push_back(std::move(value));
    replaced_by_.push_back(-1);
    return static_cast<ValueId>(graph_.values.size()) - 1;
  }

  static std::vector<ValueId> tensors_of(const Node& node, const std::string& name) {
    const NamedArgument* given = node.find(name);
    if (given == nullptr) return {};
    if (const auto* one = std::get_if<ValueArg>(&given->value)) return {one->id};
    const auto* list = std::get_if<ValueListArg>(&given->value);
    return list == nullptr ? std::vector<ValueId>{} : list->ids;
  }

  // False if the call does not have its form.
  bool replace(const Node& node, const CollectiveVariant& variant) {
    const std::vector<ValueId> inputs = tensors_of(node, variant.list ? "inputs" : "input");
    const std::vector<ValueId> changed =
        variant.changed.empty() ? std::vector<ValueId>(inputs.size(), -1) : tensors_of(node, variant.changed);
    const auto is_none = [](ValueId id) { return id < 0; };
    if (node.outputs.size() != inputs.size() || changed.size() != inputs.size() ||
        std::any_of(inputs.begin(), inputs.end(), is_none) || (!variant.list && inputs.empty())) {
      return false;
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      Node made = node;
      made.op = std::string(kPlain) + variant.plain;
      if (variant.list) made.name = fmt::format("{}_{}", node.name, k);
      std::erase_if(made.arguments, [](const NamedArgument& given) { return given.name == "out"; });
      for (NamedArgument& given : made.arguments) {
        if (given.name == "inputs") given = {"input", ValueArg{current(inputs[k])}};
      }
      made.outputs = {result_for(node.outputs[k], changed[k], made.name)};
      if (changed[k] >= 0) replaced_by_[static_cast<std::size_t>(current(changed[k]))] = made.outputs[0];
      append(std::move(made));
    }
    return true;
  }

  Graph graph_;
  std::vector<ValueId> replaced_by_;  // by value: what stands for it from here on, -1: itself
};

}  // namespace

PlainProgram plain_collectives(const std::shared_ptr<const Graph>& program) {
  const bool is_plain =
      program == nullptr || std::all_of(program->nodes.begin(), program->nodes.end(),
                                        [](const Node& node) { return variant_of(node.op).plain.empty(); });
  if (!is_plain) return PlainPass(*program).run(program->nodes);
  std::vector<int> same(program == nullptr ? 1 : program->nodes.size() + 1);
  std::iota(same.begin(), same.end(), 0);
  return {program, std::move(same)};
}

RankPrograms plain_collectives(const RankPrograms& programs) {
  RankPrograms plain = programs;
  for (std::size_t r = 0; r < plain.graphs.size(); ++r) {
    PlainProgram made = plain_collectives(programs.graphs[r]);
    plain.graphs[r] = std::move(made.graph);
    for (RankFault& fault : plain.faults) {
      if (fault.rank != static_cast<int>(r) || fault.node < 0) continue;
      if (static_cast<std::size_t>(fault.node) < made.node_at.size())
        fault.node = made.node_at[static_cast<std::size_t>(fault.node)];
    }
  }
  return plain;
}

}  // namespace assay
