#include "core/graph/views.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/opset/schema.h"

namespace assay {
namespace {

// How a write to the result goes back.
enum class Way {
  reshape,     // the same elements in the same order
  same_again,  // exchanges two dims: its own inverse
  permute,
  move,     // movedim: source and destination change places
  scatter,  // NAME has NAME_scatter, which takes the same arguments
  narrow,
  select_each,  // unbind
  slice_each,   // split and its like
  nowhere,      // a view, but several of its elements may be one of the viewed tensor's
};

const std::map<std::string_view, Way>& ways() {
  static const std::map<std::string_view, Way> table = {
      {"aten::alias.default", Way::reshape},
      {"aten::detach.default", Way::reshape},
      {"aten::view.default", Way::reshape},
      {"aten::view_as.default", Way::reshape},
      {"aten::unsqueeze.default", Way::reshape},
      {"aten::squeeze.default", Way::reshape},
      {"aten::squeeze.dim", Way::reshape},
      {"aten::squeeze.dims", Way::reshape},
      {"aten::unflatten.int", Way::reshape},
      {"aten::t.default", Way::same_again},
      {"aten::transpose.int", Way::same_again},
      {"aten::swapaxes.default", Way::same_again},
      {"aten::swapdims.default", Way::same_again},
      {"aten::permute.default", Way::permute},
      {"aten::movedim.int", Way::move},
      {"aten::movedim.intlist", Way::move},
      {"aten::slice.Tensor", Way::scatter},
      {"aten::select.int", Way::scatter},
      {"aten::diagonal.default", Way::scatter},
      {"aten::narrow.default", Way::narrow},
      {"aten::unbind.int", Way::select_each},
      {"aten::chunk.default", Way::slice_each},
      {"aten::split.Tensor", Way::slice_each},
      {"aten::split.sizes", Way::slice_each},
      {"aten::split_with_sizes.default", Way::slice_each},
      {"aten::tensor_split.sections", Way::slice_each},
      {"aten::tensor_split.indices", Way::slice_each},
      {"aten::expand.default", Way::nowhere},
      {"aten::expand_as.default", Way::nowhere},
      {"aten::unfold.default", Way::nowhere},
      {"aten::as_strided.default", Way::nowhere},
  };
  return table;
}

// The argument that results may share memory with, as (a) -> (a) says; nullptr if there is none.
const NamedArgument* shared_argument(const Node& node) {
  const Schema* schema = find_schema(node.op);
  if (schema == nullptr) return nullptr;
  const bool aliases = std::any_of(schema->returns.begin(), schema->returns.end(),
                                   [](const SchemaType& type) { return !type.alias.empty(); });
  if (!aliases) return nullptr;
  for (const SchemaArgument& argument : schema->arguments) {
    if (!argument.type.alias.empty()) return node.find(argument.name);
  }
  return nullptr;
}

const Value& value_of(const Graph& graph, ValueId id) { return graph.values[static_cast<std::size_t>(id)]; }

// Absent: `otherwise`; given by a node: nullopt.
std::optional<int64_t> plain_int(const Node& node, const char* name, int64_t otherwise) {
  const NamedArgument* given = node.find(name);
  if (given == nullptr) return otherwise;
  const auto* number = std::get_if<int64_t>(&given->value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::optional<Node> inverse_permutation(const Graph& graph, const Node& view, ValueId viewed,
                                        ValueId changed) {
  const NamedArgument* given = view.find("dims");
  const auto* dims = given == nullptr ? nullptr : std::get_if<IntListArg>(&given->value);
  const auto rank = static_cast<int64_t>(value_of(graph, viewed).shape.size());
  if (dims == nullptr || static_cast<int64_t>(dims->ints.size()) != rank) return std::nullopt;
  IntListArg inverse;
  inverse.ints.assign(dims->ints.size(), 0);
  for (std::size_t i = 0; i < dims->ints.size(); ++i) {
    const int64_t dim = dims->ints[i] < 0 ? dims->ints[i] + rank : dims->ints[i];
    if (dim < 0 || dim >= rank) return std::nullopt;
    inverse.ints[static_cast<std::size_t>(dim)] = static_cast<int64_t>(i);
  }
  return Node{"", view.op, {{"self", ValueArg{changed}}, {"dims", std::move(inverse)}}, {}, {}};
}

Node slice_scatter(ValueId viewed, ValueId changed, int64_t dim, int64_t start, int64_t end) {
  return {
      "",
      "aten::slice_scatter.default",
      {{"self", ValueArg{viewed}}, {"src", ValueArg{changed}}, {"dim", dim}, {"start", start}, {"end", end}},
      {},
      {}};
}

// The part of `dim` that an output of split has.
std::optional<Node> slice_of_each(const Graph& graph, const Node& view, std::size_t output, ValueId viewed,
                                  ValueId changed) {
  const auto dim = plain_int(view, "dim", 0);
  const auto rank = static_cast<int64_t>(value_of(graph, viewed).shape.size());
  if (!dim || *dim < -rank || *dim >= rank) return std::nullopt;
  const auto at_dim = static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim);
  int64_t start = 0;
  for (std::size_t i = 0;; ++i) {
    if (view.outputs[i] < 0) return std::nullopt;
    const Shape& shape = value_of(graph, view.outputs[i]).shape;
    if (at_dim >= shape.size() || shape[at_dim] < 0) return std::nullopt;
    if (i == output) return slice_scatter(viewed, changed, *dim, start, start + shape[at_dim]);
    start += shape[at_dim];
  }
}

}  // namespace

Sharing sharing_of(const Graph& graph, const Node& node) {
  const ValueId viewed = viewed_by(node);
  if (viewed < 0) return Sharing::none;
  if (ways().contains(node.op)) return Sharing::certain;
  // A cast to another dtype is a copy.
  const bool cast = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    return id < 0 || value_of(graph, id).dtype != value_of(graph, viewed).dtype;
  });
  return cast && node.op.starts_with("aten::to.") ? Sharing::none : Sharing::possible;
}

ValueId viewed_by(const Node& node) {
  const NamedArgument* given = shared_argument(node);
  const auto* value = given == nullptr ? nullptr : std::get_if<ValueArg>(&given->value);
  return value == nullptr ? -1 : value->id;
}

std::optional<Node> written_back(const Graph& graph, const Node& view, std::size_t output, ValueId viewed,
                                 ValueId changed) {
  const auto way = ways().find(view.op);
  if (way == ways().end()) return std::nullopt;
  // The view's own call with other tensors in front.
  const auto called = [&](std::string op, std::vector<NamedArgument> tensors) {
    Node node{"", std::move(op), std::move(tensors), {}, {}};
    for (const NamedArgument& given : view.arguments) {
      if (given.name != "self") node.arguments.push_back(given);
    }
    return node;
  };
  const NamedArgument viewed_argument{"self", ValueArg{viewed}}, changed_argument{"self", ValueArg{changed}},
      source{"src", ValueArg{changed}};
  switch (way->second) {
    case Way::reshape:
      return Node{"", "aten::reshape_as.default", {changed_argument, {"other", ValueArg{viewed}}}, {}, {}};
    case Way::same_again:
      return called(view.op, {changed_argument});
    case Way::permute:
      return inverse_permutation(graph, view, viewed, changed);
    case Way::move: {
      Node back = called(view.op, {changed_argument});
      for (NamedArgument& given : back.arguments) {
        if (given.name == "source") {
          given.name = "destination";
        } else if (given.name == "destination") {
          given.name = "source";
        }
      }
      return back;
    }
    case Way::scatter: {
      const std::string name = view.op.substr(0, view.op.find('.'));
      return called(name + "_scatter.default", {viewed_argument, source});
    }
    case Way::narrow: {
      const auto dim = plain_int(view, "dim", 0), start = plain_int(view, "start", 0),
                 length = plain_int(view, "length", 0);
      if (!dim || !start || !length || *start < 0) return std::nullopt;
      return slice_scatter(viewed, changed, *dim, *start, *start + *length);
    }
    case Way::select_each: {
      const auto dim = plain_int(view, "dim", 0);
      if (!dim) return std::nullopt;
      return Node{"",
                  "aten::select_scatter.default",
                  {viewed_argument, source, {"dim", *dim}, {"index", static_cast<int64_t>(output)}},
                  {},
                  {}};
    }
    case Way::slice_each:
      return slice_of_each(graph, view, output, viewed, changed);
    case Way::nowhere:
      break;
  }
  return std::nullopt;
}

}  // namespace assay
