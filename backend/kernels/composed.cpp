#include "backend/kernels/composed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/kernels/tiles.h"
#include "core/decompose/decompose.h"

namespace assay::backend {

Composition::Composition(KernelContext& ctx) : builder("composition"), ctx_(ctx) {
  for (std::size_t i = 0; i < ctx.inputs.size(); ++i) {
    const TensorMeta& meta = ctx.call.inputs()[i];
    const auto [at, is_new] = renamed_.emplace(ctx.call.input_values().at(i), 0);
    if (!is_new) continue;
    at->second = builder.input("in" + std::to_string(i), meta.dtype, meta.shape);
    places_[at->second] = ctx.inputs[i];
  }
}

ValueId Composition::input(std::string_view argument) const {
  return renamed_.at(value_of(ctx_.call, argument));
}

std::vector<NamedArgument> Composition::arguments() const {
  std::vector<NamedArgument> arguments = passed_on(ctx_.call);
  for (NamedArgument& argument : arguments) {
    if (auto* value = std::get_if<ValueArg>(&argument.value)) value->id = renamed_.at(value->id);
    if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
      for (ValueId& id : list->ids) id = id < 0 ? id : renamed_.at(id);
    }
  }
  return arguments;
}

ValueId Composition::node(const std::string& op, std::vector<NamedArgument> arguments) {
  const bool has_overload = op.find('.') != std::string::npos;
  return builder.call("aten::" + op + (has_overload ? "" : ".default"), std::move(arguments));
}

ValueId Composition::cast(ValueId self, DType dtype) {
  if (builder.value(self).dtype == dtype) return self;
  return node("_to_copy", {{"self", ValueArg{self}}, {"dtype", DTypeArg{dtype}}});
}

void Composition::run(const Graph& graph) {
  // A result that is an argument, or another result, is copied.
  std::vector<std::pair<std::size_t, ValueId>> copies;
  for (std::size_t i = 0; i < ctx_.outputs.size(); ++i) {
    if (!ctx_.call.output_used(static_cast<int>(i))) continue;
    const ValueId id = graph.outputs.at(i).value;
    if (!places_.emplace(id, ctx_.outputs[i]).second) copies.emplace_back(i, id);
  }
  for (const Node& node : graph.nodes) {
    const OpCall call(graph, node);
    const Kernel* kernel = kernels().find(call.op());
    if (kernel == nullptr)
      ctx_.unsupported(ASSAY_REASON_OPERATOR, "its part " + call.op() + " has no kernel");
    KernelContext part{call, ctx_.b, ctx_.options, {}, {}};
    for (const ValueId id : call.input_values()) part.inputs.push_back(places_.at(id));
    for (const ValueId id : call.output_values()) {
      if (id >= 0 && !places_.contains(id)) {
        const Value& value = graph.values.at(static_cast<std::size_t>(id));
        places_[id] =
            ctx_.b.scratch(value.name, value.dtype, std::max<int64_t>(element_count(value.shape), 1));
      }
      part.outputs.push_back(id >= 0 ? places_.at(id) : -1);
    }
    const ProgramBuilder::Mark mark = ctx_.b.mark();
    (*kernel)(part);
    ctx_.b.release(mark);
  }
  for (const auto& [i, id] : copies) {
    const View out = ctx_.output(static_cast<int>(i));
    copy(ctx_, out, contiguous_view(places_.at(id), out.dtype, out.shape));
  }
}

void run_decomposition(KernelContext& ctx) {
  Composition composition(ctx);
  for (const ValueId result : composition.builder.node(ctx.call.op(), composition.arguments()))
    composition.builder.output(result);
  Graph graph = composition.builder.build();
  decompose(graph);
  composition.run(graph);
}

}  // namespace assay::backend
