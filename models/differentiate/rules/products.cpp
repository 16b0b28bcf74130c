// Matrix products.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// c = a b: da = dc b^T, db = a^T dc, times `factor`.
void product(Tape& t, const OpCall& call, const char* a_name, const char* b_name, double factor) {
  const ValueId a = t.value(call, a_name), b = t.value(call, b_name), g = t.grad(call);
  const auto times = [&](ValueId x, ValueId y) {
    return t.mul_number(t.rank(x) == 3 ? t.bmm(x, y) : t.mm(x, y), factor);
  };
  if (t.wants(call, a_name)) t.give(call, a_name, times(g, t.transpose(b, -2, -1)));
  if (t.wants(call, b_name)) t.give(call, b_name, times(t.transpose(a, -2, -1), g));
}

void product_plus(Tape& t, const OpCall& call, const char* a_name, const char* b_name) {
  const double beta = call.scalar("beta").as_double();
  if (t.wants(call, "self") && beta != 0) t.give(call, "self", t.mul_number(t.grad(call), beta));
  const double alpha = call.scalar("alpha").as_double();
  if (alpha != 0) product(t, call, a_name, b_name, alpha);
}

}  // namespace

void register_products(DerivativeTable& table) {
  for (const char* op : {"aten::mm.default", "aten::bmm.default"}) {
    table.add(op, [](Tape& t, const OpCall& call) { product(t, call, "self", "mat2", 1); });
  }
  table.add("aten::addmm.default",
            [](Tape& t, const OpCall& call) { product_plus(t, call, "mat1", "mat2"); });
  table.add("aten::baddbmm.default",
            [](Tape& t, const OpCall& call) { product_plus(t, call, "batch1", "batch2"); });
}

}  // namespace assay::models
