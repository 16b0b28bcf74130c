// What draws random numbers: the drawn ones are constants.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// The second result says what stayed; it was divided by 1 - p.
void dropout(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  if (!call.is_none("train") && !call.boolean("train")) return t.give(call, "input", g);
  const double p = call.floating("p");
  t.give(call, "input", t.mul_number(t.masked(t.result(call, 1), g), p == 1 ? 0 : 1 / (1 - p)));
}

}  // namespace

void register_random(DerivativeTable& table) { table.add("aten::native_dropout.default", dropout); }

}  // namespace assay::models
