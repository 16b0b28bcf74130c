#include "backend/profile/recorder.h"

#include <algorithm>
#include <set>
#include <utility>

#include "backend/isa/rules.h"
#include "backend/profile/occupancy.h"
#include "backend/simulator/timing/transfer.h"

namespace assay::backend {
namespace {

constexpr int kHost = 1, kCore = 2;  // the second core's process comes after the first's
constexpr TraceWriter::Track kHostThread{kHost, 1}, kCollectives{kCore, 100};

TraceWriter::Track track_of(const TimingEvent& event) {
  const bool ring = event.kind == EventKind::transfer;
  const int a_core = ring ? kDmaQueues : kEngines;
  return {kCore + event.track / a_core, (ring ? 10 : 1) + event.track % a_core};
}

std::string label(const Instruction& i) {
  switch (i.opcode) {
    case Opcode::activation:
      return "activation " + std::string(name_of(i.function));
    case Opcode::gpsimd:
      return std::string(name_of(i.routine));
    case Opcode::tensor_tensor:
    case Opcode::tensor_scalar:
    case Opcode::tensor_reduce:
      return std::string(name_of(i.opcode)) + " " + std::string(name_of(i.op0));
    default:
      return std::string(name_of(i.opcode));
  }
}

// Products count two for each multiply-accumulate, what other engines compute one for each element that goes
// in or comes out, whichever are more.
double flops_of(const Program& program, const Instruction& i) {
  if (is_dma(i.opcode) || i.operand_count == 0 || i.opcode == Opcode::nc_transpose) return 0;
  const AccessPattern& dst = operand(program, i, 0);
  if (i.opcode == Opcode::nc_matmul) {
    return 2.0 * static_cast<double>(operand(program, i, 1).partitions * dst.elements());
  }
  const AccessPattern& src = operand(program, i, 1);
  return static_cast<double>(std::max(dst.elements(), src.defined() ? src.elements() : 0));
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

Recorder::Recorder(const CoreDescription& core, int cores, int64_t max_events)
    : core_(core), cores_(cores), max_events_(max_events), clock_(core, {.active_cores = 1, .events = true}) {
  write_names();
}

void Recorder::write_names() {
  trace_.name_process(kHost, "host");
  trace_.name_track(kHostThread, "host thread", 0);
  for (int c = 0; c < cores_; ++c) {
    const int core = kCore + c;
    trace_.name_process(core, std::string(core_.core_version) +
                                  (cores_ > 1 ? " core " + std::to_string(c) : "") + " (" + core_.name +
                                  ", simulated)");
    for (int e = 0; e < kEngines; ++e) {
      trace_.name_track({core, 1 + e}, std::string(name_of(static_cast<Engine>(e))) + " engine", e);
    }
    for (int q = 0; q < kDmaQueues; ++q)
      trace_.name_track({core, 10 + q}, "DMA " + stream_name(kEngines + q), 10 + q);
  }
}

void Recorder::launch(const Program& program, const ProfiledNodes& nodes, uint64_t device_bytes) {
  if (program.instructions.empty()) return;
  const TimingResult timing = clock_.time(program);
  const double launch_s = core_.launch_us * 1e-6;
  const bool single = nodes.names.size() == 1;
  const std::string name(single ? nodes.name(0) : "graph");
  trace_.slice(kHostThread, "launch " + name, "launch", now_s_, now_s_ + launch_s,
               JsonMembers()
                   .add("node", single ? name : "")
                   .add("nodes", static_cast<int64_t>(nodes.names.size()))
                   .add("instructions", static_cast<int64_t>(program.instructions.size())));
  const double start = now_s_ + launch_s;
  trace_.counter(kCore, "HBM in use", start, "bytes",
                 static_cast<double>(device_bytes) + static_cast<double>(program.scratch_bytes()));
  if (trace_.events() + static_cast<int64_t>(2 * timing.events.size()) <= max_events_) {
    write_run(program, nodes, timing, start);
    write_occupancy(program, timing, start);
  } else {
    ++launches_not_shown_;
    trace_.slice({kCore, 1 + static_cast<int>(Engine::sync)}, "run (instructions not shown)", "run", start,
                 start + timing.seconds,
                 JsonMembers().add("instructions", static_cast<int64_t>(program.instructions.size())));
  }
  now_s_ = start + timing.seconds;
  trace_.counter(kCore, "HBM in use", now_s_, "bytes", static_cast<double>(device_bytes));

  ++launches_;
  launch_s_ += launch_s;
  attribute(program, nodes, timing);
  add_active(program, nodes, timing);
  add_work(program);
  sum_.seconds += timing.seconds;
  sum_.cycles += timing.cycles;
  sum_.instructions += timing.instructions;
  for (std::size_t k = 0; k < kOpcodes; ++k) sum_.by_opcode[k] += timing.by_opcode[k];
  for (std::size_t e = 0; e < sum_.engines.size(); ++e) {
    sum_.engines[e].active_s += timing.engines[e].active_s;
    sum_.engines[e].waiting_s += timing.engines[e].waiting_s;
    sum_.engines[e].contended_s += timing.engines[e].contended_s;
    sum_.engines[e].instructions += timing.engines[e].instructions;
  }
  for (std::size_t q = 0; q < sum_.dma_engines.size(); ++q) {
    sum_.dma_engines[q].active_s += timing.dma_engines[q].active_s;
    sum_.dma_engines[q].bytes += timing.dma_engines[q].bytes;
  }
  sum_.dma_active_s += timing.dma_active_s;
  for (std::size_t k = 0; k < sum_.hbm_read.size(); ++k) {
    sum_.hbm_read[k] += timing.hbm_read[k];
    sum_.hbm_written[k] += timing.hbm_written[k];
  }
  sum_.on_chip_bytes += timing.on_chip_bytes;
  sum_.transfers += timing.transfers;
  sum_.descriptors += timing.descriptors;
  sum_.macs += timing.macs;
  sum_.transpose_macs += timing.transpose_macs;
  for (std::size_t k = 0; k < kPathParts; ++k) sum_.critical_path_s[k] += timing.critical_path_s[k];
  const std::size_t semaphores = timing.semaphore_stream.size();
  for (std::size_t e = 0; e < timing.engines.size(); ++e) {
    for (std::size_t s = 0; s < semaphores; ++s) {
      const double seconds = timing.waiting_s[e * semaphores + s];
      if (seconds > 0) {
        waiting_[stream_name(static_cast<int>(e / kEngines * kStreams + e % kEngines)) + " for " +
                 stream_name(timing.semaphore_stream[s])] += seconds;
      }
    }
  }
}

// A track's slices must not overlap: packets of a ring's next transfer may start on one DMA engine before
// those of the last have ended on another.
void Recorder::write_run(const Program& program, const ProfiledNodes& nodes, const TimingResult& timing,
                         double start_s) {
  std::vector<double> starts(timing.events.size());
  std::map<std::pair<int, int>, double> ends;
  for (std::size_t k = 0; k < timing.events.size(); ++k) {
    const TimingEvent& e = timing.events[k];
    const TraceWriter::Track track = track_of(e);
    double& end = ends[{track.process, track.thread}];
    starts[k] = std::max(e.start_s, std::min(end, e.end_s));
    end = std::max(end, e.end_s);
  }
  for (std::size_t k = 0; k < timing.events.size(); ++k) {
    const TimingEvent& e = timing.events[k];
    const Instruction& i = program.instructions[e.instruction];
    JsonMembers arguments;
    arguments.add("node", nodes.name(i.node));
    if (const std::string_view source = nodes.source(i.node); !source.empty())
      arguments.add("source", source);
    arguments.add("instruction", static_cast<int64_t>(e.instruction));
    const double start = start_s + starts[k], end = start_s + e.end_s;
    if (e.kind == EventKind::wait) {
      const std::string raiser = stream_name(timing.semaphore_stream[static_cast<std::size_t>(e.semaphore)]);
      arguments.add("semaphore", int64_t{e.semaphore}).add("raised_by", raiser);
      trace_.slice(track_of(e), "wait for " + raiser, "semaphore", start, end, arguments);
    } else {
      if (e.kind == EventKind::transfer) {
        const Transfer t = transfer_of(program, i, core_);
        arguments.add("bytes", t.bytes)
            .add("descriptors", t.descriptors)
            .add("dma_engines", int64_t{t.engines});
      }
      if (i.operand_count > 0) {
        arguments.add("dst", to_string(operand(program, i, 0)));
        if (i.operand_count > 1) arguments.add("src", to_string(operand(program, i, 1)));
      }
      const bool trigger = e.kind == EventKind::execute && is_dma(i.opcode);
      trace_.slice(track_of(e), (trigger ? "trigger " : "") + label(i),
                   e.kind == EventKind::transfer ? "dma"
                   : trigger                     ? "trigger"
                                                 : "instruction",
                   start, end, arguments);
    }
    if (e.cause < 0 || e.kind == EventKind::wait) continue;
    const TimingEvent& cause = timing.events[static_cast<std::size_t>(e.cause)];
    constexpr double kInside = 1e-12;
    trace_.flow(track_of(cause),
                start_s + std::max(starts[static_cast<std::size_t>(e.cause)], cause.end_s - kInside),
                track_of(e), start,
                e.kind == EventKind::transfer ? "dma" : "semaphore " + std::to_string(cause.semaphore));
  }
}

void Recorder::write_occupancy(const Program& program, const TimingResult& timing, double start_s) {
  for (int c = 0; c < program.cores; ++c) {
    const Occupancy occupancy = occupancy_of(program, core_, c, timing);
    for (const OccupancySample& s : occupancy.sbuf_bytes) {
      trace_.counter(kCore + c, "SBUF in use (a partition)", start_s + s.at_s, "bytes",
                     static_cast<double>(s.value));
    }
    for (const OccupancySample& s : occupancy.psum_banks) {
      trace_.counter(kCore + c, "PSUM in use", start_s + s.at_s, "banks", static_cast<double>(s.value));
    }
  }
}

void Recorder::attribute(const Program& program, const ProfiledNodes& nodes, const TimingResult& timing) {
  std::set<NodeTotals*> seen;
  const auto totals = [&](const Instruction* i) -> NodeTotals& {
    NodeTotals& node = nodes_[std::string(i == nullptr ? "" : nodes.name(i->node))];
    if (i != nullptr && node.source.empty()) node.source = nodes.source(i->node);
    if (seen.insert(&node).second) ++node.launches;
    return node;
  };
  for (const PathStep& step : timing.path) {
    const auto cause = static_cast<std::size_t>(cause_of(program, step, core_));
    causes_[cause] += step.seconds;
    NodeTotals& node = totals(
        step.instruction < program.instructions.size() ? &program.instructions[step.instruction] : nullptr);
    node.seconds += step.seconds;
    node.causes[cause] += step.seconds;
  }
  for (const Instruction& i : program.instructions) {
    if (i.node < 0) continue;
    NodeTotals& node = totals(&i);
    node.flops += flops_of(program, i);
    if (is_dma(i.opcode)) {
      const Transfer t = transfer_of(program, i, core_);
      node.bytes += static_cast<double>(t.hbm_read + t.hbm_written);
      if (t.transposes) transposed_bytes_ += static_cast<uint64_t>(t.bytes);
    }
  }
}

// The time that is covered by what each node executes and moves: others may run at the same time.
void Recorder::add_active(const Program& program, const ProfiledNodes& nodes, const TimingResult& timing) {
  std::map<double*, std::vector<std::pair<double, double>>> runs;  // by the sum that they go into
  for (const TimingEvent& e : timing.events) {
    if (e.kind == EventKind::wait) continue;
    const Instruction& i = program.instructions[e.instruction];
    runs[&core_active_s_[i.core]].emplace_back(e.start_s, e.end_s);
    if (i.node >= 0) runs[&nodes_[std::string(nodes.name(i.node))].active_s].emplace_back(e.start_s, e.end_s);
  }
  for (auto& [active_s, stretches] : runs) {
    std::sort(stretches.begin(), stretches.end());
    double until = 0;
    for (const auto& [start, end] : stretches) {
      *active_s += std::max(0.0, end - std::max(start, until));
      until = std::max(until, end);
    }
  }
}

// Bytes that go in and out of SBUF and PSUM; products by the passes that they take.
void Recorder::add_work(const Program& program) {
  for (const Instruction& i : program.instructions) {
    const auto operands = program.operands_of(i);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const AccessPattern& a = operands[k];
      const auto bytes = static_cast<uint64_t>(a.elements()) * size_of(a.dtype);
      const bool write = k == 0;
      if (a.space == Space::sbuf) (write ? sbuf_written_ : sbuf_read_) += bytes;
      if (a.space == Space::psum) (write ? psum_written_ : psum_read_) += bytes;
    }
    if (i.opcode == Opcode::nc_matmul) {
      const bool fp32 = operand(program, i, 2).dtype == DType::f32;
      adjusted_macs_ +=
          static_cast<double>(operand(program, i, 1).partitions * operand(program, i, 0).elements()) *
          (fp32 ? core_.fp32_matmul_slowdown.value : 1);
    }
  }
}

void Recorder::copy(bool to_device, uint64_t bytes, double seconds) {
  trace_.slice(kHostThread, to_device ? "copy to device" : "copy to host", "copy", now_s_, now_s_ + seconds,
               JsonMembers().add("bytes", static_cast<int64_t>(bytes)));
  now_s_ += seconds;
  copy_s_ += seconds;
  copied_bytes_ += bytes;
  ++copies_;
}

void Recorder::collective(std::string_view name, uint64_t bytes, double wait_s, double seconds) {
  if (collectives_++ == 0) trace_.name_track(kCollectives, "collectives", 90);
  if (wait_s > 0) {
    trace_.slice(kCollectives, "wait for other ranks", "collective", now_s_, now_s_ + wait_s, JsonMembers());
    now_s_ += wait_s;
    collective_wait_s_ += wait_s;
  }
  trace_.slice(kCollectives, name, "collective", now_s_, now_s_ + seconds,
               JsonMembers().add("bytes", static_cast<int64_t>(bytes)));
  now_s_ += seconds;
  collective_s_ += seconds;
  NodeTotals& node = nodes_[std::string(name)];
  node.seconds += wait_s + seconds;
  node.collective_s += wait_s + seconds;
  collective_bytes_ += bytes;
}

std::string Recorder::summary() const {
  const auto sum = [](const auto& list) {
    double out = 0;
    for (const auto x : list) out += static_cast<double>(x);
    return out;
  };
  constexpr auto kScratch = static_cast<std::size_t>(HbmKind::scratch);
  // bf16: a multiply-accumulate a cycle in each cell of the array.
  const double peak =
      2.0 * cores_ * core_.max_contraction * core_.max_stationary_free * core_.tensor_ghz * 1e9;
  const double bandwidth =
      cores_ * chip(core_.generation).hbm_bytes_per_ns * 1e9 / chip(core_.generation).cores;
  const double transpose_flops = 2.0 * static_cast<double>(sum_.transpose_macs);
  const double model_flops = 2.0 * static_cast<double>(sum_.macs);
  const double hbm_read = sum(sum_.hbm_read), hbm_written = sum(sum_.hbm_written);
  const double moved = hbm_read + hbm_written;
  double dma_bytes = 0, busiest = 0;
  for (const DmaEngineTiming& e : sum_.dma_engines) {
    dma_bytes += static_cast<double>(e.bytes);
    busiest = std::max(busiest, e.active_s);
  }
  JsonMembers fields;
  const auto field = [&](std::string_view name, double value) { fields.add(name, value); };
  field("total_time", now_s_);
  field("total_exec_time", sum_.seconds);
  field("neuroncore_cycle_count", static_cast<double>(sum_.cycles));
  field("instruction_count", static_cast<double>(sum_.instructions));
  double any = 0;
  for (std::size_t e = 0; e < kEngines; ++e) {
    const std::string name = std::string(name_of(static_cast<Engine>(e))) + "_engine_";
    EngineTiming t = sum_.engines[e];
    any = std::max({any, t.active_s, sum_.engines[kEngines + e].active_s});
    if (cores_ > 1) {  // both engines of the name, as a mean of their times
      const EngineTiming& second = sum_.engines[kEngines + e];
      t.active_s = (t.active_s + second.active_s) / cores_;
      t.waiting_s = (t.waiting_s + second.waiting_s) / cores_;
      t.contended_s = (t.contended_s + second.contended_s) / cores_;
      t.instructions += second.instructions;
    }
    field(name + "active_time", t.active_s);
    field(name + "active_time_percent", percent(t.active_s, now_s_));
    field(name + "instruction_time", t.active_s + t.waiting_s + t.contended_s);
    field(name + "instruction_count", static_cast<double>(t.instructions));
  }
  field("busiest_engine_active_time_percent", percent(any, now_s_));
  field("matmul_instruction_count",
        static_cast<double>(sum_.by_opcode[static_cast<std::size_t>(Opcode::nc_matmul)]));
  field("model_flops", model_flops);
  field("transpose_flops", transpose_flops);
  field("hardware_flops", model_flops + transpose_flops);
  field("adjusted_hardware_flops", 2 * adjusted_macs_ + transpose_flops);
  field("peak_flops", peak);
  field("mm_arithmetic_intensity", moved > 0 ? model_flops / moved : 0);
  field("peak_flops_bandwidth_ratio", peak / bandwidth);
  field("mfu_estimated_percent", percent(model_flops, peak * now_s_));
  field("hfu_estimated_percent", percent(model_flops + transpose_flops, peak * now_s_));
  field("mbu_estimated_percent", percent(moved, bandwidth * now_s_));
  field("hbm_bandwidth", bandwidth);
  field("hbm_read_bytes", hbm_read);
  field("hbm_write_bytes", hbm_written);
  field("sbuf_read_bytes", static_cast<double>(sbuf_read_));
  field("sbuf_write_bytes", static_cast<double>(sbuf_written_));
  field("psum_read_bytes", static_cast<double>(psum_read_));
  field("psum_write_bytes", static_cast<double>(psum_written_));
  field("spill_save_bytes", static_cast<double>(sum_.hbm_written[kScratch]));
  field("spill_reload_bytes", static_cast<double>(sum_.hbm_read[kScratch]));
  field("dma_active_time", sum_.dma_active_s / cores_);
  field("dma_active_time_percent", percent(sum_.dma_active_s, cores_ * now_s_));
  field("physical_core_count", cores_);
  for (int c = 0; cores_ > 1 && c < cores_; ++c) {
    const double active_s = core_active_s_[static_cast<std::size_t>(c)];
    const std::string name = "core_" + std::to_string(c) + "_";
    field(name + "active_time", active_s);
    field(name + "idle_time", sum_.seconds - active_s);
  }
  field("dma_transfer_count", static_cast<double>(sum_.transfers));
  field("dma_transfer_total_bytes", dma_bytes);
  field("dma_transfer_average_bytes",
        sum_.transfers > 0 ? dma_bytes / static_cast<double>(sum_.transfers) : 0);
  field("dma_packet_count", static_cast<double>(sum_.descriptors));
  field("dma_packet_average_bytes",
        sum_.descriptors > 0 ? dma_bytes / static_cast<double>(sum_.descriptors) : 0);
  field("dma_transposed_bytes", static_cast<double>(transposed_bytes_));
  double dma_engines_active = 0;
  for (const DmaEngineTiming& e : sum_.dma_engines) dma_engines_active += e.active_s;
  field("dma_engine_balance_percent", percent(dma_engines_active, busiest * cores_ * kDmaEngines));
  field("cc_op_count", static_cast<double>(collectives_));
  field("cc_op_active_time", collective_s_);
  field("cc_op_wait_time", collective_wait_s_);
  field("cc_op_bytes", static_cast<double>(collective_bytes_));
  field("host_launch_count", static_cast<double>(launches_));
  field("host_launch_time", launch_s_);
  field("host_copy_count", static_cast<double>(copies_));
  field("host_copy_bytes", static_cast<double>(copied_bytes_));
  field("host_copy_time", copy_s_);
  field("kernel_floor_time", sum_.critical_path_s[static_cast<std::size_t>(PathPart::floor)]);
  field("launches_not_shown", static_cast<double>(launches_not_shown_));
  JsonMembers path, causes, waiting;
  for (std::size_t k = 0; k < kPathParts; ++k)
    path.add(name_of(static_cast<PathPart>(k)), sum_.critical_path_s[k]);
  for (std::size_t k = 0; k < kCauses; ++k) causes.add(name_of(static_cast<Cause>(k)), causes_[k]);
  for (const auto& [who, seconds] : waiting_) waiting.add(who, seconds);
  std::string nodes;
  for (const auto& [name, node] : nodes_) {
    JsonMembers node_causes;
    for (std::size_t k = 0; k < kCauses; ++k) {
      if (node.causes[k] > 0) node_causes.add(name_of(static_cast<Cause>(k)), node.causes[k]);
    }
    if (node.collective_s > 0) node_causes.add("communication", node.collective_s);
    nodes += (nodes.empty() ? "" : ",") + JsonMembers()
                                              .add("node", name)
                                              .add("source", node.source)
                                              .add("launches", static_cast<int64_t>(node.launches))
                                              .add("seconds", node.seconds)
                                              .add("active_seconds", node.active_s)
                                              .add("flops", node.flops)
                                              .add("hbm_bytes", node.bytes)
                                              .add_json("causes", node_causes.object())
                                              .object();
  }
  return JsonMembers()
      .add_json("fields", fields.object())
      .add_json("critical_path", path.object())
      .add_json("causes", causes.object())
      .add_json("waiting", waiting.object())
      .add_json("nodes", "[" + nodes + "]")
      .object();
}

std::string Recorder::finish() {
  trace_.metadata(kCore, "summary", summary());
  return trace_.take();
}

}  // namespace assay::backend
