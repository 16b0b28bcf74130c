#include "core/graph/functionalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

// By position; only the first is written to.
bool takes_same_arguments(const Schema& changing, const Schema& functional) {
  if (changing.arguments.size() != functional.arguments.size()) return false;
  for (std::size_t i = 0; i < changing.arguments.size(); ++i) {
    const SchemaType &a = changing.arguments[i].type, &b = functional.arguments[i].type;
    if (a.base != b.base || a.list != b.list || a.optional != b.optional) return false;
  }
  return true;
}

// Batch norm in training changes its running statistics, whether its schema says so or not.
std::string batch_norm_form(const std::string& op) {
  if (op == "aten::_batch_norm_with_update.default")
    return "aten::_batch_norm_with_update_functional.default";
  if (op == "aten::batch_norm.default" || op == "aten::native_batch_norm.default" ||
      op == "aten::_native_batch_norm_legit.default") {
    return "aten::_native_batch_norm_legit_functional.default";
  }
  return "";
}
bool trains_batch_norm(const Node& node) {
  if (batch_norm_form(node.op).empty()) return false;
  const auto is_tensor = [&](const char* name) {
    const NamedArgument* given = node.find(name);
    const auto* value = given == nullptr ? nullptr : std::get_if<ValueArg>(&given->value);
    return value != nullptr && value->id >= 0;
  };
  const NamedArgument* training = node.find("training");
  const bool* trains = training == nullptr ? nullptr : std::get_if<bool>(&training->value);
  const bool always = node.op == "aten::_batch_norm_with_update.default";
  return (always || (trains != nullptr && *trains)) && is_tensor("running_mean") && is_tensor("running_var");
}

class Pass {
 public:
  explicit Pass(Graph& graph)
      : graph_(graph),
        group_(graph.values.size()),
        members_(graph.values.size()),
        replaced_by_(graph.values.size(), -1),
        last_use_(graph.values.size(), -1) {
    for (std::size_t id = 0; id < graph.values.size(); ++id) {
      group_[id] = static_cast<ValueId>(id);
      members_[id] = {static_cast<ValueId>(id)};
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : inputs_of(graph.nodes[i])) last_use_[index(id)] = static_cast<int64_t>(i);
    }
    // What the caller sees after the call is a use as well.
    for (const GraphOutput& output : graph.outputs) use_at_end(output.value);
    for (const GraphInput& input : graph.inputs) use_at_end(input.value);
  }

  void run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      rename_reads(node);
      if (const std::string form = functional_form(node.op); !form.empty()) {
        replace(node, form, static_cast<int64_t>(i));
      } else if (trains_batch_norm(node)) {
        replace_batch_norm(node, static_cast<int64_t>(i));
      } else {
        join_views(node);
      }
    }
    rename_outputs();
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  const std::string& name(ValueId id) const { return graph_.values[index(id)].name; }
  void use_at_end(ValueId id) {
    if (id >= 0) last_use_[index(id)] = std::numeric_limits<int64_t>::max();
  }

  // What a value of the original graph is called by now. Chains are shortened as they are followed.
  ValueId current(ValueId id) {
    ValueId end = id;
    while (replaced_by_[index(end)] >= 0) end = replaced_by_[index(end)];
    while (id != end) id = std::exchange(replaced_by_[index(id)], end);
    return end;
  }

  void rename_reads(Node& node) {
    for (NamedArgument& argument : node.arguments) {
      visit_values(argument.value, [&](ValueId& id) {
        if (id >= 0) id = current(id);
      });
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
        if (output < 0) continue;
        group_[index(output)] = group_[index(value->id)];
        members_[index(group_[index(output)])].push_back(output);
      }
    }
  }

  void replace(Node& node, const std::string& form, int64_t at) {
    const auto* self =
        node.arguments.empty() ? nullptr : std::get_if<ValueArg>(&node.arguments.front().value);
    // Left to validate(), which names what the schema wants.
    if (self == nullptr || self->id < 0 || node.outputs.size() != 1 || node.outputs[0] < 0) return;
    check_no_other_view(node, self->id, at);
    rename_arguments(node, form);
    node.op = form;
    // The result, a tensor of its own now, stands for the changed tensor from here on.
    replaced_by_[index(self->id)] = node.outputs[0];
  }

  // The next running statistics become results, which stand for the changed buffers from here on.
  void replace_batch_norm(Node& node, int64_t at) {
    node.op = batch_norm_form(node.op);
    std::erase_if(node.arguments, [](const NamedArgument& given) { return given.name == "cudnn_enabled"; });
    node.outputs.resize(node.op == "aten::_native_batch_norm_legit_functional.default" ? 3 : 4, -1);
    for (const char* statistic : {"running_mean", "running_var"}) {
      const ValueId before = std::get<ValueArg>(node.find(statistic)->value).id;
      check_no_other_view(node, before, at);
      Value next = graph_.values[index(before)];
      next.name = node.name + "_" + statistic;
      next.producer = static_cast<int32_t>(at);
      const auto id = static_cast<ValueId>(graph_.values.size());
      graph_.values.push_back(std::move(next));
      group_.push_back(id);
      members_.push_back({id});
      replaced_by_.push_back(-1);
      last_use_.push_back(last_use_[index(before)]);
      node.outputs.push_back(id);
      replaced_by_[index(before)] = id;
    }
  }

  // dropout_(self) is dropout(input): arguments correspond by position.
  static void rename_arguments(Node& node, const std::string& form) {
    const Schema* from = find_schema(node.op);
    const Schema* to = find_schema(form);
    if (from == nullptr || to == nullptr) return;
    for (NamedArgument& given : node.arguments) {
      for (std::size_t i = 0; i < from->arguments.size(); ++i) {
        if (from->arguments[i].name != given.name) continue;
        given.name = to->arguments.at(i).name;
        break;
      }
    }
  }

  // Later uses of anything else that shares the memory would miss the change.
  void check_no_other_view(const Node& node, ValueId self, int64_t at) {
    for (const ValueId member : members_[index(group_[index(self)])]) {
      if (last_use_[index(member)] <= at || current(member) == self) continue;
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: node '{}' ({}) changes '{}' in place while '{}', which shares its memory, is used "
                      "afterwards. Call exported_program.run_decompositions() before torch.export.save",
                      graph_.id, node.name, node.op, name(self), name(member)));
    }
  }

  void rename_outputs() {
    std::vector<GraphOutput> mutations;
    for (const GraphInput& input : graph_.inputs) {
      if (input.value < 0 || current(input.value) == input.value) continue;
      if (input.kind == InputKind::constant) continue;  // nobody reads it after the call
      GraphOutput output;
      output.value = current(input.value);
      output.kind =
          input.kind == InputKind::user ? OutputKind::user_input_mutation : OutputKind::buffer_mutation;
      output.target = input.target;
      mutations.push_back(std::move(output));
    }
    for (GraphOutput& output : graph_.outputs) {
      if (output.value >= 0) output.value = current(output.value);
    }
    graph_.outputs.insert(graph_.outputs.begin(), mutations.begin(), mutations.end());
  }

  Graph& graph_;
  std::vector<ValueId> group_;                 // values that may share memory name the same value
  std::vector<std::vector<ValueId>> members_;  // by that value
  std::vector<ValueId> replaced_by_;           // -1: still itself
  std::vector<int64_t> last_use_;              // index of the last node that reads the value
};

}  // namespace

std::string functional_form(std::string_view op) {
  const auto dot = op.find('.');
  if (dot == std::string_view::npos || dot < 2 || op[dot - 1] != '_' || op[dot - 2] == '_') return "";
  // In programs of ranks core/distributed/plain_collectives.h does it, so that PyTorch's ranks get what is
  // written.
  if (op.starts_with("_c10d_functional::")) return "";
  // PyTorch names a few overloads differently.
  static const std::map<std::string_view, std::string> kRenamed = {
      {"aten::pow_.Scalar", "aten::pow.Tensor_Scalar"},
      {"aten::pow_.Tensor", "aten::pow.Tensor_Tensor"},
      {"aten::transpose_.default", "aten::transpose.int"},
      {"aten::bernoulli_.float", "aten::bernoulli.p"},
      {"aten::normal_.default", "aten::normal_functional.default"},
  };
  std::string form(op.substr(0, dot - 1));
  form += op.substr(dot);
  if (const auto renamed = kRenamed.find(op); renamed != kRenamed.end()) form = renamed->second;
  const Schema* schema = find_schema(form);
  const Schema* changing = find_schema(op);
  if (schema == nullptr) return "";
  return changing == nullptr || takes_same_arguments(*changing, *schema) ? form : "";
}

bool changes_in_place(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return !functional_form(node.op).empty() || trains_batch_norm(node);
  });
}

void functionalise(Graph& graph) {
  if (changes_in_place(graph)) Pass(graph).run();
}

}  // namespace assay
