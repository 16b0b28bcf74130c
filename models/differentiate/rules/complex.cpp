// Complex numbers: parts, moduli, Fourier transforms, and the rules for real numbers that hold for them.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

ValueId part(Tape& t, ValueId x, int64_t which) { return t.select(t.parts(x), -1, which); }
ValueId as_complex(Tape& t, ValueId parts) {
  return t.call("aten::view_as_complex.default", {{"self", ValueArg{parts}}});
}

// With gradients as d(loss)/d(re) + i d(loss)/d(im), that of a real number r on which w depends is
// Re(conj(g) dw/dr): the product of the parts, added up.
ValueId by_parts(Tape& t, ValueId g, ValueId slope) { return t.sum(t.mul(t.parts(g), t.parts(slope)), {-1}); }

// abs e^(i angle)
void polar(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call), size = t.value(call, "abs"), angle = t.value(call, "angle");
  const ValueId cos = t.unary("cos", angle), sin = t.unary("sin", angle);
  if (t.wants(call, "abs")) t.give(call, "abs", by_parts(t, g, t.complex(cos, sin)));
  if (t.wants(call, "angle")) {
    const ValueId turned = t.complex(t.unary("neg", t.mul(size, sin)), t.mul(size, cos));
    t.give(call, "angle", by_parts(t, g, turned));
  }
}

void complex_of(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  if (t.wants(call, "real")) t.give(call, "real", part(t, g, 0));
  if (t.wants(call, "imag")) t.give(call, "imag", part(t, g, 1));
}

// z / |z|, 0 of 0.
void modulus(Tape& t, const OpCall& call) {
  const ValueId size = t.result(call), zero = t.compare_number("eq", size, 0);
  const ValueId share = t.div(t.grad(call), t.where(zero, t.scalar(1, t.dtype(size)), size));
  const ValueId parts = t.mul(t.parts(t.value(call, "self")), t.unsqueeze(share, -1));
  t.give(call, "self", as_complex(t, parts));
}

// i z / |z|^2, 0 of 0.
void argument(Tape& t, const OpCall& call) {
  const ValueId z = t.value(call, "self"), re = part(t, z, 0), im = part(t, z, 1);
  const ValueId square = t.add(t.mul(re, re), t.mul(im, im));
  const ValueId zero = t.compare_number("eq", square, 0);
  const ValueId share = t.div(t.grad(call), t.where(zero, t.scalar(1, t.dtype(square)), square));
  t.give(call, "self", t.complex(t.unary("neg", t.mul(share, im)), t.mul(share, re)));
}

// A transform's adjoint is the one in the other direction, scaled alike.
ValueId transformed(Tape& t, const OpCall& call, ValueId x, bool forward) {
  return t.call("aten::_fft_c2c.default", {{"self", ValueArg{x}},
                                           {"dim", IntListArg{call.integers("dim"), {}}},
                                           {"normalization", call.integer("normalization")},
                                           {"forward", forward}});
}

void c2c(Tape& t, const OpCall& call) {
  t.give(call, "self", transformed(t, call, t.grad(call), !call.boolean("forward")));
}

// What a one-sided result leaves out has no gradient.
void r2c(Tape& t, const OpCall& call) {
  ValueId g = t.grad(call);
  if (call.boolean("onesided")) {
    const Shape& shape = call.input(0).shape;
    const int64_t last = wrapped_dim(call.integers("dim").back(), static_cast<int64_t>(shape.size()));
    Shape rest = shape;
    rest[static_cast<std::size_t>(last)] -= t.size(g, last);
    g = t.cat({g, t.full(rest, 0, t.dtype(g))}, last);
  }
  t.give(call, "self", transformed(t, call, g, false));
}

// Elements that stand for themselves and their mirror images count twice.
void c2r(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const int64_t last = wrapped_dim(call.integers("dim").back(), static_cast<int64_t>(shape.size()));
  const int64_t count = shape[static_cast<std::size_t>(last)];
  const int64_t mirrored = call.integer("last_dim_size") - count;
  ValueId g = t.call("aten::_fft_r2c.default", {{"self", ValueArg{t.grad(call)}},
                                                {"dim", IntListArg{call.integers("dim"), {}}},
                                                {"normalization", call.integer("normalization")},
                                                {"onesided", true}});
  if (mirrored > 0) {
    const ValueId twice = t.mul_number(t.slice(g, last, 1, 1 + mirrored), 2);
    g = t.cat({t.slice(g, last, 0, 1), twice, t.slice(g, last, 1 + mirrored, count)}, last);
  }
  t.give(call, "self", g);
}

}  // namespace

void register_complex(DerivativeTable& table) {
  table.add_complex("aten::polar.default", polar);
  table.add_complex("aten::complex.default", complex_of);
  table.add_complex("aten::abs.default", modulus);
  table.add_complex("aten::angle.default", argument);
  table.add_constant("aten::angle.default");  // of real numbers
  table.add_complex("aten::view_as_real.default",
                    [](Tape& t, const OpCall& call) { t.give(call, "self", as_complex(t, t.grad(call))); });
  table.add_complex("aten::view_as_complex.default",
                    [](Tape& t, const OpCall& call) { t.give(call, "self", t.parts(t.grad(call))); });
  for (const char* op : {"aten::_conj.default", "aten::_conj_physical.default"})
    table.add_complex(op, [](Tape& t, const OpCall& call) { t.give(call, "self", t.conj(t.grad(call))); });
  table.add("aten::_conj_physical.default",
            [](Tape& t, const OpCall& call) { t.give(call, "self", t.grad(call)); });
  table.add_complex("aten::_fft_c2c.default", c2c);
  table.add_complex("aten::_fft_r2c.default", r2c);
  table.add_complex("aten::_fft_c2r.default", c2r);
  for (const char* op : {"neg",     "exp",    "expm1",          "log",           "log2",        "log10",
                         "log1p",   "sqrt",   "rsqrt",          "sin",           "cos",         "tan",
                         "sinh",    "cosh",   "tanh",           "asin",          "acos",        "atan",
                         "asinh",   "acosh",  "atanh",          "sigmoid",       "clone",       "view",
                         "permute", "expand", "unsqueeze",      "_to_copy",      "reciprocal",  "flip",
                         "cat",     "repeat", "select_scatter", "slice_scatter", "_unsafe_view"}) {
    table.add_holomorphic(std::string("aten::") + op + ".default");
  }
  for (const char* op : {"add.Tensor", "sub.Tensor", "mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar",
                         "transpose.int", "slice.Tensor", "select.int", "squeeze.dim", "squeeze.dims",
                         "split_with_sizes.default", "sum.dim_IntList", "mean.dim", "where.self"}) {
    table.add_holomorphic(std::string("aten::") + op);
  }
}

}  // namespace assay::models
