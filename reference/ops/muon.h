// Newton-Schulz iterations (formula: core/opset/rules/muon.cpp).
#pragma once

#include <cmath>

#include "reference/bounds/muon.h"
#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

struct MuonCall {
  int64_t rows = 0, columns = 0, steps = 0;  // rows <= columns: the iteration's own orientation
  bool turned = false, clamp_norm = false;
  double a = 0, b = 0, c = 0, eps = 0;
  DType dtype = DType::f32;
};
MuonCall muon_call(const OpCall& call);

template <class T>
std::vector<T> transposed(const std::vector<T>& x, int64_t rows, int64_t columns) {
  std::vector<T> y(x.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) y[at(j * rows + i)] = x[at(i * columns + j)];
  }
  return y;
}

// Implementations may hold matrices in the operand's dtype between products.
template <class T>
void held(std::vector<T>&, DType) {}
inline void held(std::vector<Stochastic>& x, DType dtype) {
  Environment& e = *current_environment;
  if (float_format(dtype).precision >= e.grid.precision) return;
  const Grid grid(float_format(dtype));
  for (Stochastic& v : x) v = stochastic_round(grid, v.value, e.random);
}

// x [rows, columns], rows <= columns.
template <class T>
std::vector<T> newton_schulz(const MuonCall& m, std::vector<T> x) {
  const T total = dot_any_order(x.data(), x.data(), static_cast<int64_t>(x.size()));
  const T norm = fn::sqrt(total), eps = constant<T>(m.eps);
  const T divisor = !m.clamp_norm ? norm + eps : norm < eps ? eps : norm;
  for (T& v : x) v = v / divisor;
  held(x, m.dtype);
  const int64_t n = m.rows;
  const T a = constant<T>(m.a), b = constant<T>(m.b), c = constant<T>(m.c);
  std::vector<T> square(at(n * n)), polynomial(at(n * n)), product(x.size());
  for (int64_t step = 0; step < m.steps; ++step) {
    const std::vector<T> turned = transposed(x, n, m.columns);
    matmul_any_order(x.data(), turned.data(), static_cast<const T*>(nullptr), square.data(), n, n, m.columns);
    held(square, m.dtype);
    matmul_any_order(square.data(), square.data(), static_cast<const T*>(nullptr), polynomial.data(), n, n,
                     n);
    for (std::size_t i = 0; i < square.size(); ++i) polynomial[i] = b * square[i] + c * polynomial[i];
    held(polynomial, m.dtype);
    matmul_any_order(polynomial.data(), x.data(), static_cast<const T*>(nullptr), product.data(), n,
                     m.columns, n);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = a * x[i] + product[i];
    held(x, m.dtype);
  }
  return x;
}

template <class T>
std::vector<Array<T>> muon_orthogonalize(const OpCall& call, const Inputs<T>& in) {
  const MuonCall m = muon_call(call);
  auto out = make_array<T>(call.output(0));
  if (out.real.empty()) return one(std::move(out));
  std::vector<T> x = in[0]->real;
  if (m.turned) x = transposed(x, m.columns, m.rows);
  x = newton_schulz(m, std::move(x));
  out.real = m.turned ? transposed(x, m.rows, m.columns) : std::move(x);
  return one(std::move(out));
}

template <class T>
void register_muon(KernelTable<T>& table) {
  Traits traits = function_traits("definition");
  traits.rms = true;
  table.add("assay::muon_orthogonalize.default", traits, muon_orthogonalize<T>);
}

}  // namespace assay::reference
