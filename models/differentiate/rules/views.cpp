// Operators that only move, repeat or leave out elements.
#include <algorithm>

#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

int64_t rank_of(const OpCall& call) { return static_cast<int64_t>(call.input(0).shape.size()); }
int64_t dim_of(const OpCall& call, const char* name = "dim") {
  return wrapped_dim(call.integer(name), std::max<int64_t>(rank_of(call), 1));
}

void reshaped(Tape& t, const OpCall& call) {
  t.give(call, "self", t.view(t.grad(call), call.input(0).shape));
}

void permute(Tape& t, const OpCall& call) {
  const std::vector<int64_t> dims = call.integers("dims");
  std::vector<int64_t> inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    inverse.at(static_cast<std::size_t>(wrapped_dim(dims[i], rank_of(call)))) = static_cast<int64_t>(i);
  }
  t.give(call, "self", t.permute(t.grad(call), inverse));
}

void transpose(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  t.give(call, "self", rank_of(call) == 0 ? g : t.transpose(g, call.integer("dim0"), call.integer("dim1")));
}

// Broadcast dims are summed by Tape::give.
void expand(Tape& t, const OpCall& call) { t.give(call, "self", t.grad(call)); }

// A gradient set into zeros of the argument's shape along one dim. slice_scatter takes the numbers of the
// slice as they were given.
void slice(Tape& t, const OpCall& call) {
  const TensorMeta& meta = call.input(0);
  std::vector<NamedArgument> arguments{{"self", ValueArg{t.full(meta.shape, 0, meta.dtype)}},
                                       {"src", ValueArg{t.grad(call)}},
                                       {"dim", call.integer("dim")},
                                       {"step", call.integer("step")}};
  for (const char* end : {"start", "end"}) {
    if (!call.is_none(end)) arguments.push_back({end, call.integer(end)});
  }
  t.give(call, "self", t.call("aten::slice_scatter.default", arguments));
}

void select(Tape& t, const OpCall& call) {
  const TensorMeta& meta = call.input(0);
  t.give(call, "self",
         t.call("aten::select_scatter.default", {{"self", ValueArg{t.full(meta.shape, 0, meta.dtype)}},
                                                 {"src", ValueArg{t.grad(call)}},
                                                 {"dim", call.integer("dim")},
                                                 {"index", call.integer("index")}}));
}

void split(Tape& t, const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const auto dim = static_cast<std::size_t>(dim_of(call));
  const bool by_sizes = call.schema().find("split_sizes") != nullptr;
  const std::vector<int64_t> sizes = by_sizes ? call.integers("split_sizes") : std::vector<int64_t>{};
  std::vector<ValueId> parts;
  int64_t start = 0;
  for (std::size_t i = 0; i < call.outputs().size(); ++i) {
    const int64_t left = shape.at(dim) - start;
    const int64_t size = by_sizes ? sizes.at(i) : std::min(call.integer("split_size"), left);
    start += size;
    const auto part = static_cast<int>(i);
    if (call.output_used(part) && t.grad_opt(call, part)) {
      parts.push_back(t.grad(call, part));
      continue;
    }
    Shape of_part = shape;  // nobody read it
    of_part.at(dim) = size;
    parts.push_back(t.full(of_part, 0, call.input(0).dtype));
  }
  t.give(call, "self", t.cat(parts, static_cast<int64_t>(dim)));
}

// PyTorch lets empty 1-d tensors stand among others in cat.
void cat(Tape& t, const OpCall& call) {
  const auto rank = static_cast<int64_t>(call.output(0).shape.size());
  const int64_t dim = wrapped_dim(call.integer("dim"), rank);
  int64_t start = 0;
  for (const int i : call.tensors("tensors")) {
    const Shape& shape = call.input(i).shape;
    if (static_cast<int64_t>(shape.size()) != rank) continue;
    const int64_t end = start + shape.at(static_cast<std::size_t>(dim));
    const ValueId part = call.input_values().at(static_cast<std::size_t>(i));
    if (t.active(part)) t.give(part, t.slice(t.grad(call), dim, start, end));
    start = end;
  }
}

void stack(Tape& t, const OpCall& call) {
  const int64_t dim = wrapped_dim(call.integer("dim"), static_cast<int64_t>(call.output(0).shape.size()));
  int64_t index = 0;
  for (const int i : call.tensors("tensors")) {
    const ValueId part = call.input_values().at(static_cast<std::size_t>(i));
    if (t.active(part)) t.give(part, t.select(t.grad(call), dim, index));
    ++index;
  }
}

// [r0 s0, r1 s1, ...] seen as [r0, s0, r1, s1, ...], summed over the r.
void repeat(Tape& t, const OpCall& call) {
  const std::vector<int64_t> repeats = call.integers("repeats");
  const Shape& shape = call.input(0).shape;
  const std::size_t extra = repeats.size() - shape.size();
  Shape apart;
  std::vector<int64_t> dims;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    dims.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(repeats[d]);
    apart.push_back(d < extra ? 1 : shape[d - extra]);
  }
  t.give(call, "self", t.view(t.sum(t.view(t.grad(call), apart), dims), shape));
}

void flip(Tape& t, const OpCall& call) {
  t.give(call, "self",
         t.call("aten::flip.default",
                {{"self", ValueArg{t.grad(call)}}, {"dims", IntListArg{call.integers("dims"), {}}}}));
}

// The padding turned round: what was added is cut off and what was cut off has gradient 0.
void pad(Tape& t, const OpCall& call) {
  std::vector<int64_t> padding = call.integers("pad");
  for (int64_t& p : padding) p = -p;
  t.give(call, "self",
         t.call("aten::constant_pad_nd.default",
                {{"self", ValueArg{t.grad(call)}}, {"pad", IntListArg{padding, {}}}}));
}

void triangle(Tape& t, const OpCall& call) {
  t.give(call, "self",
         t.call(call.op(), {{"self", ValueArg{t.grad(call)}}, {"diagonal", call.integer("diagonal")}}));
}

void slice_scatter(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  std::vector<NamedArgument> range{{"dim", call.integer("dim")}, {"step", call.integer("step")}};
  for (const char* end : {"start", "end"}) {
    if (!call.is_none(end)) range.push_back({end, call.integer(end)});
  }
  if (t.wants(call, "self")) {
    const TensorMeta& meta = call.input(call.tensor("src"));
    auto arguments = range;
    arguments.push_back({"self", ValueArg{g}});
    arguments.push_back({"src", ValueArg{t.full(meta.shape, 0, meta.dtype)}});
    t.give(call, "self", t.call("aten::slice_scatter.default", arguments));
  }
  if (t.wants(call, "src")) {
    auto arguments = range;
    arguments.push_back({"self", ValueArg{g}});
    t.give(call, "src", t.call("aten::slice.Tensor", arguments));
  }
}

void select_scatter(Tape& t, const OpCall& call) {
  const ValueId g = t.grad(call);
  const NamedArgument dim{"dim", call.integer("dim")}, index{"index", call.integer("index")};
  if (t.wants(call, "self")) {
    const TensorMeta& meta = call.input(call.tensor("src"));
    t.give(call, "self",
           t.call("aten::select_scatter.default",
                  {{"self", ValueArg{g}}, {"src", ValueArg{t.full(meta.shape, 0, meta.dtype)}}, dim, index}));
  }
  if (t.wants(call, "src"))
    t.give(call, "src", t.call("aten::select.int", {{"self", ValueArg{g}}, dim, index}));
}

}  // namespace

void register_views(DerivativeTable& table) {
  for (const char* op : {"aten::view.default", "aten::_unsafe_view.default", "aten::reshape.default",
                         "aten::unsqueeze.default", "aten::squeeze.default", "aten::squeeze.dim",
                         "aten::squeeze.dims", "aten::flatten.using_ints", "aten::unflatten.int"}) {
    table.add(op, reshaped);
  }
  table.add("aten::permute.default", permute);
  table.add("aten::transpose.int", transpose);
  table.add("aten::t.default", [](Tape& t, const OpCall& call) {
    const ValueId g = t.grad(call);
    t.give(call, "self", rank_of(call) < 2 ? g : t.transpose(g, 0, 1));
  });
  table.add("aten::expand.default", expand);
  table.add("aten::slice.Tensor", slice);
  table.add("aten::select.int", select);
  table.add("aten::split_with_sizes.default", split);
  table.add("aten::split.Tensor", split);
  table.add("aten::cat.default", cat);
  table.add("aten::stack.default", stack);
  table.add("aten::repeat.default", repeat);
  table.add("aten::flip.default", flip);
  table.add("aten::constant_pad_nd.default", pad);
  table.add("aten::tril.default", triangle);
  table.add("aten::triu.default", triangle);
  table.add("aten::slice_scatter.default", slice_scatter);
  table.add("aten::select_scatter.default", select_scatter);
}

}  // namespace assay::models
