// Reductions: sums, means, variances, norms, extrema, any, products.
#pragma once

#include <cmath>
#include <limits>

#include "reference/number/sums.h"
#include "reference/ops/compare.h"
#include "reference/ops/rows.h"

namespace assay::reference {

// One output a row: F(row, length).
template <class T, class RealF, class IntF>
std::vector<Array<T>> reduce(const OpCall& call, const Inputs<T>& in, const std::vector<int64_t>& dims,
                             RealF&& real, IntF&& integral) {
  auto out = make_array<T>(call.output(0));
  Rows rows;
  const Array<T> numbers = as_kind_of(*in[0], out.meta);
  Array<T> values = gathered_rows(numbers, dims, rows);
  // A NaN that became an integer is any integer, and so is a result made of it.
  if (!numbers.undefined.empty()) out.undefined.assign(out.integer.size(), 1);
  for (int64_t r = 0; r < rows.count; ++r) {
    if (out.is_integral()) {
      out.integer[at(r)] =
          wrapped(out.meta.dtype, integral(values.integer.data() + r * rows.length, rows.length));
    } else {
      out.real[at(r)] = real(values.real.data() + r * rows.length, rows.length);
    }
  }
  return one(std::move(out));
}
// The dims of `dim`, which some overloads lack.
inline std::vector<int64_t> dims_of(const OpCall& call) {
  const int64_t rank = static_cast<int64_t>(call.input(0).shape.size());
  if (call.schema().find("dim") == nullptr) return reduced_dims(call, "", rank);
  return reduced_dims(call, "dim", rank);
}

template <class T>
T mean_of(const T* row, int64_t n) {
  return sum_any_order(row, n) / T(static_cast<double>(n));
}

template <class T>
std::vector<Array<T>> sum(const OpCall& call, const Inputs<T>& in) {
  return reduce<T>(
      call, in, dims_of(call), [](const T* row, int64_t n) { return sum_any_order(row, n); }, wrapped_sum);
}
template <class T>
std::vector<Array<T>> mean(const OpCall& call, const Inputs<T>& in) {
  return reduce<T>(call, in, dims_of(call), mean_of<T>, wrapped_sum);
}
template <class T>
std::vector<Array<T>> prod(const OpCall& call, const Inputs<T>& in) {
  return reduce<T>(
      call, in,
      call.schema().find("dim") != nullptr
          ? std::vector<int64_t>{normalise_dim(call.integer("dim"), in[0]->rank(), call)}
          : dims_of(call),
      [](const T* row, int64_t n) { return product_any_order(row, n); }, wrapped_product);
}

// sum (x - mean)^2 / (n - correction). Not defined (NaN) for n <= correction, as the array API has it;
// PyTorch gives 0 / 0 and x / 0 there, so any bits are right. Bound (anchors §3.4): d_mu = gamma_n mean|x|;
// d_var = gamma_(n+2) var + 2 d_mu mean|d| + d_mu^2.
struct Moments {
  double mean = 0, variance = 0;  // biased
  double mean_bound = 0, variance_bound = 0;
};
inline Moments bounded_moments(const Bounded* row, int64_t n) {
  const Environment& e = *current_environment;
  Moments m;
  const double count = static_cast<double>(n);
  std::vector<double> x(at(n)), magnitude(at(n));
  double input_bound = 0;
  for (int64_t i = 0; i < n; ++i) {
    x[at(i)] = row[i].value;
    magnitude[at(i)] = std::fabs(row[i].value) + row[i].bound;
    input_bound = std::max(input_bound, row[i].bound);
  }
  m.mean = sum_any_order(x.data(), n) / count;
  m.mean_bound =
      gamma(n, e.u_acc) * sum_any_order(magnitude.data(), n) / count + e.u * std::fabs(m.mean) + input_bound;
  for (int64_t i = 0; i < n; ++i) {
    const double d = x[at(i)] - m.mean;
    magnitude[at(i)] = std::fabs(d);
    x[at(i)] = d * d;
  }
  m.variance = sum_any_order(x.data(), n) / count;
  const double shift = m.mean_bound + input_bound;
  m.variance_bound = (gamma(n + 2, e.u_acc) + 3 * e.u) * m.variance +
                     2 * shift * sum_any_order(magnitude.data(), n) / count + shift * shift + e.eta;
  return m;
}
template <class T>
T variance_of(const T* row, int64_t n, double correction) {
  const double divisor = static_cast<double>(n) - correction;
  if (!(divisor > 0)) return std::numeric_limits<double>::quiet_NaN();
  if constexpr (std::is_same_v<T, Bounded>) {
    const Moments m = bounded_moments(row, n);
    const double factor = static_cast<double>(n) / divisor;
    return {m.variance * factor, m.variance_bound * factor, 0};
  } else {
    const T mean = mean_of(row, n);
    std::vector<T> squares(at(n));
    for (int64_t i = 0; i < n; ++i) {
      const T d = row[i] - mean;
      squares[at(i)] = d * d;
    }
    return sum_any_order(squares.data(), n) / T(divisor);
  }
}
template <class T>
std::vector<Array<T>> var(const OpCall& call, const Inputs<T>& in) {
  const bool by_flag = call.schema().find("unbiased") != nullptr;
  const auto given = by_flag ? std::nullopt : call.scalar_opt("correction");
  const double correction = by_flag ? (call.boolean("unbiased") ? 1 : 0) : given ? given->as_double() : 1;
  auto out = reduce<T>(
      call, in, dims_of(call), [&](const T* row, int64_t n) { return variance_of(row, n, correction); },
      wrapped_sum);
  Rows rows;
  rows.count = std::max<int64_t>(1, out[0].count());
  if (static_cast<double>(in[0]->count()) / static_cast<double>(rows.count) <= correction) {
    out[0].undefined.assign(out[0].real.size(), 1);
  }
  return out;
}

// (sum |x|^p)^(1/p); p = 0 counts non-zeros, p = +-inf are extrema.
template <class T>
std::vector<Array<T>> vector_norm(const OpCall& call, const Inputs<T>& in) {
  const double p = call.scalar("ord").as_double();
  const auto norm = [&](const T* row, int64_t n) {
    std::vector<T> terms(row, row + n);
    for (T& x : terms) x = abs(x);
    if (std::isinf(p)) {
      if (n == 0) return T(0);
      T best = terms[0];
      for (const T& x : terms) {
        if (!(x == x)) return x;
        if (p > 0 ? best < x : x < best) best = x;
      }
      return best;
    }
    if (p == 0) {
      const auto nonzero = std::count_if(terms.begin(), terms.end(), [](const T& x) { return !(x == T(0)); });
      return T(static_cast<double>(nonzero));
    }
    if (p == 1) return sum_any_order(terms.data(), n);
    if (p == 2) return fn::sqrt(dot_any_order(terms.data(), terms.data(), n));
    for (T& x : terms) x = fn::power(x, constant<T>(p));
    return fn::power(sum_any_order(terms.data(), n), constant<T>(1 / p));
  };
  return reduce<T>(call, in, dims_of(call), norm, wrapped_sum);
}

template <class T, bool Larger>
std::vector<Array<T>> extreme(const OpCall& call, const Inputs<T>& in) {
  if (in[0]->count() == 0 && call.output(0).shape.empty()) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": the maximum of no elements is not defined");
  }
  const auto best_of = [](const auto* row, int64_t n) {
    auto best = row[0];
    for (int64_t i = 0; i < n; ++i) {
      if (!(row[i] == row[i])) return row[i];
      if (Larger ? best < row[i] : row[i] < best) best = row[i];
    }
    return best;
  };
  return reduce<T>(call, in, dims_of(call), best_of, best_of);
}

template <class T, bool All>
std::vector<Array<T>> any_of(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  Array<T> flags;
  flags.meta = {DType::boolean, in[0]->meta.shape};
  flags.integer = truth(*in[0]);
  std::vector<int64_t> dims;
  const SchemaArgument* dim = call.schema().find("dim");
  const auto list = dim != nullptr && dim->type.list ? call.integers_opt("dim") : std::nullopt;
  if (list && list->empty()) {
    // Nothing is reduced.
  } else if (dim != nullptr && !dim->type.list) {
    if (in[0]->rank() > 0) dims = {normalise_dim(call.integer("dim"), in[0]->rank(), call)};
  } else {
    dims = dims_of(call);
  }
  Rows rows;
  const Array<T> values = gathered_rows(flags, dims, rows);
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t* row = values.integer.data() + r * rows.length;
    const int64_t trues = std::count(row, row + rows.length, 1);
    out.integer[at(r)] = All ? trues == rows.length : trues > 0;
  }
  return one(std::move(out));
}

template <class T>
void register_reduce(KernelTable<T>& table) {
  using E = Exact<T>;
  table.add("aten::sum.dim_IntList", sum_traits(), sum<T>);
  Traits averages = sum_traits();
  averages.ends_in_sum = false;
  table.add("aten::mean.dim", averages, mean<T>);
  table.add("aten::mean.default", averages, mean<T>);
  table.add("aten::prod.default", function_traits("definition"), prod<T>);
  table.add("aten::prod.dim_int", function_traits("definition"), prod<T>);
  table.add("aten::var.correction", function_traits("array API"), var<T>);
  table.add("aten::var.dim", function_traits("array API"), var<T>);
  table.add("aten::linalg_vector_norm.default", function_traits("definition"), vector_norm<T>);
  Traits selection = exact_traits("array API");  // NaN wins
  selection.model.signed_zero = false;
  table.add_exact("aten::amax.default", selection, extreme<E, true>);
  table.add_exact("aten::amin.default", selection, extreme<E, false>);
  table.add_exact("aten::max.default", selection, extreme<E, true>);
  const Traits logic = exact_traits("PyTorch").jumps();
  table.add_exact("aten::any.default", logic, any_of<E, false>);
  table.add_exact("aten::any.dim", logic, any_of<E, false>);
  table.add_exact("aten::any.dims", logic, any_of<E, false>);
  table.add_exact("aten::_is_all_true.default", logic, any_of<E, true>);
}

}  // namespace assay::reference
