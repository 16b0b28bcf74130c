// One-argument functions: a table of name, function, authority.
#pragma once

#include <cmath>

#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

// Integers and booleans are first converted to the result's dtype (PyTorch's promotion): beyond 2^24 it is
// the converted number whose function is taken.
template <class T, T (*F)(T)>
std::vector<Array<T>> unary(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto x = in[0]->is_integral() ? held_argument(call, in, "self", out.meta.dtype)
                                      : real_operand(*in[0], out.meta.dtype);
  for (std::size_t i = 0; i < out.real.size(); ++i) out.real[i] = F(x.data[i]);
  return one(std::move(out));
}

// Exact functions, which integers have too.
template <class T, T (*F)(T), int64_t (*I)(int64_t)>
std::vector<Array<T>> exact_unary(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = out.meta.dtype;
  if (out.is_integral()) {
    map(in[0]->integer, out.integer, [&](int64_t v) { return wrapped(dtype, I(v)); });
  } else {
    map(in[0]->real, out.real, F);
  }
  return one(std::move(out));
}

namespace exact {
inline int64_t same(int64_t x) { return x; }
inline int64_t negated(int64_t x) { return static_cast<int64_t>(-static_cast<uint64_t>(x)); }
inline int64_t magnitude(int64_t x) { return x < 0 ? negated(x) : x; }
inline int64_t sign(int64_t x) { return (x > 0) - (x < 0); }
inline int64_t relu(int64_t x) { return x < 0 ? 0 : x; }
template <class T>
T neg(T x) {
  return -x;
}
template <class T>
T abs(T x) {
  using std::fabs;
  return fabs(x);
}
template <class T>
T relu(T x) {
  return x < T(0) ? T(0) : x;  // NaN stays
}
// NaN stays: PyTorch's CPU gives 0 there, the array API NaN.
template <class T>
T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
}
template <class T>
T floor(T x) {
  using std::floor;
  return floor(x);
}
template <class T>
T ceil(T x) {
  using std::ceil;
  return ceil(x);
}
template <class T>
T trunc(T x) {
  using std::trunc;
  return trunc(x);
}
// Half to even.
template <class T>
T round(T x) {
  using std::fabs;
  using std::floor;
  const T below = floor(x), fraction = x - below;
  const T half = T(0.5);
  T nearest = fraction < half ? below : fraction > half ? below + T(1) : below;
  if (fraction == half && floor(below / T(2)) * T(2) != below) nearest = below + T(1);
  using std::copysign;
  return nearest == nearest ? T(copysign(nearest, x)) : x;
}
}  // namespace exact

template <class T>
void register_unary(KernelTable<T>& table) {
  using E = Exact<T>;
  struct Function1 {
    const char* name;
    Kernel<T> kernel;
  };
  for (const auto& [name, kernel] : {
           Function1{"exp", unary<T, fn::exp<T>>}, {"expm1", unary<T, fn::expm1<T>>},
           {"log", unary<T, fn::log<T>>},          {"log2", unary<T, fn::log2<T>>},
           {"log10", unary<T, fn::log10<T>>},      {"log1p", unary<T, fn::log1p<T>>},
           {"rsqrt", unary<T, fn::rsqrt<T>>},      {"reciprocal", unary<T, fn::reciprocal<T>>},
           {"sin", unary<T, fn::sin<T>>},          {"cos", unary<T, fn::cos<T>>},
           {"tan", unary<T, fn::tan<T>>},          {"asin", unary<T, fn::asin<T>>},
           {"acos", unary<T, fn::acos<T>>},        {"atan", unary<T, fn::atan<T>>},
           {"sinh", unary<T, fn::sinh<T>>},        {"cosh", unary<T, fn::cosh<T>>},
           {"tanh", unary<T, fn::tanh<T>>},        {"asinh", unary<T, fn::asinh<T>>},
           {"acosh", unary<T, fn::acosh<T>>},      {"atanh", unary<T, fn::atanh<T>>},
           {"erf", unary<T, fn::erf<T>>},          {"sigmoid", unary<T, fn::sigmoid<T>>},
           {"silu", unary<T, fn::silu<T>>},
       }) {
    table.add(std::string("aten::") + name + ".default", function_traits("C99"), kernel);
  }
  table.add("aten::sqrt.default", arithmetic_traits(), unary<T, fn::sqrt<T>>);

  const Traits exact = exact_traits("IEEE 754");
  table.add_exact("aten::neg.default", exact, exact_unary<E, exact::neg<E>, exact::negated>);
  table.add_exact("aten::abs.default", exact, exact_unary<E, exact::abs<E>, exact::magnitude>);
  Traits selection = exact;
  selection.model.signed_zero = false;  // max(-0, +0), sign(-0)
  table.add_exact("aten::relu.default", selection, exact_unary<E, exact::relu<E>, exact::relu>);
  table.add_exact("aten::sign.default", selection.jumps(), exact_unary<E, exact::sign<E>, exact::sign>);
  table.add_exact("aten::floor.default", exact.jumps(), exact_unary<E, exact::floor<E>, exact::same>);
  table.add_exact("aten::ceil.default", exact.jumps(), exact_unary<E, exact::ceil<E>, exact::same>);
  table.add_exact("aten::trunc.default", exact.jumps(), exact_unary<E, exact::trunc<E>, exact::same>);
  table.add_exact("aten::round.default", exact.jumps(), exact_unary<E, exact::round<E>, exact::same>);
}

}  // namespace assay::reference
