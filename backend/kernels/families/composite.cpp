// Fused operators that have no kernel of their own: their decomposition (core/decompose), one node after
// another in one Program, with what lies between nodes in HBM.
#include <algorithm>
#include <map>

#include "backend/kernels/tiles.h"
#include "core/decompose/decompose.h"
#include "core/graph/builder.h"

namespace assay::backend {
namespace {

// Numbers of the Program's HBM tensors by value of the decomposed graph.
using Places = std::map<ValueId, int32_t>;

// The call as a graph of one node, inputs in `places`.
Graph graph_of(const KernelContext& ctx, Places& places) {
  GraphBuilder builder("composite");
  std::map<ValueId, ValueId> renamed;
  for (std::size_t i = 0; i < ctx.inputs.size(); ++i) {
    const TensorMeta& meta = ctx.call.inputs()[i];
    const auto [at, is_new] = renamed.emplace(ctx.call.input_values().at(i), 0);
    if (!is_new) continue;
    at->second = builder.input("in" + std::to_string(i), meta.dtype, meta.shape);
    places[at->second] = ctx.inputs[i];
  }
  std::vector<NamedArgument> arguments = passed_on(ctx.call);
  for (NamedArgument& argument : arguments) {
    if (auto* value = std::get_if<ValueArg>(&argument.value)) value->id = renamed.at(value->id);
    if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
      for (ValueId& id : list->ids) id = id < 0 ? id : renamed.at(id);
    }
  }
  for (const ValueId result : builder.node(ctx.call.op(), std::move(arguments))) builder.output(result);
  Graph graph = builder.build();
  decompose(graph);
  return graph;
}

void by_decomposition(KernelContext& ctx) {
  Places places;
  const Graph graph = graph_of(ctx, places);
  // A result that is an argument, or another result, is copied.
  std::vector<std::pair<std::size_t, ValueId>> copies;
  for (std::size_t i = 0; i < ctx.outputs.size(); ++i) {
    if (!ctx.call.output_used(static_cast<int>(i))) continue;
    const ValueId id = graph.outputs.at(i).value;
    if (!places.emplace(id, ctx.outputs[i]).second) copies.emplace_back(i, id);
  }
  for (const Node& node : graph.nodes) {
    const OpCall call(graph, node);
    const Kernel* kernel = kernels().find(call.op());
    if (kernel == nullptr) ctx.unsupported(ASSAY_REASON_OPERATOR, "its part " + call.op() + " has no kernel");
    KernelContext part{call, ctx.b, ctx.options, {}, {}};
    for (const ValueId id : call.input_values()) part.inputs.push_back(places.at(id));
    for (const ValueId id : call.output_values()) {
      if (id >= 0 && !places.contains(id)) {
        const Value& value = graph.values.at(static_cast<std::size_t>(id));
        places[id] = ctx.b.scratch(value.name, value.dtype, std::max<int64_t>(element_count(value.shape), 1));
      }
      part.outputs.push_back(id >= 0 ? places.at(id) : -1);
    }
    const ProgramBuilder::Mark mark = ctx.b.mark();
    (*kernel)(part);
    ctx.b.release(mark);
  }
  for (const auto& [i, id] : copies) {
    const View out = ctx.output(static_cast<int>(i));
    copy(ctx, out, contiguous_view(places.at(id), out.dtype, out.shape));
  }
}

}  // namespace

void register_composite(KernelTable& table) {
  for (const char* name : {"assay::gla_chunk.default", "assay::gla_chunk_backward.default",
                           "assay::gla_recurrent_step.default", "assay::muon_orthogonalize.default"}) {
    table.add(name, by_decomposition);
  }
}

}  // namespace assay::backend
