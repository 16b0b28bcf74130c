// Gathers and scatters: what was read once for each index is written back, added up.
#include "core/error.h"
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

// The row padding_idx is left out, as in PyTorch.
void embedding(Tape& t, const OpCall& call) {
  const ValueId indices = t.value(call, "indices");
  ValueId g = t.grad(call);
  const int64_t padding = call.integer("padding_idx");
  if (padding >= 0) {
    const ValueId counts = t.compare_number("ne", indices, static_cast<double>(padding));
    g = t.masked(t.unsqueeze(counts, -1), g);
  }
  const TensorMeta& table = call.input(call.tensor("weight"));
  t.give(call, "weight", put(t, zeros_like(t, table), ValueListArg{{indices}}, g));
}

void gather(Tape& t, const OpCall& call) {
  t.give(call, "self",
         t.call("aten::scatter_add.default", {{"self", ValueArg{zeros_like(t, call.input(0))}},
                                              {"dim", call.integer("dim")},
                                              {"index", ValueArg{t.value(call, "index")}},
                                              {"src", ValueArg{t.grad(call)}}}));
}

// src is read where index says; PyTorch's rule for src needs distinct indices, as its documentation states.
void scatter(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call), index = t.value(call, "index");
  const NamedArgument dim{"dim", call.integer("dim")};
  if (t.wants(call, "self")) {
    t.give(call, "self",
           t.call("aten::scatter.value",
                  {{"self", ValueArg{g}}, dim, {"index", ValueArg{index}}, {"value", 0.0}}));
  }
  if (call.schema().find("src") == nullptr || !t.wants(call, "src")) return;
  if (call.input(call.tensor("src")).shape != call.input(call.tensor("index")).shape) {
    throw Error(ErrorCode::unsupported,
                call.op() + ": no derivative is known where src is larger than index");
  }
  t.give(call, "src",
         t.call("aten::gather.default", {{"self", ValueArg{g}}, dim, {"index", ValueArg{index}}}));
}

void scatter_add(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  t.give(call, "self", g);
  if (!t.wants(call, "src")) return;
  if (call.input(call.tensor("src")).shape != call.input(call.tensor("index")).shape) {
    throw Error(ErrorCode::unsupported,
                call.op() + ": no derivative is known where src is larger than index");
  }
  t.give(call, "src",
         t.call("aten::gather.default", {{"self", ValueArg{g}},
                                         {"dim", call.integer("dim")},
                                         {"index", ValueArg{t.value(call, "index")}}}));
}

}  // namespace

void register_indexing(DerivativeTable& table) {
  table.add("aten::index.Tensor", index);
  table.add("aten::index_put.default", index_put);
  table.add("aten::index_select.default", index_select);
  table.add("aten::embedding.default", embedding);
  table.add("aten::gather.default", gather);
  table.add("aten::scatter.src", scatter);
  table.add("aten::scatter.value", scatter);
  table.add("aten::scatter_add.default", scatter_add);
}

}  // namespace assay::models
