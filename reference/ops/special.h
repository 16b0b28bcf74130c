// Special functions, and what is made of bits: copysign, nextafter, frexp, signbit, shifts.
#pragma once

#include <cmath>

#include "reference/number/special.h"
#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

template <class T, Special1 F>
std::vector<Array<T>> special_unary(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto x = real_operand(*in[0], out.meta.dtype);
  for (std::size_t i = 0; i < out.real.size(); ++i) out.real[i] = special(F, x.data[i]);
  return one(std::move(out));
}
template <class T, Special2 F>
std::vector<Array<T>> special_binary(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  zip(out.meta.shape, real_argument(call, in, "self", out.meta.dtype),
      real_argument(call, in, "other", out.meta.dtype), out.real, [](T a, T x) { return special(F, a, x); });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> polygamma(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto x = real_operand(*in[0], out.meta.dtype);
  const T n = T(static_cast<double>(call.integer("n")));
  for (std::size_t i = 0; i < out.real.size(); ++i) out.real[i] = special(Special2::polygamma, n, x.data[i]);
  return one(std::move(out));
}
template <class T, Polynomial P>
std::vector<Array<T>> polynomial_in(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const int limit = out.meta.dtype == DType::f64 ? 512 : 128;
  zip(out.meta.shape, real_argument(call, in, "x", out.meta.dtype),
      real_argument(call, in, "n", out.meta.dtype), out.real,
      [&](T x, T n) { return polynomial(P, x, n, limit); });
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> copy_sign(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  zip(out.meta.shape, real_argument(call, in, "self", out.meta.dtype),
      real_argument(call, in, "other", out.meta.dtype), out.real, [](T a, T b) {
        using std::copysign;
        return T(copysign(a, b));
      });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> sign_bit(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  if (in[0]->is_integral()) {
    map(in[0]->integer, out.integer, [](int64_t v) { return static_cast<int64_t>(v < 0); });
  } else {
    map(in[0]->real, out.integer, [](T v) {
      using std::copysign;
      return static_cast<int64_t>(copysign(T(1), v) < T(0));
    });
  }
  return one(std::move(out));
}

// The number of the dtype that follows `from` towards `to` (C99). Both are numbers of the dtype.
inline double next_after(DType dtype, double from, double to) {
  if (std::isnan(from) || std::isnan(to)) return from + to;
  if (from == to) return to;
  const FloatFormat& format = float_format(dtype);
  if (from == 0) return std::copysign(format.smallest_subnormal(), to);
  if (std::isinf(from)) return std::copysign(format.max, from);
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(from), &exponent);
  const bool outward = (to > from) == (from > 0);
  double step = std::max(std::ldexp(1.0, exponent - format.precision), format.smallest_subnormal());
  // Below a power of two the numbers are twice as dense.
  if (!outward && mantissa == 0.5) step = std::max(step / 2, format.smallest_subnormal());
  const double size = outward ? std::fabs(from) + step : std::fabs(from) - step;
  return std::copysign(size > format.max ? HUGE_VAL : size, from);
}
template <class T>
std::vector<Array<T>> nextafter(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = out.meta.dtype;
  zip(out.meta.shape, real_argument(call, in, "self", dtype), real_argument(call, in, "other", dtype),
      out.real, [&](T a, T b) {
        const double x = static_cast<double>(a), y = static_cast<double>(b);
        return T(dtype == DType::f64 ? std::nextafter(x, y) : next_after(dtype, x, y));
      });
  return one(std::move(out));
}

// (mantissa in [0.5, 1), exponent): x = mantissa * 2^exponent. The exponent of infinities and NaN is
// unspecified (C99 7.12.6.4).
template <class T>
std::vector<Array<T>> frexp(const OpCall& call, const Inputs<T>& in) {
  std::vector<Array<T>> out;
  out.push_back(make_array<T>(call.output(0)));
  out.push_back(make_array<T>({DType::i32, call.output(0).shape}));
  const auto& x = in[0]->real;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x[i]);
    int exponent = 0;
    out[0].real[i] = T(std::frexp(v, &exponent));
    if (std::isfinite(v)) {
      out[1].integer[i] = exponent;
    } else {
      if (out[1].undefined.empty()) out[1].undefined.assign(x.size(), 0);
      out[1].undefined[i] = 1;
    }
  }
  return out;
}

// Shifts of integers. A count outside of [0, width) is undefined in C; PyTorch gives 0, or the sign to the
// right.
template <class T, bool Left>
std::vector<Array<T>> shift(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = out.meta.dtype;
  const auto width = static_cast<int64_t>(8 * size_of(dtype));
  zip(out.meta.shape, integer_argument(call, in, "self", out.meta.dtype),
      integer_argument(call, in, "other", out.meta.dtype), out.integer, [&](int64_t x, int64_t by) {
        const bool outside = by < 0 || by >= width;
        if (!Left) return x >> (outside ? 63 : by);
        return outside ? 0 : wrapped(dtype, static_cast<int64_t>(static_cast<uint64_t>(x) << by));
      });
  return one(std::move(out));
}

template <class T>
void register_special(KernelTable<T>& table) {
  using E = Exact<T>;
  struct Named {
    const char* name;
    Kernel<T> kernel;
  };
  const Traits functions = function_traits("torch.special");
  using enum Special1;
  using enum Polynomial;
  for (const auto& [name, kernel] : {
           Named{"erfc.default", special_unary<T, erfc>},
           {"erfinv.default", special_unary<T, erfinv>},
           {"special_erfcx.default", special_unary<T, erfcx>},
           {"special_ndtri.default", special_unary<T, ndtri>},
           {"lgamma.default", special_unary<T, Special1::lgamma>},
           {"digamma.default", special_unary<T, digamma>},
           {"polygamma.default", polygamma<T>},
           {"igamma.default", special_binary<T, Special2::igamma>},
           {"igammac.default", special_binary<T, Special2::igammac>},
           {"special_zeta.default", special_binary<T, Special2::zeta>},
           {"i0.default", special_unary<T, i0>},
           {"special_i0e.default", special_unary<T, i0e>},
           {"special_i1.default", special_unary<T, i1>},
           {"special_i1e.default", special_unary<T, i1e>},
           {"special_modified_bessel_i0.default", special_unary<T, i0>},
           {"special_modified_bessel_i1.default", special_unary<T, i1>},
           {"special_modified_bessel_k0.default", special_unary<T, k0>},
           {"special_modified_bessel_k1.default", special_unary<T, k1>},
           {"special_scaled_modified_bessel_k0.default", special_unary<T, k0e>},
           {"special_scaled_modified_bessel_k1.default", special_unary<T, k1e>},
           {"special_bessel_j0.default", special_unary<T, bessel_j0>},
           {"special_bessel_j1.default", special_unary<T, bessel_j1>},
           {"special_bessel_y0.default", special_unary<T, bessel_y0>},
           {"special_bessel_y1.default", special_unary<T, bessel_y1>},
           {"special_spherical_bessel_j0.default", special_unary<T, spherical_bessel_j0>},
           {"special_airy_ai.default", special_unary<T, airy_ai>},
           {"special_chebyshev_polynomial_t.default", polynomial_in<T, chebyshev_t>},
           {"special_chebyshev_polynomial_u.default", polynomial_in<T, chebyshev_u>},
           {"special_chebyshev_polynomial_v.default", polynomial_in<T, chebyshev_v>},
           {"special_chebyshev_polynomial_w.default", polynomial_in<T, chebyshev_w>},
           {"special_shifted_chebyshev_polynomial_t.default", polynomial_in<T, shifted_chebyshev_t>},
           {"special_shifted_chebyshev_polynomial_u.default", polynomial_in<T, shifted_chebyshev_u>},
           {"special_shifted_chebyshev_polynomial_v.default", polynomial_in<T, shifted_chebyshev_v>},
           {"special_shifted_chebyshev_polynomial_w.default", polynomial_in<T, shifted_chebyshev_w>},
           {"special_hermite_polynomial_h.default", polynomial_in<T, hermite_h>},
           {"special_hermite_polynomial_he.default", polynomial_in<T, hermite_he>},
           {"special_laguerre_polynomial_l.default", polynomial_in<T, laguerre_l>},
           {"special_legendre_polynomial_p.default", polynomial_in<T, legendre_p>},
       }) {
    table.add(std::string("aten::") + name, functions, kernel);
  }
  const Traits exact = exact_traits("C99");
  for (const char* name : {"aten::copysign.Tensor", "aten::copysign.Scalar"}) {
    table.add_exact(name, exact, copy_sign<E>);
  }
  table.add_exact("aten::signbit.default", exact.jumps(), sign_bit<E>);
  table.add_exact("aten::nextafter.default", exact, nextafter<E>);
  table.add_exact("aten::frexp.Tensor", exact.jumps(), frexp<E>);
  for (const char* name : {"aten::bitwise_left_shift.Tensor", "aten::bitwise_left_shift.Tensor_Scalar",
                           "aten::__lshift__.Scalar"}) {
    table.add_exact(name, exact, shift<E, true>);
  }
  for (const char* name : {"aten::bitwise_right_shift.Tensor", "aten::bitwise_right_shift.Tensor_Scalar",
                           "aten::__rshift__.Scalar"}) {
    table.add_exact(name, exact, shift<E, false>);
  }
}

}  // namespace assay::reference
