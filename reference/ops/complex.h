// Complex numbers: arithmetic, functions, parts and Fourier transforms. C99 Annex G is the authority for
// values (|inf + nan i| is inf, sqrt(-1 - 0 i) is -i); errors are bounded against the modulus.
#pragma once

#include <array>

#include "reference/number/complex.h"
#include "reference/number/fourier.h"
#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

// Numbers of an operand as complex ones.
template <class T>
Operand<ComplexOf<T>> complex_operand(const Array<T>& array) {
  std::vector<ComplexOf<T>> values(static_cast<std::size_t>(array.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (array.is_integral()) {
      values[i].re = constant<T>(static_cast<double>(array.integer[i]));
    } else if (array.parts() == 1) {
      values[i].re = array.real[i];
    } else {
      values[i] = {array.real[2 * i], array.real[2 * i + 1]};
    }
  }
  return owned_operand(array.meta.shape, std::move(values));
}
template <class T>
Operand<ComplexOf<T>> complex_argument(const OpCall& call, const Inputs<T>& in, std::string_view name) {
  if (const auto i = call.tensor_opt(name)) return complex_operand(*in[static_cast<std::size_t>(*i)]);
  return owned_operand<ComplexOf<T>>({}, {{constant<T>(call.scalar(name).as_double()), T(0)}});
}

// Of a complex number that is not finite any parts are right: they depend on the formula.
inline void free_if_infinite(Bounded& re, Bounded& im) {
  re.overflow = im.overflow = re.overflow || im.overflow;  // products and quotients mix the parts
  const double most = current_environment->max;
  if (std::fabs(re.value) <= most && std::fabs(im.value) <= most) return;
  re.bound = im.bound = HUGE_VAL;
}

template <class T>
std::vector<Array<T>> of_complex(const OpCall& call, const std::vector<ComplexOf<T>>& values) {
  auto out = make_array<T>(call.output(0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.real[2 * i] = values[i].re;
    out.real[2 * i + 1] = values[i].im;
    if constexpr (std::is_same_v<T, Bounded>) free_if_infinite(out.real[2 * i], out.real[2 * i + 1]);
  }
  return one(std::move(out));
}

template <class T, ComplexFunction F>
std::vector<Array<T>> complex_unary(const OpCall& call, const Inputs<T>& in) {
  auto x = complex_operand(*in[0]).owned;
  for (ComplexOf<T>& z : x) z = complex_function(F, z);
  return of_complex(call, x);
}

template <class T, class F>
std::vector<Array<T>> complex_binary(const OpCall& call, const Inputs<T>& in, F&& f,
                                     const char* second = "other") {
  std::vector<ComplexOf<T>> out(static_cast<std::size_t>(element_count(call.output(0).shape)));
  zip(call.output(0).shape, complex_argument(call, in, "self"), complex_argument(call, in, second), out, f);
  return of_complex(call, out);
}

template <class T, int Sign>
std::vector<Array<T>> complex_add(const OpCall& call, const Inputs<T>& in) {
  const double alpha = Sign * call.scalar("alpha").as_double();
  return complex_binary<T>(call, in, [&](ComplexOf<T> a, ComplexOf<T> b) {
    if (alpha == 1) return ComplexOf<T>{a.re + b.re, a.im + b.im};
    if (alpha == -1) return ComplexOf<T>{a.re - b.re, a.im - b.im};
    const T factor = constant<T>(alpha);
    return ComplexOf<T>{a.re + factor * b.re, a.im + factor * b.im};
  });
}
template <class T>
std::vector<Array<T>> complex_mul(const OpCall& call, const Inputs<T>& in) {
  return complex_binary<T>(call, in, [](ComplexOf<T> a, ComplexOf<T> b) { return complex_times(a, b); });
}
template <class T>
std::vector<Array<T>> complex_div(const OpCall& call, const Inputs<T>& in) {
  return complex_binary<T>(call, in, [](ComplexOf<T> a, ComplexOf<T> b) { return complex_over(a, b); });
}
template <class T>
std::vector<Array<T>> complex_pow(const OpCall& call, const Inputs<T>& in) {
  return complex_binary<T>(
      call, in, [](ComplexOf<T> a, ComplexOf<T> b) { return complex_raised(a, b); }, "exponent");
}

template <class T>
std::vector<Array<T>> complex_abs(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  map(complex_operand(*in[0]).owned, out.real, complex_modulus<T>);
  return one(std::move(out));
}
// atan2(im, re); of a negative real number pi, of another 0 (of -0, too: PyTorch's documentation), NaN of
// NaN.
template <class T>
std::vector<Array<T>> angle(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const bool is_real = in[0]->parts() == 1;
  map(complex_operand(*in[0]).owned, out.real, [&](ComplexOf<T> z) {
    if (!(z.re == z.re)) return z.re;
    if (is_real && !(z.re < T(0))) return T(0);
    using std::atan2;
    return finish_function(Function::atan2, atan2(plain(z.im), plain(z.re)), z.re, [] { return 1.0; });
  });
  return one(std::move(out));
}
// z / |z|, 0 of 0.
template <class T>
std::vector<Array<T>> complex_sign(const OpCall& call, const Inputs<T>& in) {
  auto x = complex_operand(*in[0]).owned;
  for (ComplexOf<T>& z : x) {
    if (z.re == T(0) && z.im == T(0)) continue;
    const T size = complex_modulus(z);
    z = {z.re / size, z.im / size};
  }
  return of_complex(call, x);
}
template <class T>
std::vector<Array<T>> complex_neg(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  map(in[0]->real, out.real, [](T x) { return -x; });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> conjugate(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  if (out.is_integral()) {
    out.integer = in[0]->integer;
    return one(std::move(out));
  }
  const bool complex = out.parts() == 2;
  for (std::size_t i = 0; i < out.real.size(); ++i) {
    out.real[i] = complex && i % 2 == 1 ? -in[0]->real[i] : in[0]->real[i];
  }
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> complex_of_parts(const OpCall& call, const Inputs<T>& in) {
  std::vector<ComplexOf<T>> out(static_cast<std::size_t>(element_count(call.output(0).shape)));
  const DType dtype = in[0]->meta.dtype;
  zip(call.output(0).shape, real_argument(call, in, "real", dtype), real_argument(call, in, "imag", dtype),
      out, [](T re, T im) {
        return ComplexOf<T>{re, im};
      });
  return of_complex(call, out);
}
template <class T>
std::vector<Array<T>> polar(const OpCall& call, const Inputs<T>& in) {
  std::vector<ComplexOf<T>> out(static_cast<std::size_t>(element_count(call.output(0).shape)));
  const DType dtype = in[0]->meta.dtype;
  zip(call.output(0).shape, real_argument(call, in, "abs", dtype), real_argument(call, in, "angle", dtype),
      out, [](T size, T at) {
        return ComplexOf<T>{size * fn::cos(at), size * fn::sin(at)};
      });
  return of_complex(call, out);
}

template <class T>
void register_complex(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits functions = function_traits("C99 Annex G");
  functions.complex = true;
  const Traits arithmetic = arithmetic_traits();
  struct Named {
    const char* name;
    Kernel<T> kernel;
  };
  using enum ComplexFunction;
  for (const auto& [name, kernel] : {
           Named{"exp", complex_unary<T, exp>},
           {"log", complex_unary<T, log>},
           {"log2", complex_unary<T, log2>},
           {"log10", complex_unary<T, log10>},
           {"sqrt", complex_unary<T, sqrt>},
           {"rsqrt", complex_unary<T, rsqrt>},
           {"sin", complex_unary<T, sin>},
           {"cos", complex_unary<T, cos>},
           {"tan", complex_unary<T, tan>},
           {"asin", complex_unary<T, asin>},
           {"acos", complex_unary<T, acos>},
           {"atan", complex_unary<T, atan>},
           {"sinh", complex_unary<T, sinh>},
           {"cosh", complex_unary<T, cosh>},
           {"tanh", complex_unary<T, tanh>},
           {"asinh", complex_unary<T, asinh>},
           {"acosh", complex_unary<T, acosh>},
           {"atanh", complex_unary<T, atanh>},
           {"expm1", complex_unary<T, expm1>},
           {"log1p", complex_unary<T, log1p>},
           {"sigmoid", complex_unary<T, sigmoid>},
           {"reciprocal", complex_unary<T, reciprocal>},
           {"abs", complex_abs<T>},
           {"sign", complex_sign<T>},
       }) {
    table.add_complex(std::string("aten::") + name + ".default", functions, kernel);
  }
  for (const char* overload : {".Tensor", ".Scalar"}) {
    const std::string after = overload;
    table.add_complex("aten::add" + after, arithmetic, complex_add<T, 1>);
    table.add_complex("aten::sub" + after, arithmetic, complex_add<T, -1>);
    table.add_complex("aten::mul" + after, functions, complex_mul<T>);
    table.add_complex("aten::div" + after, functions, complex_div<T>);
  }
  for (const char* name : {"aten::pow.Tensor_Scalar", "aten::pow.Tensor_Tensor", "aten::pow.Scalar"}) {
    table.add_complex(name, functions, complex_pow<T>);
  }
  table.add("aten::angle.default", functions, angle<T>);
  table.add("aten::polar.default", functions, polar<T>);
  const Traits moves = movement_traits();
  table.add_exact("aten::complex.default", moves, complex_of_parts<E>);
  table.add_exact("aten::_conj.default", moves, conjugate<E>);
  table.add_exact("aten::_conj_physical.default", moves, conjugate<E>);
  if constexpr (std::is_same_v<E, T>) table.add_complex("aten::neg.default", moves, complex_neg<T>);
}

}  // namespace assay::reference
