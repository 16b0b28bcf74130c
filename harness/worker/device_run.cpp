#include "harness/worker/device_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/opset/classify.h"

namespace assay {
namespace {

DeviceCounters difference(const DeviceTotals& after, const DeviceTotals& before) {
  DeviceCounters counters;
  counters.cycles = static_cast<int64_t>(after.cycles - before.cycles);
  counters.instructions = static_cast<int64_t>(after.instructions - before.instructions);
  counters.seconds = after.device_seconds - before.device_seconds;
  counters.peak_bytes = static_cast<int64_t>(after.peak_bytes);
  return counters;
}

}  // namespace

void set_failure(const PluginError& error, bool negative, RunResult& result) {
  const std::string reason = reason_text(error.reason());
  result.detail = error.what();
  const auto set = [&](Status status, const std::string& why) {
    result.failure = status;
    result.reason = why;
  };
  // An index out of range shows only while the device executes: its trap, reported in order, is the refusal.
  if (negative && (error.code() == ASSAY_INVALID_ARGUMENT || error.code() == ASSAY_UNSUPPORTED ||
                   error.code() == ASSAY_EXECUTION_ERROR)) {
    return set(Status::rejected_bad_input, "refused");
  }
  switch (error.code()) {
    case ASSAY_UNSUPPORTED:
      return set(Status::unsupported, reason.empty() ? "operator" : reason);
    case ASSAY_OUT_OF_MEMORY:
      return set(Status::out_of_memory, "device_memory");
    case ASSAY_COMPILE_ERROR:
      return set(Status::compile_error, "compiler_error");
    case ASSAY_INVALID_ARGUMENT:
    case ASSAY_EXECUTION_ERROR:
    case ASSAY_INTERNAL:
      break;
  }
  set(Status::crash, "device_trap");
}

DeviceRun::DeviceRun(Device& device, Graph graph, const RunRequest& request, Progress progress)
    : device_(device),
      graph_(std::move(graph)),
      request_(request),
      progress_(std::move(progress)),
      scalars_(graph_),
      mutant_(find_mutant(request.mutant)) {
  if (mutant_ != nullptr) result_.mutant_changed = false;
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::malformed_file, request.case_id + ": " + what);
  };
  std::size_t next = 0;
  for (const GraphInput& input : graph_.inputs) {
    if (input.value < 0) continue;
    if (next >= request.inputs.size()) fail("fewer input tensors than the graph has inputs");
    const Value& v = value(input.value);
    const Tensor& tensor = request.inputs[next];
    if (v.name != request.input_names[next]) fail("input names are not those of the graph");
    if (v.kind == ValueKind::tensor && (tensor.dtype() != v.dtype || tensor.shape() != v.shape)) {
      fail(fmt::format("input '{}' is {}{}, the graph declares {}{}", v.name, name_of(tensor.dtype()),
                       to_string(tensor.shape()), name_of(v.dtype), to_string(v.shape)));
    }
    inputs_.emplace_back(input.value, tensor);
    ++next;
  }
  if (next != request.inputs.size()) fail("more input tensors than the graph has inputs");

  for (const Value& v : graph_.values) declared_shapes_.push_back(v.shape);
  for (const Node& node : graph_.nodes) uninitialised_ |= node.op.starts_with("aten::empty");
  slots_.resize(graph_.values.size());
  outcomes_.resize(graph_.nodes.size());
  last_use_.assign(graph_.values.size(), -1);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    for (const ValueId id : graph_.nodes[i].outputs) {
      if (id >= 0) last_use_.at(static_cast<std::size_t>(id)) = static_cast<int>(i);
    }
    for (const ValueId id : inputs_of(graph_.nodes[i]))
      last_use_.at(static_cast<std::size_t>(id)) = static_cast<int>(i);
  }
  const int forever = static_cast<int>(graph_.nodes.size());
  for (const auto& [id, tensor] : inputs_) last_use_.at(static_cast<std::size_t>(id)) = forever;
  for (const GraphOutput& output : graph_.outputs) {
    if (output.value >= 0) last_use_.at(static_cast<std::size_t>(output.value)) = forever;
  }
}

// --- planning
// --------------------------------------------------------------------------------------------------

std::shared_ptr<NodeHandle> DeviceRun::make_handle(int i, const HostScalars& scalars) {
  const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
  // An earlier pass may have found out sizes that depend on data; they are the backend's to find again.
  for (const ValueId id : node.outputs) {
    if (id >= 0)
      graph_.values[static_cast<std::size_t>(id)].shape = declared_shapes_[static_cast<std::size_t>(id)];
  }
  return std::make_shared<NodeHandle>(graph_, scalars.resolve(node));
}

std::string DeviceRun::unsupported_operators() const {
  std::map<std::string, std::string> missing;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (plan_[i].kind != Kind::tensor || plan_[i].support.supported) continue;
    missing.emplace(graph_.nodes[i].op, plan_[i].dynamic ? "depends on data" : plan_[i].support.message);
  }
  std::string text;
  for (const auto& [op, message] : missing) {
    text += (text.empty() ? "" : "; ") + op + (message.empty() ? "" : " (" + message + ")");
  }
  return text;
}

void DeviceRun::plan() {
  for (const auto& [id, tensor] : inputs_) {
    if (value(id).kind != ValueKind::tensor) scalars_.set(id, tensor);
  }
  std::vector<bool> depends_on_data(graph_.values.size(), false);
  plan_.resize(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    PlannedNode& planned = plan_[i];
    current_ = static_cast<int>(i);
    planned.metadata = is_metadata_op(node.op);
    if (is_host_scalar_node(graph_, node)) {
      planned.kind = Kind::host_scalar;
      try {
        scalars_.evaluate(node,
                          [](ValueId) -> Tensor { throw Error(ErrorCode::unsupported, "depends on data"); });
      } catch (const Error&) {
        planned.dynamic = true;
        for (const ValueId id : node.outputs) {
          if (id >= 0) depends_on_data[static_cast<std::size_t>(id)] = true;
        }
      }
      continue;
    }
    if (is_assertion_node(node)) {
      planned.kind = Kind::assertion;
      continue;
    }
    for (const ValueId id : inputs_of(node))
      planned.dynamic |= depends_on_data.at(static_cast<std::size_t>(id));
    if (!planned.dynamic) {
      auto handle = make_handle(current_, scalars_);
      planned.dynamic = has_unknown_size(handle->inputs()) || has_unknown_size(handle->outputs());
      if (!planned.dynamic) {
        progress_("prepare", current_);
        planned.support = device_.supports(*handle);
        planned.cost = cost_of(handle->node());
        planned.handle = std::move(handle);
      }
    }
    if (planned.dynamic) {
      for (const ValueId id : node.outputs) {
        if (id >= 0) depends_on_data[static_cast<std::size_t>(id)] = true;
      }
    }
  }
  current_ = -1;
}

void DeviceRun::upload_inputs() {
  for (const auto& [id, tensor] : inputs_) {
    if (value(id).kind != ValueKind::tensor) continue;
    slot(id).device = device_.upload(tensor, rank(id));
    slot(id).host = tensor;
  }
}

void DeviceRun::load() {
  Stopwatch watch;
  watch.start();
  progress_("prepare", -1);
  plan();
  if (!request_.fallback) {
    for (const PlannedNode& planned : plan_) {
      if (planned.handle == nullptr || planned.support.supported) continue;
      throw RunFailure{Status::unsupported, planned.support.reason,
                       "not supported by the device: " + unsupported_operators()};
    }
  }
  upload_inputs();
  watch.stop();
  result_.phases.prepare_s = watch.seconds();
  prepare_pass();
}

// --- running
// ---------------------------------------------------------------------------------------------------

double DeviceRun::simulated_seconds() {
  if (!device_.info().simulated) return 0;
  const auto totals = device_.totals();
  return totals ? totals->device_seconds : 0;
}

void DeviceRun::pause() {
  stopwatch_.stop();
  paused_at_s_ = simulated_seconds();
}

void DeviceRun::go_on() {
  aside_s_ += simulated_seconds() - paused_at_s_;
  stopwatch_.start();
}

DeviceRun::Pass DeviceRun::pass(bool first) {
  ledger_ = Ledger();
  stopwatch_ = Stopwatch();
  aside_s_ = 0;
  asked_ = 0;
  std::vector<bool> is_input(slots_.size(), false);
  for (const auto& [id, tensor] : inputs_) is_input[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!is_input[i]) slots_[i] = Slot{};
  }
  stopwatch_.start();
  execute_pass(first);
  stopwatch_.stop();
  current_ = -1;
  return {stopwatch_.seconds(), aside_s_, ledger_};
}

void DeviceRun::note_host(const std::string& name, const std::string& op, const std::string& reason,
                          double seconds, int64_t bytes) {
  if (host_spans_ == nullptr) return;
  host_spans_->push_back({name, op, reason, simulated_seconds() - watched_from_s_, seconds, bytes});
}

std::vector<HostSpan> DeviceRun::watched_pass() {
  std::vector<HostSpan> spans;
  watched_from_s_ = simulated_seconds();
  host_spans_ = &spans;
  try {
    pass(false);
  } catch (...) {
    host_spans_ = nullptr;
    throw;
  }
  host_spans_ = nullptr;
  return spans;
}

std::vector<Tensor> DeviceRun::read_outputs() {
  std::vector<Tensor> outputs;
  for (const GraphOutput& output : graph_.outputs) {
    if (output.value < 0) {
      outputs.emplace_back();
    } else if (value(output.value).kind != ValueKind::tensor) {
      outputs.push_back(scalars_.as_tensor(output.value));
    } else {
      const Slot& s = slot(output.value);
      // From the device if it is there: an output that is an input must come back from it, too.
      outputs.push_back(s.device ? s.device->read({value(output.value).dtype, value(output.value).shape})
                                 : on_host(output.value));
    }
  }
  return outputs;
}

void DeviceRun::compare_inputs() {
  for (const auto& [id, tensor] : inputs_) {
    if (value(id).kind != ValueKind::tensor || !result_.guard_violation.empty()) continue;
    const Tensor now = slot(id).device->read({tensor.dtype(), tensor.shape()});
    if (!now.bitwise_equal(tensor))
      result_.guard_violation = "the input '" + value(id).name + "' was modified";
  }
}

void DeviceRun::fail(Status status, const std::string& reason, const std::string& detail) {
  result_.failure = status;
  result_.reason = reason;
  result_.detail = detail;
}

RunResult DeviceRun::run() {
  try {
    // Backends may compile when they are asked whether they support a node, which is before the first pass.
    const auto unplanned = device_.totals();
    load();
    const auto before = device_.totals();
    device_.take_misses();
    const Pass first = pass(true);
    const auto after = device_.totals();
    if (request_.mode == "eager") result_.compiles.misses = device_.take_misses();
    result_.fallbacks = first.ledger.fallbacks();
    result_.residency = first.ledger.residency();
    double compile_s = 0;
    int64_t counted = 0;
    bool counts = false;
    if (unplanned && before && after) {
      compile_s = after->compile_seconds - before->compile_seconds;
      if (request_.mode == "eager") {
        result_.compiles.count = static_cast<int64_t>(after->compiles - before->compiles);
        result_.compiles.hits_memory = static_cast<int64_t>(after->memory_hits - before->memory_hits);
        result_.compiles.hits_disk = static_cast<int64_t>(after->disk_hits - before->disk_hits);
        // What was read from disk beside compiled nodes cannot be told apart and counts as compiling.
        const double spent_s = after->compile_seconds - unplanned->compile_seconds;
        if (result_.compiles.count > 0) {
          result_.phases.compile_cold_s = spent_s;
        } else if (result_.compiles.hits_disk > 0) {
          result_.phases.compile_disk_warm_s = spent_s;
        }
      }
      if (device_.info().simulated) {
        result_.device = difference(*after, *before);
        // The device waits for the host meanwhile.
        result_.device->seconds += first.ledger.fallback_seconds() - first.aside_s;
      }
      counted = static_cast<int64_t>(after->nodes_executed - before->nodes_executed);
      counts = after->nodes_executed != 0;
    }
    const int64_t asked = asked_;
    result_.phases.first_run_s = std::max(0.0, first.seconds - compile_s);
    result_.outputs = read_outputs();
    compare_inputs();
    if (mutant_ != nullptr && mutant_->effect == Effect::result && !*result_.mutant_changed) {
      fail(Status::skip_policy, "mutant_not_applicable",
           fmt::format("the defect {} changes no bit of this case", mutant_->name));
    }
    if (!result_.failure) {
      // Where the harness computed everything there is nothing of the device's to repeat.
      const bool host_only = asked == 0 && !result_.fallbacks.empty();
      for (int i = 0; i < request_.repeats && !host_only; ++i) {
        progress_("repeat", -1);
        result_.phases.steady_s.push_back(pass(false).seconds);
        if (!device_.info().deterministic || uninitialised_) continue;
        const std::vector<Tensor> again = read_outputs();
        bool equal = true;
        for (std::size_t k = 0; k < again.size(); ++k) {
          equal = equal && (!again[k].defined() || again[k].bitwise_equal(result_.outputs[k]));
        }
        result_.repeatable = result_.repeatable.value_or(true) && equal;
      }
      finish(result_);
    }
    // A compiled graph may execute fewer nodes than it has, but not none.
    const bool miscounted = request_.mode == "eager" ? counted != asked : counted == 0 && asked > 0;
    if (!result_.failure && counts && miscounted) {
      fail(Status::vacuous, "miscounted",
           fmt::format("the device counts {} executed nodes, but {} were asked of it", counted, asked));
    }
  } catch (const RunFailure& failure) {
    fail(failure.status, failure.reason, failure.detail);
  } catch (const PluginError& error) {
    set_failure(error, request_.negative, result_);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    // The reference refuses what the device does not take either: the same answer as a refusal by the device.
    if (request_.negative) {
      fail(Status::rejected_bad_input, "refused", error.what());
    } else {
      fail(Status::unsupported, "operator",
           std::string("neither the device nor the harness can run this: ") + error.what());
    }
  }
  if (result_.failure && current_ >= 0)
    result_.failed_node = graph_.nodes[static_cast<std::size_t>(current_)].name;
  if (result_.failure) {
    result_.outputs.assign(graph_.outputs.size(), Tensor());
    for (NodeOutcome& outcome : outcomes_) {
      outcome.local.clear();
      outcome.free.clear();
    }
  }
  result_.nodes = std::move(outcomes_);
  return std::move(result_);
}

}  // namespace assay
