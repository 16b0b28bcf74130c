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

// One row's exponentials with their errors: that of t_i = x_i - max and of exp itself, and of their sum.
// First order of anchors §3.4, in a form that also holds where u |t_i| is large: a mask of -3.4e38 has t =
// -3.4e38 and exp(t (1 - u)) = 0.
struct ExpRow {
  std::vector<double> t, y;   // y = softmax
  std::vector<double> error;  // of exp(t_i), divided by the sum
  double total = 0;           // sum of exp(t_j)
  double total_error = 0;     // relative error of the sum: gamma_(n-1) + sum_j error_j
};
inline ExpRow bounded_exp_row(const Bounded* x, int64_t n) {
  const Environment& e = *current_environment;
  const Allowance& exp = e.allowance(Function::exp);
  ExpRow row;
  row.t.resize(at(n));
  row.y.resize(at(n));
  row.error.resize(at(n));
  const Bounded best = row_maximum(x, n);
  for (std::size_t i = 0; i < at(n); ++i) {
    row.t[i] = x[i].value - best.value;
    row.y[i] = std::exp(row.t[i]);
    const double shift = std::isfinite(row.t[i]) ? e.u * std::fabs(row.t[i]) + x[i].bound + best.bound : 0;
    const double moved = shift < 0.5 ? row.y[i] * std::expm1(shift) : std::exp(row.t[i] + shift) - row.y[i];
    row.error[i] = moved + (row.y[i] + moved) * exp.relative + exp.absolute + e.eta;
  }
  row.total = sum_any_order(row.y.data(), n);
  for (std::size_t i = 0; i < at(n); ++i) {
    row.y[i] /= row.total;
    row.error[i] /= row.total;
  }
  row.total_error = gamma(n - 1, e.u_acc) + sum_any_order(row.error.data(), n);
  return row;
}

// (y_i + error_i) (1 + 2u) / (1 - total_error) - y_i: a quotient computed as a product with a reciprocal
// rounds twice.
inline void softmax_row(const Bounded* x, Bounded* y, int64_t n) {
  const Environment& e = *current_environment;
  const ExpRow row = bounded_exp_row(x, n);
  const double quotient = std::max(e.allowance(Function::div).relative, 2 * e.u);
  for (std::size_t i = 0; i < at(n); ++i) {
    const double v = row.y[i];
    if (row.total_error >= 1) {
      y[i] = {v, HUGE_VAL, 0};
      continue;
    }
    const double bound =
        (row.error[i] * (1 + quotient) + v * (quotient + row.total_error)) / (1 - row.total_error);
    y[i] = {v, bound + e.eta, 0};
  }
}

// Absolute: u |t_i| + error of log S + u |y_i|. max + log S may also be formed first and subtracted then.
inline void log_softmax_row(const Bounded* x, Bounded* y, int64_t n) {
  const Environment& e = *current_environment;
  const Allowance& log = e.allowance(Function::log);
  const ExpRow row = bounded_exp_row(x, n);
  const Bounded best = row_maximum(x, n);
  const double log_total = std::log(row.total);
  const double of_log = row.total_error >= 1 ? HUGE_VAL
                                             : -std::log1p(-row.total_error) + log.absolute +
                                                   (log.relative + e.u) * std::fabs(log_total);
  for (std::size_t i = 0; i < at(n); ++i) {
    const double v = row.t[i] - log_total;
    const double of_shift =
        e.u * (std::fabs(row.t[i]) + std::fabs(best.value + log_total)) + x[i].bound + best.bound;
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
