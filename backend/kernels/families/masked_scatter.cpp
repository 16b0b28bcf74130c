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
  const auto row = [&](const char* argument) { return c.view(c.expand(c.input(argument), shape), {count}); };
  const ValueId self = row("self"), mask = row("mask");
  const ValueId taken = c.cast(mask, DType::i64);
  // Element i takes source element (taken before i); what is not taken reads element 0. A mask that takes
  // more than there are addresses an element beyond the last, and traps.
  const ValueId before =
      c.binary("sub.Tensor", c.node("cumsum", {{"self", ValueArg{taken}}, {"dim", int64_t{0}}}), int64_t{1});
  const ValueId index = c.binary("mul.Tensor", before, ValueArg{taken});
  const ValueId values = c.node("index_select", {{"self", ValueArg{c.view(c.input("source"), {given})}},
                                                 {"dim", int64_t{0}},
                                                 {"index", ValueArg{index}}});
  c.builder.output(c.view(c.where(mask, values, self), shape));
  c.run();
}

}  // namespace

void register_masked_scatter(KernelTable& table) {
  table.add("aten::masked_scatter.default", masked_scatter);
}

}  // namespace assay::backend
