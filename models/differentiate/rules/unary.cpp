// Functions of one tensor, element by element: gradient * f'(x).
#include <cmath>
#include <numbers>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// f'(x) times g from the argument x and the result y.
using Slope = ValueId (*)(Tape&, ValueId x, ValueId y, ValueId g);

struct Function {
  const char* name;
  Slope slope;
};

ValueId one_minus(Tape& t, ValueId x) { return t.add_number(t.unary("neg", x), 1); }
ValueId square(Tape& t, ValueId x) { return t.mul(x, x); }
ValueId over_root(Tape& t, ValueId g, ValueId x) { return t.mul(g, t.unary("rsqrt", x)); }

constexpr Function kFunctions[] = {
    {"neg", [](Tape& t, ValueId, ValueId, ValueId g) { return t.unary("neg", g); }},
    {"clone", [](Tape&, ValueId, ValueId, ValueId g) { return g; }},
    {"alias", [](Tape&, ValueId, ValueId, ValueId g) { return g; }},
    {"contiguous", [](Tape&, ValueId, ValueId, ValueId g) { return g; }},
    {"_to_copy", [](Tape&, ValueId, ValueId, ValueId g) { return g; }},
    {"exp", [](Tape& t, ValueId, ValueId y, ValueId g) { return t.mul(g, y); }},
    {"expm1", [](Tape& t, ValueId, ValueId y, ValueId g) { return t.mul(g, t.add_number(y, 1)); }},
    {"log", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.div(g, x); }},
    {"log2",
     [](Tape& t, ValueId x, ValueId, ValueId g) { return t.div(g, t.mul_number(x, std::numbers::ln2)); }},
    {"log10",
     [](Tape& t, ValueId x, ValueId, ValueId g) { return t.div(g, t.mul_number(x, std::numbers::ln10)); }},
    {"log1p", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.div(g, t.add_number(x, 1)); }},
    {"sqrt", [](Tape& t, ValueId, ValueId y, ValueId g) { return t.div(t.mul_number(g, 0.5), y); }},
    {"rsqrt", [](Tape& t, ValueId, ValueId y,
                 ValueId g) { return t.mul(t.mul_number(g, -0.5), t.mul(y, square(t, y))); }},
    {"reciprocal",
     [](Tape& t, ValueId, ValueId y, ValueId g) { return t.unary("neg", t.mul(g, square(t, y))); }},
    {"sin", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.mul(g, t.unary("cos", x)); }},
    {"cos",
     [](Tape& t, ValueId x, ValueId, ValueId g) { return t.mul(t.unary("neg", g), t.unary("sin", x)); }},
    {"tan", [](Tape& t, ValueId, ValueId y, ValueId g) { return t.mul(g, t.add_number(square(t, y), 1)); }},
    {"sinh", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.mul(g, t.unary("cosh", x)); }},
    {"cosh", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.mul(g, t.unary("sinh", x)); }},
    {"tanh", [](Tape& t, ValueId, ValueId y, ValueId g) { return t.mul(g, one_minus(t, square(t, y))); }},
    {"sigmoid", [](Tape& t, ValueId, ValueId y, ValueId g) { return t.mul(g, t.mul(y, one_minus(t, y))); }},
    {"silu",
     [](Tape& t, ValueId x, ValueId, ValueId g) {
       const ValueId s = t.unary("sigmoid", x);  // s (1 + x (1 - s))
       return t.mul(g, t.mul(s, t.add_number(t.mul(x, one_minus(t, s)), 1)));
     }},
    {"asin",
     [](Tape& t, ValueId x, ValueId, ValueId g) { return over_root(t, g, one_minus(t, square(t, x))); }},
    {"acos", [](Tape& t, ValueId x, ValueId,
                ValueId g) { return t.unary("neg", over_root(t, g, one_minus(t, square(t, x)))); }},
    {"atan", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.div(g, t.add_number(square(t, x), 1)); }},
    {"asinh",
     [](Tape& t, ValueId x, ValueId, ValueId g) { return over_root(t, g, t.add_number(square(t, x), 1)); }},
    // Not the root of x^2 - 1: of complex numbers left of 0 it is the other one.
    {"acosh",
     [](Tape& t, ValueId x, ValueId, ValueId g) {
       return over_root(t, over_root(t, g, t.add_number(x, -1)), t.add_number(x, 1));
     }},
    {"atanh", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.div(g, one_minus(t, square(t, x))); }},
    {"erf",
     [](Tape& t, ValueId x, ValueId, ValueId g) {
       const ValueId bell = t.unary("exp", t.unary("neg", square(t, x)));
       return t.mul(g, t.mul_number(bell, 2 * std::numbers::inv_sqrtpi));
     }},
    // 0 at 0, as PyTorch documents for relu and sign.
    {"relu",
     [](Tape& t, ValueId x, ValueId, ValueId g) { return t.masked(t.compare_number("gt", x, 0), g); }},
    {"abs", [](Tape& t, ValueId x, ValueId, ValueId g) { return t.mul(g, t.unary("sign", x)); }},
};

// Phi(x) + x phi(x), or the derivative of the tanh form.
void gelu(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self"), g = t.grad(call);
  if (call.string("approximate") == "tanh") {
    constexpr double kBeta = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kKappa = 0.044715;
    const ValueId xx = t.mul(x, x);
    const ValueId inner = t.mul_number(t.mul(x, t.add_number(t.mul_number(xx, kKappa), 1)), kBeta);
    const ValueId y = t.unary("tanh", inner);
    const ValueId slope = t.mul_number(t.add_number(t.mul_number(xx, 3 * kKappa), 1), kBeta);
    const ValueId right = t.mul(x, t.mul(one_minus(t, t.mul(y, y)), slope));
    t.give(call, "self", t.mul(t.mul_number(g, 0.5), t.add(t.add_number(y, 1), right)));
    return;
  }
  const ValueId phi =
      t.mul_number(t.add_number(t.unary("erf", t.mul_number(x, 1 / std::numbers::sqrt2)), 1), 0.5);
  const ValueId bell = t.unary("exp", t.mul_number(t.mul(x, x), -0.5));
  const ValueId density = t.mul_number(bell, std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  t.give(call, "self", t.mul(g, t.add(phi, t.mul(x, density))));
}

void leaky_relu(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self"), g = t.grad(call);
  const ValueId low = t.mul_number(g, call.scalar("negative_slope").as_double());
  t.give(call, "self", t.where(t.compare_number("gt", x, 0), g, low));
}

// scale (x > 0) or scale alpha input_scale exp(input_scale x).
void elu(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self"), g = t.grad(call);
  const double alpha = call.scalar("alpha").as_double(), scale = call.scalar("scale").as_double(),
               input_scale = call.scalar("input_scale").as_double();
  const ValueId bent = t.mul(g, t.unary("exp", t.mul_number(x, input_scale)));
  t.give(call, "self",
         t.where(t.compare_number("gt", x, 0), t.mul_number(g, scale),
                 t.mul_number(bent, scale * alpha * input_scale)));
}

// 1 inside [low, high] (ends included for clamp), 0 outside.
void clamp(Tape& t, const OpCall& call, const char* low, const char* high, bool ends) {
  const ValueId x = t.value(call, "self");
  ValueId inside = -1;
  const auto require = [&](const char* name, const char* compare) {
    if (call.is_none(name)) return;
    const ValueId holds = t.compare_number(compare, x, call.scalar(name).as_double());
    inside = inside < 0 ? holds
                        : t.call("aten::logical_and.default",
                                 {{"self", ValueArg{inside}}, {"other", ValueArg{holds}}});
  };
  require(low, ends ? "ge" : "gt");
  require(high, ends ? "le" : "lt");
  t.give(call, "self", inside < 0 ? t.grad(call) : t.masked(inside, t.grad(call)));
}

}  // namespace

void register_unary(DerivativeTable& table) {
  for (const Function& function : kFunctions) {
    const Slope slope = function.slope;
    table.add(std::string("aten::") + function.name + ".default", [slope](Tape& t, const OpCall& call) {
      t.give(call, "self", slope(t, t.value(call, "self"), t.result(call), t.grad(call)));
    });
  }
  table.add("aten::gelu.default", gelu);
  table.add("aten::leaky_relu.default", leaky_relu);
  table.add("aten::elu.default", elu);
  table.add("aten::clamp.default", [](Tape& t, const OpCall& call) { clamp(t, call, "min", "max", true); });
  table.add("aten::hardtanh.default",
            [](Tape& t, const OpCall& call) { clamp(t, call, "min_val", "max_val", false); });
  for (const char* name : {"floor", "ceil", "trunc", "round", "sign", "detach", "full_like", "zeros_like",
                           "ones_like", "empty_like", "new_full", "new_zeros", "new_ones"}) {
    table.add_constant(std::string("aten::") + name + ".default");
  }
  table.add_constant("aten::fill.Scalar");
}

}  // namespace assay::models
