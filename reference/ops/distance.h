// Distances between rows, bags of rows, rows scaled down.
#pragma once

#include <cmath>
#include <limits>

#include "core/opset/classify.h"
#include "core/opset/shapes.h"
#include "reference/number/complex.h"
#include "reference/number/functions.h"
#include "reference/number/sums.h"
#include "reference/ops/indexing.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// (sum |x|^p)^(1/p) of terms that are not negative; their number other than 0 for p = 0, the largest for p
// infinite.
template <class T>
T norm_of(std::vector<T>& terms, double p) {
  const auto n = static_cast<int64_t>(terms.size());
  if (n == 0) return T(0);
  if (std::isinf(p)) {
    T best = terms[0];
    for (const T& x : terms) {
      if (!(x == x)) return x;
      if (best < x) best = x;
    }
    return best;
  }
  if (p == 0) {
    int64_t count = 0;
    for (const T& x : terms) {
      if (!(x == T(0))) ++count;
    }
    return T(static_cast<double>(count));
  }
  if (p == 1) return sum_any_order(terms.data(), n);
  if (p == 2) return fn::sqrt(dot_any_order(terms.data(), terms.data(), n));
  for (T& x : terms) x = fn::power(x, constant<T>(p));
  return fn::power(sum_any_order(terms.data(), n), constant<T>(1 / p));
}

// PyTorch may compute |a - b| as the root of |a|^2 + |b|^2 - 2 a b, which cancels; its error is that of the
// three sums: with e the error and s the sum of squares, |sqrt(s + e) - sqrt(s)| <= e / (sqrt(s) + sqrt(s -
// e)).
template <class T>
T through_products(T distance, const T*, const T*, int64_t) {
  return distance;
}
inline Bounded through_products(Bounded distance, const Bounded* a, const Bounded* b, int64_t n) {
  const Bounded aa = dot_any_order(a, a, n), bb = dot_any_order(b, b, n), ab = dot_any_order(a, b, n);
  const double u = std::max(current_environment->u, current_environment->u_acc);
  const double e =
      aa.bound + bb.bound + 2 * ab.bound + 4 * u * (aa.value + bb.value + 2 * std::fabs(ab.value));
  const double s = distance.value * distance.value;
  const double spread = e / (distance.value + std::sqrt(std::max(0.0, s - e)));
  if (e > 0) distance.bound += std::isnan(spread) ? std::sqrt(e) : spread;
  return distance;
}

// compute_mode: 0 or None, products where more than 25 rows meet; 1, products; 2, differences.
inline bool may_use_products(const OpCall& call, double p, int64_t rows1, int64_t rows2) {
  if (p != 2) return false;
  const int64_t mode = call.integer_opt("compute_mode").value_or(0);
  return mode == 1 || (mode == 0 && (rows1 > 25 || rows2 > 25));
}

// x1 [..., P, M], x2 [..., R, M], batch dims broadcast: calls f(pair's position in [..., P, R], first element
// of the row of x1, of x2).
template <class F>
void for_each_pair(const OpCall& call, const Shape& x1, const Shape& x2, F&& f) {
  const Shape batch1(x1.begin(), x1.end() - 2), batch2(x2.begin(), x2.end() - 2);
  const Shape batch = broadcast(batch1, batch2, call);
  const int64_t m = x1.back(), rows1 = x1[x1.size() - 2], rows2 = x2[x2.size() - 2];
  const int64_t count = element_count(batch);
  const Shape strides1 = broadcast_strides(batch1, batch), strides2 = broadcast_strides(batch2, batch);
  for (int64_t b = 0; b < count; ++b) {
    int64_t rest = b, first = 0, last = 0;
    for (std::size_t d = batch.size(); d-- > 0;) {
      first += rest % batch[d] * strides1[d];
      last += rest % batch[d] * strides2[d];
      rest /= batch[d];
    }
    for (int64_t i = 0; i < rows1; ++i) {
      for (int64_t j = 0; j < rows2; ++j)
        f((b * rows1 + i) * rows2 + j, (first * rows1 + i) * m, (last * rows2 + j) * m);
    }
  }
}

template <class T>
void absolute_difference(const T* a, const T* b, int64_t n, std::vector<T>& out) {
  out.resize(at(n));
  for (int64_t k = 0; k < n; ++k) out[at(k)] = abs(a[k] - b[k]);
}

template <class T>
std::vector<Array<T>> cdist(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T>&first = *in[at(call.tensor("x1"))], &second = *in[at(call.tensor("x2"))];
  const Shape &x1 = first.meta.shape, &x2 = second.meta.shape;
  const double p = call.floating("p");
  const int64_t m = x1.back();
  const bool products = may_use_products(call, p, x1[x1.size() - 2], x2[x2.size() - 2]);
  std::vector<T> terms;
  for_each_pair(call, x1, x2, [&](int64_t pair, int64_t i, int64_t j) {
    const T *a = first.real.data() + i, *b = second.real.data() + j;
    absolute_difference(a, b, m, terms);
    T& result = out.real[at(pair)];
    result = norm_of(terms, p);
    if (products) result = through_products(result, a, b, m);
  });
  return one(std::move(out));
}

// Distances of all pairs of rows i < j.
template <class T>
std::vector<Array<T>> pdist(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const int64_t rows = in[0]->meta.shape[0], m = in[0]->meta.shape[1];
  const double p = call.floating("p");
  std::vector<T> terms;
  int64_t to = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i + 1; j < rows; ++j) {
      absolute_difference(in[0]->real.data() + i * m, in[0]->real.data() + j * m, m, terms);
      out.real[at(to)] = norm_of(terms, p);
      ++to;
    }
  }
  return one(std::move(out));
}

// Is |difference| the distance that was computed from it, for p infinite? The distance was rounded to its
// dtype.
template <class T>
bool is_largest(const T& magnitude, const T& distance, const FloatFormat& format) {
  return round_to(format, static_cast<double>(plain(magnitude))) == static_cast<double>(plain(distance));
}
// Either is right where the difference's own rounding decides.
template <class T>
T may_be_zero(T gradient, const T&, const T&) {
  return gradient;
}
inline Bounded may_be_zero(Bounded gradient, const Bounded& magnitude, const Bounded& distance) {
  const double apart = std::fabs(magnitude.value - distance.value);
  if (apart > 0 && apart <= magnitude.bound + current_environment->u_graph * distance.value)
    gradient.bound = std::max(gradient.bound, std::fabs(gradient.value) + gradient.bound);
  return gradient;
}

// d |a - b|_p / d a, times the upstream gradient; 0 where the distance is 0 or for p = 0.
template <class T>
T distance_gradient(T difference, T distance, T gradient, double p, const FloatFormat& format) {
  if (p == 0 || distance == T(0)) return T(0);
  const T signed_gradient = difference < T(0) ? -gradient : difference == T(0) ? T(0) : gradient;
  if (p == 1) return signed_gradient;
  if (std::isinf(p)) {
    const T magnitude = abs(difference);
    return is_largest(magnitude, distance, format) ? may_be_zero(signed_gradient, magnitude, distance) : T(0);
  }
  if (p == 2) return gradient * difference / distance;
  if (difference == T(0)) return T(0);
  const T power = constant<T>(p - 1);
  return signed_gradient * fn::power(abs(difference), power) / fn::power(distance, power);
}

template <class T>
std::vector<Array<T>> cdist_backward(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto input = [&](const char* name) -> const Array<T>& { return *in[at(call.tensor(name))]; };
  const Array<T>&x1 = input("x1"), &x2 = input("x2"), &grad = input("grad"), &distance = input("cdist");
  const double p = call.floating("p");
  const int64_t m = x1.meta.shape.back(), rows2 = x2.meta.shape[at(x2.rank() - 2)];
  std::vector<std::vector<T>> terms(at(out.count()));
  for_each_pair(call, x1.meta.shape, x2.meta.shape, [&](int64_t pair, int64_t i, int64_t j) {
    for (int64_t k = 0; k < m; ++k) {
      terms[at(pair / rows2 * m + k)].push_back(
          distance_gradient<T>(x1.real[at(i + k)] - x2.real[at(j + k)], distance.real[at(pair)],
                               grad.real[at(pair)], p, float_format(distance.meta.dtype)));
    }
  });
  for (std::size_t i = 0; i < terms.size(); ++i)
    out.real[i] = sum_any_order(terms[i].data(), static_cast<int64_t>(terms[i].size()));
  return one(std::move(out));
}

// Bag b holds the rows indices[offsets[b]] .. indices[offsets[b + 1] - 1]; those that are the padding row do
// not count. Results: the bags' sums (0), means (1) or maxima (2), the bag of each index, the bags' sizes
// and, of maxima, the rows that they are from. What of the last three is filled, and how large they are,
// depends on PyTorch's choice of kernel (of sums some have no bags of indices, and sizes of 0); where an
// output is declared with another size it is left undefined.
template <class T>
std::vector<Array<T>> embedding_bag(const OpCall& call, const Inputs<T>& in) {
  const auto input = [&](const char* name) -> const Array<T>& { return *in[at(call.tensor(name))]; };
  const Array<T>&weight = input("weight"), &indices = input("indices"), &offsets = input("offsets");
  const auto sample_weights = call.tensor_opt("per_sample_weights");
  const int64_t mode = call.integer("mode"), width = weight.meta.shape[1], rows = weight.meta.shape[0];
  const int64_t count = indices.count();
  const bool named = call.schema().find("padding_idx") != nullptr;
  int64_t padding = named ? call.integer_opt("padding_idx").value_or(-1) : -1;
  if (call.schema().overload == "padding_idx" && padding < 0 && !call.is_none("padding_idx"))
    padding = rows + padding;
  const int64_t bags = offsets.count() - (call.boolean("include_last_offset") ? 1 : 0);
  auto out = make_array<T>(TensorMeta{weight.meta.dtype, {bags, width}});
  const DType index_dtype = indices.meta.dtype == DType::i64 ? DType::i64 : offsets.meta.dtype;
  auto bag_of = make_array<T>(TensorMeta{index_dtype, {count}});
  auto sizes = make_array<T>(TensorMeta{index_dtype, {bags}});
  auto largest = make_array<T>(TensorMeta{index_dtype, {bags, width}});
  if (bags > 0 && offsets.integer[0] != 0)
    throw Error(ErrorCode::invalid_argument, call.op() + ": offsets must begin with 0");
  std::vector<T> terms;
  std::vector<int64_t> members;
  for (int64_t b = 0; b < bags; ++b) {
    const int64_t first = offsets.integer[at(b)];
    const int64_t last = b + 1 < offsets.count() ? offsets.integer[at(b + 1)] : count;
    if (first < 0 || first > last || last > count) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": offsets must rise from 0 to at most " +
                                                   std::to_string(count) + ", the number of indices");
    }
    members.clear();
    for (int64_t i = first; i < last; ++i) {
      bag_of.integer[at(i)] = b;
      if (checked_index(call, indices.integer[at(i)], rows, false) != padding) members.push_back(i);
    }
    sizes.integer[at(b)] = static_cast<int64_t>(members.size());
    for (int64_t k = 0; k < width; ++k) {
      terms.clear();
      for (const int64_t i : members) {
        const T& x = weight.real[at(indices.integer[at(i)] * width + k)];
        terms.push_back(sample_weights ? x * in[at(*sample_weights)]->real[at(i)] : x);
      }
      const auto n = static_cast<int64_t>(terms.size());
      T& result = out.real[at(b * width + k)];
      if (n == 0) continue;
      if (mode != 2) {
        result = sum_any_order(terms.data(), n);
        if (mode == 1) result = result / T(static_cast<double>(n));
        continue;
      }
      std::size_t best = 0;
      for (std::size_t i = 1; i < terms.size(); ++i) {
        if (terms[best] == terms[best] && (terms[best] < terms[i] || !(terms[i] == terms[i]))) best = i;
      }
      result = terms[best];
      largest.integer[at(b * width + k)] = indices.integer[at(members[best])];
    }
  }
  std::vector<Array<T>> results = one(std::move(out));
  for (Array<T>* extra : {&bag_of, &sizes, &largest}) {
    const auto slot = static_cast<int>(results.size());
    const bool declared = static_cast<int>(call.outputs().size()) > slot && call.output_used(slot);
    if (declared && call.output(slot).shape != extra->meta.shape &&
        std::find(call.output(slot).shape.begin(), call.output(slot).shape.end(), -1) ==
            call.output(slot).shape.end()) {
      *extra = make_array<T>(TensorMeta{index_dtype, call.output(slot).shape});
      extra->undefined.assign(extra->integer.size(), 1);
    } else if (!is_defined_result(call, results.size())) {
      extra->undefined.assign(extra->integer.size(), 1);
    }
    results.push_back(std::move(*extra));
  }
  return results;
}

// Rows named by `indices` whose norm exceeds max_norm, times max_norm / (norm + 1e-7).
template <class T>
std::vector<Array<T>> embedding_renorm(const OpCall& call, const Inputs<T>& in) {
  Array<T> out = *in[at(call.tensor("self"))];
  out.undefined.clear();
  const Array<T>& indices = *in[at(call.tensor("indices"))];
  const double max_norm = call.floating("max_norm"), p = call.floating("norm_type");
  const int64_t rows = out.meta.shape[0], width = out.meta.shape[1] * out.parts();
  std::vector<bool> done(at(rows));
  for (const int64_t given : indices.integer) {
    const int64_t row = checked_index(call, given, rows, false);
    if (done[at(row)]) continue;
    done[at(row)] = true;
    T* x = out.real.data() + row * width;
    std::vector<T> terms(at(out.meta.shape[1]));
    for (std::size_t e = 0; e < terms.size(); ++e)
      terms[e] = out.parts() == 2 ? complex_modulus(ComplexOf<T>{x[2 * e], x[2 * e + 1]}) : abs(x[e]);
    const T norm = norm_of(terms, p);
    const T limit = constant<T>(max_norm);
    bool near = false;  // scaled by nearly 1, or left alone
    if constexpr (std::is_same_v<T, Bounded>) {
      near = std::fabs(norm.value - max_norm) <= norm.bound + limit.bound;
    }
    if (!near && !(limit < norm)) continue;
    const T scale = limit / (norm + constant<T>(1e-7));
    for (int64_t k = 0; k < width; ++k) {
      const T smaller = x[k] * scale;
      if constexpr (std::is_same_v<T, Bounded>) {
        if (near) {
          x[k].bound = std::max(x[k].bound, std::fabs(x[k].value - smaller.value) + smaller.bound);
          continue;
        }
      }
      x[k] = smaller;
    }
  }
  return one(std::move(out));
}

template <class T>
void register_distance(KernelTable<T>& table) {
  const Traits distances = function_traits("definition");
  table.add("aten::_cdist_forward.default", distances, cdist<T>);
  table.add("aten::_pdist_forward.default", distances, pdist<T>);
  table.add("aten::_cdist_backward.default", distances, cdist_backward<T>);
  Traits bags = sum_traits();
  bags.ends_in_sum = false;
  for (const char* name : {"_embedding_bag.default", "_embedding_bag_forward_only.default",
                           "embedding_bag.default", "embedding_bag.padding_idx"}) {
    table.add(std::string("aten::") + name, bags, embedding_bag<T>);
  }
  Traits scaling = function_traits("PyTorch");
  scaling.complex = true;
  table.add("aten::embedding_renorm.default", scaling, embedding_renorm<T>);
}

}  // namespace assay::reference
