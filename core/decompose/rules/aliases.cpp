// Operators that are another one under a name of their own, or nearly so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/decompose/expression.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

// Tensors here are never lazily conjugated or negated.
Ids same(Rewriter&, const OpCall& call) { return {value_of(call, "self")}; }

DecomposeRule conjugate(const char* op) {
  return [op](Rewriter& w, const OpCall& call) -> Ids {
    const ValueId self = value_of(call, "self");
    return {is_complex(w.dtype(self)) ? unary(w, op, self) : self};
  };
}

// The operand, in the dtype that PyTorch computes with, times a number.
DecomposeRule scaled(double factor) {
  return [factor](Rewriter& w, const OpCall& call) -> Ids {
    const DType dtype = call.output(0).dtype;
    const ValueId wide = w.cast(value_of(call, "self"), computation_of(dtype));
    return {w.cast(mul(w, wide, factor), dtype)};
  };
}

Ids vdot(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (is_complex(w.dtype(self))) return {};
  const int64_t count = element_count(w.shape(self));
  return {w.view(mm(w, w.view(self, {1, count}), w.view(value_of(call, "other"), {count, 1})), {})};
}

// Dims that the size lacks or has as 1 are added up.
Ids sum_to_size(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const Shape from = w.shape(self), to = call.output(0).shape;
  if (to.size() > from.size()) return {};
  const std::size_t lacking = from.size() - to.size();
  std::vector<int64_t> dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (d < lacking || (to[d - lacking] == 1 && from[d] != 1)) dims.push_back(static_cast<int64_t>(d));
  }
  return {dims.empty() ? self : w.view(sum(w, self, dims), to)};
}

// Same arguments, overload by overload ("aten::multiply.Scalar" is "aten::mul.Scalar").
struct Alias {
  std::string_view name, of;
};
constexpr Alias kAliases[] = {
    {"__and__", "bitwise_and"},
    {"__or__", "bitwise_or"},
    {"__xor__", "bitwise_xor"},
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"ger", "outer"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"linalg_matmul", "matmul"},
    {"moveaxis", "movedim"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"row_stack", "vstack"},
    {"special_digamma", "digamma"},
    {"special_erf", "erf"},
    {"special_erfc", "erfc"},
    {"special_erfinv", "erfinv"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_gammainc", "igamma"},
    {"special_gammaincc", "igammac"},
    {"special_gammaln", "lgamma"},
    {"special_i0", "i0"},
    {"special_log1p", "log1p"},
    {"special_logit", "logit"},
    {"special_logsumexp", "logsumexp"},
    {"special_multigammaln", "mvlgamma"},
    {"special_polygamma", "polygamma"},
    {"special_psi", "digamma"},
    {"special_sinc", "sinc"},
    {"subtract", "sub"},
    {"true_divide", "div"},
};
// Those whose overloads have other names.
constexpr Alias kOverloads[] = {
    {"special_log_softmax.default", "log_softmax.int"},
    {"special_round.default", "round.decimals"},
    {"special_softmax.default", "softmax.int"},
    {"special_xlogy.default", "xlogy.Tensor"},
};

// By its own decomposition if it has one.
DecomposeRule alias_of(std::string op) {
  return [op = std::move(op)](Rewriter& w, const OpCall& call) -> Ids {
    if (const DecomposeRule* rule = decompose_rules().find(op)) return (*rule)(w, call);
    return w.emit_all(op, passed_on(call));
  };
}

DecomposeRule flipped(int64_t dim) {
  return [dim](Rewriter& w, const OpCall& call) -> Ids { return {flip(w, value_of(call, "self"), {dim})}; };
}

}  // namespace

void register_aliases(DecomposeTable& table) {
  constexpr std::string_view kAten = "aten::";
  for (const Schema& schema : all_schemas()) {
    if (!schema.name.starts_with(kAten)) continue;
    const std::string_view name = std::string_view(schema.name).substr(kAten.size());
    const auto* alias = std::find_if(std::begin(kAliases), std::end(kAliases),
                                     [&](const Alias& a) { return a.name == name; });
    if (alias != std::end(kAliases))
      table.add(schema.full_name(), alias_of(fmt::format("aten::{}.{}", alias->of, schema.overload)));
  }
  for (const Alias& alias : kOverloads)
    table.add(fmt::format("aten::{}", alias.name), alias_of(fmt::format("aten::{}", alias.of)));
  for (const char* op : {"aten::positive.default", "aten::resolve_conj.default", "aten::resolve_neg.default"})
    table.add(op, same);
  table.add("aten::conj.default", conjugate("aten::_conj.default"));
  table.add("aten::conj_physical.default", conjugate("aten::_conj_physical.default"));
  table.add("aten::alias_copy.default", renamed("aten::clone.default"));
  table.add("aten::max.other", renamed("aten::maximum.default"));
  table.add("aten::min.other", renamed("aten::minimum.default"));
  table.add("aten::unsafe_split_with_sizes.default", renamed("aten::split_with_sizes.default"));
  table.add("aten::deg2rad.default", scaled(M_PI / 180));
  table.add("aten::rad2deg.default", scaled(180 / M_PI));
  table.add("aten::vdot.default", vdot);
  table.add("aten::sum_to_size.default", sum_to_size);
  table.add("aten::flipud.default", flipped(0));
  table.add("aten::fliplr.default", flipped(1));
}

}  // namespace assay
