// flex_attention in ATen operators, as PyTorch's eager implementation defines it (math_attention in
// torch/_higher_order_ops/flex_attention.py): scores in fp32 (fp64 for fp64), score_mod and mask_mod
// evaluated for all positions at once, a safe softmax, weights rounded to the query's dtype.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/decompose/shorthands.h"
#include "core/error.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

constexpr std::size_t kGrid = 4;  // batch, head, query, key

// Operators of which every element of the result depends on the same element of the operands.
bool is_elementwise(const std::string& op) {
  static const std::set<std::string> names = {"_to_copy",
                                              "abs",
                                              "acos",
                                              "acosh",
                                              "add",
                                              "alias",
                                              "asin",
                                              "asinh",
                                              "atan",
                                              "atan2",
                                              "atanh",
                                              "bitwise_and",
                                              "bitwise_left_shift",
                                              "bitwise_not",
                                              "bitwise_or",
                                              "bitwise_right_shift",
                                              "bitwise_xor",
                                              "ceil",
                                              "clamp",
                                              "clamp_max",
                                              "clamp_min",
                                              "clone",
                                              "copysign",
                                              "cos",
                                              "cosh",
                                              "detach",
                                              "div",
                                              "elu",
                                              "eq",
                                              "erf",
                                              "erfc",
                                              "exp",
                                              "exp2",
                                              "expm1",
                                              "floor",
                                              "floor_divide",
                                              "fmod",
                                              "full_like",
                                              "ge",
                                              "gelu",
                                              "gt",
                                              "hardsigmoid",
                                              "hardswish",
                                              "hardtanh",
                                              "isinf",
                                              "isnan",
                                              "le",
                                              "leaky_relu",
                                              "lerp",
                                              "log",
                                              "log10",
                                              "log1p",
                                              "log2",
                                              "logical_and",
                                              "logical_not",
                                              "logical_or",
                                              "logical_xor",
                                              "lt",
                                              "masked_fill",
                                              "maximum",
                                              "minimum",
                                              "mish",
                                              "mul",
                                              "ne",
                                              "neg",
                                              "ones_like",
                                              "pow",
                                              "reciprocal",
                                              "relu",
                                              "remainder",
                                              "round",
                                              "rsqrt",
                                              "rsub",
                                              "sigmoid",
                                              "sign",
                                              "silu",
                                              "sin",
                                              "sinh",
                                              "softplus",
                                              "sqrt",
                                              "square",
                                              "sub",
                                              "tan",
                                              "tanh",
                                              "to",
                                              "true_divide",
                                              "trunc",
                                              "where",
                                              "zeros_like",
                                              "__and__",
                                              "__or__",
                                              "__xor__"};
  constexpr std::string_view kSpace = "aten::";
  if (!op.starts_with(kSpace)) return false;
  return names.contains(op.substr(kSpace.size(), op.find('.') - kSpace.size()));
}

// A value of the function for all positions: its shape is [b, h, q, k], each of them 1 where it does not
// matter, followed by the dims that the function sees. One that depends on no position has only those.
struct Spread {
  ValueId id = -1;
  bool by_position = false;
};

class Function {
 public:
  Function(Rewriter& w, const OpCall& call, const char* name, const Graph& graph)
      : w_(w), call_(call), name_(name), graph_(graph), values_(graph.values.size()) {}

  ValueId run(const std::vector<Spread>& parameters) {
    for (std::size_t i = 0; i < parameters.size(); ++i) at(graph_.inputs[i].value) = parameters[i];
    for (const Node& node : graph_.nodes) {
      const std::vector<ValueId> reads = inputs_of(node);
      const bool spread =
          std::any_of(reads.begin(), reads.end(), [&](ValueId id) { return at(id).by_position; });
      if (node.outputs.empty()) continue;  // an assertion
      if (!spread) {
        emit_once(node);
      } else if (node.op == "aten::index.Tensor") {
        define(node, index(node));
      } else if (is_elementwise(node.op) && node.outputs.size() == 1) {
        define(node, elementwise(node));
      } else {
        throw Error(ErrorCode::unsupported,
                    call_.op() + ": " + name_ + " applies " + node.op + " (node '" + node.name +
                        "') to a value that depends on the position; elementwise operators and index.Tensor "
                        "are evaluated for all positions at once, others are not");
      }
    }
    return grid(at(graph_.outputs[0].value), 0);
  }

 private:
  Spread& at(ValueId id) { return values_.at(static_cast<std::size_t>(id)); }

  void define(const Node& node, ValueId made) { at(node.outputs.at(0)) = {made, true}; }

  std::size_t own_rank(const Spread& value) const {
    return w_.shape(value.id).size() - (value.by_position ? kGrid : 0);
  }

  // As a tensor with the grid's dims in front and `rank` dims of its own.
  ValueId grid(const Spread& value, std::size_t rank) {
    const Shape shape = w_.shape(value.id);
    const std::size_t lead = value.by_position ? kGrid : 0, own = shape.size() - lead;
    Shape wide(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(lead));
    wide.resize(kGrid + std::max(rank, own) - own, 1);
    wide.insert(wide.end(), shape.begin() + static_cast<std::ptrdiff_t>(lead), shape.end());
    return wide == shape ? value.id : w_.view(value.id, wide);
  }

  template <class Map>
  std::vector<NamedArgument> arguments_of(const Node& node, Map map) {
    std::vector<NamedArgument> arguments = node.arguments;
    for (NamedArgument& argument : arguments) {
      if (auto* one = std::get_if<ValueArg>(&argument.value)) one->id = map(one->id);
      if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
        for (ValueId& id : list->ids) id = id < 0 ? id : map(id);
      }
      if (const auto* ints = std::get_if<IntListArg>(&argument.value); ints && !ints->values.empty()) {
        throw Error(ErrorCode::unsupported, call_.op() + ": " + name_ + " has sizes that nodes compute");
      }
    }
    return arguments;
  }

  void emit_once(const Node& node) {
    const std::vector<ValueId> made =
        w_.emit_all(node.op, arguments_of(node, [&](ValueId id) { return at(id).id; }));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] >= 0) at(node.outputs[i]) = {made.at(i), false};
    }
  }

  ValueId elementwise(const Node& node) {
    std::size_t rank = 0;
    for (const ValueId id : inputs_of(node)) rank = std::max(rank, own_rank(at(id)));
    return w_.emit(node.op, arguments_of(node, [&](ValueId id) { return grid(at(id), rank); }));
  }

  // Indices are 0-d for the function, so each takes away the first dim that is left.
  ValueId index(const Node& node) {
    const auto* self = std::get_if<ValueArg>(&node.find("self")->value);
    const auto* indices = std::get_if<ValueListArg>(&node.find("indices")->value);
    if (self == nullptr || indices == nullptr || indices->ids.empty()) malformed(node);
    Ids spread;
    for (const ValueId id : indices->ids) {
      if (id < 0 || own_rank(at(id)) != 0) {
        throw Error(ErrorCode::unsupported, call_.op() + ": " + name_ + ": node '" + node.name +
                                                "' indexes with None or with a tensor; "
                                                "only 0-d indices are evaluated");
      }
      spread.push_back(grid(at(id), 0));
    }
    if (indices->ids.size() > own_rank(at(self->id))) malformed(node);
    if (!at(self->id).by_position) {
      return w_.emit("aten::index.Tensor",
                     {{"self", ValueArg{at(self->id).id}}, {"indices", ValueListArg{spread}}});
    }
    ValueId x = at(self->id).id;
    for (const ValueId i : spread) x = pick(x, i);
    return x;
  }

  // x[..., i, rest] of the dim after the grid, by position.
  ValueId pick(ValueId x, ValueId i) {
    const Shape shape = w_.shape(x);
    const int64_t size = shape[kGrid];
    ValueId whole = w_.cast(i, DType::i64);
    const ValueId negative = binary(w_, "aten::lt.Scalar", whole, int64_t{0});
    whole = where(w_, negative, add(w_, whole, size), whole);
    Shape target(kGrid);
    for (std::size_t d = 0; d < kGrid; ++d) target[d] = std::max(shape[d], w_.shape(whole)[d]);
    Shape from = target, index = target;
    from.insert(from.end(), shape.begin() + kGrid, shape.end());
    index.push_back(1);
    index.insert(index.end(), shape.begin() + kGrid + 1, shape.end());
    Shape unfolded = w_.shape(whole);
    unfolded.resize(index.size(), 1);
    const ValueId taken = gather(w_, w_.expand(x, from), kGrid, w_.expand(w_.view(whole, unfolded), index));
    Shape result = index;
    result.erase(result.begin() + kGrid);
    return w_.view(taken, result);
  }

  [[noreturn]] void malformed(const Node& node) const {
    throw Error(ErrorCode::malformed_file, std::string(name_) + ": node '" + node.name + "' (" + node.op +
                                               ") indexes more dims than there are");
  }

  Rewriter& w_;
  const OpCall& call_;
  const char* name_;
  const Graph& graph_;
  std::vector<Spread> values_;
};

// 0, 1, ... along one dim of the grid, in the dtype that the function declares.
Spread positions(Rewriter& w, const Graph& graph, std::size_t parameter, std::size_t dim, int64_t count) {
  const Value& declared = graph.values.at(static_cast<std::size_t>(graph.inputs.at(parameter).value));
  Shape shape(kGrid, 1);
  shape[dim] = count;
  return {w.view(numbers(w, count, declared.dtype), shape), true};
}

std::vector<Spread> parameters(Rewriter& w, const OpCall& call, const Graph& graph,
                               std::optional<ValueId> score, const char* buffers, const Shape& sizes) {
  std::vector<Spread> out;
  if (score) out.push_back({*score, true});
  for (std::size_t d = 0; d < kGrid; ++d) out.push_back(positions(w, graph, out.size(), d, sizes[d]));
  for (const int number : call.tensors(buffers)) {
    out.push_back({call.input_values().at(static_cast<std::size_t>(number)), false});
  }
  return out;
}

// [B or 1, H / G, S, E] as [B * H, S, E].
ValueId spread_heads(Rewriter& w, ValueId x, int64_t batch, int64_t heads) {
  const Shape shape = w.shape(x);
  ValueId wide = x;
  if (shape[0] != batch || shape[1] != heads) {
    wide = w.view(x, {shape[0], shape[1], 1, shape[2], shape[3]});
    wide = unary(w, "aten::clone.default",
                 w.expand(wide, {batch, shape[1], heads / shape[1], shape[2], shape[3]}));
  }
  return w.view(wide, {batch * heads, shape[2], shape[3]});
}

ValueId bmm(Rewriter& w, ValueId a, ValueId b) {
  return w.emit("aten::bmm.default", {{"self", ValueArg{a}}, {"mat2", ValueArg{b}}});
}

Ids flex_attention(Rewriter& w, const OpCall& call) {
  infer(call);  // throws unless functions and buffers fit together
  const ValueId query = value_of(call, "query");
  const Shape q = w.shape(query);
  const DType dtype = w.dtype(query), wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  const int64_t batch = q[0], heads = q[1], rows = q[2], keys = w.shape(value_of(call, "key"))[2];
  const ValueId key = spread_heads(w, value_of(call, "key"), batch, heads);
  const ValueId value = spread_heads(w, value_of(call, "value"), batch, heads);
  const double scale =
      call.scalar_opt("scale") ? call.scalar("scale").as_double() : 1 / std::sqrt(static_cast<double>(q[3]));
  const double nothing = -std::numeric_limits<double>::infinity();

  const Shape sizes{batch, heads, rows, keys};
  const ValueId flat = w.view(query, {batch * heads, rows, q[3]});
  ValueId scores = bmm(w, w.cast(flat, wide), turned(w, w.cast(key, wide)));
  scores = mul(w, w.view(scores, sizes), scale);
  const Graph& score_mod = *call.graph_opt("score_mod");
  scores = Function(w, call, "score_mod", score_mod)
               .run(parameters(w, call, score_mod, scores, "score_mod_other_buffers", sizes));
  scores = w.cast(scores, wide);
  if (w.shape(scores) != sizes) scores = unary(w, "aten::clone.default", w.expand(scores, sizes));
  if (const Graph* mask_mod = call.graph_opt("mask_mod")) {
    const ValueId open =
        Function(w, call, "mask_mod", *mask_mod)
            .run(parameters(w, call, *mask_mod, std::nullopt, "mask_mod_other_buffers", sizes));
    scores = where(w, open, scores, w.scalar_like(scores, nothing));
  }

  // PyTorch counts both in powers of two.
  const double per_octave = std::log(2.0);
  const auto dim = [&](const char* op, const IntListArg& dims) {
    return w.emit(op, {{"self", ValueArg{scores}}, {"dim", dims}});
  };
  std::optional<ValueId> logsumexp, largest;
  if (call.output_used(1)) logsumexp = div(w, dim("aten::logsumexp.default", {{-1}, {}}), per_octave);
  if (call.output_used(2)) largest = div(w, dim("aten::amax.default", {{-1}, {}}), per_octave);
  ValueId weights = w.emit("aten::_softmax.default",
                           {{"self", ValueArg{scores}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  const ValueId open = w.emit("aten::ne.Scalar", {{"self", ValueArg{scores}}, {"other", nothing}});
  const ValueId any =
      w.emit("aten::any.dim", {{"self", ValueArg{open}}, {"dim", int64_t{-1}}, {"keepdim", true}});
  weights = where(w, any, weights, w.scalar_like(weights, int64_t{0}));
  weights = w.view(w.cast(weights, dtype), {batch * heads, rows, keys});
  const ValueId product = bmm(w, weights, value);
  const ValueId out = w.view(product, {batch, heads, rows, w.shape(value)[2]});
  return {out, logsumexp.value_or(out), largest.value_or(out)};
}

}  // namespace

void register_flex_attention(DecomposeTable& table) {
  table.add("higher_order::flex_attention.default", flex_attention);
}

}  // namespace assay
