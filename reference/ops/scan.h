// Running products, extrema and logarithms of sums along one dim.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/ops/cast.h"
#include "reference/ops/order.h"
#include "reference/ops/reduce.h"

namespace assay::reference {

// Calls f(input line, output line) for each line along `dim`; both have the dim's size.
template <class V, class F>
void for_each_line(const Shape& shape, int64_t dim, const std::vector<V>& x, std::vector<V>& y, F&& f) {
  const Axis axis = axis_of(shape, dim);
  std::vector<V> line(at(axis.size)), result(at(axis.size));
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t n = 0; n < axis.inner; ++n) {
      for (int64_t i = 0; i < axis.size; ++i) line[at(i)] = x[at(axis.at(o, i, n))];
      f(line, result);
      for (int64_t i = 0; i < axis.size; ++i) y[at(axis.at(o, i, n))] = result[at(i)];
    }
  }
}

// The running product in the range of the dtype that products are formed in, f32 at least: infinite beyond
// its largest number, and on its grid below its smallest normal one.
inline double product_in_range(double product, DType dtype) {
  const FloatFormat& format = float_format(dtype == DType::f64 ? DType::f64 : DType::f32);
  const double kept = round_to(format, product);
  return std::isinf(kept) || std::fabs(product) < format.smallest_normal() ? kept : product;
}

// A product of finite factors, of any magnitude.
class WideProduct {
 public:
  void multiply(double factor) {
    int exponent = 0;
    mantissa_ = std::frexp(mantissa_ * std::frexp(factor, &exponent), &shift_);
    exponent_ += exponent + shift_;
  }
  double value() const {
    return std::ldexp(mantissa_, static_cast<int>(std::clamp<int64_t>(exponent_, -9999, 9999)));
  }

 private:
  double mantissa_ = 1;
  int shift_ = 0;
  int64_t exponent_ = 0;
};

// x_0, x_0 x_1, ...: any grouping of the factors has the same first-order error. A device that goes on from
// its last result has lost what underflowed there, and keeps what overflowed (where it declares so).
template <class T>
void running_products(const std::vector<T>& x, std::vector<T>& y, DType dtype) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = i == 0 ? x[0] : y[i - 1] * x[i];
  if constexpr (std::is_same_v<T, Bounded>) {
    double kept = 1;
    bool finite = true, overflowed = false;
    WideProduct exact;  // what fp64 itself loses below its range comes back with a large factor
    for (std::size_t i = 0; i < x.size(); ++i) {
      finite = finite && std::isfinite(x[i].value);
      if (finite) exact.multiply(x[i].value);
      kept = product_in_range(kept * x[i].value, dtype);
      const double whole = finite && y[i].value == 0 ? exact.value() : y[i].value;
      if (std::isfinite(kept)) y[i].bound += std::fabs(whole - kept);
      if (overflowed) {
        y[i].overflow = current_environment->early_overflow;
        if (!std::isfinite(y[i].value)) y[i] = {0, HUGE_VAL, 0};  // fp64 itself has lost the value
      }
      overflowed = overflowed || (finite && std::isinf(kept));
    }
  }
}

template <class T>
std::vector<Array<T>> cumprod(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Array<T> values = as_kind_of(*in[0], out.meta);
  // A NaN that became an integer is any integer, and so is every product with it.
  if (!values.undefined.empty()) out.undefined.assign(out.integer.size(), 1);
  const int64_t dim = normalise_dim(call.integer("dim"), in[0]->rank(), call);
  if (out.is_integral()) {
    for_each_line(out.meta.shape, dim, values.integer, out.integer, [&](const auto& x, auto& y) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        const int64_t pair[] = {i == 0 ? 1 : y[i - 1], x[i]};
        y[i] = wrapped(out.meta.dtype, wrapped_product(pair, 2));
      }
    });
  } else {
    for_each_line(out.meta.shape, dim, values.real, out.real,
                  [&](const auto& x, auto& y) { running_products<T>(x, y, out.meta.dtype); });
  }
  return one(std::move(out));
}

// The largest (smallest) element so far and where it stands: the last of equal ones; NaN wins and stays.
template <class T, bool Larger>
std::vector<Array<T>> cumulative_extremum(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[0];
  std::vector<Array<T>> out;
  out.push_back(self);
  out.push_back(make_array<T>({DType::i64, self.meta.shape}));
  const Axis axis = axis_of(self.meta.shape, normalise_dim(call.integer("dim"), self.rank(), call));
  const auto scan = [&](auto& x) {
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t n = 0; n < axis.inner; ++n) {
        int64_t best = 0;
        for (int64_t i = 0; i < axis.size; ++i) {
          const auto &a = x[at(axis.at(o, i, n))], &b = x[at(axis.at(o, best, n))];
          if (!(a == a) || (b == b && (Larger ? !(a < b) : !(b < a)))) best = i;
          out[1].integer[at(axis.at(o, i, n))] = best;
        }
        for (int64_t i = axis.size; i-- > 0;) {
          x[at(axis.at(o, i, n))] = x[at(axis.at(o, out[1].integer[at(axis.at(o, i, n))], n))];
        }
      }
    }
  };
  if (self.is_integral()) {
    scan(out[0].integer);
  } else {
    scan(out[0].real);
  }
  return out;
}

// y_k = m_k + log(sum_(j <= k) exp(x_j - m_k)), m_k the largest of x_0 ... x_k; the sums are taken anew where
// the maximum grows.
template <class T>
void log_cumsum_exp_line(const std::vector<T>& x, std::vector<T>& y) {
  std::vector<T> powers(x.size()), sums(x.size());
  const double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t start = 0; start < x.size();) {
    // [start, end): the positions that share the maximum x[start], which is not smaller than those before.
    const T most = x[start];
    if (!(most == most)) {
      for (; start < x.size(); ++start) y[start] = most;
      return;
    }
    std::size_t end = start + 1;
    while (end < x.size() && x[end] == x[end] && !(most < x[end])) ++end;
    if (most == T(infinity) || most == T(-infinity)) {
      for (std::size_t k = start; k < end; ++k) y[k] = most;
    } else {
      for (std::size_t j = 0; j < end; ++j) powers[j] = fn::exp(x[j] - most);
      prefix_sums_any_order(powers.data(), sums.data(), static_cast<int64_t>(end));
      for (std::size_t k = start; k < end; ++k) y[k] = most + fn::log(sums[k]);
    }
    start = end;
  }
}

// A device may also carry the logarithm: y_k = logaddexp(y_(k-1), x_k), which rounds y_k at each step; an
// earlier error reaches y_k at most undiminished.
inline void admit_carried_logarithm(std::vector<Bounded>& y) {
  const Environment& e = *current_environment;
  double largest = 0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (!std::isfinite(y[k].value)) continue;
    largest = std::max(largest, std::fabs(y[k].value));
    y[k].bound += gamma(static_cast<int64_t>(k) + 1, e.u) * (largest + 2);
  }
}

template <class T>
std::vector<Array<T>> logcumsumexp(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  for_each_line(out.meta.shape, normalise_dim(call.integer("dim"), in[0]->rank(), call), in[0]->real,
                out.real, [](const std::vector<T>& x, std::vector<T>& y) {
                  log_cumsum_exp_line(x, y);
                  if constexpr (std::is_same_v<T, Bounded>) admit_carried_logarithm(y);
                });
  return one(std::move(out));
}

template <class T>
void register_scan(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits choice = choice_traits();
  table.add("aten::cumprod.default", function_traits("definition"), cumprod<T>);
  table.add("aten::logcumsumexp.default", function_traits("definition"), logcumsumexp<T>);
  table.add_exact("aten::cummax.default", choice, cumulative_extremum<E, true>);
  table.add_exact("aten::cummin.default", choice, cumulative_extremum<E, false>);
}

}  // namespace assay::reference
