// Operators that many decompositions write, one function each.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/decompose/decompose.h"

namespace assay {

using Ids = std::vector<ValueId>;

// The call under another name.
inline DecomposeRule renamed(std::string op) {
  return [op = std::move(op)](Rewriter& w, const OpCall& call) { return w.emit_all(op, passed_on(call)); };
}

// The tensors of a list.
inline Ids values_of(const OpCall& call, std::string_view argument) {
  Ids ids;
  for (const int index : call.tensors(argument))
    ids.push_back(call.input_values().at(static_cast<std::size_t>(index)));
  return ids;
}

inline ValueId binary(Rewriter& w, const char* op, ValueId a, const Argument& b) {
  return w.emit(op, {{"self", ValueArg{a}}, {"other", b}});
}
inline ValueId mul(Rewriter& w, ValueId a, const Argument& b) { return binary(w, "aten::mul.Tensor", a, b); }
inline ValueId add(Rewriter& w, ValueId a, const Argument& b) { return binary(w, "aten::add.Tensor", a, b); }
inline ValueId sub(Rewriter& w, ValueId a, const Argument& b) { return binary(w, "aten::sub.Tensor", a, b); }
inline ValueId div(Rewriter& w, ValueId a, const Argument& b) { return binary(w, "aten::div.Tensor", a, b); }

inline ValueId unary(Rewriter& w, const std::string& op, ValueId self) {
  return w.emit(op, {{"self", ValueArg{self}}});
}

inline ValueId clamp(Rewriter& w, ValueId self, const Argument& low, const Argument& high) {
  return w.emit("aten::clamp.default", {{"self", ValueArg{self}}, {"min", low}, {"max", high}});
}

inline ValueId where(Rewriter& w, ValueId condition, ValueId yes, ValueId no) {
  return w.emit("aten::where.self",
                {{"condition", ValueArg{condition}}, {"self", ValueArg{yes}}, {"other", ValueArg{no}}});
}

inline int64_t rank_of(const Rewriter& w, ValueId id) { return static_cast<int64_t>(w.shape(id).size()); }

// 0, 1, ... rank - 1: an empty list of dims means "all" to some operators only.
inline std::vector<int64_t> every_dim(const Rewriter& w, ValueId id) {
  std::vector<int64_t> dims(w.shape(id).size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

inline ValueId sum(Rewriter& w, ValueId self, const std::vector<int64_t>& dims, bool keep = false) {
  return w.emit("aten::sum.dim_IntList",
                {{"self", ValueArg{self}}, {"dim", IntListArg{dims, {}}}, {"keepdim", keep}});
}
inline ValueId mean(Rewriter& w, ValueId self, const std::vector<int64_t>& dims, bool keep = false) {
  return w.emit("aten::mean.dim",
                {{"self", ValueArg{self}}, {"dim", IntListArg{dims, {}}}, {"keepdim", keep}});
}

inline ValueId unsqueeze(Rewriter& w, ValueId self, int64_t dim) {
  return w.emit("aten::unsqueeze.default", {{"self", ValueArg{self}}, {"dim", dim}});
}

inline ValueId slice(Rewriter& w, ValueId self, int64_t dim, int64_t start, int64_t end) {
  return w.emit("aten::slice.Tensor",
                {{"self", ValueArg{self}}, {"dim", dim}, {"start", start}, {"end", end}});
}

inline ValueId gather(Rewriter& w, ValueId self, int64_t dim, ValueId index) {
  return w.emit("aten::gather.default", {{"self", ValueArg{self}}, {"dim", dim}, {"index", ValueArg{index}}});
}

inline ValueId flip(Rewriter& w, ValueId self, const std::vector<int64_t>& dims) {
  return w.emit("aten::flip.default", {{"self", ValueArg{self}}, {"dims", IntListArg{dims, {}}}});
}

// Zeros around: pairs of numbers of elements, the last dim's first.
inline ValueId padded(Rewriter& w, ValueId self, const std::vector<int64_t>& pad) {
  if (std::all_of(pad.begin(), pad.end(), [](int64_t n) { return n == 0; })) return self;
  return w.emit("aten::constant_pad_nd.default", {{"self", ValueArg{self}}, {"pad", IntListArg{pad, {}}}});
}

inline ValueId vector_norm(Rewriter& w, ValueId self, const Argument& ord, const std::vector<int64_t>& dims,
                           bool keep = false) {
  return w.emit("aten::linalg_vector_norm.default",
                {{"self", ValueArg{self}}, {"ord", ord}, {"dim", IntListArg{dims, {}}}, {"keepdim", keep}});
}

// What `reduction` asks for: the losses themselves (0), their mean (1) or their sum (2).
inline ValueId reduced(Rewriter& w, const OpCall& call, ValueId loss) {
  switch (call.integer("reduction")) {
    case 1:
      return mean(w, loss, every_dim(w, loss));
    case 2:
      return sum(w, loss, every_dim(w, loss));
    default:
      return loss;
  }
}

inline ValueId cat(Rewriter& w, const Ids& parts, int64_t dim) {
  return w.emit("aten::cat.default", {{"tensors", ValueListArg{parts}}, {"dim", dim}});
}

// The last `shift` elements along dim come first; counted round, also backwards.
inline ValueId rolled(Rewriter& w, ValueId x, int64_t dim, int64_t shift) {
  const int64_t size = w.shape(x).empty() ? 1 : w.shape(x).at(static_cast<std::size_t>(dim));
  if (size == 0 || shift % size == 0) return x;
  shift = (shift % size + size) % size;
  return cat(w, {slice(w, x, dim, size - shift, size), slice(w, x, dim, 0, size - shift)}, dim);
}

inline ValueId mm(Rewriter& w, ValueId a, ValueId b) {
  return w.emit("aten::mm.default", {{"self", ValueArg{a}}, {"mat2", ValueArg{b}}});
}

// 0, 1, ... count - 1.
inline ValueId numbers(Rewriter& w, int64_t count, DType dtype = DType::i64) {
  return w.emit("aten::arange.start_step",
                {{"start", int64_t{0}}, {"end", count}, {"dtype", DTypeArg{dtype}}});
}

// The last two dims exchanged.
inline ValueId turned(Rewriter& w, ValueId x) {
  std::vector<int64_t> dims = every_dim(w, x);
  std::swap(dims.at(dims.size() - 1), dims.at(dims.size() - 2));
  return w.permute(x, dims);
}

// input [..., K], weight [N, K], bias [N] or none: input @ weight^T + bias (aten::linear).
inline ValueId affine(Rewriter& w, ValueId input, ValueId weight, std::optional<ValueId> bias) {
  return w.emit("aten::linear.default", {{"input", ValueArg{input}},
                                         {"weight", ValueArg{weight}},
                                         {"bias", bias ? Argument{ValueArg{*bias}} : Argument{NoneArg{}}}});
}

}  // namespace assay
