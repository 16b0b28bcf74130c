// How a run executes one node, on the device or on the host.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/opset/classify.h"
#include "harness/worker/device_run.h"
#include "reference/draws.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

// Tensors that a node with plain scalars reads, in OpCall's numbering.
std::vector<ValueId> tensors_read(const Graph& graph, const Node& node) {
  std::vector<ValueId> ids = inputs_of(node);
  std::erase_if(
      ids, [&](ValueId id) { return graph.values[static_cast<std::size_t>(id)].kind != ValueKind::tensor; });
  return ids;
}

bool draws_as_named(const Graph& graph, const Node& node) {
  return is_random_op(node.op) && std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
           if (id < 0) return false;
           const Value& value = graph.values[static_cast<std::size_t>(id)];
           return has_unknown_size(std::vector<TensorMeta>{{value.dtype, value.shape}});
         });
}

// OpCall by metas: unlike OpCall(graph, node) it takes nodes whose results depend on data.
OpCall call_of(const Graph& graph, const Node& node) {
  std::vector<TensorMeta> inputs;
  const auto number = [&](ValueId& id) {
    if (id < 0) return;
    const Value& value = graph.values[static_cast<std::size_t>(id)];
    inputs.push_back({value.dtype, value.shape});
    id = static_cast<ValueId>(inputs.size()) - 1;
  };
  std::vector<NamedArgument> arguments = node.arguments;
  for (NamedArgument& argument : arguments) {
    if (auto* value = std::get_if<ValueArg>(&argument.value)) number(value->id);
    if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
      for (ValueId& id : list->ids) number(id);
    }
  }
  std::vector<TensorMeta> outputs;
  for (const ValueId id : node.outputs) {
    if (id < 0) {
      outputs.emplace_back();
      continue;
    }
    const Value& value = graph.values[static_cast<std::size_t>(id)];
    outputs.push_back({value.dtype, value.shape});
  }
  if (has_unknown_size(outputs)) outputs.clear();
  return OpCall(node.op, std::move(inputs), arguments, std::move(outputs));
}

}  // namespace

NodeCost DeviceRun::cost_of(const Node& node) const {
  try {
    return node_cost(call_of(graph_, node));
  } catch (const Error&) {
    return {};  // bad input, which the backend is to refuse, or an operator that only it knows
  }
}

void DeviceRun::set_meta(ValueId id, const TensorMeta& meta) {
  Value& v = graph_.values.at(static_cast<std::size_t>(id));
  v.dtype = meta.dtype;
  v.shape = meta.shape;
}

bool DeviceRun::is_free_node(int i) const {
  return std::find(request_.free_nodes.begin(), request_.free_nodes.end(), i) != request_.free_nodes.end();
}

BufferPtr DeviceRun::on_device(ValueId id) {
  Slot& s = slot(id);
  if (s.device == nullptr) {
    if (!s.host.defined()) throw Error(ErrorCode::internal, "value '" + value(id).name + "' is nowhere");
    Stopwatch watch;
    watch.start();
    s.device = device_.upload(s.host, rank(id));
    watch.stop();
    if (!s.fallback_op.empty()) {
      const auto bytes = static_cast<int64_t>(s.host.bytes());
      ledger_.fallback_cost(s.fallback_op, s.fallback_reason, bytes, watch.seconds());
      note_host(value(id).name, s.fallback_op, s.fallback_reason, watch.seconds(), bytes);
    }
  }
  return s.device;
}

const Tensor& DeviceRun::on_host(ValueId id) {
  Slot& s = slot(id);
  if (!s.host.defined()) {
    if (s.device == nullptr) throw Error(ErrorCode::internal, "value '" + value(id).name + "' is nowhere");
    s.host = s.device->read({value(id).dtype, value(id).shape});
  }
  return s.host;
}

std::vector<BufferPtr> DeviceRun::create_outputs(const std::vector<TensorMeta>& metas,
                                                 const std::vector<ValueId>& ids) {
  std::vector<BufferPtr> outputs;
  for (std::size_t k = 0; k < metas.size(); ++k) {
    outputs.push_back(has_unknown_size({metas[k]}) ? nullptr : device_.create(metas[k], rank(ids.at(k))));
  }
  return outputs;
}

void DeviceRun::host_scalar(int i, HostScalars& scalars) {
  scalars.evaluate(graph_.nodes[static_cast<std::size_t>(i)], [&](ValueId id) { return on_host(id); });
  ledger_.host_scalar();
}

std::vector<Tensor> DeviceRun::contents_before(const std::vector<BufferPtr>& outputs) const {
  std::vector<Tensor> before;
  if (mutant_ == nullptr || mutant_->effect != Effect::execution) return before;
  for (const BufferPtr& buffer : outputs) before.push_back(buffer ? buffer->read(buffer->meta()) : Tensor());
  return before;
}

void DeviceRun::plant(const NodeHandle& handle, const std::vector<BufferPtr>& inputs,
                      const std::vector<BufferPtr>& outputs, const std::vector<Tensor>& before) {
  if (mutant_ == nullptr) return;
  const OpCall call = call_of(graph_, handle.node());
  if (!mutant_->applies(call)) return;
  if (mutant_->effect == Effect::outside) {
    if (guard_ != nullptr) guard_->write(Tensor(guard_->meta().dtype, guard_->meta().shape));
    result_.mutant_changed = true;
    return;
  }
  // As in the call, with a place for results that the graph leaves out.
  std::vector<BufferPtr> called_outputs;
  auto next = outputs.begin();
  for (const ValueId id : handle.node().outputs) called_outputs.push_back(id < 0 ? nullptr : *next++);
  const auto read = [](const std::vector<BufferPtr>& buffers) {
    std::vector<Tensor> tensors;
    for (const BufferPtr& buffer : buffers) {
      tensors.push_back(buffer == nullptr ? Tensor() : buffer->read(buffer->meta()));
    }
    return tensors;
  };
  const std::vector<Tensor> right_inputs = read(inputs), right_outputs = read(called_outputs);
  std::vector<Tensor> changed_inputs = right_inputs, changed_outputs = right_outputs;
  Execution execution{call, changed_inputs, changed_outputs, before, executions_++};
  if (!plant_mutant(*mutant_, execution)) return;
  const auto write = [&](const std::vector<BufferPtr>& buffers, const std::vector<Tensor>& right,
                         const std::vector<Tensor>& changed) {
    for (std::size_t k = 0; k < buffers.size(); ++k) {
      if (buffers[k] == nullptr) continue;
      // A buffer has its dtype and size from the harness: a kernel cannot return another.
      if (changed[k].dtype() != right[k].dtype() || changed[k].shape() != right[k].shape()) continue;
      if (changed[k].bitwise_equal(right[k])) continue;
      buffers[k]->write(changed[k]);
      result_.mutant_changed = true;
    }
  };
  write(called_outputs, right_outputs, changed_outputs);
  if (mutant_->effect == Effect::inputs) write(inputs, right_inputs, changed_inputs);
}

void DeviceRun::run_on_device(int i, const NodeHandle& handle) {
  std::vector<BufferPtr> inputs;
  for (const ValueId id : handle.input_values()) inputs.push_back(on_device(id));
  std::vector<BufferPtr> outputs = create_outputs(handle.outputs(), handle.output_values());
  ++asked_;
  std::vector<Tensor> before;
  if (mutant_ != nullptr) {
    pause();
    before = contents_before(outputs);
    go_on();
  }
  device_.execute(handle, inputs, outputs);
  std::vector<TensorMeta> metas = handle.outputs();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k] == nullptr) {
      throw PluginError(ASSAY_INTERNAL, ASSAY_REASON_NONE, fmt::format("output {} was not returned", k));
    }
    const ValueId id = handle.output_values()[k];
    if (has_unknown_size({metas[k]})) {
      metas[k] = outputs[k]->meta();
      set_meta(id, metas[k]);
    }
    slot(id) = Slot{outputs[k], Tensor(), "", ""};
  }
  if (mutant_ != nullptr) {
    pause();
    plant(handle, inputs, outputs, before);
    go_on();
  }
  const PlannedNode& planned = plan_[static_cast<std::size_t>(i)];
  if (planned.metadata) {
    ledger_.metadata_node();
  } else {
    ledger_.device_node(planned.dynamic ? cost_of(handle.node()) : planned.cost);
  }
}

void DeviceRun::run_on_host(int i, const Node& node, const NodeSupport& support) {
  Stopwatch watch;
  watch.start();
  int64_t bytes = 0;
  // Draws are the ones of the reference's chain, which go by the node's name and the case's seed.
  const reference::DrawSeed draws(request_.seed);
  const OpCall call = draws_as_named(graph_, node) ? OpCall(graph_, node) : call_of(graph_, node);
  // Kernels trust shapes that were checked; a case of bad input has not been.
  if (request_.negative) validate(graph_);
  std::vector<reference::Wide> wides;
  for (const ValueId id : tensors_read(graph_, node)) {
    if (!slot(id).host.defined()) bytes += static_cast<int64_t>(slot(id).device ? on_host(id).bytes() : 0);
    wides.push_back(reference::Wide::from(on_host(id)));
  }
  std::vector<const reference::Wide*> inputs;
  for (const reference::Wide& wide : wides) inputs.push_back(&wide);
  std::vector<reference::Wide> outputs;
  try {
    outputs = reference::evaluate(call, inputs);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported || request_.negative) throw;
    // Why the device does not take it decides what the case is.
    throw RunFailure{Status::unsupported, support.reason,
                     fmt::format("neither the device nor the harness can run this: {}; {}", support.message,
                                 error.what())};
  }
  for (std::size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k) {
    if (node.outputs[k] < 0) continue;
    set_meta(node.outputs[k], outputs[k].meta);
    slot(node.outputs[k]) = Slot{nullptr, outputs[k].rounded(), node.op, support.reason};
  }
  watch.stop();
  const PlannedNode& planned = plan_[static_cast<std::size_t>(i)];
  ledger_.fallback_node(node.op, support.reason, planned.dynamic ? cost_of(node) : planned.cost,
                        !planned.metadata);
  ledger_.fallback_cost(node.op, support.reason, bytes, watch.seconds());
  note_host(node.name, node.op, support.reason, watch.seconds(), bytes);
}

void DeviceRun::release_after(int i) {
  const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
  const auto release = [&](ValueId id) {
    if (id >= 0 && last_use_.at(static_cast<std::size_t>(id)) <= i) slot(id) = Slot{};
  };
  for (const ValueId id : inputs_of(node)) release(id);
  for (const ValueId id : node.outputs) release(id);
}

}  // namespace assay
