// Matrix products: mm, bmm, addmm, baddbmm.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// c[b] = a[b] @ w[b] for `batch` matrices [m,k] x [k,n]; an empty sum (k = 0) is 0. `addend` (null or
// [batch,m,n]) is one more term of each sum.
template <class T>
void batched_product(const Array<T>& a, const Array<T>& b, const std::vector<T>* addend, Array<T>& out,
                     int64_t batch, int64_t m, int64_t n, int64_t k) {
  for (int64_t i = 0; i < batch; ++i) {
    if (out.is_integral()) {
      std::vector<int64_t> column(at(k));
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t p = 0; p < k; ++p) column[at(p)] = b.integer[at((i * k + p) * n + j)];
        for (int64_t r = 0; r < m; ++r) {
          out.integer[at((i * m + r) * n + j)] =
              wrapped(out.meta.dtype, wrapped_dot(a.integer.data() + (i * m + r) * k, column.data(), k));
        }
      }
    } else {
      const T* extra = addend != nullptr ? addend->data() + i * m * n : nullptr;
      matmul_any_order(a.real.data() + i * m * k, b.real.data() + i * k * n, extra,
                       out.real.data() + i * m * n, m, n, k);
    }
  }
}

struct ProductSizes {
  int64_t batch, m, n, k;
};
inline ProductSizes product_sizes(const Shape& a, const Shape& b) {
  const bool batched = a.size() == 3;
  return {batched ? a[0] : 1, a[a.size() - 2], b[b.size() - 1], a[a.size() - 1]};
}

template <class T>
std::vector<Array<T>> product(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto [batch, m, n, k] = product_sizes(in[0]->meta.shape, in[1]->meta.shape);
  batched_product<T>(*in[0], *in[1], nullptr, out, batch, m, n, k);
  return one(std::move(out));
}

// beta * self + alpha * (a @ b). BLAS rules: beta = 0 does not read self, alpha = 0 does not read a and b.
template <class T>
std::vector<Array<T>> product_plus(const OpCall& call, const Inputs<T>& in, std::string_view a_name,
                                   std::string_view b_name) {
  auto out = make_array<T>(call.output(0));
  const Array<T>& a = *in[at(call.tensor(a_name))];
  const Array<T>& b = *in[at(call.tensor(b_name))];
  const auto [batch, m, n, k] = product_sizes(a.meta.shape, b.meta.shape);
  const Scalar alpha = call.scalar("alpha"), beta = call.scalar("beta");
  const Array<T> self = strided(*in[0], {in[0]->meta.dtype, out.meta.shape},
                                broadcast_strides(in[0]->meta.shape, out.meta.shape));
  if (out.is_integral()) {
    batched_product<T>(a, b, nullptr, out, batch, m, n, k);
    for (std::size_t i = 0; i < out.integer.size(); ++i) {
      const uint64_t scaled_product =
          static_cast<uint64_t>(alpha.as_int()) * static_cast<uint64_t>(out.integer[i]);
      const uint64_t scaled_self =
          static_cast<uint64_t>(beta.as_int()) * static_cast<uint64_t>(self.integer[i]);
      out.integer[i] = wrapped(out.meta.dtype, static_cast<int64_t>(scaled_product + scaled_self));
    }
    return one(std::move(out));
  }
  const double alpha_value = alpha.as_double(), beta_value = beta.as_double();
  if (alpha_value == 1 && beta_value == 1) {
    batched_product<T>(a, b, &self.real, out, batch, m, n, k);
    return one(std::move(out));
  }
  if (alpha_value != 0) batched_product<T>(a, b, nullptr, out, batch, m, n, k);
  // The sum may start with beta * self and have factors that alpha was multiplied into: every partial sum is
  // then rounded at that size (MKL's small products do it).
  Array<T> fused;
  if constexpr (std::is_same_v<T, Bounded>) {
    if (alpha_value != 0 && beta_value != 0) {
      fused = out;
      Array<T> scaled_a = a;
      std::vector<T> start(self.real);
      for (T& x : scaled_a.real) x = constant<T>(alpha_value) * x;
      for (T& x : start) x = constant<T>(beta_value) * x;
      batched_product<T>(scaled_a, b, &start, fused, batch, m, n, k);
    }
  }
  for (std::size_t i = 0; i < out.real.size(); ++i) {
    const T scaled_self = beta_value == 1 ? self.real[i] : constant<T>(beta_value) * self.real[i];
    const T scaled_product = alpha_value == 1 ? out.real[i] : constant<T>(alpha_value) * out.real[i];
    out.real[i] = alpha_value == 0  ? (beta_value == 0 ? T(0) : scaled_self)
                  : beta_value == 0 ? scaled_product
                                    : scaled_product + scaled_self;
    if constexpr (std::is_same_v<T, Bounded>) {
      if (fused.real.empty()) continue;
      out.real[i].bound = std::max(out.real[i].bound, fused.real[i].bound);
      out.real[i].variance = std::max(out.real[i].variance, fused.real[i].variance);
    }
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> addmm(const OpCall& call, const Inputs<T>& in) {
  return product_plus(call, in, "mat1", "mat2");
}
template <class T>
std::vector<Array<T>> baddbmm(const OpCall& call, const Inputs<T>& in) {
  return product_plus(call, in, "batch1", "batch2");
}

template <class T>
void register_matmul(KernelTable<T>& table) {
  table.add("aten::mm.default", sum_traits(), product<T>);
  table.add("aten::bmm.default", sum_traits(), product<T>);
  table.add("aten::addmm.default", sum_traits(), addmm<T>);
  table.add("aten::baddbmm.default", sum_traits(), baddbmm<T>);
}

}  // namespace assay::reference
