// Reductions of consecutive rows.
#include <string>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

void segment_reduce(Tape& t, const OpCall& call) {
  const std::string reduce = call.string("reduce");
  const bool by_length = !call.is_none("lengths");
  const ValueId bounds = t.value(call, by_length ? "lengths" : "offsets");
  const int64_t axis = call.integer("axis");
  if (axis != 0 || t.rank(bounds) != 1) {
    throw Error(ErrorCode::unsupported,
                call.op() + ": a derivative is known for axis=0 only, not " + std::to_string(axis));
  }
  const ValueId x = t.value(call, "data");
  const DType dtype = t.dtype(x);
  const int64_t rows = t.size(x, 0), segments = call.output(0).shape[0];
  if (rows == 0 || segments == 0) return;
  const ValueId ends = by_length
                           ? t.call("aten::cumsum.default", {{"self", ValueArg{bounds}}, {"dim", int64_t{0}}})
                           : t.slice(bounds, 0, 1, segments + 1);
  const ValueId over = t.compare("ge", t.unsqueeze(t.numbers(rows), 1), t.unsqueeze(ends, 0));
  const ValueListArg segment{{t.sum(t.cast(over, DType::i64), {1})}};
  const auto at_rows = [&](ValueId of_segments) {
    return t.call("aten::index.Tensor", {{"self", ValueArg{of_segments}}, {"indices", segment}});
  };
  const auto sums = [&](ValueId of_rows) {
    return t.call("aten::index_put.default", {{"self", ValueArg{t.full(call.output(0).shape, 0, dtype)}},
                                              {"indices", segment},
                                              {"values", ValueArg{of_rows}},
                                              {"accumulate", true}});
  };
  const ValueId g = at_rows(t.grad(call));
  if (reduce == "sum") return t.give(call, "data", g);
  if (reduce == "mean") return t.give(call, "data", t.div(g, at_rows(sums(t.full(t.shape(x), 1, dtype)))));
  if (reduce == "prod") {  // of the others, zeros counted apart
    const ValueId zero = t.cast(t.compare_number("eq", x, 0), dtype), rest = t.add(x, zero);
    std::vector<NamedArgument> arguments = passed_on(call);
    for (NamedArgument& argument : arguments) {
      if (argument.name == "data") argument.value = ValueArg{rest};
    }
    const ValueId product = at_rows(t.call(call.op(), std::move(arguments)));
    const ValueId alone = t.compare("eq", at_rows(sums(zero)), zero);
    return t.give(call, "data", t.masked(alone, t.mul(g, t.div(product, rest))));
  }
  const ValueId best = t.compare("eq", x, at_rows(t.result(call)));  // max, min: equal rows share
  t.give(call, "data", t.masked(best, t.div(g, at_rows(sums(t.cast(best, dtype))))));
}

}  // namespace

void register_segments(DerivativeTable& table) { table.add("aten::segment_reduce.default", segment_reduce); }

}  // namespace assay::models
