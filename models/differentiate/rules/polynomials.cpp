// Orthogonal polynomials by argument; their degree is a whole number and has no derivative. Formulas:
// Abramowitz and Stegun, 22.8; at the ends of an interval, where these are 0 / 0, the limits.
#include <string>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

class Polynomial {
 public:
  Polynomial(Tape& t, const OpCall& call)
      : t_(t),
        x_(t.operand(call, "x", call.output(0).dtype)),
        n_(t.operand(call, "n", call.output(0).dtype)) {}

  ValueId x() const { return x_; }
  ValueId n() const { return n_; }
  // The polynomial `name` of degree n + shift at x, 0 below degree 0.
  ValueId at(const std::string& name, ValueId x, int shift) {
    const ValueId degree = t_.add_number(n_, shift);
    const ValueId value =
        t_.call("aten::special_" + name + ".default", {{"x", ValueArg{x}}, {"n", ValueArg{degree}}});
    return t_.masked(t_.compare_number("ge", degree, 0), value);
  }
  // ((n + 1) T_(n+1) - x U_n) / (x^2 - 1); at 1 n (n + 1) (n + 2) / 3, at -1 that with the sign of (-1)^(n +
  // 1).
  ValueId chebyshev_u_slope(ValueId x, int shift) {
    const ValueId n = t_.add_number(n_, shift);
    const ValueId above = t_.mul(t_.add_number(n, 1), at("chebyshev_polynomial_t", x, shift + 1));
    const ValueId numerator = t_.sub(above, t_.mul(x, at("chebyshev_polynomial_u", x, shift)));
    const ValueId product = t_.mul(n, t_.mul(t_.add_number(n, 1), t_.add_number(n, 2)));
    // T_(n+1) is 1 at 1 and (-1)^(n+1) at -1.
    const ValueId limit = t_.mul(t_.mul_number(product, 1.0 / 3), at("chebyshev_polynomial_t", x, shift + 1));
    return t_.masked(t_.compare_number("ge", n, 0), at_ends(x, numerator, limit));
  }
  // n (x P_n - P_(n-1)) / (x^2 - 1); at 1 n (n + 1) / 2.
  ValueId legendre_slope() {
    const ValueId last = at("legendre_polynomial_p", x_, -1);
    const ValueId numerator = t_.mul(n_, t_.sub(t_.mul(x_, at("legendre_polynomial_p", x_, 0)), last));
    const ValueId limit =
        t_.mul_number(t_.mul(t_.mul(n_, t_.add_number(n_, 1)), last), 0.5);  // P_(n-1)(-1) = (-1)^(n-1)
    return at_ends(x_, numerator, limit);
  }
  // n (L_n - L_(n-1)) / x; at 0 -n.
  ValueId laguerre_slope() {
    const ValueId numerator =
        t_.mul(n_, t_.sub(at("laguerre_polynomial_l", x_, 0), at("laguerre_polynomial_l", x_, -1)));
    return t_.where(t_.compare_number("eq", x_, 0), t_.unary("neg", n_), t_.div(numerator, x_));
  }

 private:
  ValueId at_ends(ValueId x, ValueId numerator, ValueId limit) {
    const ValueId denominator = t_.add_number(t_.mul(x, x), -1);
    return t_.where(t_.compare_number("eq", denominator, 0), limit, t_.div(numerator, denominator));
  }

  Tape& t_;
  ValueId x_, n_;
};

using Slope = ValueId (*)(Tape&, Polynomial&);

// Shifted ones are the same at 2 x - 1.
template <typename F>
ValueId shifted(Tape& t, Polynomial& p, F slope) {
  return t.mul_number(slope(t.add_number(t.mul_number(p.x(), 2), -1)), 2);
}

ValueId t_slope(Tape& t, Polynomial& p, ValueId x) {
  return t.mul(p.n(), p.at("chebyshev_polynomial_u", x, -1));
}
// V_n = U_n - U_(n-1), W_n = U_n + U_(n-1).
ValueId v_slope(Tape& t, Polynomial& p, ValueId x) {
  return t.sub(p.chebyshev_u_slope(x, 0), p.chebyshev_u_slope(x, -1));
}
ValueId w_slope(Tape& t, Polynomial& p, ValueId x) {
  return t.add(p.chebyshev_u_slope(x, 0), p.chebyshev_u_slope(x, -1));
}

struct Kind {
  const char* name;
  Slope slope;
};
constexpr Kind kKinds[] = {
    {"chebyshev_polynomial_t", [](Tape& t, Polynomial& p) { return t_slope(t, p, p.x()); }},
    {"chebyshev_polynomial_u", [](Tape&, Polynomial& p) { return p.chebyshev_u_slope(p.x(), 0); }},
    {"chebyshev_polynomial_v", [](Tape& t, Polynomial& p) { return v_slope(t, p, p.x()); }},
    {"chebyshev_polynomial_w", [](Tape& t, Polynomial& p) { return w_slope(t, p, p.x()); }},
    {"shifted_chebyshev_polynomial_t",
     [](Tape& t, Polynomial& p) { return shifted(t, p, [&](ValueId x) { return t_slope(t, p, x); }); }},
    {"shifted_chebyshev_polynomial_u",
     [](Tape& t, Polynomial& p) {
       return shifted(t, p, [&](ValueId x) { return p.chebyshev_u_slope(x, 0); });
     }},
    {"shifted_chebyshev_polynomial_v",
     [](Tape& t, Polynomial& p) { return shifted(t, p, [&](ValueId x) { return v_slope(t, p, x); }); }},
    {"shifted_chebyshev_polynomial_w",
     [](Tape& t, Polynomial& p) { return shifted(t, p, [&](ValueId x) { return w_slope(t, p, x); }); }},
    {"hermite_polynomial_h",
     [](Tape& t, Polynomial& p) {
       return t.mul(t.mul_number(p.n(), 2), p.at("hermite_polynomial_h", p.x(), -1));
     }},
    {"hermite_polynomial_he",
     [](Tape& t, Polynomial& p) { return t.mul(p.n(), p.at("hermite_polynomial_he", p.x(), -1)); }},
    {"legendre_polynomial_p", [](Tape&, Polynomial& p) { return p.legendre_slope(); }},
    {"laguerre_polynomial_l", [](Tape&, Polynomial& p) { return p.laguerre_slope(); }},
};

}  // namespace

void register_polynomials(DerivativeTable& table) {
  for (const Kind& kind : kKinds) {
    const Slope slope = kind.slope;
    table.add(std::string("aten::special_") + kind.name + ".default", [slope](Tape& t, const OpCall& call) {
      if (!t.wants(call, "x")) return;
      Polynomial polynomial(t, call);
      t.give(call, "x", t.mul(t.grad(call), slope(t, polynomial)));
    });
  }
}

}  // namespace assay::models
