// embedding_bag: rows of a table added up, averaged or compared by bag. Which bag a row belongs to follows
// from comparing its position with all offsets; rows that do not count go to one bag more, which is dropped.
#include "backend/kernels/composed.h"

namespace assay::backend {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

// The row that does not count, -1 for none. Of the overload that names it negative ones count from the end.
int64_t padding_of(const OpCall& call, int64_t rows) {
  if (call.schema().find("padding_idx") == nullptr || call.is_none("padding_idx")) return -1;
  const int64_t padding = call.integer("padding_idx");
  return padding < 0 && call.schema().overload == "padding_idx" ? padding + rows : padding;
}

// The results after the first are computed where the node uses them: their sizes may depend on data.
enum Result : int { kBagOfIndex = 1, kBagSizes = 2, kRowOfMaximum = 3 };

// The index of the first row of each bag that is its maximum (or not a number), 0 of an empty bag. `bag` of
// each row and `sums` of maxima have one bag more, of the rows that do not count.
ValueId rows_of_maxima(Composition& c, ValueId rows, ValueId sums, ValueId bag, ValueId position,
                       const Shape& size, int64_t bags) {
  const int64_t count = size[0], width = size[1];
  const ValueId most =
      c.node("index_select", {{"self", ValueArg{sums}}, {"dim", int64_t{0}}, {"index", ValueArg{bag}}});
  const ValueId is_most =
      c.binary("logical_or", c.binary("eq.Tensor", rows, ValueArg{most}), ValueArg{c.unary("isnan", rows)});
  const ValueId none = c.node("scalar_tensor", {{"s", count}, {"dtype", DTypeArg{DType::i64}}});
  const ValueId candidates = c.where(is_most, c.expand(position, size), none);
  const auto filled = [&](int64_t value) {
    return c.node("full", {{"size", IntListArg{{bags + 1, width}, {}}},
                           {"fill_value", value},
                           {"dtype", DTypeArg{DType::i64}}});
  };
  const ValueId first =
      c.node("scatter_reduce.two", {{"self", ValueArg{filled(count)}},
                                    {"dim", int64_t{0}},
                                    {"index", ValueArg{c.expand(c.view(bag, {count, 1}), size)}},
                                    {"src", ValueArg{candidates}},
                                    {"reduce", std::string("amin")},
                                    {"include_self", true}});
  const ValueId found = c.binary("lt.Scalar", first, count);
  const ValueId at = c.view(c.where(found, first, filled(0)), {(bags + 1) * width});
  const ValueId row =
      c.view(c.node("index_select", {{"self", ValueArg{c.cast(c.input("indices"), DType::i64)}},
                                     {"dim", int64_t{0}},
                                     {"index", ValueArg{at}}}),
             {bags + 1, width});
  return c.where(found, row, filled(0));
}

void embedding_bag(KernelContext& ctx) {
  const OpCall& call = ctx.call;
  const Shape shape = call.output(0).shape;
  const int64_t bags = shape[0], width = shape[1];
  const auto used = [&](int result) {
    return static_cast<int>(call.outputs().size()) > result && call.output_used(result) &&
           element_count(call.output(result).shape) > 0;
  };
  if (bags * width == 0 && !used(kBagOfIndex) && !used(kBagSizes)) return;
  const int64_t count = element_count(call.input(call.tensor("indices")).shape);
  const int64_t mode = call.integer("mode");
  Composition c(ctx);
  const auto full = [&](const Shape& size, double value) {
    return c.node("full",
                  {{"size", IntListArg{size, {}}}, {"fill_value", value}, {"dtype", DTypeArg{DType::f32}}});
  };
  const auto slice = [&](ValueId x, int64_t start, int64_t end) {
    return c.node("slice.Tensor",
                  {{"self", ValueArg{x}}, {"dim", int64_t{0}}, {"start", start}, {"end", end}});
  };

  ValueId sums = full({bags + 1, width}, 0), sizes = full({bags + 1}, 0);
  ValueId bag_of_index = -1, row_of_maximum = -1;
  if (count > 0) {
    const ValueId offsets = c.cast(c.input("offsets"), DType::i64), indices = c.input("indices");
    const ValueId position = c.view(
        c.node(
            "arange.start_step",
            {{"start", int64_t{0}}, {"end", count}, {"step", int64_t{1}}, {"dtype", DTypeArg{DType::i64}}}),
        {count, 1});
    // The last offset at or before a row is its bag's: their number less one. Before the first it is -1,
    // which the scatter traps on.
    const ValueId begun =
        c.binary("ge.Tensor", position, ValueArg{c.view(slice(offsets, 0, bags), {1, bags})});
    ValueId bag = c.binary(
        "sub.Tensor",
        c.node("sum.dim_IntList",
               {{"self", ValueArg{begun}}, {"dim", IntListArg{{1}, {}}}, {"dtype", DTypeArg{DType::i64}}}),
        int64_t{1});
    bag_of_index = bag;
    const auto drop = [&](ValueId counts) {
      const ValueId other = c.node("scalar_tensor", {{"s", bags}, {"dtype", DTypeArg{DType::i64}}});
      bag = c.where(counts, bag, other);
    };
    if (call.boolean("include_last_offset")) {
      const ValueId end = c.view(slice(offsets, bags, bags + 1), {1, 1});
      drop(c.view(c.binary("lt.Tensor", position, ValueArg{end}), {count}));
    }
    const TensorMeta weight = call.input(call.tensor("weight"));
    const int64_t padding = padding_of(call, weight.shape[0]);
    if (padding >= 0) drop(c.binary("ne.Scalar", indices, padding));
    ValueId rows = c.cast(
        c.node("index_select",
               {{"self", ValueArg{c.input("weight")}}, {"dim", int64_t{0}}, {"index", ValueArg{indices}}}),
        DType::f32);
    if (!call.is_none("per_sample_weights")) {
      rows = c.binary("mul.Tensor", rows,
                      ValueArg{c.view(c.cast(c.input("per_sample_weights"), DType::f32), {count, 1})});
    }
    const ValueId to = c.expand(c.view(bag, {count, 1}), {count, width});
    const auto scatter = [&](ValueId into, ValueId index, ValueId src) {
      return c.node("scatter_add", {{"self", ValueArg{into}},
                                    {"dim", int64_t{0}},
                                    {"index", ValueArg{index}},
                                    {"src", ValueArg{src}}});
    };
    sizes = scatter(sizes, bag, full({count}, 1));
    if (mode == kMax) {
      sums = c.node("scatter_reduce.two", {{"self", ValueArg{sums}},
                                           {"dim", int64_t{0}},
                                           {"index", ValueArg{to}},
                                           {"src", ValueArg{rows}},
                                           {"reduce", std::string("amax")},
                                           {"include_self", false}});
      if (used(kRowOfMaximum))
        row_of_maximum = slice(rows_of_maxima(c, rows, sums, bag, position, {count, width}, bags), 0, bags);
    } else {
      sums = scatter(sums, to, rows);
    }
    if (mode == kMean) {
      const ValueId divisor = c.clamp(sizes, 1.0, NoneArg{});
      sums = c.binary("div.Tensor", sums, ValueArg{c.view(divisor, {bags + 1, 1})});
    }
  }
  const ValueId result = c.cast(slice(sums, 0, bags), call.output(0).dtype);
  c.builder.output(result);
  for (int i = 1; i < static_cast<int>(call.outputs().size()); ++i) {
    ValueId made = i == kBagOfIndex ? bag_of_index : i == kBagSizes ? slice(sizes, 0, bags) : row_of_maximum;
    if (!used(i)) {
      c.builder.output(result);
      continue;
    }
    // What PyTorch leaves undefined is zeros.
    const auto& [dtype, size] = call.output(i);
    if (made < 0) {
      made = c.node("full",
                    {{"size", IntListArg{size, {}}}, {"fill_value", int64_t{0}}, {"dtype", DTypeArg{dtype}}});
    }
    c.builder.output(c.cast(made, dtype));
  }
  c.run();
}

}  // namespace

void register_embedding_bag(KernelTable& table) {
  for (const char* name : {"_embedding_bag.default", "_embedding_bag_forward_only.default",
                           "embedding_bag.default", "embedding_bag.padding_idx"}) {
    table.add(std::string("aten::") + name, embedding_bag);
  }
}

}  // namespace assay::backend
