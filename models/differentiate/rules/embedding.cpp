// Rows of tables, alone and in bags.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// How often each index occurs, at its place. [n] -> [n]
ValueId frequencies(Tape& t, ValueId indices, int64_t rows, DType dtype) {
  const int64_t n = t.size(indices, 0);
  const ValueId counts = t.call("aten::scatter_add.default", {{"self", ValueArg{t.full({rows}, 0, dtype)}},
                                                              {"dim", int64_t{0}},
                                                              {"index", ValueArg{indices}},
                                                              {"src", ValueArg{t.full({n}, 1, dtype)}}});
  return t.call("aten::index.Tensor", {{"self", ValueArg{counts}}, {"indices", ValueListArg{{indices}}}});
}

ValueId rows_of(Tape& t, ValueId table, ValueId indices) {
  return t.call("aten::index.Tensor", {{"self", ValueArg{table}}, {"indices", ValueListArg{{indices}}}});
}

// Adds g [n, columns] to the rows `indices` [n] of the gradient of `weight`.
void give_rows(Tape& t, const OpCall& call, ValueId indices, ValueId g) {
  const TensorMeta& table = call.input(call.tensor("weight"));
  if (call.boolean("scale_grad_by_freq"))
    g = t.div(g, t.unsqueeze(frequencies(t, indices, table.shape[0], t.dtype(g)), -1));
  t.give(call, "weight",
         t.call("aten::index_put.default", {{"self", ValueArg{t.full(table.shape, 0, table.dtype)}},
                                            {"indices", ValueListArg{{indices}}},
                                            {"values", ValueArg{g}},
                                            {"accumulate", true}}));
}

// The row padding_idx is left out, as in PyTorch.
void embedding(Tape& t, const OpCall& call) {
  const ValueId given = t.value(call, "indices");
  const int64_t count = element_count(t.shape(given)), columns = call.output(0).shape.back();
  const ValueId indices = t.view(given, {count});
  ValueId g = t.view(t.grad(call), {count, columns});
  const int64_t padding = call.integer("padding_idx");
  if (padding >= 0) {
    const ValueId counts = t.compare_number("ne", indices, static_cast<double>(padding));
    g = t.masked(t.unsqueeze(counts, -1), g);
  }
  give_rows(t, call, indices, g);
}

// The bag of index k is the last that begins at or before k. Which rows won, and how many a bag has, is found
// again: what PyTorch keeps for it depends on its choice of kernel.
void embedding_bag(Tape& t, const OpCall& call) {
  enum Mode { sum, mean, max };
  const auto mode = static_cast<Mode>(call.integer("mode"));
  const ValueId indices = t.value(call, "indices"), weight = t.value(call, "weight");
  const DType dtype = t.dtype(weight);
  const int64_t n = t.size(indices, 0);
  if (n == 0) return;
  const int64_t bags = call.output(0).shape[0];
  const ValueId starts = t.slice(t.value(call, "offsets"), 0, 0, bags);
  const ValueId begun = t.compare("ge", t.unsqueeze(t.numbers(n), 1), t.unsqueeze(starts, 0));
  const ValueId bag = t.add_integer(t.sum(t.cast(begun, DType::i64), {1}), -1);
  ValueId counted = t.full({n}, 1, dtype);
  if (call.schema().find("padding_idx") != nullptr && !call.is_none("padding_idx")) {
    const int64_t padding = call.integer("padding_idx");
    if (padding >= 0) counted = t.cast(t.compare_number("ne", indices, static_cast<double>(padding)), dtype);
  }
  const auto by_bag = [&](ValueId x) {
    Shape shape = t.shape(x);
    shape[0] = bags;
    return t.call("aten::index_put.default", {{"self", ValueArg{t.full(shape, 0, dtype)}},
                                              {"indices", ValueListArg{{bag}}},
                                              {"values", ValueArg{x}},
                                              {"accumulate", true}});
  };
  ValueId g = rows_of(t, t.grad(call), bag);
  if (mode == mean) g = t.div(g, t.unsqueeze(rows_of(t, by_bag(counted), bag), -1));
  ValueId kept = t.unsqueeze(counted, -1);
  if (mode == max) {
    const ValueId best = t.compare("eq", rows_of(t, weight, indices), rows_of(t, t.result(call), bag));
    kept = t.mul(kept, t.cast(best, dtype));
    g = t.div(g, rows_of(t, by_bag(kept), bag));  // equal rows share
  }
  const ValueId counts = t.compare_number("ne", kept, 0);
  if (!call.is_none("per_sample_weights")) {
    if (t.wants(call, "per_sample_weights")) {
      const ValueId products = t.sum(t.mul(g, rows_of(t, weight, indices)), {1});
      t.give(call, "per_sample_weights", t.masked(t.compare_number("ne", counted, 0), products));
    }
    g = t.mul(g, t.unsqueeze(t.value(call, "per_sample_weights"), -1));
  }
  if (t.wants(call, "weight")) give_rows(t, call, indices, t.masked(counts, g));
}

}  // namespace

void register_embedding(DerivativeTable& table) {
  table.add("aten::embedding.default", embedding);
  for (const char* op : {"_embedding_bag.default", "_embedding_bag_forward_only.default",
                         "embedding_bag.default", "embedding_bag.padding_idx"}) {
    table.add(std::string("aten::") + op, embedding_bag);
  }
}

}  // namespace assay::models
