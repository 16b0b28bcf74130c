#include "suites/attention/attention_case.h"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace assay::suites {

std::string name_of(MaskKind kind) {
  switch (kind) {
    case MaskKind::none:
      return "no-mask";
    case MaskKind::causal:
      return "causal";
    case MaskKind::boolean:
      return "bool-mask";
    case MaskKind::boolean_dead:
      return "bool-mask-dead-rows";
    case MaskKind::additive:
      return "bias";
    case MaskKind::additive_dead:
      return "infinite-bias-dead-rows";
    case MaskKind::lowest:
      return "lowest-bias";
    case MaskKind::nan:
      return "nan-bias";
  }
  return "";
}

TensorSpec mask_of(MaskKind kind, DType dtype, int64_t rows, int64_t keys) {
  const bool is_bool = kind == MaskKind::boolean || kind == MaskKind::boolean_dead;
  const bool dead = kind == MaskKind::boolean_dead || kind == MaskKind::additive_dead;
  std::vector<double> data;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < keys; ++j) {
      const int64_t mixed = (i * 7919 + j * 104729) % 61;
      const bool open = mixed % 3 != 0 && !(dead && i % 3 == 1);
      double value = static_cast<double>(mixed - 30) / 16;  // exact in 16 bits
      if (is_bool) value = open ? 1 : 0;
      if (kind == MaskKind::additive_dead && !open) value = -std::numeric_limits<double>::infinity();
      if (kind == MaskKind::lowest) value = mixed % 3 != 0 && i % 3 != 1 ? 0 : -float_format(dtype).max;
      if (kind == MaskKind::nan && i % 2 == 1 && j == keys / 2) value = std::nan("");
      data.push_back(value);
    }
  }
  return values(is_bool ? DType::boolean : dtype, {rows, keys}, data);
}

std::string id_of(const SdpaSpec& spec) {
  std::string op = spec.op.substr(spec.op.find("::") + 2);
  op = std::string(without_overload(op));
  if (op.starts_with('_')) op = op.substr(1);
  if (spec.op.starts_with("assay::")) op = "aligned";
  if (op == "scaled_dot_product_attention") op = "sdpa";
  return op + "/" + dtype_tag(spec.dtype) + "/" + spec.name;
}

OpCase sdpa_call(const SdpaSpec& spec) {
  OpCase made(spec.op, dtype_tag(spec.dtype) + "/" + spec.name);
  made.tensor("query", uniform(spec.dtype, spec.query, 0, spec.spread))
      .tensor("key", uniform(spec.dtype, spec.key, 0, spec.spread))
      .tensor("value", uniform(spec.dtype, spec.value));
  if (spec.given_mask) {
    made.tensor("attn_mask", *spec.given_mask);
  } else if (spec.mask == MaskKind::causal) {
    made.arg("is_causal", true);
  } else if (spec.mask != MaskKind::none) {
    made.tensor("attn_mask", mask_of(spec.mask, spec.dtype, spec.query[spec.query.size() - 2],
                                     spec.key[spec.key.size() - 2]));
  }
  for (const NamedArgument& argument : spec.arguments) made.arg(argument.name, argument.value);
  return made;
}

Case in_attention(Case c, const std::string& id) {
  c.id = "attention/" + id;
  c.suite = "attention";
  Graph graph = *c.graph;
  graph.id = c.id;
  c.graph = std::make_shared<const Graph>(std::move(graph));
  return c;
}

}  // namespace assay::suites
