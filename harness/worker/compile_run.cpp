#include "harness/worker/compile_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "core/graph/json.h"

namespace assay {
namespace {

void add(std::optional<double>& sum, double seconds) { sum = sum.value_or(0) + seconds; }

}  // namespace

// Consecutive nodes that the device supports; host scalars that depend on no data and assertions break
// nothing.
void CompileRun::partition() {
  part_of_.assign(plan_.size(), -1);
  bool open = false;
  for (std::size_t n = 0; n < plan_.size(); ++n) {
    const PlannedNode& planned = plan_[n];
    if (planned.kind == Kind::assertion || (planned.kind == Kind::host_scalar && !planned.dynamic)) continue;
    const bool compiled = planned.kind == Kind::tensor && !planned.dynamic && planned.support.supported;
    if (!compiled) {
      open = false;
      continue;
    }
    if (!open) parts_.emplace_back();
    open = true;
    parts_.back().nodes.push_back(static_cast<int>(n));
    part_of_[n] = static_cast<int>(parts_.size()) - 1;
  }
}

std::string CompileRun::graph_of(Part& part) const {
  const std::set<int> members(part.nodes.begin(), part.nodes.end());
  std::set<ValueId> needed_outside;
  for (const GraphOutput& output : graph_.outputs) needed_outside.insert(output.value);
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    // What only an assertion about its metadata reads is no result.
    if (members.count(static_cast<int>(n)) != 0 || is_assertion_node(graph_.nodes[n])) continue;
    for (const ValueId id : inputs_of(graph_.nodes[n])) needed_outside.insert(id);
  }

  Graph sub;
  sub.id = request_.case_id;
  std::map<ValueId, ValueId> numbers;
  const auto copy_value = [&](ValueId id, int producer) {
    Value v = value(id);
    v.producer = producer;
    numbers[id] = static_cast<ValueId>(sub.values.size());
    sub.values.push_back(std::move(v));
    return numbers[id];
  };
  // Inputs in the graph's own order first (parameters keep their names and kinds), then values of earlier
  // parts.
  std::set<ValueId> read;
  for (const int n : part.nodes) {
    for (const ValueId id : inputs_of(graph_.nodes[static_cast<std::size_t>(n)])) {
      if (value(id).kind == ValueKind::tensor) read.insert(id);
    }
  }
  for (const GraphInput& input : graph_.inputs) {
    if (input.value < 0 || read.count(input.value) == 0) continue;
    GraphInput copy = input;
    copy.value = copy_value(input.value, -1);
    part.inputs.push_back(input.value);
    sub.inputs.push_back(std::move(copy));
  }
  for (const ValueId id : read) {
    const int producer = value(id).producer;
    if (numbers.count(id) != 0 || members.count(producer) != 0) continue;
    GraphInput input;
    input.value = copy_value(id, -1);
    input.target = value(id).name;
    part.inputs.push_back(id);
    sub.inputs.push_back(std::move(input));
  }
  for (const int n : part.nodes) {
    Node node = scalars_.resolve(graph_.nodes[static_cast<std::size_t>(n)]);
    for (NamedArgument& argument : node.arguments) {
      if (auto* single = std::get_if<ValueArg>(&argument.value)) single->id = numbers.at(single->id);
      if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
        for (ValueId& id : list->ids) id = id < 0 ? -1 : numbers.at(id);
      }
    }
    const int index = static_cast<int>(sub.nodes.size());
    for (ValueId& id : node.outputs) {
      if (id < 0) continue;
      const ValueId old = id;
      id = copy_value(old, index);
      if (needed_outside.count(old) == 0) continue;
      part.outputs.push_back(old);
      GraphOutput output;
      output.value = id;
      sub.outputs.push_back(std::move(output));
    }
    sub.nodes.push_back(std::move(node));
  }
  return graph_to_json(sub);
}

void CompileRun::compile(Part& part) {
  const std::string json = graph_of(part);
  current_ = part.nodes.front();
  progress_("compile", current_);
  Stopwatch watch;
  watch.start();
  part.executable = device_.compile(json);
  watch.stop();
  progress_("prepare", current_);
  Compiles& compiles = result_.compiles;
  switch (part.executable->cache_hit) {
    case ASSAY_CACHE_MISS:
      add(result_.phases.compile_cold_s, watch.seconds());
      ++compiles.count;
      if (!part.executable->miss_reason.empty()) compiles.misses.push_back(part.executable->miss_reason);
      break;
    case ASSAY_CACHE_DISK:
      add(result_.phases.compile_disk_warm_s, watch.seconds());
      ++compiles.hits_disk;
      break;
    case ASSAY_CACHE_MEMORY:
      add(result_.phases.compile_memory_warm_s, watch.seconds());
      ++compiles.hits_memory;
      break;
  }
  current_ = -1;
}

void CompileRun::prepare_pass() {
  if (!device_.info().compile) {
    throw RunFailure{Status::unsupported, "no_compile_mode", device_.info().name + " has no compile mode"};
  }
  if (request_.fullgraph) {
    const std::string missing = unsupported_operators();
    if (!missing.empty()) {
      throw RunFailure{Status::compile_error, "graph_break",
                       "--fullgraph, and the device does not run: " + missing};
    }
  }
  partition();
  for (Part& part : parts_) compile(part);
}

void CompileRun::run_part(Part& part, bool poison) {
  std::vector<BufferPtr> inputs;
  for (const ValueId id : part.inputs) inputs.push_back(on_device(id));
  std::vector<TensorMeta> metas;
  for (const ValueId id : part.outputs) metas.push_back({value(id).dtype, value(id).shape});
  std::vector<BufferPtr> outputs = create_outputs(metas, part.outputs);
  if (poison) {
    pause();
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k]->fill(metas[k], kPoison);
    go_on();
  }
  asked_ += static_cast<int64_t>(part.nodes.size());
  device_.execute(*part.executable, inputs, outputs);
  for (std::size_t k = 0; k < outputs.size(); ++k) slot(part.outputs[k]) = Slot{outputs[k], Tensor(), "", ""};
  for (const int n : part.nodes) {
    const PlannedNode& planned = plan_[static_cast<std::size_t>(n)];
    NodeOutcome& outcome = outcomes_[static_cast<std::size_t>(n)];
    if (planned.metadata) {
      ledger_.metadata_node();
      outcome.placement = Placement::metadata;
    } else {
      ledger_.device_node(planned.cost);
      outcome.placement = planned.support.native == 2 ? Placement::device_soft : Placement::device;
    }
  }
}

void CompileRun::execute_pass(bool first) {
  for (std::size_t n = 0; n < plan_.size(); ++n) {
    const int i = static_cast<int>(n);
    PlannedNode& planned = plan_[n];
    if (planned.kind == Kind::host_scalar) {
      host_scalar(i, scalars_);
      outcomes_[n].placement = Placement::host_scalar;
    } else if (planned.kind == Kind::assertion) {
      ledger_.metadata_node();
      outcomes_[n].placement = Placement::metadata;
    } else if (part_of_[n] >= 0) {
      Part& part = parts_[static_cast<std::size_t>(part_of_[n])];
      if (part.nodes.front() == i) {
        current_ = i;
        if (first) progress_("free", i);
        run_part(part, first);
      }
      // Buffers of a part are kept until its last node, which is when its inputs may go.
      if (part.nodes.back() == i) {
        for (const int member : part.nodes) release_after(member);
      }
    } else {
      current_ = i;
      if (first) progress_("free", i);
      auto handle = planned.handle ? planned.handle : make_handle(i, scalars_);
      if (planned.dynamic) planned.support = {false, 0, "dynamic_shape", "the result depends on data"};
      if (planned.dynamic && !request_.fallback) {
        throw RunFailure{Status::unsupported, "dynamic_shape",
                         "not supported by the device: " + unsupported_operators()};
      }
      run_on_host(i, handle->node(), planned.support);
      outcomes_[n].placement = Placement::fallback;
      outcomes_[n].reason = planned.support.reason;
      release_after(i);
    }
  }
  current_ = -1;
}

void CompileRun::finish(RunResult& result) {
  // Poisoned outputs of the first execution that came back as they were. Later executions were not poisoned.
  for (std::size_t o = 0; o < result.outputs.size(); ++o) {
    const Tensor& tensor = result.outputs[o];
    if (!tensor.defined() || graph_.outputs[o].value < 0) continue;
    const int producer = value(graph_.outputs[o].value).producer;
    if (producer < 0 || part_of_[static_cast<std::size_t>(producer)] < 0) continue;
    const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.data());
    const bool stale = tensor.bytes() >= 16 && std::all_of(bytes, bytes + tensor.bytes(),
                                                           [](uint8_t byte) { return byte == kPoison; });
    if (!stale) continue;
    result.failure = Status::vacuous;
    result.reason = "stale_output";
    result.detail = fmt::format("output {} holds what was in its buffer before", o);
    return;
  }
}

}  // namespace assay
