// Binary arithmetic. Integers are exact modulo 2^w; floats follow IEEE 754, C99 for pow and PyTorch for the
// rest.
#pragma once

#include <cmath>
#include <limits>

#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

// One binary operator: `self op other`, either of which may be a number.
template <class T, class RealF, class IntF>
Array<T> binary(const OpCall& call, const Inputs<T>& in, RealF&& real, IntF&& integral,
                std::string_view a = "self", std::string_view b = "other") {
  auto out = make_array<T>(call.output(0));
  const Shape& shape = out.meta.shape;
  if (out.is_integral()) {
    const DType dtype = out.meta.dtype;
    zip(shape, integer_argument(call, in, a, dtype), integer_argument(call, in, b, dtype), out.integer,
        [&](int64_t x, int64_t y) { return wrapped(dtype, integral(x, y)); });
  } else {
    zip(shape, real_argument(call, in, a, out.meta.dtype), real_argument(call, in, b, out.meta.dtype),
        out.real, real);
  }
  return out;
}

// The same for operators that jump: finer operands are first held in the dtype `held`.
template <class T, class RealF, class IntF>
Array<T> binary_held(const OpCall& call, const Inputs<T>& in, DType held, RealF&& real, IntF&& integral) {
  if (is_integral(call.output(0).dtype)) return binary<T>(call, in, real, integral);
  auto out = make_array<T>(call.output(0));
  zip(out.meta.shape, held_argument(call, in, "self", held), held_argument(call, in, "other", held), out.real,
      real);
  return out;
}

namespace integers {
inline int64_t add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
// Wraps for INT64_MIN / -1; 0 for b = 0 (undefined, marked by the caller).
inline int64_t divide(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? sub(0, a) : a / b; }
inline int64_t fmod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
inline int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = divide(a, b);
  return fmod(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
inline int64_t remainder(int64_t a, int64_t b) {
  const int64_t r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
// Negative exponents: 1 and -1 keep their powers, everything else becomes 0, as PyTorch computes it.
inline int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}
}  // namespace integers

// self + alpha * other, self - alpha * other.
template <class T, int Sign>
std::vector<Array<T>> add(const OpCall& call, const Inputs<T>& in) {
  const Scalar alpha = call.scalar("alpha");
  if (is_integral(call.output(0).dtype)) {
    const bool boolean = call.output(0).dtype == DType::boolean;
    const int64_t factor = integers::mul(Sign, alpha.as_int());
    return one(binary<T>(
        call, in, [](T a, T) { return a; },
        [&](int64_t a, int64_t b) {
          return boolean ? static_cast<int64_t>((a != 0) || (b != 0 && factor != 0))
                         : integers::add(a, integers::mul(factor, b));
        }));
  }
  if (alpha.as_double() == 1) {
    return one(binary<T>(
        call, in, [](T a, T b) { return Sign > 0 ? a + b : a - b; }, integers::add));
  }
  const T factor = constant<T>(Sign * alpha.as_double());
  return one(binary<T>(
      call, in, [&](T a, T b) { return a + factor * b; }, integers::add));
}

template <class T>
std::vector<Array<T>> mul(const OpCall& call, const Inputs<T>& in) {
  return one(binary<T>(
      call, in, [](T a, T b) { return a * b; }, integers::mul));
}

// Exact steps of floor division and remainders; PyTorch's conventions: the remainder has the divisor's sign,
// and x // y = floor of the exact quotient, computed from the exact remainder (1.0f // 0.1f is 9).
template <class R>
R python_remainder(R a, R b) {
  using std::fmod;
  R r = fmod(a, b);
  if (r != 0 && (b < 0) != (r < 0)) r = r + b;
  return r;
}
template <class R>
R floor_quotient(R a, R b) {
  using std::fmod;
  if (b == 0) return a / b;
  const R r = fmod(a, b);
  R q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) q = q - 1;
  using std::copysign;
  if (q == 0) return copysign(R(0), a / b);
  using std::floor;
  const R whole = floor(q);
  return q - whole > R(0.5) ? whole + 1 : whole;
}

template <class T>
void mark_zero_divisors(const OpCall& call, const Inputs<T>& in, Array<T>& out) {
  if (!out.is_integral()) return;
  out.undefined.assign(out.integer.size(), 0);
  const auto other = integer_argument(call, in, "other", out.meta.dtype);
  zip(out.meta.shape, other, other, out.undefined,
      [](int64_t b, int64_t) { return static_cast<uint8_t>(b == 0); });
}

template <class T>
std::vector<Array<T>> div(const OpCall& call, const Inputs<T>& in) {
  return one(binary<T>(
      call, in, [](T a, T b) { return a / b; }, integers::divide));
}

// The quotient's integer part. Where the quotient, rounded or not, may lie on either side of an integer, both
// are right: PyTorch defines it as the truncation of the quotient in the tensors' dtype, C's integer division
// of the exact one.
template <class T>
T truncated(T quotient) {
  using std::trunc;
  return trunc(quotient);
}
inline Bounded truncated(Bounded q) {
  const double reach = q.bound + current_environment->u_graph * std::fabs(q.value);
  const double low = std::trunc(q.value - reach), high = std::trunc(q.value + reach);
  if (!std::isfinite(low) || !std::isfinite(high)) return std::trunc(q.value);
  return {low + (high - low) / 2, (high - low) / 2, 0};
}
inline Stochastic truncated(Stochastic q) { return std::trunc(q.value); }

// rounding_mode None, "floor" or "trunc".
template <class T>
std::vector<Array<T>> div_mode(const OpCall& call, const Inputs<T>& in) {
  const auto mode = call.string_opt("rounding_mode");
  if (!mode) return div<T>(call, in);
  const auto floor_mode = [](T a, T b) { return T(floor_quotient(plain(a), plain(b))); };
  const auto trunc_mode = [](T a, T b) { return truncated(a / b); };
  // PyTorch divides 16-bit tensors in f32, and by a number as f32 holds it.
  const DType dtype = call.output(0).dtype;
  const DType wide = dtype == DType::bf16 || dtype == DType::f16 ? DType::f32 : dtype;
  auto out = *mode == "floor" ? binary_held<T>(call, in, wide, floor_mode, integers::floor_divide)
                              : binary<T>(call, in, trunc_mode, integers::divide);
  mark_zero_divisors(call, in, out);
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> fmod(const OpCall& call, const Inputs<T>& in) {
  auto out = binary_held<T>(
      call, in, call.output(0).dtype,
      [](T a, T b) {
        using std::fmod;
        return T(fmod(a, b));
      },
      integers::fmod);
  mark_zero_divisors(call, in, out);
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> remainder(const OpCall& call, const Inputs<T>& in) {
  auto out = binary_held<T>(call, in, call.output(0).dtype, python_remainder<T>, integers::remainder);
  mark_zero_divisors(call, in, out);
  return one(std::move(out));
}

// NaN in either operand gives NaN.
template <class T, bool Larger>
std::vector<Array<T>> extremum(const OpCall& call, const Inputs<T>& in) {
  return one(binary<T>(
      call, in,
      [](T a, T b) {
        if (!(a == a)) return a;
        if (!(b == b)) return b;
        return (Larger ? a < b : b < a) ? b : a;
      },
      [](int64_t a, int64_t b) { return Larger ? std::max(a, b) : std::min(a, b); }));
}

template <class T>
std::vector<Array<T>> atan2(const OpCall& call, const Inputs<T>& in) {
  return one(binary<T>(
      call, in,
      [](T y, T x) {
        using std::atan2;
        // Operands are exact bits here: no slope is needed.
        return finish_function(Function::atan2, atan2(plain(y), plain(x)), y, [] { return 1.0; });
      },
      integers::add));
}

template <class T>
std::vector<Array<T>> pow(const OpCall& call, const Inputs<T>& in) {
  if (is_integral(call.output(0).dtype) && call.is_number("exponent") &&
      call.scalar("exponent").as_int() < 0) {
    throw Error(ErrorCode::invalid_argument,
                call.op() + ": integers to negative integer powers are not allowed; use a float tensor");
  }
  return one(binary<T>(call, in, fn::power<T>, integers::power, "self", "exponent"));
}

template <class T>
void register_arithmetic(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits ieee = arithmetic_traits();
  const Traits exact = exact_traits("PyTorch");
  const Traits quotients = function_traits("PyTorch").jumps();
  Traits selection = exact;
  selection.model.signed_zero = false;  // max(-0, +0) may be either
  // A remainder of 0 has the divisor's sign in the array API, the dividend's in PyTorch (fmod, then a
  // correction that leaves 0 alone): either is right.
  Traits remainders = exact.jumps();
  remainders.model.signed_zero = false;
  for (const char* name : {"aten::add.Tensor", "aten::add.Scalar"}) table.add(name, ieee, add<T, 1>);
  for (const char* name : {"aten::sub.Tensor", "aten::sub.Scalar"}) table.add(name, ieee, add<T, -1>);
  for (const char* name : {"aten::mul.Tensor", "aten::mul.Scalar"}) table.add(name, ieee, mul<T>);
  for (const char* name : {"aten::div.Tensor", "aten::div.Scalar"}) table.add(name, ieee, div<T>);
  for (const char* name : {"aten::div.Tensor_mode", "aten::div.Scalar_mode"}) {
    table.add(name, quotients, div_mode<T>);
  }
  for (const char* name : {"aten::fmod.Tensor", "aten::fmod.Scalar"})
    table.add_exact(name, exact.jumps(), fmod<E>);
  for (const char* name : {"aten::remainder.Tensor", "aten::remainder.Scalar"}) {
    table.add_exact(name, remainders, remainder<E>);
  }
  for (const char* name : {"aten::pow.Tensor_Scalar", "aten::pow.Tensor_Tensor", "aten::pow.Scalar"}) {
    table.add(name, function_traits("C99"), pow<T>);
  }
  table.add_exact("aten::maximum.default", selection, extremum<E, true>);
  table.add_exact("aten::minimum.default", selection, extremum<E, false>);
  table.add("aten::atan2.default", function_traits("C99"), atan2<T>);
}

}  // namespace assay::reference
