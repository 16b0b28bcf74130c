// Gathers and scatters: what was read once for each index is written back, added up.
#include <string>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

ValueId zeros_like(Tape& t, const TensorMeta& meta) { return t.full(meta.shape, 0, meta.dtype); }

ValueId put(Tape& t, ValueId into, const ValueListArg& indices, ValueId values) {
  return t.call(
      "aten::index_put.default",
      {{"self", ValueArg{into}}, {"indices", indices}, {"values", ValueArg{values}}, {"accumulate", true}});
}

ValueListArg indices_of(const OpCall& call) {
  ValueListArg list;
  for (const int i : call.tensors("indices")) {
    list.ids.push_back(i < 0 ? -1 : call.input_values().at(static_cast<std::size_t>(i)));
  }
  return list;
}

void index(Tape& t, const OpCall& call) {
  t.give(call, "self",
         put(t, zeros_like(t, call.input(call.tensor("self"))), indices_of(call), t.grad(call)));
}

// Rows that were written have no gradient; with accumulate all have it.
void index_put(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  const bool accumulate = call.boolean("accumulate");
  if (t.wants(call, "self")) {
    ValueId kept = g;
    if (!accumulate) {
      kept = t.call("aten::index_put.default", {{"self", ValueArg{g}},
                                                {"indices", indices_of(call)},
                                                {"values", ValueArg{t.scalar(0, t.dtype(g))}},
                                                {"accumulate", false}});
    }
    t.give(call, "self", kept);
  }
  if (t.wants(call, "values")) {
    t.give(call, "values",
           t.call("aten::index.Tensor", {{"self", ValueArg{g}}, {"indices", indices_of(call)}}));
  }
}

void index_select(Tape& t, const OpCall& call) {
  const int64_t dim = wrapped_dim(call.integer("dim"), static_cast<int64_t>(call.input(0).shape.size()));
  ValueListArg indices;
  for (int64_t d = 0; d < dim; ++d) indices.ids.push_back(-1);
  indices.ids.push_back(t.value(call, "index"));
  t.give(call, "self", put(t, zeros_like(t, call.input(0)), indices, t.grad(call)));
}

void gather(Tape& t, const OpCall& call) {
  t.give(call, "self",
         t.call("aten::scatter_add.default", {{"self", ValueArg{zeros_like(t, call.input(0))}},
                                              {"dim", call.integer("dim")},
                                              {"index", ValueArg{t.value(call, "index")}},
                                              {"src", ValueArg{t.grad(call)}}}));
}

ValueId gathered(Tape& t, const OpCall& call, ValueId x) {
  return t.call(
      "aten::gather.default",
      {{"self", ValueArg{x}}, {"dim", call.integer("dim")}, {"index", ValueArg{t.value(call, "index")}}});
}

// Of src only the part of index's shape is read.
void give_source(Tape& t, const OpCall& call, ValueId part) {
  const Shape& whole = call.input(call.tensor("src")).shape;
  const Shape read = t.shape(part);
  std::vector<int64_t> padding;  // last dim first, before and after
  for (std::size_t d = whole.size(); d-- > 0;) {
    padding.push_back(0);
    padding.push_back(whole[d] - read[d]);
  }
  if (read != whole) {
    part =
        t.call("aten::constant_pad_nd.default", {{"self", ValueArg{part}}, {"pad", IntListArg{padding, {}}}});
  }
  t.give(call, "src", part);
}

// x with `value` where index says.
ValueId overwritten(Tape& t, const OpCall& call, ValueId x, double value) {
  return t.call("aten::scatter.value", {{"self", ValueArg{x}},
                                        {"dim", call.integer("dim")},
                                        {"index", ValueArg{t.value(call, "index")}},
                                        {"value", value}});
}

// src is read where index says; PyTorch's rule for src needs distinct indices, as its documentation states.
void scatter(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  if (t.wants(call, "self")) t.give(call, "self", overwritten(t, call, g, 0));
  if (call.schema().find("src") != nullptr && t.wants(call, "src"))
    give_source(t, call, gathered(t, call, g));
}

void scatter_add(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  t.give(call, "self", g);
  if (t.wants(call, "src")) give_source(t, call, gathered(t, call, g));
}

// What goes into one element: those of src that index sends there, and self's own unless include_self is
// False and something is sent there.
class ScatterReduce {
 public:
  ScatterReduce(Tape& t, const OpCall& call)
      : t_(t),
        call_(call),
        self_(t.value(call, "self")),
        src_(read_of_source()),
        reduce_(call.string("reduce")) {
    const ValueId ones = t.full(t.shape(self_), 1, t.dtype(self_));
    own_ = call.boolean("include_self") ? ones : overwritten(t, call, ones, 0);
  }

  void run() {
    if (reduce_ == "sum") return give([&](ValueId, ValueId g) { return g; });
    if (reduce_ == "mean") {
      const ValueId count = t_.add(own_, sent(t_.full(t_.shape(src_), 1, t_.dtype(self_))));
      const ValueId g = t_.div(t_.grad(call_), count);
      return give([](ValueId, ValueId shared) { return shared; }, g);
    }
    if (reduce_ == "prod") return product();
    extreme();
  }

 private:
  ValueId read_of_source() {
    ValueId src = t_.value(call_, "src");
    const Shape& index = call_.input(call_.tensor("index")).shape;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (t_.shape(src)[d] != index[d]) src = t_.slice(src, static_cast<int64_t>(d), 0, index[d]);
    }
    return src;
  }
  // Sums of what is sent to each element.
  ValueId sent(ValueId x) {
    return t_.call("aten::scatter_add.default",
                   {{"self", ValueArg{t_.full(t_.shape(self_), 0, t_.dtype(self_))}},
                    {"dim", call_.integer("dim")},
                    {"index", ValueArg{t_.value(call_, "index")}},
                    {"src", ValueArg{x}}});
  }
  ValueId everywhere(ValueId x) { return gathered(t_, call_, x); }
  // slope(x, g): the gradient of a contribution x; g is what arrives where it goes.
  template <typename F>
  void give(F slope, ValueId g) {
    if (t_.wants(call_, "self"))
      t_.give(call_, "self", t_.masked(t_.compare_number("ne", own_, 0), slope(self_, g)));
    if (t_.wants(call_, "src")) give_source(t_, call_, slope(src_, everywhere(g)));
  }
  template <typename F>
  void give(F slope) {
    give(slope, t_.grad(call_));
  }

  // The product of the others, without dividing by zeros: these count apart.
  void product() {
    const auto is_zero = [&](ValueId x) { return t_.cast(t_.compare_number("eq", x, 0), t_.dtype(self_)); };
    const auto without = [&](ValueId x) { return t_.add(x, is_zero(x)); };  // 1 for 0
    const ValueId zeros = t_.add(t_.mul(own_, is_zero(self_)), sent(is_zero(src_)));
    const ValueId rest =
        t_.call("aten::scatter_reduce.two", {{"self", ValueArg{without(self_)}},
                                             {"dim", call_.integer("dim")},
                                             {"index", ValueArg{t_.value(call_, "index")}},
                                             {"src", ValueArg{without(src_)}},
                                             {"reduce", std::string("prod")},
                                             {"include_self", call_.boolean("include_self")}});
    const auto slope = [&](ValueId x, ValueId product, ValueId zeros_there, ValueId g) {
      const ValueId others_are_none = t_.compare("eq", zeros_there, is_zero(x));
      return t_.masked(others_are_none, t_.mul(g, t_.div(product, without(x))));
    };
    const ValueId g = t_.grad(call_);
    if (t_.wants(call_, "self"))
      t_.give(call_, "self", t_.masked(t_.compare_number("ne", own_, 0), slope(self_, rest, zeros, g)));
    if (t_.wants(call_, "src"))
      give_source(t_, call_, slope(src_, everywhere(rest), everywhere(zeros), everywhere(g)));
  }

  // Equal extrema share the gradient.
  void extreme() {
    const auto is_result = [&](ValueId x, ValueId result) {
      return t_.cast(t_.compare("eq", x, result), t_.dtype(self_));
    };
    const ValueId result = t_.result(call_);
    const ValueId own = t_.mul(own_, is_result(self_, result));
    const ValueId of_source = is_result(src_, everywhere(result));
    const ValueId share = t_.div(t_.grad(call_), t_.add(own, sent(of_source)));
    if (t_.wants(call_, "self")) t_.give(call_, "self", t_.masked(t_.compare_number("ne", own, 0), share));
    if (t_.wants(call_, "src"))
      give_source(t_, call_, t_.masked(t_.compare_number("ne", of_source, 0), everywhere(share)));
  }

  Tape& t_;
  const OpCall& call_;
  ValueId self_, src_, own_ = -1;  // own_: 1 where self counts, else 0
  std::string reduce_;
};

// The k-th place that the mask names takes the source's k-th element.
void masked_scatter(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call), mask = t.expand(t.value(call, "mask"), call.output(0).shape);
  if (t.wants(call, "self")) t.give(call, "self", t.where(mask, t.scalar(0, t.dtype(g)), g));
  if (!t.wants(call, "source")) return;
  const TensorMeta& source = call.input(call.tensor("source"));
  const int64_t places = element_count(call.output(0).shape), elements = element_count(source.shape);
  if (elements == 0 || places == 0) return;
  const ValueId ones = t.view(t.cast(mask, DType::i64), {places});
  const ValueId count = t.call("aten::cumsum.default", {{"self", ValueArg{ones}}, {"dim", int64_t{0}}});
  const ValueId number =
      t.call("aten::clamp.default",
             {{"self", ValueArg{t.add_integer(count, -1)}}, {"min", int64_t{0}}, {"max", elements - 1}});
  const ValueId sums =
      t.call("aten::scatter_add.default", {{"self", ValueArg{t.full({elements}, 0, source.dtype)}},
                                           {"dim", int64_t{0}},
                                           {"index", ValueArg{number}},
                                           {"src", ValueArg{t.view(t.masked(mask, g), {places})}}});
  t.give(call, "source", t.view(sums, source.shape));
}

}  // namespace

void register_indexing(DerivativeTable& table) {
  table.add("aten::index.Tensor", index);
  table.add("aten::index_put.default", index_put);
  table.add("aten::index_select.default", index_select);
  table.add("aten::gather.default", gather);
  table.add("aten::scatter.src", scatter);
  table.add("aten::scatter.value", scatter);
  table.add("aten::scatter_add.default", scatter_add);
  table.add("aten::scatter_reduce.two", [](Tape& t, const OpCall& call) { ScatterReduce(t, call).run(); });
  table.add("aten::masked_scatter.default", masked_scatter);
}

}  // namespace assay::models
