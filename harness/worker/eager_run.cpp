#include "harness/worker/eager_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "harness/worker/compile_run.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

// A number in every format, so that a result that happens to be kPoison is not taken for a stale buffer.
constexpr uint8_t kOtherPoison = 0xc7;
constexpr uint8_t kGuardPattern = 0x9d;
const TensorMeta kGuardMeta{DType::u8, {256}};

bool is_filled(const Tensor& tensor, uint8_t pattern) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.data());
  return std::all_of(bytes, bytes + tensor.bytes(), [&](uint8_t byte) { return byte == pattern; });
}

}  // namespace

void EagerRun::place(int i, const NodeSupport& support) {
  NodeOutcome& outcome = outcomes_[static_cast<std::size_t>(i)];
  if (!support.supported) {
    outcome.placement = Placement::fallback;
    outcome.reason = support.reason;
  } else if (plan_[static_cast<std::size_t>(i)].metadata) {
    outcome.placement = Placement::metadata;
  } else {
    outcome.placement = support.native == 2 ? Placement::device_soft : Placement::device;
  }
}

void EagerRun::execute_pass(bool first) {
  for (std::size_t n = 0; n < plan_.size(); ++n) {
    const int i = static_cast<int>(n);
    PlannedNode& planned = plan_[n];
    current_ = i;
    if (first) progress_("free", i);
    if (planned.kind == Kind::host_scalar) {
      host_scalar(i, scalars_);
      outcomes_[n].placement = Placement::host_scalar;
      continue;
    }
    if (planned.kind == Kind::assertion) {
      ledger_.metadata_node();
      outcomes_[n].placement = Placement::metadata;
      continue;
    }
    std::shared_ptr<NodeHandle> handle = planned.handle;
    if (handle == nullptr) {
      handle = make_handle(i, scalars_);
      planned.support = device_.supports(*handle);
      if (!planned.support.supported && !request_.fallback) {
        throw RunFailure{Status::unsupported, planned.support.reason,
                         "not supported by the device: " + unsupported_operators()};
      }
    }
    if (planned.support.supported) {
      run_on_device(i, *handle);
    } else {
      run_on_host(i, handle->node(), planned.support);
    }
    place(i, planned.support);
    if (first && is_free_node(i)) {
      pause();
      for (const ValueId id : handle->output_values()) {
        const Slot& s = slot(id);
        outcomes_[n].free.push_back(s.device ? s.device->read({value(id).dtype, value(id).shape}) : s.host);
      }
      go_on();
    }
    release_after(i);
  }
}

void EagerRun::finish(RunResult& result) {
  // Without the reference's values there is nothing to feed nodes with that read other nodes' results.
  if (request_.chain.empty() && !values_to_feed(graph_).empty()) return;
  for (const auto& [id, tensor] : inputs_) chain_[id] = tensor;
  for (std::size_t i = 0; i < request_.chain.size(); ++i) {
    const ValueId id = graph_.find_value(request_.chain_names[i]);
    if (id < 0)
      throw Error(ErrorCode::malformed_file, "the chain names a value that the graph does not have");
    chain_[id] = request_.chain[i];
  }
  local_pass(result);
}

BufferPtr EagerRun::local_input(ValueId id) {
  BufferPtr& buffer = local_inputs_[id];
  if (buffer == nullptr) buffer = device_.upload(chain_.at(id), rank(id));
  return buffer;
}

bool EagerRun::local_node(int i, const NodeHandle& handle, uint8_t poison, RunResult& result) {
  std::vector<BufferPtr> inputs;
  for (const ValueId id : handle.input_values()) inputs.push_back(local_input(id));
  std::vector<BufferPtr> outputs = create_outputs(handle.outputs(), handle.output_values());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k] != nullptr) outputs[k]->fill(handle.outputs()[k], poison);
  }
  std::vector<bool> given;
  for (const BufferPtr& output : outputs) given.push_back(output != nullptr);
  const std::vector<Tensor> before = contents_before(outputs);
  device_.execute(handle, inputs, outputs);
  if (std::find(outputs.begin(), outputs.end(), nullptr) == outputs.end())
    plant(handle, inputs, outputs, before);

  NodeOutcome& outcome = outcomes_[static_cast<std::size_t>(i)];
  outcome.local.clear();
  bool stale = false;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k] == nullptr) {
      throw PluginError(ASSAY_INTERNAL, ASSAY_REASON_NONE, fmt::format("output {} was not returned", k));
    }
    const Tensor tensor = outputs[k]->read(given[k] ? handle.outputs()[k] : outputs[k]->meta());
    stale = stale || (given[k] && tensor.count() > 0 && is_filled(tensor, poison));
    outcome.local.push_back(tensor);
  }
  for (std::size_t k = 0; k < inputs.size() && result.guard_violation.empty(); ++k) {
    const Tensor& sent = chain_.at(handle.input_values()[k]);
    if (!inputs[k]->read({sent.dtype(), sent.shape()}).bitwise_equal(sent)) {
      result.guard_violation =
          fmt::format("node '{}' ({}) modified its input {}", handle.node().name, handle.node().op, k);
    }
  }
  if (result.guard_violation.empty() && !is_filled(guard_->read(kGuardMeta), kGuardPattern)) {
    result.guard_violation = fmt::format("node '{}' ({}) wrote into a buffer that it was not given",
                                         handle.node().name, handle.node().op);
  }
  return stale;
}

void EagerRun::local_pass(RunResult& result) {
  std::map<ValueId, int> last_use;
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    for (const ValueId id : inputs_of(graph_.nodes[n])) last_use[id] = static_cast<int>(n);
  }
  guard_ = device_.create(kGuardMeta);
  guard_->fill(kGuardMeta, kGuardPattern);
  HostScalars scalars(graph_);
  for (const auto& [id, tensor] : chain_) {
    if (value(id).kind != ValueKind::tensor) scalars.set(id, tensor);
  }
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    const PlannedNode& planned = plan_[n];
    if (planned.kind == Kind::host_scalar && !planned.dynamic) {
      scalars.evaluate(node, [](ValueId) { return Tensor(); });
      continue;
    }
    if (planned.kind != Kind::tensor || !planned.support.supported) continue;
    current_ = static_cast<int>(n);
    const std::vector<ValueId> reads = inputs_of(node);
    const bool known = std::all_of(reads.begin(), reads.end(), [&](ValueId id) {
      return value(id).kind != ValueKind::tensor || chain_.count(id) != 0;
    });
    if (!known) continue;
    progress_("local", current_);
    std::shared_ptr<NodeHandle> handle = planned.handle;
    if (planned.dynamic) {
      // Shapes are the reference's here, not those that the device's own chain came to.
      for (const ValueId id : reads) {
        if (value(id).kind == ValueKind::tensor) set_meta(id, {chain_.at(id).dtype(), chain_.at(id).shape()});
      }
      handle = make_handle(current_, scalars);
      if (!device_.supports(*handle).supported) continue;
    }
    const bool undefined =
        reference::has_operator(node.op) && reference::error_model(node.op).name == "undefined_but_alive";
    if (local_node(current_, *handle, kPoison, result) && !undefined &&
        local_node(current_, *handle, kOtherPoison, result)) {
      result.failure = Status::vacuous;
      result.reason = "stale_output";
      result.detail = fmt::format("node '{}' ({}) left its output buffer as it was", node.name, node.op);
      return;
    }
    if (graph_.nodes.size() == 1 && result.repeatable) {
      // Free and local pass had equal inputs, over different contents of the output buffers.
      const auto& local = outcomes_[n].local;
      for (std::size_t k = 0; k < local.size() && !undefined; ++k) {
        const ValueId id = handle->output_values()[k];
        for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
          if (graph_.outputs[o].value == id && !result.outputs[o].bitwise_equal(local[k]))
            result.repeatable = false;
        }
      }
    }
    for (const ValueId id : reads) {
      if (last_use[id] <= current_) local_inputs_.erase(id);
    }
  }
  current_ = -1;
}

std::unique_ptr<DeviceRun> make_run(Device& device, Graph graph, const RunRequest& request,
                                    DeviceRun::Progress progress) {
  if (request.mode == "compile") {
    return std::make_unique<CompileRun>(device, std::move(graph), request, std::move(progress));
  }
  return std::make_unique<EagerRun>(device, std::move(graph), request, std::move(progress));
}

}  // namespace assay
