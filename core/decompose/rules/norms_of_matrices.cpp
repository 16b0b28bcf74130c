// Norms of vectors and matrices, and products of chains (formulas: documentation of torch.linalg). Norms that
// need singular values are left as they are.
#include <cmath>

#include "core/decompose/expression.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

// In the dtype asked for, else its own.
Expression norm_operand(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  const auto dtype = call.schema().find("dtype") != nullptr ? call.dtype_opt("dtype") : std::nullopt;
  return dtype ? x.cast(*dtype) : x;
}

// Largest or smallest sum of magnitudes along `summed`, over the other dim of the two.
Ids extreme_sum(Expression x, int64_t summed, int64_t other, bool largest, bool keep) {
  const Expression sums = abs(x).sum({summed}, true);
  const char* op = largest ? "aten::amax.default" : "aten::amin.default";
  const std::vector<int64_t> dims = keep ? std::vector{other} : std::vector{summed, other};
  return {
      x.rewriter->emit(op, {{"self", ValueArg{sums.id}}, {"dim", IntListArg{dims, {}}}, {"keepdim", keep}})};
}

Ids matrix_norm(const OpCall& call, Expression x, const std::vector<int64_t>& dims, double ord, bool keep) {
  const int64_t rows = normalise_dim(dims.at(0), x.rank(), call),
                columns = normalise_dim(dims.at(1), x.rank(), call);
  if (std::fabs(ord) == 1) return extreme_sum(x, rows, columns, ord > 0, keep);
  if (std::isinf(ord)) return extreme_sum(x, columns, rows, ord > 0, keep);
  return {};
}

Ids euclidean(Expression x, const std::vector<int64_t>& dims, bool keep) {
  return {vector_norm(*x.rewriter, x.id, int64_t{2}, dims, keep)};
}

bool names_frobenius(const OpCall& call) { return call.string("ord") == "fro"; }

// Of all elements if there is neither an order nor a dim, of vectors along one dim, of matrices along two.
Ids linalg_norm(Rewriter& w, const OpCall& call) {
  const Expression x = norm_operand(w, call);
  const bool keep = call.boolean("keepdim"), named = call.schema().overload == "ord_str";
  const auto given_dims = call.integers_opt("dim");
  const std::vector<int64_t> dims = given_dims ? *given_dims : every_dim(w, x.id);
  if (named) return names_frobenius(call) ? euclidean(x, dims, keep) : Ids{};
  const auto ord = call.scalar_opt("ord");
  if (!ord) return euclidean(x, dims, keep);
  if (dims.size() == 1) return {vector_norm(w, x.id, passed_on(call, "ord"), dims, keep)};
  return dims.size() == 2 ? matrix_norm(call, x, dims, ord->as_double(), keep) : Ids{};
}

Ids linalg_matrix_norm(Rewriter& w, const OpCall& call) {
  const Expression x = norm_operand(w, call);
  const std::vector<int64_t> dims = call.integers("dim");
  const bool keep = call.boolean("keepdim");
  if (dims.size() != 2) return {};
  if (call.schema().overload == "str_ord") return names_frobenius(call) ? euclidean(x, dims, keep) : Ids{};
  return matrix_norm(call, x, dims, call.scalar("ord").as_double(), keep);
}

Ids frobenius(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "self");
  const std::vector<int64_t> dims = call.integers("dim");
  return euclidean(x, dims.empty() ? every_dim(w, x.id) : dims, call.boolean("keepdim"));
}

Ids vector_product(Rewriter& w, const OpCall& call) {
  const Expression x = given(w, call, "x"), y = given(w, call, "y");
  if (is_complex(x.dtype()) || is_complex(y.dtype())) return {};
  return {(x * y).sum({call.integer("dim")}).id};
}

// From left to right, whatever order is cheapest; vectors may begin and end the chain.
Ids chain(Rewriter& w, const OpCall& call) {
  const Ids parts = values_of(call, call.schema().arguments.at(0).name);
  if (parts.size() < 2) return {};
  ValueId product = parts[0];
  if (w.shape(product).size() == 1) product = unsqueeze(w, product, 0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    product = mm(w, product, w.shape(parts[i]).size() == 1 ? unsqueeze(w, parts[i], 1) : parts[i]);
  }
  return {w.shape(product) == call.output(0).shape ? product : w.view(product, call.output(0).shape)};
}

Ids diagonal_of_matrices(Rewriter& w, const OpCall& call) {
  return {w.emit("aten::diagonal.default", {{"self", passed_on(call, "A")},
                                            {"offset", passed_on(call, "offset")},
                                            {"dim1", passed_on(call, "dim1")},
                                            {"dim2", passed_on(call, "dim2")}})};
}

}  // namespace

void register_norms_of_matrices(DecomposeTable& table) {
  table.add("aten::linalg_norm.default", linalg_norm);
  table.add("aten::linalg_norm.ord_str", linalg_norm);
  table.add("aten::linalg_matrix_norm.default", linalg_matrix_norm);
  table.add("aten::linalg_matrix_norm.str_ord", linalg_matrix_norm);
  table.add("aten::frobenius_norm.dim", frobenius);
  table.add("aten::linalg_vecdot.default", vector_product);
  table.add("aten::linalg_multi_dot.default", chain);
  table.add("aten::chain_matmul.default", chain);
  table.add("aten::linalg_diagonal.default", diagonal_of_matrices);
}

}  // namespace assay
