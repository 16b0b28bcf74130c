// Special functions. The formulas are those of Abramowitz and Stegun, chapters 6 to 9 and 22; where the
// argument or the point has no derivative in terms of the operator set, PyTorch has none either.
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

using Slope = ValueId (*)(Tape&, ValueId x, ValueId y);  // f'(x) from x and y = f(x)

struct Function {
  const char* name;
  Slope slope;
};

ValueId square(Tape& t, ValueId x) { return t.mul(x, x); }
ValueId at_zero(Tape& t, ValueId x, ValueId slope, double value) {
  return t.where(t.compare_number("eq", x, 0), t.scalar(value, t.dtype(x)), slope);
}
ValueId polygamma(Tape& t, int64_t n, ValueId x) {
  return t.call("aten::polygamma.default", {{"n", n}, {"self", ValueArg{x}}});
}
ValueId special(Tape& t, const char* name, ValueId x) {
  const char* argument = std::string_view(name).starts_with("scaled") ? "x" : "self";
  return t.call("aten::special_" + std::string(name) + ".default", {{argument, ValueArg{x}}});
}

// b' of the functions of order 1: b0' = -b1 gives b1' = b0 - b1 / x.
ValueId order_one(Tape& t, ValueId zero, ValueId y, ValueId x) { return t.sub(zero, t.div(y, x)); }

constexpr Function kFunctions[] = {
    {"erfc",
     [](Tape& t, ValueId x, ValueId) {
       return t.mul_number(t.unary("exp", t.unary("neg", square(t, x))), -2 * std::numbers::inv_sqrtpi);
     }},
    {"erfinv",
     [](Tape& t, ValueId, ValueId y) {
       return t.mul_number(t.unary("exp", square(t, y)), 0.5 / std::numbers::inv_sqrtpi);
     }},
    {"special_erfcx",
     [](Tape& t, ValueId x, ValueId y) {
       return t.add_number(t.mul_number(t.mul(x, y), 2), -2 * std::numbers::inv_sqrtpi);
     }},
    {"special_ndtri",
     [](Tape& t, ValueId, ValueId y) {
       return t.mul_number(t.unary("exp", t.mul_number(square(t, y), 0.5)),
                           std::numbers::sqrt2 / std::numbers::inv_sqrtpi);
     }},
    {"lgamma", [](Tape& t, ValueId x, ValueId) { return t.unary("digamma", x); }},
    {"digamma", [](Tape& t, ValueId x, ValueId) { return polygamma(t, 1, x); }},
    {"i0", [](Tape& t, ValueId x, ValueId) { return special(t, "i1", x); }},
    {"special_i1",
     [](Tape& t, ValueId x, ValueId y) { return at_zero(t, x, order_one(t, t.unary("i0", x), y, x), 0.5); }},
    {"special_i0e",
     [](Tape& t, ValueId x, ValueId y) { return t.sub(special(t, "i1e", x), t.mul(t.unary("sign", x), y)); }},
    {"special_i1e",
     [](Tape& t, ValueId x, ValueId y) {
       const ValueId slope = order_one(t, special(t, "i0e", x), y, x);
       return at_zero(t, x, t.sub(slope, t.mul(t.unary("sign", x), y)), 0.5);
     }},
    {"special_bessel_j0",
     [](Tape& t, ValueId x, ValueId) { return t.unary("neg", special(t, "bessel_j1", x)); }},
    {"special_bessel_j1",
     [](Tape& t, ValueId x, ValueId y) {
       return at_zero(t, x, order_one(t, special(t, "bessel_j0", x), y, x), 0.5);
     }},
    {"special_bessel_y0",
     [](Tape& t, ValueId x, ValueId) { return t.unary("neg", special(t, "bessel_y1", x)); }},
    {"special_bessel_y1",
     [](Tape& t, ValueId x, ValueId y) { return order_one(t, special(t, "bessel_y0", x), y, x); }},
    {"special_modified_bessel_i0",
     [](Tape& t, ValueId x, ValueId) { return special(t, "modified_bessel_i1", x); }},
    {"special_modified_bessel_i1",
     [](Tape& t, ValueId x, ValueId y) {
       return at_zero(t, x, order_one(t, special(t, "modified_bessel_i0", x), y, x), 0.5);
     }},
    {"special_modified_bessel_k0",
     [](Tape& t, ValueId x, ValueId) { return t.unary("neg", special(t, "modified_bessel_k1", x)); }},
    {"special_modified_bessel_k1",
     [](Tape& t, ValueId x, ValueId y) {
       return t.unary("neg", t.add(special(t, "modified_bessel_k0", x), t.div(y, x)));
     }},
    {"special_scaled_modified_bessel_k0",  // exp(x) k0(x)
     [](Tape& t, ValueId x, ValueId y) { return t.sub(y, special(t, "scaled_modified_bessel_k1", x)); }},
    {"special_scaled_modified_bessel_k1",
     [](Tape& t, ValueId x, ValueId y) {
       return t.sub(t.sub(y, t.div(y, x)), special(t, "scaled_modified_bessel_k0", x));
     }},
    {"special_spherical_bessel_j0",  // sin(x) / x
     [](Tape& t, ValueId x, ValueId y) { return at_zero(t, x, t.div(t.sub(t.unary("cos", x), y), x), 0); }},
};

void polygamma(Tape& t, const OpCall& call) {
  t.give(call, "self", t.mul(t.grad(call), polygamma(t, call.integer("n") + 1, t.value(call, "self"))));
}

void refuse(const Tape& t, const OpCall& call, const char* argument) {
  if (!t.wants(call, argument)) return;
  throw Error(ErrorCode::unsupported,
              call.op() + ": the derivative by `" + argument +
                  "` is no combination of operators; only that by the other argument is known");
}

// Regularised incomplete gamma functions: dP(a, x)/dx = exp(-x) x^(a-1) / Gamma(a); Q = 1 - P.
void igamma(Tape& t, const OpCall& call, double sign) {
  refuse(t, call, "self");
  const ValueId a = t.value(call, "self"), x = t.value(call, "other");
  const ValueId power = t.mul(t.add_number(a, -1), t.unary("log", x));
  const ValueId density = t.unary("exp", t.sub(t.sub(power, x), t.unary("lgamma", a)));
  t.give(call, "other", t.mul(t.grad(call), t.mul_number(density, sign)));
}

// Hurwitz: d zeta(s, q)/dq = -s zeta(s + 1, q).
void zeta(Tape& t, const OpCall& call) {
  refuse(t, call, "self");
  const ValueId s = t.operand(call, "self", call.output(0).dtype), q = t.value(call, "other");
  const ValueId next =
      t.call("aten::special_zeta.default", {{"self", ValueArg{t.add_number(s, 1)}}, {"other", ValueArg{q}}});
  t.give(call, "other", t.mul(t.grad(call), t.unary("neg", t.mul(s, next))));
}

}  // namespace

void register_special(DerivativeTable& table) {
  for (const Function& function : kFunctions) {
    const Slope slope = function.slope;
    table.add(std::string("aten::") + function.name + ".default", [slope](Tape& t, const OpCall& call) {
      const char* argument = call.schema().arguments.front().name == "x" ? "x" : "self";
      t.give(call, argument, t.mul(t.grad(call), slope(t, t.value(call, argument), t.result(call))));
    });
  }
  table.add("aten::polygamma.default", [](Tape& t, const OpCall& call) { polygamma(t, call); });
  table.add("aten::igamma.default", [](Tape& t, const OpCall& call) { igamma(t, call, 1); });
  table.add("aten::igammac.default", [](Tape& t, const OpCall& call) { igamma(t, call, -1); });
  table.add("aten::special_zeta.default", zeta);
}

}  // namespace assay::models
