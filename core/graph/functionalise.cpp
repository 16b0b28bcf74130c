#include "core/graph/functionalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

class Pass {
 public:
  explicit Pass(Graph& graph) : graph_(graph), group_(graph.values.size()), current_(graph.values.size()) {
    std::iota(group_.begin(), group_.end(), 0);
    std::iota(current_.begin(), current_.end(), 0);
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      rename_reads(node);
      if (const std::string form = functional_form(node.op); !form.empty()) {
        replace(node, form, i);
      } else {
        join_views(node);
      }
    }
    rename_outputs();
  }

 private:
  std::size_t index(ValueId id) const { return static_cast<std::size_t>(id); }
  const std::string& name(ValueId id) const { return graph_.values[index(id)].name; }

  void rename_reads(Node& node) {
    for (NamedArgument& argument : node.arguments) {
      if (auto* one = std::get_if<ValueArg>(&argument.value)) {
        if (one->id >= 0) one->id = current_[index(one->id)];
      } else if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
        for (ValueId& id : list->ids) {
          if (id >= 0) id = current_[index(id)];
        }
      }
    }
  }

  // A result that the schema ties to an argument, (a) -> (a), may share its memory.
  void join_views(const Node& node) {
    const Schema* schema = find_schema(node.op);
    if (schema == nullptr) return;
    const bool aliases = std::any_of(schema->returns.begin(), schema->returns.end(),
                                     [](const SchemaType& type) { return !type.alias.empty(); });
    if (!aliases) return;
    for (const SchemaArgument& argument : schema->arguments) {
      if (argument.type.alias.empty()) continue;
      const NamedArgument* given = node.find(argument.name);
      const auto* value = given == nullptr ? nullptr : std::get_if<ValueArg>(&given->value);
      if (value == nullptr || value->id < 0) continue;
      for (const ValueId output : node.outputs) {
        if (output >= 0) group_[index(output)] = group_[index(value->id)];
      }
    }
  }

  void replace(Node& node, const std::string& form, std::size_t at) {
    const auto* self =
        node.arguments.empty() ? nullptr : std::get_if<ValueArg>(&node.arguments.front().value);
    if (self == nullptr || self->id < 0 || node.outputs.size() != 1 || node.outputs[0] < 0) {
      throw Error(
          ErrorCode::malformed_file,
          fmt::format("{}: node '{}' ({}): an in-place operator needs a tensor as its first argument and one "
                      "result",
                      graph_.id, node.name, node.op));
    }
    check_no_other_view(node, self->id, at);
    node.op = form;
    const ValueId before = self->id;
    const ValueId after = node.outputs[0];
    for (ValueId& id : current_) {
      if (id == before) id = after;
    }
    // The result is a tensor of its own now; only the group's identity moves on, so that a second change
    // finds it.
    group_[index(after)] = after;
  }

  // Uses of any other member of the group, after this node, would miss the change.
  void check_no_other_view(const Node& node, ValueId self, std::size_t at) const {
    const auto check = [&](ValueId id) {
      if (id < 0) return;
      const ValueId now = current_[index(id)];
      if (now != self && group_[index(now)] == group_[index(self)]) {
        throw Error(
            ErrorCode::unsupported,
            fmt::format(
                "{}: node '{}' ({}) changes '{}' in place while '{}', which shares its memory, is used "
                "afterwards. Call exported_program.run_decompositions() before torch.export.save",
                graph_.id, node.name, node.op, name(self), name(now)));
      }
    };
    for (std::size_t i = at + 1; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : inputs_of(graph_.nodes[i])) check(id);
    }
    for (const GraphOutput& output : graph_.outputs) check(output.value);
    // What the caller can see after the call is a use as well.
    for (const GraphInput& input : graph_.inputs) check(input.value);
  }

  void rename_outputs() {
    std::vector<GraphOutput> mutations;
    for (const GraphInput& input : graph_.inputs) {
      if (input.value < 0 || current_[index(input.value)] == input.value) continue;
      if (input.kind == InputKind::constant) continue;  // nobody reads it after the call
      GraphOutput output;
      output.value = current_[index(input.value)];
      output.kind =
          input.kind == InputKind::user ? OutputKind::user_input_mutation : OutputKind::buffer_mutation;
      output.target = input.target;
      mutations.push_back(std::move(output));
    }
    for (GraphOutput& output : graph_.outputs) {
      if (output.value >= 0) output.value = current_[index(output.value)];
    }
    graph_.outputs.insert(graph_.outputs.begin(), mutations.begin(), mutations.end());
  }

  Graph& graph_;
  std::vector<ValueId> group_;    // values that may share memory have the same entry
  std::vector<ValueId> current_;  // what a value of the original graph is called by now
};

}  // namespace

std::string functional_form(std::string_view op) {
  const auto dot = op.find('.');
  if (dot == std::string_view::npos || dot < 2 || op[dot - 1] != '_' || op[dot - 2] == '_') return "";
  std::string form(op.substr(0, dot - 1));
  form += op.substr(dot);
  return find_schema(form) == nullptr ? "" : form;
}

void functionalise(Graph& graph) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                               [](const Node& node) { return !functional_form(node.op).empty(); });
  if (any) Pass(graph).run();
}

}  // namespace assay
