#include "core/graph/functionalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/graph/views.h"
#include "core/opset/schema.h"
#include "core/opset/shapes.h"

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

// In PyTorch a tensor that is written to stays the same tensor: all values of the new graph that stand for it
// at different times are one object, called by the value that it had first. Objects that may share memory are
// a group: a tensor and its views, each made by a node from another member. A write gives its object a new
// value, and with it, by the inverse of each view, all that it was a view of; other members that are still
// read are viewed again.
class Pass {
 public:
  explicit Pass(Graph& graph) : graph_(graph) {
    for (std::size_t id = 0; id < graph.values.size(); ++id) add_object(static_cast<ValueId>(id));
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : inputs_of(graph.nodes[i])) last_use_[index(id)] = static_cast<int64_t>(i);
      taken_.insert(graph.nodes[i].name);
    }
    for (const Value& value : graph.values) taken_.insert(value.name);
    // What the caller sees after the call is a use as well. Constants are seen by nobody.
    for (const GraphOutput& output : graph.outputs) use_at_end(output.value);
    for (const GraphInput& input : graph.inputs) {
      if (input.kind != InputKind::constant) use_at_end(input.value);
    }
  }

  void run() {
    for (Node& given : std::exchange(graph_.nodes, {})) {
      Node node = std::move(given);
      rename_reads(node);
      if (const std::string form = functional_form(node.op); !form.empty()) {
        replace(std::move(node), form);
      } else if (trains_batch_norm(node)) {
        replace_batch_norm(std::move(node));
      } else {
        add_views(node);
        add_node(std::move(node));
      }
      ++now_;
    }
    rename_outputs();
  }

 private:
  // How an object was made of another.
  struct View {
    ValueId of = -1;  // object
    Node node;        // as it was called
    std::size_t output = 0;
    bool certain = true;
  };

  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  const std::string& name(ValueId id) const { return graph_.values[index(id)].name; }
  void use_at_end(ValueId id) {
    if (id >= 0) last_use_[index(id)] = std::numeric_limits<int64_t>::max();
  }
  bool read_later(ValueId object) const { return last_use_[index(object)] > now_; }

  void add_object(ValueId id) {
    group_.push_back(id);
    members_.push_back({id});
    object_.push_back(id);
    replaced_by_.push_back(-1);
    last_use_.push_back(-1);
  }
  // Another value of the object.
  ValueId add_value(Value value, ValueId object) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    graph_.values.push_back(std::move(value));
    add_object(id);
    object_[index(id)] = object;
    return id;
  }
  void add_node(Node node) {
    for (const ValueId id : node.outputs) {
      if (id >= 0) graph_.values[index(id)].producer = static_cast<int32_t>(graph_.nodes.size());
    }
    graph_.nodes.push_back(std::move(node));
  }
  std::string unused_name(std::string wanted) {
    while (!taken_.insert(wanted).second) wanted += "_";
    return wanted;
  }

  // What a value of the original graph is called by now. Chains are shortened as they are followed.
  ValueId current(ValueId id) {
    ValueId end = id;
    while (replaced_by_[index(end)] >= 0) end = replaced_by_[index(end)];
    while (id != end) id = std::exchange(replaced_by_[index(id)], end);
    return end;
  }
  void set_current(ValueId object, ValueId value) {
    const ValueId before = current(object);
    if (before != value) replaced_by_[index(before)] = value;
  }

  void rename_reads(Node& node) {
    for (NamedArgument& argument : node.arguments) {
      visit_values(argument.value, [&](ValueId& id) {
        if (id >= 0) id = current(id);
      });
    }
  }

  void add_views(const Node& node) {
    const Sharing sharing = sharing_of(graph_, node);
    if (sharing == Sharing::none) return;
    const ValueId of = object_[index(viewed_by(node))];
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (id < 0) continue;
      group_[index(id)] = group_[index(of)];
      members_[index(group_[index(of)])].push_back(id);
      views_[id] = {of, node, i, sharing == Sharing::certain};
    }
  }

  void replace(Node node, const std::string& form) {
    const auto* self =
        node.arguments.empty() ? nullptr : std::get_if<ValueArg>(&node.arguments.front().value);
    // Left to validate(), which names what the schema wants.
    if (self == nullptr || self->id < 0 || node.outputs.size() != 1 || node.outputs[0] < 0) {
      add_node(std::move(node));
      return;
    }
    const ValueId object = object_[index(self->id)], result = node.outputs[0];
    // transpose_ changes how a tensor looks, not what is in its memory.
    Node functional = node;
    rename_arguments(functional, form);
    functional.op = form;
    const bool only_looks = sharing_of(graph_, functional) != Sharing::none;
    if (only_looks) check_no_other_view(node, object);
    add_node_of_dtype(std::move(functional), object);
    // The result, a tensor of its own now, stands for the changed tensor from here on.
    set_current(object, result);
    object_[index(result)] = object;
    last_use_[index(object)] = std::max(last_use_[index(object)], last_use_[index(result)]);
    if (!only_looks) carry_to_views(node, object);
  }

  // x.add_(y) keeps the dtype of x where x + y would have another.
  void add_node_of_dtype(Node node, ValueId object) {
    const DType dtype = graph_.values[index(object)].dtype;
    const ValueId result = node.outputs[0];
    const auto metas = [&]() -> std::optional<std::vector<TensorMeta>> {
      try {
        return infer(OpCall(graph_, node));
      } catch (const Error&) {  // validate() says what is wrong with the call
        return std::nullopt;
      }
    }();
    if (!metas || metas->size() != 1 || metas->front().dtype == dtype ||
        graph_.values[index(result)].dtype != dtype) {
      add_node(std::move(node));
      return;
    }
    Value wide = graph_.values[index(result)];
    wide.name = unused_name(node.name + "_" + std::string(name_of(metas->front().dtype)));
    wide.dtype = metas->front().dtype;
    const ValueId computed = add_value(std::move(wide), object);
    Node cast{unused_name(node.name + "_cast"),
              "aten::_to_copy.default",
              {{"self", ValueArg{computed}}, {"dtype", DTypeArg{dtype}}},
              {result},
              node.source};
    node.outputs = {computed};
    add_node(std::move(node));
    add_node(std::move(cast));
  }

  // The next running statistics become results, which stand for the changed buffers from here on.
  void replace_batch_norm(Node node) {
    const Node written = node;
    node.op = batch_norm_form(node.op);
    std::erase_if(node.arguments, [](const NamedArgument& given) { return given.name == "cudnn_enabled"; });
    node.outputs.resize(node.op == "aten::_native_batch_norm_legit_functional.default" ? 3 : 4, -1);
    std::vector<ValueId> objects;
    for (const char* statistic : {"running_mean", "running_var"}) {
      const ValueId before = std::get<ValueArg>(node.find(statistic)->value).id;
      Value next = graph_.values[index(before)];
      next.name = unused_name(node.name + "_" + statistic);
      objects.push_back(object_[index(before)]);
      node.outputs.push_back(add_value(std::move(next), objects.back()));
    }
    const std::size_t first = node.outputs.size() - objects.size();
    const std::vector<ValueId> outputs = node.outputs;
    add_node(std::move(node));
    for (std::size_t i = 0; i < objects.size(); ++i) {
      set_current(objects[i], outputs[first + i]);
      carry_to_views(written, objects[i]);
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

  [[noreturn]] void refuse(const Node& by, ValueId written, ValueId shares) const {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: node '{}' ({}) changes '{}' in place while '{}', which shares or may share its "
                    "memory, is used afterwards. Call exported_program.run_decompositions() before "
                    "torch.export.save",
                    graph_.id, by.name, by.op, name(written), name(shares)));
  }
  void check_no_other_view(const Node& by, ValueId written) const {
    for (const ValueId member : members_[index(group_[index(written)])]) {
      if (member != written && read_later(member)) refuse(by, written, member);
    }
  }

  // `written` has a new value: whatever shares its memory and is read later gets one, too.
  void carry_to_views(const Node& by, ValueId written) {
    const std::vector<ValueId> members = members_[index(group_[index(written)])];
    std::vector<ValueId> viewed;  // what `written` is a view of, the nearest first
    for (auto view = views_.find(written); view != views_.end(); view = views_.find(viewed.back())) {
      viewed.push_back(view->second.of);
    }
    // Members that are read later or viewed by such. Views were made after what they view.
    std::set<ValueId> needed;
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      if (*member == written || (!read_later(*member) && !needed.contains(*member))) continue;
      needed.insert(*member);
      const auto view = views_.find(*member);
      const bool above = std::find(viewed.begin(), viewed.end(), *member) != viewed.end();
      if (view != views_.end() && !above) needed.insert(view->second.of);
    }
    while (!viewed.empty() && !needed.contains(viewed.back())) viewed.pop_back();
    std::set<ValueId> renewed = {written};
    std::set<std::string> passed;  // nodes of views that the write went back through
    ValueId object = written;
    for (const ValueId of : viewed) {
      const View& view = views_.at(object);
      write_back(by, object, view);
      passed.insert(view.node.name);
      renewed.insert(of);
      object = of;
    }
    std::map<std::string, std::vector<ValueId>> viewed_again;  // by the name of the node
    for (const ValueId member : members) {
      const auto view = views_.find(member);
      if (renewed.contains(member) || !needed.contains(member) || view == views_.end()) continue;
      // Parts of one split do not overlap.
      if (!renewed.contains(view->second.of) || passed.contains(view->second.node.name)) continue;
      if (!view->second.certain) refuse(by, written, member);
      auto& outputs = viewed_again[view->second.node.name];
      if (outputs.empty()) outputs = view_again(by, view->second);
      set_current(member, outputs[view->second.output]);
      renewed.insert(member);
    }
  }

  // Gives what `view` views a new value, in which the view's part is the current value of `object`.
  void write_back(const Node& by, ValueId object, const View& view) {
    auto back = written_back(graph_, view.node, view.output, current(view.of), current(object));
    if (!back) refuse(by, object, view.of);
    Value value = graph_.values[index(current(view.of))];
    value.name = back->name = unused_name(by.name + "_in_" + name(view.of));
    back->source = by.source;
    const ValueId changed = add_value(std::move(value), view.of);
    back->outputs = {changed};
    add_node(std::move(*back));
    set_current(view.of, changed);
  }

  std::vector<ValueId> view_again(const Node& by, const View& view) {
    Node again = view.node;
    const ValueId before = viewed_by(again);
    for (NamedArgument& argument : again.arguments) {
      auto* value = std::get_if<ValueArg>(&argument.value);
      if (value != nullptr && value->id == before) value->id = current(view.of);
    }
    again.name = unused_name(view.node.name + "_after_" + by.name);
    again.source = by.source;
    for (std::size_t i = 0; i < again.outputs.size(); ++i) {
      if (again.outputs[i] < 0) continue;
      Value value = graph_.values[index(again.outputs[i])];
      value.name = again.outputs.size() == 1 ? again.name : unused_name(fmt::format("{}_{}", again.name, i));
      again.outputs[i] = add_value(std::move(value), object_[index(again.outputs[i])]);
    }
    std::vector<ValueId> outputs = again.outputs;
    add_node(std::move(again));
    return outputs;
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
  int64_t now_ = 0;                            // index of the node in the original graph
  std::vector<ValueId> group_;                 // objects that may share memory name the same one
  std::vector<std::vector<ValueId>> members_;  // by that one, in the order in which they were made
  std::vector<ValueId> object_;                // of each value
  std::vector<ValueId> replaced_by_;           // -1: still itself
  std::vector<int64_t> last_use_;              // index of the last node that reads the object
  std::map<ValueId, View> views_;
  std::set<std::string> taken_;  // names of nodes and values
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
