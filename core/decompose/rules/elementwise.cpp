// Composite elementwise functions, fills and reductions.
#include <numeric>

#include "core/decompose/shorthands.h"

namespace assay {
namespace {

Ids silu(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  return {mul(w, x, ValueArg{unary(w, "aten::sigmoid.default", x)})};
}

// clamp(x + 3, 0, 6) / 6
ValueId hard_gate(Rewriter& w, ValueId x) {
  const ValueId held = clamp(w, add(w, x, int64_t{3}), int64_t{0}, int64_t{6});
  return w.emit("aten::div.Tensor", {{"self", ValueArg{held}}, {"other", int64_t{6}}});
}

Ids hardsigmoid(Rewriter& w, const OpCall& call) { return {hard_gate(w, value_of(call, "self"))}; }

Ids hardswish(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const ValueId held = clamp(w, add(w, x, int64_t{3}), int64_t{0}, int64_t{6});
  return {w.emit("aten::div.Tensor", {{"self", ValueArg{mul(w, x, ValueArg{held})}}, {"other", int64_t{6}}})};
}

Ids relu6(Rewriter& w, const OpCall& call) {
  return {clamp(w, value_of(call, "self"), int64_t{0}, int64_t{6})};
}

// x where beta x > threshold, else log1p(exp(beta x)) / beta
ValueId softplus_of(Rewriter& w, ValueId x, const Argument& beta, const Argument& threshold) {
  const ValueId scaled = mul(w, x, beta);
  const ValueId large = w.emit("aten::gt.Scalar", {{"self", ValueArg{scaled}}, {"other", threshold}});
  const ValueId log = unary(w, "aten::log1p.default", unary(w, "aten::exp.default", scaled));
  return where(w, large, x, w.emit("aten::div.Tensor", {{"self", ValueArg{log}}, {"other", beta}}));
}

Ids softplus(Rewriter& w, const OpCall& call) {
  return {softplus_of(w, value_of(call, "self"), passed_on(call, "beta"), passed_on(call, "threshold"))};
}

Ids mish(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  return {mul(w, x, ValueArg{unary(w, "aten::tanh.default", softplus_of(w, x, int64_t{1}, int64_t{20}))})};
}

Ids square(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  return {mul(w, x, ValueArg{x})};
}

// other - alpha * self
Ids rsub(Rewriter& w, const OpCall& call) {
  const ValueId x = value_of(call, "self");
  const ValueId other = w.emit("aten::scalar_tensor.default",
                               {{"s", passed_on(call, "other")}, {"dtype", DTypeArg{call.output(0).dtype}}});
  return {w.emit("aten::sub.Tensor",
                 {{"self", ValueArg{other}}, {"other", ValueArg{x}}, {"alpha", passed_on(call, "alpha")}})};
}

Ids masked_fill(Rewriter& w, const OpCall& call) {
  const ValueId self = value_of(call, "self");
  const auto tensor = value_of_opt(call, "value");
  const ValueId value =
      tensor ? w.cast(*tensor, w.dtype(self)) : w.scalar_like(self, passed_on(call, "value"));
  return {where(w, value_of(call, "mask"), value, self)};
}

Ids where_scalar(Rewriter& w, const OpCall& call) {
  const auto side = [&](const char* name) {
    if (const auto tensor = value_of_opt(call, name)) return *tensor;
    return w.emit("aten::scalar_tensor.default",
                  {{"s", passed_on(call, name)}, {"dtype", DTypeArg{call.output(0).dtype}}});
  };
  return {where(w, value_of(call, "condition"), side("self"), side("other"))};
}

// self + value * tensor1 (* or /) tensor2
Ids add_combined(Rewriter& w, const OpCall& call, const char* op) {
  const ValueId part =
      w.emit(op, {{"self", passed_on(call, "tensor1")}, {"other", passed_on(call, "tensor2")}});
  return {w.emit(
      "aten::add.Tensor",
      {{"self", passed_on(call, "self")}, {"other", ValueArg{part}}, {"alpha", passed_on(call, "value")}})};
}

// Over all elements: every dim is listed, since an empty list means "all" to some operators only.
Ids reduce_all(Rewriter& w, const OpCall& call, const char* op) {
  const ValueId self = value_of(call, "self");
  std::vector<int64_t> dims(w.shape(self).size());
  std::iota(dims.begin(), dims.end(), 0);
  return {w.emit(op, {{"self", ValueArg{self}},
                      {"dim", IntListArg{dims, {}}},
                      {"keepdim", false},
                      {"dtype", passed_on(call, "dtype")}})};
}

Ids fill(Rewriter& w, const OpCall& call, const Argument& value) {
  return {w.full(call.output(0).shape, value, call.output(0).dtype)};
}

Ids arange(Rewriter& w, const OpCall& call) {
  const bool has_start = call.schema().find("start") != nullptr;
  return {w.emit("aten::arange.start_step",
                 {{"start", has_start ? passed_on(call, "start") : Argument{int64_t{0}}},
                  {"end", passed_on(call, "end")},
                  {"dtype", DTypeArg{call.output(0).dtype}}})};
}

// Keeps what is on or below (tril) or on or above (triu) the diagonal.
Ids triangle(Rewriter& w, const OpCall& call, const char* compare) {
  const ValueId self = value_of(call, "self");
  const Shape& shape = w.shape(self);
  const int64_t rows = shape.at(shape.size() - 2), columns = shape.back();
  const ValueId row = w.view(numbers(w, rows), {rows, 1});
  const ValueId distance = sub(w, numbers(w, columns), ValueArg{row});
  const ValueId keep = w.emit(compare, {{"self", ValueArg{distance}}, {"other", call.integer("diagonal")}});
  return {where(w, keep, self, w.scalar_like(self, int64_t{0}))};
}

}  // namespace

void register_elementwise(DecomposeTable& table) {
  table.add("aten::silu.default", silu);
  table.add("aten::hardsigmoid.default", hardsigmoid);
  table.add("aten::hardswish.default", hardswish);
  table.add("aten::relu6.default", relu6);
  table.add("aten::softplus.default", softplus);
  table.add("aten::mish.default", mish);
  table.add("aten::square.default", square);
  table.add("aten::rsub.Scalar", rsub);
  table.add("aten::masked_fill.Scalar", masked_fill);
  table.add("aten::masked_fill.Tensor", masked_fill);
  for (const char* op : {"aten::where.Scalar", "aten::where.ScalarOther", "aten::where.ScalarSelf"})
    table.add(op, where_scalar);
  table.add("aten::clamp_min.default", [](Rewriter& w, const OpCall& call) {
    return Ids{clamp(w, value_of(call, "self"), passed_on(call, "min"), NoneArg{})};
  });
  table.add("aten::clamp_max.default", [](Rewriter& w, const OpCall& call) {
    return Ids{clamp(w, value_of(call, "self"), NoneArg{}, passed_on(call, "max"))};
  });
  table.add("aten::clamp_min.Tensor", [](Rewriter& w, const OpCall& call) {
    return Ids{binary(w, "aten::maximum.default", value_of(call, "self"), passed_on(call, "min"))};
  });
  table.add("aten::clamp_max.Tensor", [](Rewriter& w, const OpCall& call) {
    return Ids{binary(w, "aten::minimum.default", value_of(call, "self"), passed_on(call, "max"))};
  });
  table.add("aten::addcmul.default",
            [](Rewriter& w, const OpCall& call) { return add_combined(w, call, "aten::mul.Tensor"); });
  table.add("aten::addcdiv.default",
            [](Rewriter& w, const OpCall& call) { return add_combined(w, call, "aten::div.Tensor"); });
  table.add("aten::sum.default",
            [](Rewriter& w, const OpCall& call) { return reduce_all(w, call, "aten::sum.dim_IntList"); });
  table.add("aten::mean.default",
            [](Rewriter& w, const OpCall& call) { return reduce_all(w, call, "aten::mean.dim"); });
  for (const char* op : {"zeros.default", "zeros_like.default", "new_zeros.default", "empty_like.default"}) {
    table.add(std::string("aten::") + op,
              [](Rewriter& w, const OpCall& call) { return fill(w, call, int64_t{0}); });
  }
  for (const char* op : {"ones.default", "ones_like.default", "new_ones.default"}) {
    table.add(std::string("aten::") + op,
              [](Rewriter& w, const OpCall& call) { return fill(w, call, int64_t{1}); });
  }
  table.add("aten::new_full.default",
            [](Rewriter& w, const OpCall& call) { return fill(w, call, passed_on(call, "fill_value")); });
  table.add("aten::arange.default", arange);
  table.add("aten::arange.start", arange);
  table.add("aten::tril.default",
            [](Rewriter& w, const OpCall& call) { return triangle(w, call, "aten::le.Scalar"); });
  table.add("aten::triu.default",
            [](Rewriter& w, const OpCall& call) { return triangle(w, call, "aten::ge.Scalar"); });
}

}  // namespace assay
