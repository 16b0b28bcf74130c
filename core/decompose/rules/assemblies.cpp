// Tensors put together from the elements of others: diagonals, grids, tuples, blocks.
#include <algorithm>
#include <map>
#include <utility>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

constexpr std::size_t kMostNodes = 4096;

// A square of zeros in the last two dims, with x's last dim along its diagonal number `offset`.
ValueId on_diagonal(Rewriter& w, ValueId x, int64_t offset) {
  const int64_t size = w.shape(x).back() + std::abs(offset);
  const ValueId row = w.view(numbers(w, size), {size, 1});
  const ValueId distance = sub(w, numbers(w, size), ValueArg{row});
  const ValueId here = binary(w, "aten::eq.Scalar", distance, offset);
  // Above the main diagonal element k stands in row k, below it in column k.
  const ValueId spread =
      unsqueeze(w, padded(w, x, {0, std::abs(offset)}), rank_of(w, x) - (offset < 0 ? 1 : 0));
  return where(w, here, spread, w.scalar_like(x, int64_t{0}));
}

Ids diag_embed(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t rank = rank_of(w, self) + 1;
  if (rank < 2) return {};
  const ValueId square = on_diagonal(w, self, call.integer("offset"));
  const int64_t dim1 = normalise_dim(call.integer("dim1"), rank, call);
  const int64_t dim2 = normalise_dim(call.integer("dim2"), rank, call);
  if (dim1 == dim2) return {};
  std::vector<int64_t> dims;
  for (int64_t d = 0, next = 0; d < rank; ++d)
    dims.push_back(d == dim1 ? rank - 2 : d == dim2 ? rank - 1 : next++);
  return {w.permute(square, dims)};
}

Ids diag(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t offset = call.integer("diagonal");
  if (rank_of(w, self) == 1) return {on_diagonal(w, self, offset)};
  if (rank_of(w, self) != 2) return {};
  const ValueId view = w.emit("aten::diagonal.default", {{"self", ValueArg{self}}, {"offset", offset}});
  return {unary(w, "aten::clone.default", view)};
}

Ids diagflat(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  return {on_diagonal(w, w.view(self, {element_count(w.shape(self))}), call.integer("offset"))};
}

// Matrices along the diagonal of a matrix of zeros; vectors are rows.
Ids block_diag(Rewriter& w, const OpCall& call) {
  Ids blocks = values_of(call, "tensors");
  int64_t width = 0;
  for (ValueId& block : blocks) {
    Shape shape = w.shape(block);
    if (shape.size() > 2) return {};
    shape.insert(shape.begin(), 2 - shape.size(), 1);
    block = w.cast(w.view(block, shape), call.output(0).dtype);
    width += shape[1];
  }
  if (blocks.empty()) return {};
  for (int64_t left = 0; ValueId & block : blocks) {
    const int64_t own = w.shape(block)[1];
    block = padded(w, block, {left, width - left - own});
    left += own;
  }
  return {cat(w, blocks, 0)};
}

// One dim each, spread over all. "xy": the first two dims exchanged.
Ids grid_of(Rewriter& w, Ids vectors, bool exchanged) {
  if (exchanged && vectors.size() > 1) std::swap(vectors[0], vectors[1]);
  Shape sizes;
  for (const ValueId vector : vectors) sizes.push_back(element_count(w.shape(vector)));
  for (std::size_t d = 0; d < vectors.size(); ++d) {
    Shape own(sizes.size(), 1);
    own[d] = sizes[d];
    vectors[d] = w.expand(w.view(vectors[d], own), sizes);
  }
  if (exchanged && vectors.size() > 1) std::swap(vectors[0], vectors[1]);
  return vectors;
}

Ids meshgrid(Rewriter& w, const OpCall& call) {
  const bool exchanged = call.schema().find("indexing") && call.string("indexing") == "xy";
  return grid_of(w, values_of(call, "tensors"), exchanged);
}

Ids cartesian_prod(Rewriter& w, const OpCall& call) {
  Ids vectors = values_of(call, "tensors");
  if (vectors.size() == 1) return vectors;
  Ids columns = grid_of(w, vectors, false);
  for (ValueId& column : columns) column = w.view(column, {element_count(w.shape(column)), 1});
  return columns.empty() ? Ids{} : Ids{cat(w, columns, 1)};
}

// Tuples of `length` elements from place `start` on, in order of their places: [count, length].
class Tuples {
 public:
  Tuples(Rewriter& w, ValueId vector, bool repeats)
      : w_(w), column_(w.view(vector, {w.shape(vector).at(0), 1})), repeats_(repeats) {}

  ValueId from(int64_t start, int64_t length) {
    const auto [known, is_new] = made_.try_emplace({start, length}, -1);
    if (!is_new) return known->second;
    const int64_t size = w_.shape(column_)[0];
    ValueId tuples = slice(w_, column_, 0, start, size);
    if (length > 1) {
      Ids parts;
      for (int64_t first = start; first < size; ++first) {
        const ValueId rest = from(first + (repeats_ ? 0 : 1), length - 1);
        const ValueId own = w_.expand(slice(w_, column_, 0, first, first + 1), {w_.shape(rest)[0], 1});
        parts.push_back(cat(w_, {own, rest}, 1));
      }
      tuples = parts.empty() ? w_.full({0, length}, int64_t{0}, w_.dtype(column_)) : cat(w_, parts, 0);
    }
    return made_[{start, length}] = tuples;
  }

 private:
  Rewriter& w_;
  ValueId column_;
  bool repeats_;
  std::map<std::pair<int64_t, int64_t>, ValueId> made_;
};

Ids combinations(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const int64_t length = call.integer("r");
  if (rank_of(w, self) != 1 || length < 1) return {};
  const auto size = static_cast<std::size_t>(w.shape(self)[0]);
  if (size > 64 || size * size * static_cast<std::size_t>(length) > kMostNodes) return {};
  return {Tuples(w, self, call.boolean("with_replacement")).from(0, length)};
}

// a x b along a dim of 3; without one the first such dim.
Ids cross(Rewriter& w, const OpCall& call) {
  const ValueId a = value_of(call, "self"), b = value_of(call, "other");
  const Shape& shape = call.output(0).shape;
  const auto given = call.integer_opt("dim");
  const int64_t first = std::find(shape.begin(), shape.end(), 3) - shape.begin();
  const int64_t dim = given ? normalise_dim(*given, static_cast<int64_t>(shape.size()), call) : first;
  if (dim >= static_cast<int64_t>(shape.size()) || rank_of(w, a) != rank_of(w, b)) return {};
  const ValueId ahead = mul(w, rolled(w, a, dim, -1), ValueArg{rolled(w, b, dim, -2)});
  return {sub(w, ahead, ValueArg{mul(w, rolled(w, a, dim, -2), ValueArg{rolled(w, b, dim, -1)})})};
}

// [..., a b]: every element of self times all of other, in every dim.
Ids kron(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self"), other = value_of(call, "other");
  Shape a = w.shape(self), b = w.shape(other), apart, together;
  const std::size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  Shape of_a, of_b;
  for (std::size_t d = 0; d < rank; ++d) {
    of_a.insert(of_a.end(), {a[d], 1});
    of_b.insert(of_b.end(), {1, b[d]});
    together.push_back(a[d] * b[d]);
  }
  return {w.view(mul(w, w.view(self, of_a), ValueArg{w.view(other, of_b)}), together)};
}

}  // namespace

void register_assemblies(DecomposeTable& table) {
  table.add("aten::diag.default", diag);
  table.add("aten::diagflat.default", diagflat);
  table.add("aten::diag_embed.default", diag_embed);
  table.add("aten::block_diag.default", block_diag);
  table.add("aten::meshgrid.default", meshgrid);
  table.add("aten::meshgrid.indexing", meshgrid);
  table.add("aten::cartesian_prod.default", cartesian_prod);
  table.add("aten::combinations.default", combinations);
  table.add("aten::cross.default", cross);
  table.add("aten::linalg_cross.default", cross);
  table.add("aten::kron.default", kron);
}

}  // namespace assay
