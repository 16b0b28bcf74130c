// flex_attention: attention whose scores and mask are functions of position. PyTorch's higher-order operator
// (torch/_higher_order_ops/flex_attention.py), its block mask given by the function alone; which blocks are
// empty is the kernel's own affair. score_mod(score, b, h, q, k, buffers...) -> score,
// mask_mod(b, h, q, k, buffers...) -> bool, all of them 0-d except buffers.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

const Value& value_at(const Graph& graph, ValueId id) {
  return graph.values.at(static_cast<std::size_t>(id));
}

bool is_scalar(const Value& value, unsigned kinds) {
  return value.kind == ValueKind::tensor && value.shape.empty() && has_kind(value.dtype, kinds);
}

void check_function(const OpCall& call, std::string_view name, const Graph& graph, bool has_score,
                    const std::vector<int>& buffers) {
  const std::size_t own = has_score ? 5 : 4;
  if (graph.inputs.size() != own + buffers.size()) {
    fail(call, "{} has {} parameters; with {} buffers it must have {}", name, graph.inputs.size(),
         buffers.size(), own + buffers.size());
  }
  for (std::size_t i = 0; i < own; ++i) {
    const bool score = has_score && i == 0;
    if (is_scalar(value_at(graph, graph.inputs[i].value), score ? kFloat : kInt)) continue;
    fail(call, "parameter {} of {} must be a 0-d {}", i, name, score ? "float" : "integer");
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Value& declared = value_at(graph, graph.inputs[own + i].value);
    const TensorMeta& given = call.input(buffers[i]);
    if (declared.kind == ValueKind::tensor && declared.dtype == given.dtype &&
        declared.shape.size() == given.shape.size()) {
      continue;
    }
    fail(call, "buffer {} of {} is {} {}, which is not what its parameter '{}' is", i, name,
         name_of(given.dtype), to_string(given.shape), declared.name);
  }
  if (graph.outputs.size() != 1 ||
      !is_scalar(value_at(graph, graph.outputs[0].value), has_score ? kReal : kBool)) {
    fail(call, "{} must have one result, a 0-d {}", name, has_score ? "number" : "bool");
  }
}

// query [B, H, L, E], key [1 or B, H / G, S, E], value [1 or B, H / G, S, Ev] -> [B, H, L, Ev] and, to the
// base 2, logsumexp and largest score [B, H, L].
Metas flex_attention(const OpCall& call) {
  for (const std::string_view name : {"query", "key", "value"}) {
    require_rank(call, name, 4);
    require_same_dtype(call, name, "query");
  }
  const TensorMeta &query = meta(call, "query"), &key = meta(call, "key"), &value = meta(call, "value");
  require_kind(call, "query", query.dtype, kFloat);
  if (key.shape[3] != query.shape[3]) {
    fail(call, "key has shape {}; its last size must equal that of query, {}", to_string(key.shape),
         query.shape[3]);
  }
  if (Shape(key.shape.begin(), key.shape.end() - 1) != Shape(value.shape.begin(), value.shape.end() - 1)) {
    fail(call, "value has shape {}; all but its last size must equal those of key, {}",
         to_string(value.shape), to_string(key.shape));
  }
  if (key.shape[0] != query.shape[0] && key.shape[0] != 1) {
    fail(call, "key has a batch of {}; it must be 1 or that of query, {}", key.shape[0], query.shape[0]);
  }
  if (key.shape[1] == 0 || query.shape[1] % key.shape[1] != 0) {
    fail(call, "query has {} heads; that must be a multiple of the {} heads of key and value", query.shape[1],
         key.shape[1]);
  }
  for (const int64_t size : call.integers("block_size")) {
    if (size < 1) fail(call, "block_size holds {}; it must be positive", size);
  }
  const Graph* score = call.graph_opt("score_mod");
  check_function(call, "score_mod", *score, true, call.tensors("score_mod_other_buffers"));
  if (const Graph* mask = call.graph_opt("mask_mod")) {
    check_function(call, "mask_mod", *mask, false, call.tensors("mask_mod_other_buffers"));
  }
  const DType wide = query.dtype == DType::f64 ? DType::f64 : DType::f32;
  const Shape rows(query.shape.begin(), query.shape.begin() + 3);
  Shape out = rows;
  out.push_back(value.shape[3]);
  return {{query.dtype, out}, {wide, rows}, {wide, rows}};
}

}  // namespace

void register_flex_attention(ShapeTable& table) {
  table.add("higher_order::flex_attention.default", flex_attention);
}

}  // namespace assay
