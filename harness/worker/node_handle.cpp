#include "harness/worker/node_handle.h"

#include <algorithm>

#include <cstddef>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/opset/schema.h"

namespace assay {

bool has_unknown_size(const std::vector<TensorMeta>& metas) {
  return std::any_of(metas.begin(), metas.end(), [](const TensorMeta& meta) {
    return std::any_of(meta.shape.begin(), meta.shape.end(), [](int64_t size) { return size < 0; });
  });
}

// The functions of assay_node_api. They are called by foreign code: null and out-of-range arguments are
// answered, not trusted, and structs are written only as far as the caller's struct_size says.
struct NodeAccess {
  static const NodeHandle* of(const assay_node* node) { return reinterpret_cast<const NodeHandle*>(node); }

  template <typename Struct, typename Member, typename Value>
  static void set(Struct* out, Member Struct::*member, Value value) {
    const auto* end = reinterpret_cast<const std::byte*>(&(out->*member)) + sizeof(Member);
    if (static_cast<std::size_t>(end - reinterpret_cast<const std::byte*>(out)) <= out->struct_size) {
      out->*member = static_cast<Member>(value);
    }
  }

  static const char* name(const assay_node* node) { return node ? of(node)->node_.name.c_str() : ""; }
  static const char* op(const assay_node* node) { return node ? of(node)->node_.op.c_str() : ""; }
  static const char* schema(const assay_node* node) { return node ? of(node)->schema_.c_str() : ""; }
  static const char* source(const assay_node* node) {
    return node ? of(node)->node_.source.location.c_str() : "";
  }
  static std::size_t argument_count(const assay_node* node) { return node ? of(node)->arguments_.size() : 0; }
  static std::size_t input_count(const assay_node* node) { return node ? of(node)->inputs_.size() : 0; }
  static std::size_t output_count(const assay_node* node) { return node ? of(node)->outputs_.size() : 0; }

  static int32_t argument(const assay_node* node, std::size_t i, assay_argument* out) {
    if (node == nullptr || out == nullptr || i >= of(node)->arguments_.size()) return -1;
    const auto& arg = of(node)->arguments_[i];
    set(out, &assay_argument::name, arg.name.c_str());
    set(out, &assay_argument::kind, arg.kind);
    set(out, &assay_argument::count, arg.floats.empty() ? arg.ints.size() : arg.floats.size());
    set(out, &assay_argument::ints, arg.ints.data());
    set(out, &assay_argument::floats, arg.floats.data());
    set(out, &assay_argument::text, arg.text.c_str());
    return 0;
  }

  static int32_t meta(const std::vector<TensorMeta>& metas, std::size_t i, assay_tensor_meta* out) {
    if (out == nullptr || i >= metas.size()) return -1;
    set(out, &assay_tensor_meta::dtype, static_cast<int32_t>(metas[i].dtype));
    set(out, &assay_tensor_meta::rank, metas[i].shape.size());
    set(out, &assay_tensor_meta::sizes, metas[i].shape.data());
    return 0;
  }
  static int32_t input(const assay_node* node, std::size_t i, assay_tensor_meta* out) {
    return node ? meta(of(node)->inputs_, i, out) : -1;
  }
  static int32_t output(const assay_node* node, std::size_t i, assay_tensor_meta* out) {
    return node ? meta(of(node)->outputs_, i, out) : -1;
  }

  static const char* json(const assay_node* node, std::size_t* size) {
    if (node == nullptr) return nullptr;
    if (size != nullptr) *size = of(node)->json_.size();
    return of(node)->json_.c_str();
  }
};

const assay_node_api& NodeHandle::api() {
  static const assay_node_api api{
      sizeof(assay_node_api), NodeAccess::name,           NodeAccess::op,       NodeAccess::schema,
      NodeAccess::source,     NodeAccess::argument_count, NodeAccess::argument, NodeAccess::input_count,
      NodeAccess::input,      NodeAccess::output_count,   NodeAccess::output,   NodeAccess::json,
  };
  return api;
}

int64_t NodeHandle::number(ValueId id) {
  if (id < 0) return -1;
  const Value& value = graph_.values.at(static_cast<std::size_t>(id));
  if (value.kind != ValueKind::tensor) {
    throw Error(ErrorCode::internal,
                "node '" + node_.name + "' reads the unresolved scalar '" + value.name + "'");
  }
  input_values_.push_back(id);
  inputs_.push_back({value.dtype, value.shape});
  return static_cast<int64_t>(inputs_.size()) - 1;
}

NodeHandle::Arg NodeHandle::argument(const NamedArgument& given) {
  Arg arg;
  arg.name = given.name;
  const Argument& value = given.value;
  if (const auto* v = std::get_if<ValueArg>(&value)) {
    arg.kind = ASSAY_ARG_TENSOR;
    arg.ints = {number(v->id)};
  } else if (const auto* list = std::get_if<ValueListArg>(&value)) {
    arg.kind = ASSAY_ARG_TENSOR_LIST;
    for (const ValueId id : list->ids) arg.ints.push_back(number(id));
  } else if (const auto* i = std::get_if<int64_t>(&value)) {
    arg.kind = ASSAY_ARG_INT;
    arg.ints = {*i};
  } else if (const auto* ints = std::get_if<IntListArg>(&value)) {
    arg.kind = ASSAY_ARG_INT_LIST;
    arg.ints = ints->ints;
  } else if (const auto* f = std::get_if<double>(&value)) {
    arg.kind = ASSAY_ARG_FLOAT;
    arg.floats = {*f};
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    arg.kind = ASSAY_ARG_FLOAT_LIST;
    arg.floats = *floats;
  } else if (const auto* b = std::get_if<bool>(&value)) {
    arg.kind = ASSAY_ARG_BOOL;
    arg.ints = {*b ? 1 : 0};
  } else if (const auto* bools = std::get_if<std::vector<bool>>(&value)) {
    arg.kind = ASSAY_ARG_BOOL_LIST;
    for (const bool entry : *bools) arg.ints.push_back(entry ? 1 : 0);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    arg.kind = ASSAY_ARG_STRING;
    arg.text = *text;
  } else if (const auto* dtype = std::get_if<DTypeArg>(&value)) {
    arg.kind = ASSAY_ARG_DTYPE;
    arg.ints = {static_cast<int64_t>(dtype->dtype)};
  } else if (const auto* keyword = std::get_if<KeywordArg>(&value)) {
    arg.kind = ASSAY_ARG_KEYWORD;
    arg.text = keyword->text;
  } else if (std::holds_alternative<std::vector<std::string>>(value)) {
    throw Error(ErrorCode::unsupported, "node '" + node_.name + "': the ABI has no lists of strings");
  }
  return arg;
}

NodeHandle::NodeHandle(const Graph& graph, const Node& node) : graph_(graph), node_(node) {
  if (const Schema* schema = find_schema(node.op)) schema_ = schema->text;
  for (const NamedArgument& given : node.arguments) arguments_.push_back(argument(given));
  for (const ValueId id : node.outputs) {
    if (id < 0) continue;
    const Value& value = graph.values.at(static_cast<std::size_t>(id));
    output_values_.push_back(id);
    outputs_.push_back({value.dtype, value.shape});
  }
  json_ = graph_to_json(single_node_graph(graph, node));
}

}  // namespace assay
