// Special functions, functions of bits, complex parts and shifts.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

// Of one tensor, in floating point.
constexpr const char* kFunctions[] = {"erfc",
                                      "erfinv",
                                      "special_erfcx",
                                      "special_entr",
                                      "special_log_ndtr",
                                      "special_ndtr",
                                      "special_ndtri",
                                      "lgamma",
                                      "digamma",
                                      "i0",
                                      "special_i0e",
                                      "special_i1",
                                      "special_i1e",
                                      "special_modified_bessel_i0",
                                      "special_modified_bessel_i1",
                                      "special_modified_bessel_k0",
                                      "special_modified_bessel_k1",
                                      "special_scaled_modified_bessel_k0",
                                      "special_scaled_modified_bessel_k1",
                                      "special_bessel_j0",
                                      "special_bessel_j1",
                                      "special_bessel_y0",
                                      "special_bessel_y1",
                                      "special_spherical_bessel_j0",
                                      "special_airy_ai"};

// Of (x, n).
constexpr const char* kPolynomials[] = {
    "chebyshev_polynomial_t",         "chebyshev_polynomial_u",         "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",         "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
    "hermite_polynomial_he",          "laguerre_polynomial_l",          "legendre_polynomial_p"};

enum class SpecialResult { promoted, inexact };
struct Binary {
  const char* name;
  unsigned kinds;  // of the promoted operands
  SpecialResult result;
};
constexpr Binary kBinary[] = {
    {"igamma.default", kFloat, SpecialResult::promoted},
    {"igammac.default", kFloat, SpecialResult::promoted},
    {"special_zeta.default", kNoComplex, SpecialResult::inexact},
    {"logaddexp2.default", kFloat, SpecialResult::promoted},
    {"copysign.Tensor", kNoComplex, SpecialResult::inexact},
    {"copysign.Scalar", kNoComplex, SpecialResult::inexact},
    {"nextafter.default", kFloat, SpecialResult::promoted},
    {"fmax.default", kNoComplex, SpecialResult::promoted},
    {"fmin.default", kNoComplex, SpecialResult::promoted},
    {"__lshift__.Scalar", kInt, SpecialResult::promoted},
    {"__rshift__.Scalar", kInt, SpecialResult::promoted},
    {"__lshift__.Tensor", kInt, SpecialResult::promoted},
    {"__rshift__.Tensor", kInt, SpecialResult::promoted},
    {"bitwise_left_shift.Tensor", kInt, SpecialResult::promoted},
    {"bitwise_right_shift.Tensor", kInt, SpecialResult::promoted},
    {"bitwise_left_shift.Tensor_Scalar", kInt, SpecialResult::promoted},
    {"bitwise_right_shift.Tensor_Scalar", kInt, SpecialResult::promoted},
};

ShapeRule of_two(const char* first, const char* second, unsigned kinds, SpecialResult result) {
  return [=](const OpCall& call) -> Metas {
    const Operands in = operands(call, {first, second});
    const DType type = in.type();
    require_kind(call, "the promoted type of the operands", type, kinds);
    return {{result == SpecialResult::inexact ? inexact(type) : type, in.shape}};
  };
}

Metas polygamma(const OpCall& call) {
  if (call.integer("n") < 0) fail(call, "n is {}; it cannot be negative", call.integer("n"));
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  return {{inexact(self.dtype), self.shape}};
}
Metas frexp(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  return {self, {DType::i32, self.shape}};
}
// self * 2^other.
Metas ldexp(const OpCall& call) {
  const TensorMeta &self = meta(call, "self"), &other = meta(call, "other");
  const TensorMeta power{result_type({other}, {Scalar{Scalar::Kind::floating, 0, 2}}), other.shape};
  return {{result_type({self, power}, {}), broadcast(self.shape, other.shape, call)}};
}
Metas round_decimals(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kReal);
  return {self};
}
Metas rrelu(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kFloat);
  const double lower = call.scalar("lower").as_double(), upper = call.scalar("upper").as_double();
  if (!(lower <= upper)) fail(call, "lower is {} and upper is {}; lower cannot be greater", lower, upper);
  return {self};
}
Metas sign_bit(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kNoComplex);
  return {{DType::boolean, self.shape}};
}

Metas complex_of_parts(const OpCall& call) {
  const TensorMeta& real = meta(call, "real");
  require_kind(call, "real", real.dtype, kFloat);
  require_complex_part(call, "real");
  require_same_dtype(call, "imag", "real");
  return {{complex_of(real.dtype), broadcast(real.shape, meta(call, "imag").shape, call)}};
}
Metas angle(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{real_part(inexact(self.dtype)), self.shape}};
}
Metas same(const OpCall& call) { return {meta(call, "self")}; }
// The lazy conjugate: real tensors are their own, which PyTorch's callers see to.
Metas conj(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  require_kind(call, "self", self.dtype, kComplex);
  return {self};
}

}  // namespace

void register_special(ShapeTable& table) {
  for (const char* name : kFunctions) {
    table.add(std::string("aten::") + name + ".default", [](const OpCall& call) -> Metas {
      const std::string& argument = call.schema().arguments.at(0).name;  // self or x
      const TensorMeta& self = meta(call, argument);
      require_kind(call, argument, self.dtype, kNoComplex);
      return {{inexact(self.dtype), self.shape}};
    });
  }
  for (const char* name : kPolynomials) {
    table.add(std::string("aten::special_") + name + ".default",
              of_two("x", "n", kNoComplex, SpecialResult::inexact));
  }
  for (const Binary& entry : kBinary) {
    table.add(std::string("aten::") + entry.name, of_two("self", "other", entry.kinds, entry.result));
  }
  table.add("aten::polygamma.default", polygamma);
  table.add("aten::frexp.Tensor", frexp);
  table.add("aten::ldexp.Tensor", ldexp);
  table.add("aten::round.decimals", round_decimals);
  table.add("aten::rrelu_with_noise.default", rrelu);
  table.add("aten::signbit.default", sign_bit);
  table.add("aten::complex.default", complex_of_parts);
  table.add("aten::angle.default", angle);
  table.add("aten::_conj.default", conj);
  table.add("aten::_conj_physical.default", same);
}

}  // namespace assay
