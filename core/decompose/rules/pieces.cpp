// Cuts and joins by a dim that the operator's name says, and turns.
#include <algorithm>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

// Before each index, counted from the end if negative.
Ids split_before(Rewriter& w, const OpCall& call, const std::vector<int64_t>& indices, int64_t dim) {
  const ValueId self = value_of(call, "self");
  const int64_t size = w.shape(self).at(static_cast<std::size_t>(dim));
  Ids parts;
  int64_t start = 0;
  for (std::size_t i = 0; i <= indices.size(); ++i) {
    int64_t end = i < indices.size() ? indices[i] : size;
    if (end < 0) end = std::max<int64_t>(end + size, 0);
    end = std::min(end, size);
    parts.push_back(slice(w, self, dim, std::min(start, size), std::max(start, end)));
    start = end;
  }
  return parts;
}

Ids tensor_split(Rewriter& w, const OpCall& call) {
  const int64_t dim = normalise_dim(call.integer("dim"), rank_of(w, value_of(call, "self")), call);
  return split_before(w, call, call.integers("indices"), dim);
}

// Along dim `dim`; hsplit cuts a vector along its only one.
DecomposeRule split_along(int64_t dim) {
  return [dim](Rewriter& w, const OpCall& call) -> Ids {
    const ValueId self = value_of(call, "self");
    const int64_t rank = rank_of(w, self), own = dim == 1 && rank == 1 ? 0 : dim;
    if (rank <= own) return {};
    if (call.schema().overload == "array") return split_before(w, call, call.integers("indices"), own);
    std::vector<int64_t> indices;
    const int64_t sections = call.integer("sections"), size = w.shape(self)[static_cast<std::size_t>(own)];
    if (sections < 1 || size % sections != 0) return {};
    for (int64_t i = 1; i < sections; ++i) indices.push_back(i * (size / sections));
    return split_before(w, call, indices, own);
  };
}

// Quarter turns from the first dim towards the second.
Ids rot90(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const std::vector<int64_t> given = call.integers("dims");
  if (given.size() != 2) return {};
  const int64_t a = normalise_dim(given[0], rank_of(w, self), call),
                b = normalise_dim(given[1], rank_of(w, self), call);
  if (a == b) return {};
  std::vector<int64_t> exchanged = every_dim(w, self);
  std::swap(exchanged[static_cast<std::size_t>(a)], exchanged[static_cast<std::size_t>(b)]);
  switch ((call.integer("k") % 4 + 4) % 4) {
    case 1:
      return {w.permute(flip(w, self, {b}), exchanged)};
    case 2:
      return {flip(w, self, {a, b})};
    case 3:
      return {flip(w, w.permute(self, exchanged), {b})};
    default:
      return {unary(w, "aten::clone.default", self)};
  }
}

// The dims named are contracted, the others of self come before those of other.
Ids tensordot(Rewriter& w, const OpCall& call) {
  struct Side {
    ValueId value;
    std::vector<int64_t> kept, contracted;
    int64_t rows = 1, inner = 1;
  };
  const auto side = [&](const char* name, const char* dims) {
    Side s{value_of(call, name), {}, call.integers(dims)};
    for (int64_t& dim : s.contracted) dim = normalise_dim(dim, rank_of(w, s.value), call);
    for (int64_t d = 0; d < rank_of(w, s.value); ++d) {
      if (std::find(s.contracted.begin(), s.contracted.end(), d) == s.contracted.end()) s.kept.push_back(d);
    }
    for (const int64_t d : s.kept) s.rows *= w.shape(s.value)[static_cast<std::size_t>(d)];
    return s;
  };
  Side a = side("self", "dims_self"), b = side("other", "dims_other");
  if (a.contracted.size() != b.contracted.size()) return {};
  // A dim of size 1 meets the other's sum.
  const auto add_up = [&](Side& own, const Side& other) {
    for (std::size_t i = 0; i < own.contracted.size(); ++i) {
      const int64_t size = w.shape(own.value)[static_cast<std::size_t>(own.contracted[i])];
      if (size == 1 || w.shape(other.value)[static_cast<std::size_t>(other.contracted[i])] != 1) continue;
      own.value = sum(w, own.value, {own.contracted[i]}, true);
    }
  };
  add_up(a, b);
  add_up(b, a);
  for (Side* s : {&a, &b}) {
    for (const int64_t d : s->contracted) s->inner *= w.shape(s->value)[static_cast<std::size_t>(d)];
  }
  if (a.inner != b.inner) return {};
  std::vector<int64_t> order_a = a.kept, order_b = b.contracted;
  order_a.insert(order_a.end(), a.contracted.begin(), a.contracted.end());
  order_b.insert(order_b.end(), b.kept.begin(), b.kept.end());
  const ValueId left = w.view(w.permute(a.value, order_a), {a.rows, a.inner});
  const ValueId right = w.view(w.permute(b.value, order_b), {b.inner, b.rows});
  return {w.view(mm(w, left, right), call.output(0).shape)};
}

Ids trace(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (rank_of(w, self) != 2) return {};
  return {sum(w, w.emit("aten::diagonal.default", {{"self", ValueArg{self}}}), {0})};
}

Ids hermitian(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  if (rank_of(w, self) < 2) return {};
  const ValueId exchanged = turned(w, self);
  return {is_complex(w.dtype(self)) ? unary(w, "aten::_conj.default", exchanged) : exchanged};
}

}  // namespace

void register_pieces(DecomposeTable& table) {
  table.add("aten::tensor_split.indices", tensor_split);
  for (const char* overload : {"int", "array"}) {
    table.add(std::string("aten::vsplit.") + overload, split_along(0));
    table.add(std::string("aten::hsplit.") + overload, split_along(1));
    table.add(std::string("aten::dsplit.") + overload, split_along(2));
  }
  table.add("aten::rot90.default", rot90);
  table.add("aten::tensordot.default", tensordot);
  table.add("aten::trace.default", trace);
  for (const char* op : {"aten::mH.default", "aten::matrix_H.default"}) table.add(op, hermitian);
}

}  // namespace assay
