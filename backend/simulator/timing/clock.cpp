#include "backend/simulator/timing/clock.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "backend/isa/error.h"
#include "backend/isa/rules.h"
#include "backend/simulator/timing/dma_engines.h"
#include "backend/simulator/timing/instruction_cost.h"
#include "backend/simulator/timing/transfer.h"

namespace assay::backend {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

constexpr int kCoresOfABank = 2;  // of HBM (trainium2_arch.rst: four stacks for eight cores)

// Memory ports that two engines of NeuronCore-v2 share.
enum Port : uint8_t { kSbufPort = 1, kPsumPort = 2 };

bool touches(const Program& p, const Instruction& i, Space space) {
  for (const AccessPattern& a : p.operands_of(i)) {
    if (a.space == space) return true;
  }
  return false;
}

// Whether `i` reads the bytes that `writer` wrote.
bool depends(const Program& p, const Instruction& i, const Instruction& writer) {
  if (writer.operand_count == 0) return false;
  const AccessPattern& out = p.operands[writer.operands];
  if (!on_chip(out)) return false;
  const AccessPattern::Extent written = out.extent();
  for (uint32_t k = 1; k < i.operand_count; ++k) {
    const AccessPattern& a = p.operands[i.operands + k];
    if (a.space != out.space || a.partition_start >= out.partition_start + out.partitions ||
        out.partition_start >= a.partition_start + a.partitions || a.offset >= written.end) {
      continue;
    }
    const AccessPattern::Extent read = a.extent();
    if (read.begin < written.end && written.begin < read.end) return true;
  }
  return false;
}

}  // namespace

std::string_view name_of(PathPart part) {
  constexpr std::string_view kNames[] = {"tensor",  "vector",    "scalar",      "gpsimd",       "sync",
                                         "latency", "dma_issue", "dma_latency", "dma_transfer", "floor"};
  return kNames[static_cast<std::size_t>(part)];
}

std::string stream_name(int stream) {
  const int in_core = stream % kStreams;
  return (in_core < kEngines ? std::string(name_of(static_cast<Engine>(in_core)))
                             : "q" + std::to_string(in_core - kEngines)) +
         (stream < kStreams ? "" : " of core " + std::to_string(stream / kStreams));
}

uint64_t TimingResult::hbm_bytes() const {
  uint64_t sum = 0;
  for (std::size_t k = 0; k < hbm_read.size(); ++k) sum += hbm_read[k] + hbm_written[k];
  return sum;
}

class Clock::Impl {
  // An instruction as the loop below needs it.
  struct Timed {
    double cost_ns = 0;         // that it holds its engine
    double stall_ns = 0;        // if it reads what the instruction before it on its engine wrote
    uint32_t next = kNone;      // of its engine
    uint32_t transfer = kNone;  // DMA
    uint32_t waits = 0;         // first in Program::waits
    int32_t signal = -1;
    uint16_t wait_count = 0;
    uint8_t queue = 0;
    uint8_t ports = 0;
  };

  // When it happened, and after what.
  struct Trace {
    double start_ns, end_ns;  // on its engine
    uint32_t cause = kNone;   // instruction that it started after
    bool completion = false;  // of the cause: through a semaphore; else only after it on the same engine
  };

  struct DmaTrace {
    double taken_ns = 0;    // by the descriptor generator
    double arrival_ns = 0;  // in its ring
    double done_ns = 0;
    uint32_t instruction = kNone;
    uint32_t next = kNone;  // of those that are on their way to the rings
  };

  struct Raise {
    double time_ns;
    uint32_t instruction;
  };

  struct EngineState {
    uint32_t current = kNone, last = kNone;
    double free_ns = 0;
    double ready_ns = kNever;  // kNever: nothing to do, or a semaphore has not been raised yet
    int32_t semaphore = -1;    // that decided ready_ns
    uint32_t raiser = kNone;
    double contended_ns = 0;  // before ready_ns, for a port
    double generator_free_ns = 0;
    uint32_t arrival_head = kNone, arrival_tail = kNone;
  };

 public:
  Impl(const CoreDescription& core, const TimingOptions& options)
      : core_(core), options_(options), dma_{{{core, 0, &hbm_users_}, {core, 0, &hbm_users_}}} {
    const int cores = chip(core.generation).cores;
    if (options.active_cores < 1 || options.active_cores > cores) {
      throw Error(ErrorCode::invalid_argument, "active_cores is " + std::to_string(options.active_cores) +
                                                   "; a chip of " + core.name + " has 1 to " +
                                                   std::to_string(cores) + " cores that can be active");
    }
    for (std::size_t e = 0; e < cycle_ns_.size(); ++e) {
      cycle_ns_[e] = 1 / engine_ghz(core, static_cast<Engine>(e % kEngines));
    }
  }

  TimingResult time(std::span<const Stretch> stretches);

 private:
  void decode(const Program& program);
  void count(const Program& program, int64_t repeats);
  void run(const Program& program);
  void prepare(std::size_t e);
  void execute(std::size_t e);
  static std::size_t core_of(std::size_t e) { return e < kEngines ? 0 : 1; }
  // When engine `e` sees that a semaphore was raised.
  double seen_ns(const Raise& raise, std::size_t e) const {
    if (lanes_ == kEngines || program_->instructions[raise.instruction].core == core_of(e))
      return raise.time_ns;
    return raise.time_ns + core_.core_semaphore_ns;
  }
  void trigger(std::size_t e);
  void raise(int32_t semaphore, double time_ns, uint32_t instruction);
  // Engines of the Program's cores: the loops over them are short and hot.
  template <std::size_t kLanes>
  void loop();
  template <std::size_t kLanes>
  void next_dma();
  bool contended(std::size_t e, const Timed& timed);
  void follow_path(uint32_t last, bool completion, double end_ns);
  void record_start(std::size_t e, uint32_t index);

  double seconds(double ns) const { return (base_ns_ + ns) * 1e-9; }

  const CoreDescription& core_;
  TimingOptions options_;
  int hbm_users_ = 0;
  std::array<DmaEngines, kMaxCores> dma_;
  std::array<double, kMaxCores * kEngines> cycle_ns_{};

  // Of the Program at hand.
  const Program* program_ = nullptr;
  std::vector<Timed> timed_;
  std::vector<Transfer> transfers_;
  std::size_t lanes_ = kEngines;  // engines of its cores
  std::array<uint32_t, kMaxCores * kEngines> first_{};
  std::vector<uint32_t> raise_offset_;  // by semaphore, into raises_

  // Of the run at hand.
  std::array<EngineState, kMaxCores * kEngines> engines_;
  std::vector<Trace> traces_;
  std::vector<DmaTrace> dma_traces_;
  std::vector<Raise> raises_;
  std::vector<uint32_t> raised_;   // by semaphore: its value
  std::vector<uint16_t> waiters_;  // by semaphore: engines that it blocks
  std::vector<DmaEngines::Finished> finished_;
  std::array<double, 2> port_free_ns_{};  // of v2, which has no second core
  double end_ns_ = 0;
  uint32_t end_instruction_ = kNone;
  bool end_is_transfer_ = false;
  double base_ns_ = 0;

  std::vector<int64_t> execute_event_, transfer_event_;
  TimingResult result_;
};

void Clock::Impl::decode(const Program& program) {
  program_ = &program;
  lanes_ = static_cast<std::size_t>(program.cores) * kEngines;
  const std::size_t n = program.instructions.size();
  timed_.resize(n);
  transfers_.clear();
  first_.fill(kNone);
  std::array<uint32_t, kMaxCores * kEngines> last;
  last.fill(kNone);
  const auto semaphores = static_cast<std::size_t>(program.semaphores);
  raise_offset_.assign(semaphores + 1, 0);
  const double stall_cycles = core_.instruction_overhead_cycles + core_.access_latency_cycles;
  for (std::size_t index = 0; index < n; ++index) {
    const Instruction& i = program.instructions[index];
    const std::size_t e = lane_of(i);
    Timed& t = timed_[index];
    t = Timed{};
    t.waits = i.waits;
    t.wait_count = i.wait_count;
    t.signal = i.signal;
    t.queue = i.queue;
    if (i.signal >= 0) ++raise_offset_[static_cast<std::size_t>(i.signal) + 1];
    (last[e] == kNone ? first_[e] : timed_[last[e]].next) = static_cast<uint32_t>(index);
    if (is_dma(i.opcode)) {
      t.transfer = static_cast<uint32_t>(transfers_.size());
      transfers_.push_back(transfer_of(program, i, core_));
      t.cost_ns = core_.min_initiation_cycles * cycle_ns_[e];
    } else {
      t.cost_ns = instruction_cycles(program, i, core_) * cycle_ns_[e];
      if (i.engine != Engine::tensor && last[e] != kNone && !is_dma(program.instructions[last[e]].opcode) &&
          depends(program, i, program.instructions[last[e]])) {
        t.stall_ns = stall_cycles * cycle_ns_[e];
      }
      if (core_.shared_vector_gpsimd_port && (i.engine == Engine::vector || i.engine == Engine::gpsimd) &&
          touches(program, i, Space::sbuf)) {
        t.ports |= kSbufPort;
      }
      if (core_.shared_vector_scalar_psum_port &&
          (i.engine == Engine::vector || i.engine == Engine::scalar) && touches(program, i, Space::psum)) {
        t.ports |= kPsumPort;
      }
    }
    last[e] = static_cast<uint32_t>(index);
  }
  for (std::size_t s = 0; s < semaphores; ++s) raise_offset_[s + 1] += raise_offset_[s];
}

// What does not depend on time.
void Clock::Impl::count(const Program& program, int64_t repeats) {
  const auto times = static_cast<uint64_t>(repeats);
  result_.instructions += program.instructions.size() * times;
  for (std::size_t index = 0; index < program.instructions.size(); ++index) {
    const Instruction& i = program.instructions[index];
    result_.by_opcode[static_cast<std::size_t>(i.opcode)] += times;
    result_.engines[lane_of(i)].instructions += times;
    if (i.signal >= 0 && repeats > 0) {
      result_.semaphore_stream[static_cast<std::size_t>(i.signal)] = static_cast<uint8_t>(stream_of(i));
    }
    if (i.opcode == Opcode::nc_matmul) {
      result_.macs += times * static_cast<uint64_t>(operand(program, i, 1).partitions *
                                                    operand(program, i, 0).elements());
    } else if (i.opcode == Opcode::nc_transpose && i.engine == Engine::tensor) {
      const AccessPattern& src = operand(program, i, 1);
      result_.transpose_macs += times * static_cast<uint64_t>(src.partitions * src.elements());
    } else if (is_dma(i.opcode)) {
      const Transfer& t = transfers_[timed_[index].transfer];
      result_.transfers += times;
      result_.descriptors += times * static_cast<uint64_t>(t.descriptors);
      result_.on_chip_bytes += times * t.on_chip;
      const auto kind = [&](std::size_t k) {
        const AccessPattern& a = operand(program, i, k);
        return static_cast<std::size_t>(program.tensors[static_cast<std::size_t>(a.tensor)].kind);
      };
      const bool from_hbm = operand(program, i, 1).space == Space::hbm;
      const bool to_hbm = operand(program, i, 0).space == Space::hbm;
      if (to_hbm) result_.hbm_written[kind(0)] += times * t.hbm_written;
      const uint64_t again = to_hbm && i.accumulate ? t.hbm_written : 0;  // the destination is read as well
      if (again != 0) result_.hbm_read[kind(0)] += times * again;
      if (from_hbm) result_.hbm_read[kind(1)] += times * (t.hbm_read - again);
    }
  }
}

// When can the engine's next instruction start?
void Clock::Impl::prepare(std::size_t e) {
  EngineState& engine = engines_[e];
  engine.ready_ns = kNever;
  engine.contended_ns = 0;
  if (engine.current == kNone) return;
  const Timed& t = timed_[engine.current];
  double ready = engine.free_ns + t.stall_ns;
  engine.semaphore = -1;
  const SemaphoreWait* waits = program_->waits.data() + t.waits;
  for (std::size_t k = 0; k < t.wait_count; ++k) {
    if (waits[k].at_least <= 0) continue;
    const auto s = static_cast<std::size_t>(waits[k].semaphore);
    const auto value = static_cast<uint32_t>(waits[k].at_least);
    if (raised_[s] < value) {
      waiters_[s] = static_cast<uint16_t>(waiters_[s] | 1u << e);
      return;
    }
    const Raise& raise = raises_[raise_offset_[s] + value - 1];
    const double seen = seen_ns(raise, e);
    if (seen > ready) {
      ready = seen;
      engine.semaphore = waits[k].semaphore;
      engine.raiser = raise.instruction;
    }
  }
  engine.ready_ns = ready;
}

void Clock::Impl::raise(int32_t semaphore, double time_ns, uint32_t instruction) {
  const auto s = static_cast<std::size_t>(semaphore);
  const uint32_t at = raise_offset_[s] + raised_[s];
  // Values become visible in order, whoever raises them.
  if (raised_[s] > 0) time_ns = std::max(time_ns, raises_[at - 1].time_ns);
  raises_[at] = {time_ns, instruction};
  ++raised_[s];
  for (unsigned mask = std::exchange(waiters_[s], uint16_t{0}); mask != 0; mask &= mask - 1) {
    prepare(static_cast<std::size_t>(std::countr_zero(mask)));
  }
}

void Clock::Impl::record_start(std::size_t e, uint32_t index) {
  const EngineState& engine = engines_[e];
  Trace& trace = traces_[index];
  trace.start_ns = engine.ready_ns;
  const bool waited = engine.semaphore >= 0;
  const double wait_ns = engine.ready_ns - engine.contended_ns - engine.free_ns;
  trace.cause = waited ? engine.raiser : engine.last;
  trace.completion = waited;
  if (waited) {
    result_.engines[e].waiting_s += wait_ns * 1e-9;
    result_.waiting_s[e * result_.semaphore_stream.size() + static_cast<std::size_t>(engine.semaphore)] +=
        wait_ns * 1e-9;
  }
  if (!options_.events) return;
  int64_t cause = -1;
  if (waited) {
    cause =
        transfer_event_[engine.raiser] >= 0 ? transfer_event_[engine.raiser] : execute_event_[engine.raiser];
    result_.events.push_back({EventKind::wait, static_cast<uint8_t>(e), index, engine.semaphore, cause,
                              seconds(engine.free_ns), seconds(engine.free_ns + wait_ns)});
  }
  execute_event_[index] = static_cast<int64_t>(result_.events.size());
  result_.events.push_back({EventKind::execute, static_cast<uint8_t>(e), index, timed_[index].signal, cause,
                            seconds(trace.start_ns), 0});
}

// True if a port that it needs is taken: it tries again when that is free.
bool Clock::Impl::contended(std::size_t e, const Timed& t) {
  double free = 0;
  if (t.ports & kSbufPort) free = std::max(free, port_free_ns_[0]);
  if (t.ports & kPsumPort) free = std::max(free, port_free_ns_[1]);
  EngineState& engine = engines_[e];
  if (free <= engine.ready_ns) return false;
  result_.engines[e].contended_s += (free - engine.ready_ns) * 1e-9;
  engine.contended_ns += free - engine.ready_ns;
  engine.ready_ns = free;
  return true;
}

void Clock::Impl::execute(std::size_t e) {
  EngineState& engine = engines_[e];
  const uint32_t index = engine.current;
  const Timed& t = timed_[index];
  if (t.transfer != kNone) return trigger(e);
  if (t.ports != 0 && contended(e, t)) return;
  record_start(e, index);
  const double end = engine.ready_ns + t.cost_ns;
  if (t.ports & kSbufPort) port_free_ns_[0] = end;
  if (t.ports & kPsumPort) port_free_ns_[1] = end;
  traces_[index].end_ns = end;
  if (options_.events) result_.events[static_cast<std::size_t>(execute_event_[index])].end_s = seconds(end);
  result_.engines[e].active_s += t.cost_ns * 1e-9;
  engine.free_ns = end;
  engine.last = index;
  engine.current = t.next;
  if (end > end_ns_) {
    end_ns_ = end;
    end_instruction_ = index;
    end_is_transfer_ = false;
  }
  if (t.signal >= 0) raise(t.signal, end + core_.access_latency_cycles * cycle_ns_[e], index);
  prepare(e);
}

void Clock::Impl::trigger(std::size_t e) {
  EngineState& engine = engines_[e];
  const uint32_t index = engine.current;
  const Timed& t = timed_[index];
  record_start(e, index);
  const Transfer& transfer = transfers_[t.transfer];
  DmaTrace& dma = dma_traces_[t.transfer];
  dma.taken_ns = std::max(engine.ready_ns, engine.generator_free_ns);
  engine.generator_free_ns = dma.taken_ns + transfer.issue_ns;
  dma.arrival_ns = engine.generator_free_ns - core_.dma_issue_ns + core_.dma_semaphore_ns;
  dma.instruction = index;
  dma.next = kNone;
  (engine.arrival_head == kNone ? engine.arrival_head : dma_traces_[engine.arrival_tail].next) = t.transfer;
  engine.arrival_tail = t.transfer;
  const double end = dma.taken_ns + t.cost_ns;
  traces_[index].end_ns = end;
  if (options_.events) {
    TimingEvent& event = result_.events[static_cast<std::size_t>(execute_event_[index])];
    event.start_s = seconds(dma.taken_ns);
    event.end_s = seconds(end);
  }
  result_.engines[e].active_s += t.cost_ns * 1e-9;
  result_.engines[e].contended_s += (dma.taken_ns - engine.ready_ns) * 1e-9;
  engine.free_ns = end;
  engine.last = index;
  engine.current = t.next;
  prepare(e);
}

// The next thing that happens to DMA: an arrival or the end of packets.
template <std::size_t kLanes>
void Clock::Impl::next_dma() {
  std::size_t from = 0;
  double arrival = kNever;
  for (std::size_t e = 0; e < kLanes; ++e) {
    const uint32_t head = engines_[e].arrival_head;
    if (head != kNone && dma_traces_[head].arrival_ns < arrival) {
      arrival = dma_traces_[head].arrival_ns;
      from = e;
    }
  }
  const std::size_t core = kLanes > kEngines && dma_[1].next() < dma_[0].next() ? 1 : 0;
  if (arrival <= dma_[core].next()) {
    const uint32_t id = engines_[from].arrival_head;
    engines_[from].arrival_head = dma_traces_[id].next;
    dma_[kLanes == kEngines ? 0 : core_of(from)].arrive(
        arrival, id, timed_[dma_traces_[id].instruction].queue, transfers_[id]);
    return;
  }
  finished_.clear();
  dma_[core].advance(finished_);
  for (const DmaEngines::Finished& f : finished_) {
    DmaTrace& dma = dma_traces_[f.id];
    dma.done_ns = f.end_ns;
    if (f.end_ns > end_ns_) {
      end_ns_ = f.end_ns;
      end_instruction_ = dma.instruction;
      end_is_transfer_ = true;
    }
    const Timed& t = timed_[dma.instruction];
    if (options_.events) {
      transfer_event_[dma.instruction] = static_cast<int64_t>(result_.events.size());
      result_.events.push_back({EventKind::transfer, static_cast<uint8_t>(core * kDmaQueues + t.queue),
                                dma.instruction, t.signal, execute_event_[dma.instruction],
                                seconds(f.start_ns), seconds(f.end_ns)});
    }
    if (t.signal >= 0) raise(t.signal, f.end_ns, dma.instruction);
  }
}

template <std::size_t kLanes>
void Clock::Impl::loop() {
  for (;;) {
    std::size_t first = 0;
    for (std::size_t e = 1; e < kLanes; ++e) {
      if (engines_[e].ready_ns < engines_[first].ready_ns) first = e;
    }
    const double ready = engines_[first].ready_ns;
    double dma = kLanes == kEngines ? dma_[0].next() : std::min(dma_[0].next(), dma_[1].next());
    for (std::size_t e = 0; e < kLanes; ++e) {
      const uint32_t head = engines_[e].arrival_head;
      if (head != kNone) dma = std::min(dma, dma_traces_[head].arrival_ns);
    }
    if (dma <= ready) {
      if (dma == kNever) break;
      next_dma<kLanes>();
    } else {
      execute(first);
    }
  }
}

void Clock::Impl::run(const Program& program) {
  const std::size_t n = timed_.size();
  engines_.fill(EngineState{});
  const ChipDescription& chip = backend::chip(core_.generation);
  for (std::size_t c = 0; c < kMaxCores; ++c) {
    DmaEngines& dma = dma_[c];
    if (c >= static_cast<std::size_t>(program.cores) && dma.next() == kNever) continue;
    dma.reset();
    const double bank = chip.hbm_bytes_per_ns * kCoresOfABank / chip.cores;
    dma.set_hbm(program.cores == 1 ? std::min(bank, chip.hbm_bytes_per_ns / options_.active_cores) : bank);
  }
  traces_.resize(n);
  dma_traces_.resize(transfers_.size());
  raises_.resize(raise_offset_.back());
  raised_.assign(static_cast<std::size_t>(program.semaphores), 0);
  waiters_.assign(static_cast<std::size_t>(program.semaphores), 0);
  port_free_ns_.fill(0);
  end_ns_ = 0;
  end_instruction_ = kNone;
  end_is_transfer_ = false;
  if (options_.events) {
    result_.events.clear();
    result_.path.clear();
    execute_event_.assign(n, -1);
    transfer_event_.assign(n, -1);
  }
  for (std::size_t e = 0; e < lanes_; ++e) {
    engines_[e].current = first_[e];
    prepare(e);
  }
  program.cores == 1 ? loop<kEngines>() : loop<kMaxCores * kEngines>();
  for (const EngineState& engine : engines_) {
    if (engine.current == kNone) continue;
    throw ProgramError(ProgramErrorClass::semaphore,
                       program.describe(engine.current) +
                           " waits for a semaphore that nothing raises: the Program deadlocks");
  }
  for (std::size_t c = 0; c < static_cast<std::size_t>(program.cores); ++c) {
    for (int e = 0; e < kDmaEngines; ++e) {
      DmaEngineTiming& timing = result_.dma_engines[c * kDmaEngines + static_cast<std::size_t>(e)];
      timing.active_s += dma_[c].active_ns(e) * 1e-9;
      timing.bytes += static_cast<uint64_t>(std::llround(dma_[c].bytes(e)));
    }
    result_.dma_active_s += dma_[c].any_active_ns() * 1e-9;
  }
  follow_path(end_instruction_, end_is_transfer_, end_ns_);
  base_ns_ += end_ns_;
}

// Back from what ended last: what it started after, and so on.
void Clock::Impl::follow_path(uint32_t index, bool completion, double end_ns) {
  const auto add = [&](PathPart part, double ns) {
    result_.critical_path_s[static_cast<std::size_t>(part)] += ns * 1e-9;
    if (options_.events && ns > 0) result_.path.push_back({index, part, ns * 1e-9});
  };
  double now = end_ns;
  while (index != kNone) {
    const Trace& trace = traces_[index];
    const Timed& t = timed_[index];
    double started = trace.start_ns;
    if (t.transfer != kNone) {
      const DmaTrace& dma = dma_traces_[t.transfer];
      if (completion) {
        add(PathPart::latency, now - dma.done_ns);
        add(PathPart::dma_transfer, dma.done_ns - dma.arrival_ns);
        add(PathPart::dma_latency, dma.arrival_ns - dma.taken_ns);
      } else {
        add(PathPart::latency, now - trace.end_ns);
        add(static_cast<PathPart>(program_->instructions[index].engine), trace.end_ns - dma.taken_ns);
      }
      add(PathPart::dma_issue, dma.taken_ns - started);
    } else {
      add(PathPart::latency, now - trace.end_ns);
      add(static_cast<PathPart>(program_->instructions[index].engine), trace.end_ns - started);
    }
    now = started;
    completion = trace.completion;
    index = trace.cause;
  }
  add(PathPart::latency, now);
}

TimingResult Clock::Impl::time(std::span<const Stretch> stretches) {
  result_ = TimingResult{};
  std::size_t semaphores = 0;
  for (const Stretch& stretch : stretches) {
    if (stretch.program->target != core_.generation) {
      throw Error(ErrorCode::invalid_argument,
                  std::string("the Program is for another target than ") + core_.name);
    }
    if (stretch.repeats < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "a stretch is repeated " + std::to_string(stretch.repeats) + " times; use 0 or more");
    }
    semaphores = std::max(semaphores, static_cast<std::size_t>(stretch.program->semaphores));
  }
  result_.semaphore_stream.assign(semaphores, 0);
  result_.waiting_s.assign(result_.engines.size() * semaphores, 0);
  const double floor_ns = core_.kernel_floor_us * 1e3;
  base_ns_ = floor_ns;
  result_.critical_path_s[static_cast<std::size_t>(PathPart::floor)] = floor_ns * 1e-9;
  for (const Stretch& stretch : stretches) {
    if (stretch.repeats == 0) continue;
    decode(*stretch.program);
    count(*stretch.program, stretch.repeats);
    for (int64_t k = 0; k < stretch.repeats; ++k) run(*stretch.program);
  }
  result_.seconds = base_ns_ * 1e-9;
  result_.cycles = static_cast<uint64_t>(std::llround(base_ns_ * core_.base_ghz));
  return std::move(result_);
}

Clock::Clock(const CoreDescription& core, const TimingOptions& options)
    : impl_(std::make_unique<Impl>(core, options)) {}
Clock::~Clock() = default;

TimingResult Clock::time(const Program& program) {
  const Stretch stretch{&program, 1};
  return impl_->time({&stretch, 1});
}

TimingResult Clock::time(std::span<const Stretch> stretches) { return impl_->time(stretches); }

}  // namespace assay::backend
