// Operators that only move elements: pads, strided views, windows. The numbers of the elements, moved by the
// same operator, say where each result came from.
#include "core/decompose/decompose.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

void moved(Tape& t, const OpCall& call) {
  const TensorMeta& self = call.input(call.tensor("self"));
  const int64_t from = element_count(self.shape), to = element_count(call.output(0).shape);
  if (from == 0 || to == 0) return;
  std::vector<NamedArgument> arguments = passed_on(call);
  for (NamedArgument& argument : arguments) {
    if (argument.name == "self") argument.value = ValueArg{t.view(t.numbers(from), self.shape)};
  }
  const ValueId numbers = t.call(call.op(), std::move(arguments));
  const ValueId sums = t.call("aten::scatter_add.default", {{"self", ValueArg{t.full({from}, 0, self.dtype)}},
                                                            {"dim", int64_t{0}},
                                                            {"index", ValueArg{t.view(numbers, {to})}},
                                                            {"src", ValueArg{t.view(t.grad(call), {to})}}});
  t.give(call, "self", t.view(sums, self.shape));
}

// Windows side by side, and their sums where they overlap: each is the other's transpose.
std::vector<NamedArgument> windows(Tape& t, const OpCall& call) {
  std::vector<NamedArgument> arguments{{"self", ValueArg{t.grad(call)}}};
  for (const char* name : {"kernel_size", "dilation", "padding", "stride"})
    arguments.push_back({name, IntListArg{call.integers(name, 2), {}}});
  return arguments;
}

void im2col(Tape& t, const OpCall& call) {
  const Shape& image = call.input(0).shape;
  std::vector<NamedArgument> arguments = windows(t, call);
  arguments.push_back({"output_size", IntListArg{{image.end()[-2], image.end()[-1]}, {}}});
  t.give(call, "self", t.call("aten::col2im.default", std::move(arguments)));
}

void col2im(Tape& t, const OpCall& call) {
  t.give(call, "self", t.call("aten::im2col.default", windows(t, call)));
}

// The first elements in another shape; what a larger result has beyond them is undefined.
void resize(Tape& t, const OpCall& call) {
  const TensorMeta& self = call.input(call.tensor("self"));
  const int64_t from = element_count(self.shape), to = element_count(call.output(0).shape);
  const ValueId g = t.slice(t.view(t.grad(call), {to}), 0, 0, std::min(from, to));
  const ValueId rest = t.full({from - std::min(from, to)}, 0, self.dtype);
  t.give(call, "self", t.view(t.cat({g, rest}, 0), self.shape));
}

}  // namespace

void register_movement(DerivativeTable& table) {
  for (const char* op : {"reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
                         "replication_pad2d", "replication_pad3d", "as_strided", "diagonal", "unfold"}) {
    table.add(std::string("aten::") + op + ".default", moved);
  }
  table.add("aten::im2col.default", im2col);
  table.add("aten::col2im.default", col2im);
  table.add("aten::resize.default", resize);
  table.add("aten::resize_as.default", resize);
  table.add("aten::copy.default", [](Tape& t, const OpCall& call) { t.give(call, "src", t.grad(call)); });
}

}  // namespace assay::models
