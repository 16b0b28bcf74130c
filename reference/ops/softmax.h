// softmax and log_softmax.
#pragma once

#include <cmath>

#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// Largest of a row; NaN wins. A row of -inf stays -inf, and its softmax is NaN (PyTorch and NumPy agree).
template <class T>
T row_maximum(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t i = 0; i < n; ++i) {
    if (!(x[i] == x[i])) return x[i];
    if (best < x[i]) best = x[i];
  }
  return best;
}

// y_i = exp(x_i - max) / sum_j exp(x_j - max).
template <class T>
void softmax_row(const T* x, T* y, int64_t n) {
  const T best = row_maximum(x, n);
  for (int64_t i = 0; i < n; ++i) y[i] = fn::exp(x[i] - best);
  const T total = sum_any_order(y, n);
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] / total;
}

template <class T>
void log_softmax_row(const T* x, T* y, int64_t n) {
  const T best = row_maximum(x, n);
  std::vector<T> e(at(n));
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] - best;
    e[at(i)] = fn::exp(y[i]);
  }
  const T log_total = fn::log(sum_any_order(e.data(), n));
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] - log_total;
}

// Error of one row's exponentials, relative to exp(t_i): that of t_i = x_i - max and of exp itself; and of
// their sum.
struct ExpRow {
  std::vector<double> t, y, relative;  // y = softmax
  double log_total = 0;                // log of the sum
  double total_error = 0;              // relative error of the sum: gamma_(n-1) + sum_j y_j relative_j
};
inline ExpRow bounded_exp_row(const Bounded* x, int64_t n) {
  const Environment& e = *current_environment;
  const Allowance& exp = e.allowance(Function::exp);
  ExpRow row{std::vector<double>(at(n)), std::vector<double>(at(n)), std::vector<double>(at(n)), 0, 0};
  const Bounded best = row_maximum(x, n);
  for (int64_t i = 0; i < n; ++i) {
    row.t[at(i)] = x[i].value - best.value;
    row.y[at(i)] = std::exp(row.t[at(i)]);
  }
  const double total = sum_any_order(row.y.data(), n);
  row.log_total = std::log(total);
  std::vector<double> weighted(at(n));
  for (std::size_t i = 0; i < at(n); ++i) {
    row.y[i] /= total;
    // exp(t + dt) = exp(t) exp(dt), exactly; -inf has no error.
    const double shift = std::isfinite(row.t[i]) ? e.u * std::fabs(row.t[i]) + x[i].bound + best.bound : 0;
    row.relative[i] = std::expm1(shift) + exp.relative;
    weighted[i] = row.y[i] * row.relative[i] + (exp.absolute + e.eta) / total;
  }
  row.total_error = gamma(n - 1, e.u_acc) + (n > 1 ? sum_any_order(weighted.data(), n) : weighted[0]);
  return row;
}

// Bound_i = y_i rho_i, rho_i = u (|t_i| + c_exp) + u sum_j y_j (|t_j| + c_exp) + gamma_(n-1) + 2u (anchors
// §3.4).
inline void softmax_row(const Bounded* x, Bounded* y, int64_t n) {
  const Environment& e = *current_environment;
  const Allowance& exp = e.allowance(Function::exp);
  const Allowance& div = e.allowance(Function::div);
  const ExpRow row = bounded_exp_row(x, n);
  const double total = std::exp(row.log_total);
  for (std::size_t i = 0; i < at(n); ++i) {
    // A quotient computed as a product with a reciprocal rounds twice.
    const double rho = row.relative[i] + row.total_error + std::max(div.relative, 2 * e.u);
    y[i] = {row.y[i], row.y[i] * std::expm1(rho) + (exp.absolute + e.eta) / total + e.eta, 0};
  }
}

// Absolute: u |t_i| + error of log S + u |y_i|.
inline void log_softmax_row(const Bounded* x, Bounded* y, int64_t n) {
  const Environment& e = *current_environment;
  const Allowance& log = e.allowance(Function::log);
  const ExpRow row = bounded_exp_row(x, n);
  const Bounded best = row_maximum(x, n);
  for (std::size_t i = 0; i < at(n); ++i) {
    const double v = row.t[i] - row.log_total;
    const double of_log =
        std::expm1(row.total_error) + log.absolute + (log.relative + e.u) * std::fabs(row.log_total);
    // max + log S may be formed first and subtracted then.
    const double of_shift =
        e.u * (std::fabs(row.t[i]) + std::fabs(best.value + row.log_total)) + x[i].bound + best.bound;
    y[i] = {v, of_shift + of_log + e.u * std::fabs(v), 0};
  }
}

// Applies F to each line along `dim`.
template <class T, void (*F)(const T*, T*, int64_t)>
std::vector<Array<T>> along_dim(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Axis axis = axis_of(in[0]->meta.shape, normalise_dim(call.integer("dim"), in[0]->rank(), call));
  if (axis.size == 0 || out.real.empty()) return one(std::move(out));
  std::vector<T> line(at(axis.size)), result(at(axis.size));
  const T* x = in[0]->real.data();
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t n = 0; n < axis.inner; ++n) {
      if (axis.inner == 1) {
        F(x + o * axis.size, out.real.data() + o * axis.size, axis.size);
        continue;
      }
      for (int64_t i = 0; i < axis.size; ++i) line[at(i)] = x[axis.at(o, i, n)];
      F(line.data(), result.data(), axis.size);
      for (int64_t i = 0; i < axis.size; ++i) out.real[at(axis.at(o, i, n))] = result[at(i)];
    }
  }
  return one(std::move(out));
}

template <class T>
void register_softmax(KernelTable<T>& table) {
  // The overload set picks the closed form for Bounded.
  constexpr void (*kSoftmax)(const T*, T*, int64_t) = softmax_row;
  constexpr void (*kLogSoftmax)(const T*, T*, int64_t) = log_softmax_row;
  table.add("aten::_softmax.default", function_traits("PyTorch"), along_dim<T, kSoftmax>);
  table.add("aten::_log_softmax.default", function_traits("PyTorch"), along_dim<T, kLogSoftmax>);
}

}  // namespace assay::reference
