// Functions of two or three tensors that broadcast.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

void add(Tape& t, const OpCall& call, double sign) {
  const ValueId g = t.grad(call);
  t.give(call, "self", g);
  if (t.wants(call, "other")) t.give(call, "other", t.mul_number(g, sign * call.scalar("alpha").as_double()));
}

void mul(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  const DType dtype = call.output(0).dtype;
  if (t.wants(call, "self")) t.give(call, "self", t.mul(g, t.operand(call, "other", dtype)));
  if (t.wants(call, "other")) t.give(call, "other", t.mul(g, t.operand(call, "self", dtype)));
}

void div(Tape& t, const OpCall& call) {
  const ValueId other = t.operand(call, "other", call.output(0).dtype);
  const ValueId quotient = t.div(t.grad(call), other);
  t.give(call, "self", quotient);
  if (t.wants(call, "other")) t.give(call, "other", t.unary("neg", t.mul(quotient, t.result(call))));
}

// d/da a^b = b a^(b-1), where b = 0 gives 0 even at a = 0; d/db = a^b ln a, 0 where a = 0 and b >= 0.
void pow_base(Tape& t, const OpCall& call) {
  const ValueId base = t.value(call, "self"), g = t.grad(call);
  if (call.is_number("exponent")) {
    const double e = call.scalar("exponent").as_double();
    if (e == 0) return;
    t.give(call, "self",
           e == 1   ? g
           : e == 2 ? t.mul(g, t.mul_number(base, 2))
                    : t.mul(g, t.mul_number(t.pow_number(base, e - 1), e)));
    return;
  }
  const ValueId exponent = t.cast(t.value(call, "exponent"), call.output(0).dtype);
  const ValueId lower =
      t.call("aten::pow.Tensor_Tensor",
             {{"self", ValueArg{base}}, {"exponent", ValueArg{t.add_number(exponent, -1)}}});
  t.give(call, "self", t.masked(t.compare_number("ne", exponent, 0), t.mul(g, t.mul(exponent, lower))));
}

void pow_exponent(Tape& t, const OpCall& call) {
  const ValueId base = t.operand(call, "self", call.output(0).dtype);
  const ValueId slope = t.mul(t.grad(call), t.mul(t.result(call), t.unary("log", base)));
  t.give(call, "exponent", t.masked(t.compare_number("ne", base, 0), slope));
}

// Where both are equal each gets half, where one is NaN both get all, as in PyTorch.
void extremum(Tape& t, const OpCall& call, const char* loses) {
  const ValueId a = t.value(call, "self"), b = t.value(call, "other"), g = t.grad(call);
  const ValueId zero = t.scalar(0, t.dtype(g));
  const ValueId shared = t.where(t.compare("eq", a, b), t.mul_number(g, 0.5), g);
  if (t.wants(call, "self")) t.give(call, "self", t.where(t.compare(loses, a, b), zero, shared));
  if (t.wants(call, "other")) t.give(call, "other", t.where(t.compare(loses, b, a), zero, shared));
}

// d = y^2 + x^2: (x/d, -y/d); 0 where both are 0, as in PyTorch.
void atan2(Tape& t, const OpCall& call) {
  const ValueId y = t.value(call, "self"), x = t.value(call, "other");
  const ValueId d = t.add(t.mul(y, y), t.mul(x, x));
  const ValueId safe = t.where(t.compare_number("eq", d, 0), t.scalar(1, t.dtype(d)), d);
  const ValueId g = t.div(t.grad(call), safe);
  t.give(call, "self", t.mul(g, x));
  t.give(call, "other", t.unary("neg", t.mul(g, y)));
}

void where(Tape& t, const OpCall& call) {
  const ValueId condition = t.value(call, "condition"), g = t.grad(call);
  const ValueId zero = t.scalar(0, t.dtype(g));
  if (t.wants(call, "self")) t.give(call, "self", t.where(condition, g, zero));
  if (t.wants(call, "other")) t.give(call, "other", t.where(condition, zero, g));
}

void masked_fill(Tape& t, const OpCall& call) {
  const ValueId mask = t.value(call, "mask"), g = t.grad(call);
  const ValueId zero = t.scalar(0, t.dtype(g));
  t.give(call, "self", t.where(mask, zero, g));
  if (t.wants(call, "value")) t.give(call, "value", t.where(mask, g, zero));
}

// min(max(x, low), high) between tensors: the argument that was taken gets the gradient.
void clamp_tensors(Tape& t, const OpCall& call) {
  const ValueId x = t.value(call, "self");
  ValueId g = t.grad(call), below = x;
  const bool has_low = !call.is_none("min"), has_high = !call.is_none("max");
  if (has_low && has_high) {
    below =
        t.call("aten::maximum.default", {{"self", ValueArg{x}}, {"other", ValueArg{t.value(call, "min")}}});
  }
  if (has_high) {
    const ValueId high = t.value(call, "max");
    const ValueId cut = t.compare("gt", below, high);
    if (t.wants(call, "max")) t.give(call, "max", t.masked(cut, g));
    g = t.where(cut, t.scalar(0, t.dtype(g)), g);
  }
  if (has_low) {
    const ValueId raised = t.compare("lt", x, t.value(call, "min"));
    if (t.wants(call, "min")) t.give(call, "min", t.masked(raised, g));
    g = t.where(raised, t.scalar(0, t.dtype(g)), g);
  }
  t.give(call, "self", g);
}

// self - n other, n a whole number: fmod and remainder.
void remainder(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  t.give(call, "self", g);
  if (!t.wants(call, "other")) return;
  const ValueId self = t.operand(call, "self", call.output(0).dtype), other = t.value(call, "other");
  const ValueId n = t.unary("round", t.div(t.sub(self, t.result(call)), other));
  t.give(call, "other", t.unary("neg", t.mul(g, n)));
}

// 0 at 0, as in PyTorch.
void copysign(Tape& t, const OpCall& call) {
  const ValueId self = t.value(call, "self");
  const ValueId turn = t.mul(t.unary("sign", self), t.unary("sign", t.result(call)));
  t.give(call, "self", t.mul(t.grad(call), turn));
}

// mantissa = x / 2^exponent.
void frexp(Tape& t, const OpCall& call) {
  const ValueId exponent = t.cast(t.result(call, 1), call.input(0).dtype);
  const ValueId power =
      t.call("aten::pow.Scalar", {{"self", 2.0}, {"exponent", ValueArg{t.unary("neg", exponent)}}});
  t.give(call, "self", t.mul(t.grad(call), power));
}

}  // namespace

void register_binary(DerivativeTable& table) {
  for (const char* op : {"aten::add.Tensor", "aten::add.Scalar"}) {
    table.add(op, [](Tape& t, const OpCall& call) { add(t, call, 1); });
  }
  for (const char* op : {"aten::sub.Tensor", "aten::sub.Scalar"}) {
    table.add(op, [](Tape& t, const OpCall& call) { add(t, call, -1); });
  }
  for (const char* op : {"aten::mul.Tensor", "aten::mul.Scalar"}) table.add(op, mul);
  for (const char* op : {"aten::div.Tensor", "aten::div.Scalar"}) table.add(op, div);
  table.add("aten::pow.Tensor_Scalar", pow_base);
  table.add("aten::pow.Scalar", pow_exponent);
  table.add("aten::pow.Tensor_Tensor", [](Tape& t, const OpCall& call) {
    if (t.wants(call, "self")) pow_base(t, call);
    if (t.wants(call, "exponent")) pow_exponent(t, call);
  });
  table.add("aten::maximum.default", [](Tape& t, const OpCall& call) { extremum(t, call, "lt"); });
  table.add("aten::minimum.default", [](Tape& t, const OpCall& call) { extremum(t, call, "gt"); });
  table.add("aten::atan2.default", atan2);
  table.add("aten::where.self", where);
  table.add("aten::masked_fill.Scalar", masked_fill);
  table.add("aten::masked_fill.Tensor", masked_fill);
  table.add("aten::clamp.Tensor", clamp_tensors);
  for (const char* op : {"fmod.Tensor", "fmod.Scalar", "remainder.Tensor", "remainder.Scalar"})
    table.add(std::string("aten::") + op, remainder);
  for (const char* op : {"copysign.Tensor", "copysign.Scalar"})
    table.add(std::string("aten::") + op, copysign);
  table.add("aten::frexp.Tensor", frexp);
  for (const char* op : {"div.Tensor_mode", "div.Scalar_mode"})
    table.add_constant(std::string("aten::") + op);
}

}  // namespace assay::models
