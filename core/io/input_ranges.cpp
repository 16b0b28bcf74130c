#include "core/io/input_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "core/error.h"

namespace assay {
namespace {

// Operators whose result holds the same numbers as their argument "self" (or as one of "tensors").
const std::set<std::string_view>& copies() {
  static const std::set<std::string_view> ops{"aten::view.default",
                                              "aten::reshape.default",
                                              "aten::unsqueeze.default",
                                              "aten::squeeze.dim",
                                              "aten::squeeze.dims",
                                              "aten::permute.default",
                                              "aten::transpose.int",
                                              "aten::t.default",
                                              "aten::expand.default",
                                              "aten::expand_as.default",
                                              "aten::repeat.default",
                                              "aten::slice.Tensor",
                                              "aten::select.int",
                                              "aten::clone.default",
                                              "aten::alias.default",
                                              "aten::detach.default",
                                              "aten::contiguous.default",
                                              "aten::flatten.using_ints",
                                              "aten::unflatten.int",
                                              "aten::_to_copy.default",
                                              "aten::to.dtype",
                                              "aten::cat.default",
                                              "aten::stack.default",
                                              "aten::split.Tensor",
                                              "aten::split_with_sizes.default",
                                              "aten::chunk.default",
                                              "aten::unbind.int",
                                              "aten::flip.default",
                                              "aten::_unsafe_view.default",
                                              "aten::type_as.default",
                                              "aten::diagonal.default",
                                              "aten::unfold.default"};
  return ops;
}

struct Range {
  int64_t low;
  int64_t high;  // exclusive
};

class Follower {
 public:
  explicit Follower(const Graph& graph) : graph_(graph), readers_(graph.values.size()) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId id : inputs_of(graph.nodes[i])) readers_[static_cast<std::size_t>(id)].push_back(i);
    }
  }

  // The intersection of what all uses of the value need; nullopt if nothing is indexed by it.
  std::optional<Range> needed(ValueId input) {
    std::vector<std::pair<ValueId, int64_t>> open{{input, 0}};  // value = input + shift
    std::set<ValueId> seen{input};
    std::optional<Range> range;
    const auto narrow = [&](int64_t rows, int64_t shift) {
      const Range use{-shift, rows - shift};
      range = range ? Range{std::max(range->low, use.low), std::min(range->high, use.high)} : use;
    };
    while (!open.empty()) {
      const auto [value, shift] = open.back();
      open.pop_back();
      for (const std::size_t n : readers_[static_cast<std::size_t>(value)]) {
        const Node& node = graph_.nodes[n];
        if (const auto rows = indexed_rows(node, value)) narrow(*rows, shift);
        const auto step = copied(node, value);
        if (!step) continue;
        for (const ValueId output : node.outputs) {
          if (output >= 0 && is_integer(output) && seen.insert(output).second)
            open.emplace_back(output, shift + *step);
        }
      }
    }
    return range;
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }
  bool is_integer(ValueId id) const {
    return value(id).kind == ValueKind::tensor && is_integral(value(id).dtype) &&
           value(id).dtype != DType::boolean;
  }

  static bool is(const Node& node, std::string_view argument, ValueId id) {
    const NamedArgument* found = node.find(argument);
    const auto* given = found == nullptr ? nullptr : std::get_if<ValueArg>(&found->value);
    return given != nullptr && given->id == id;
  }

  std::optional<int64_t> size_of_argument(const Node& node, std::string_view argument, int64_t dim) const {
    const NamedArgument* found = node.find(argument);
    const auto* given = found == nullptr ? nullptr : std::get_if<ValueArg>(&found->value);
    if (given == nullptr || given->id < 0) return std::nullopt;
    const Shape& shape = value(given->id).shape;
    const auto rank = static_cast<int64_t>(shape.size());
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank || shape[static_cast<std::size_t>(dim)] < 1) return std::nullopt;
    return shape[static_cast<std::size_t>(dim)];
  }

  static int64_t integer(const Node& node, std::string_view argument, int64_t otherwise) {
    const NamedArgument* found = node.find(argument);
    const auto* given = found == nullptr ? nullptr : std::get_if<int64_t>(&found->value);
    return given == nullptr ? otherwise : *given;
  }

  // Size of the dimension that `id` indexes in this node.
  std::optional<int64_t> indexed_rows(const Node& node, ValueId id) const {
    const std::string_view op = node.op;
    if (op == "aten::embedding.default" && is(node, "indices", id))
      return size_of_argument(node, "weight", 0);
    if (op == "aten::_embedding_bag.default" && is(node, "indices", id))
      return size_of_argument(node, "weight", 0);
    if (op == "aten::nll_loss_forward.default" && is(node, "target", id))
      return size_of_argument(node, "self", 1);
    if (is(node, "index", id) && (op == "aten::gather.default" || op == "aten::index_select.default" ||
                                  op.rfind("aten::scatter", 0) == 0 || op == "aten::index_add.default" ||
                                  op == "aten::index_copy.default")) {
      return size_of_argument(node, "self", integer(node, "dim", 0));
    }
    if (op != "aten::index.Tensor" && op.rfind("aten::index_put", 0) != 0) return std::nullopt;
    const NamedArgument* found = node.find("indices");
    const auto* list = found == nullptr ? nullptr : std::get_if<ValueListArg>(&found->value);
    if (list == nullptr) return std::nullopt;
    std::optional<int64_t> rows;
    int64_t dim = 0;
    for (const ValueId index : list->ids) {
      if (index == id) {
        if (const auto size = size_of_argument(node, "self", dim))
          rows = std::min(rows.value_or(*size), *size);
      }
      // A mask takes as many dimensions as it has.
      const bool mask = index >= 0 && value(index).dtype == DType::boolean;
      dim += mask ? static_cast<int64_t>(value(index).shape.size()) : 1;
    }
    return rows;
  }

  // What the node adds to the numbers it passes on; nullopt if it does not pass them on.
  std::optional<int64_t> copied(const Node& node, ValueId id) const {
    if (copies().count(node.op) != 0) return is(node, "other", id) ? std::nullopt : std::optional<int64_t>(0);
    const bool add = node.op == "aten::add.Tensor" || node.op == "aten::add.Scalar";
    const bool subtract = node.op == "aten::sub.Tensor" || node.op == "aten::sub.Scalar";
    if ((!add && !subtract) || !is(node, "self", id)) return std::nullopt;
    const NamedArgument* other = node.find("other");
    const auto* constant = other == nullptr ? nullptr : std::get_if<int64_t>(&other->value);
    constexpr int64_t kLargest = int64_t{1} << 40;  // beyond any table, and sums stay far from overflow
    const int64_t alpha = integer(node, "alpha", 1);
    if (constant == nullptr || std::abs(*constant) > kLargest || alpha != 1) return std::nullopt;
    return add ? *constant : -*constant;
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace

std::map<std::string, TensorRecipe> default_input_recipes(const Model& model) {
  std::map<std::string, TensorRecipe> recipes;
  Follower follower(model.graph);
  for (const GraphInput& input : model.graph.inputs) {
    if (input.kind != InputKind::user || input.value < 0) continue;
    const Value& value = model.graph.values.at(static_cast<std::size_t>(input.value));
    if (value.kind != ValueKind::tensor) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: user input '{}' is a symbolic number; export it as a constant or a tensor",
                              model.origin, input.target));
    }
    if (std::find(value.shape.begin(), value.shape.end(), -1) != value.shape.end()) {
      std::string symbols;
      for (std::size_t d = 0; d < value.shape.size(); ++d) {
        const bool symbolic = d < value.symbols.size() && !value.symbols[d].empty();
        symbols += fmt::format("{}{}", d > 0 ? ", " : "",
                               symbolic ? value.symbols[d] : std::to_string(value.shape[d]));
      }
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: user input '{}' has symbolic sizes [{}]; give inputs with --inputs IN.safetensors",
                      model.origin, input.target, symbols));
    }
    TensorRecipe recipe{value.dtype, value.shape, UniformDraw{0, 1}};
    if (value.dtype == DType::boolean) {
      recipe.source = IntegerDraw{0, 2};
    } else if (is_integral(value.dtype)) {
      const auto needed = follower.needed(input.value);
      Range range = needed.value_or(Range{0, 2});
      if (range.high > 0)
        range.low = std::max<int64_t>(range.low, 0);  // negative only where nothing else is possible
      range.low = std::max(range.low, int_min(value.dtype));
      range.high = std::min(range.high, value.dtype == DType::i64 ? range.high : int_max(value.dtype) + 1);
      range.high = std::min(range.high, range.low + (int64_t{1} << 32));
      if (range.high <= range.low) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "{}: no value of user input '{}' is inside all tables that it indexes; give inputs with "
                "--inputs IN.safetensors",
                model.origin, input.target));
      }
      recipe.source = IntegerDraw{range.low, range.high};
    }
    recipes.emplace(input.target, std::move(recipe));
  }
  return recipes;
}

}  // namespace assay
