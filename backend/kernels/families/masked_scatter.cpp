// masked_scatter: a running count of the mask numbers the source's elements, indirect DMA fetches them.
#include "backend/kernels/composed.h"

namespace assay::backend {
namespace {

void masked_scatter(KernelContext& ctx) {
  const Shape shape = ctx.call.output(0).shape;
  const int64_t count = element_count(shape);
  if (count == 0) return;
  const int64_t given = element_count(ctx.call.input(ctx.call.tensor("source")).shape);
  if (given == 0) {
    ctx.unsupported(ASSAY_REASON_SHAPE, "source has no elements: whether the mask takes any depends on data");
  }
  Composition c(ctx);
  const auto view = [&](ValueId id, const Shape& size) {
    return c.builder.call("aten::view.default", {{"self", ValueArg{id}}, {"size", IntListArg{size, {}}}});
  };
  const auto row = [&](const char* argument) {
    const ValueId spread = c.builder.call(
        "aten::expand.default", {{"self", ValueArg{c.input(argument)}}, {"size", IntListArg{shape, {}}}});
    return view(spread, {count});
  };
  const auto binary = [&](const char* op, ValueId a, const Argument& b) {
    return c.builder.call(op, {{"self", ValueArg{a}}, {"other", b}});
  };
  const ValueId self = row("self"), mask = row("mask");
  const ValueId taken =
      c.builder.call("aten::_to_copy.default", {{"self", ValueArg{mask}}, {"dtype", DTypeArg{DType::i64}}});
  // Element i takes source element (taken before i); what is not taken reads element 0. A mask that takes
  // more than there are addresses an element beyond the last, and traps.
  const ValueId before = binary(
      "aten::sub.Tensor",
      c.builder.call("aten::cumsum.default", {{"self", ValueArg{taken}}, {"dim", int64_t{0}}}), int64_t{1});
  const ValueId index = binary("aten::mul.Tensor", before, ValueArg{taken});
  const ValueId values =
      c.builder.call("aten::index_select.default", {{"self", ValueArg{view(c.input("source"), {given})}},
                                                    {"dim", int64_t{0}},
                                                    {"index", ValueArg{index}}});
  const ValueId result =
      c.builder.call("aten::where.self",
                     {{"condition", ValueArg{mask}}, {"self", ValueArg{values}}, {"other", ValueArg{self}}});
  c.builder.output(view(result, shape));
  c.run();
}

}  // namespace

void register_masked_scatter(KernelTable& table) {
  table.add("aten::masked_scatter.default", masked_scatter);
}

}  // namespace assay::backend
