#include "backend/runtime/device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "backend/isa/program_file.h"
#include "backend/isa/validate.h"
#include "backend/runtime/node_call.h"
#include "core/error.h"
#include "core/opset/classify.h"
#include "core/philox.h"

namespace assay::backend {
namespace {

// Every physical core has an equal share of its chip's HBM.
uint64_t memory_of(Generation generation, int cores) {
  const ChipDescription& c = chip(generation);
  return static_cast<uint64_t>(c.hbm_bytes.value / c.cores.value * cores);
}

assay_reason reason_of(ProgramErrorClass error_class) {
  switch (error_class) {
    case ProgramErrorClass::dtype:
      return ASSAY_REASON_DTYPE;
    case ProgramErrorClass::argument:
      return ASSAY_REASON_ARGUMENT;
    case ProgramErrorClass::sbuf_overflow:
    case ProgramErrorClass::psum_overflow:
    case ProgramErrorClass::hbm_out_of_memory:
      return ASSAY_REASON_MEMORY;
    default:
      return ASSAY_REASON_SHAPE;
  }
}

// ProgramBuilder::finish has validated every Program that runs here. The simulation shares the machine as
// OpenMP's threads would: several workers at once are given parts of it.
SimulatorOptions as_hosted(const DeviceOptions& device) {
  SimulatorOptions options = device.simulator;
  options.cores = device.compile.lnc;
  options.validate = false;
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (options.threads == 0 && threads != nullptr) options.threads = std::max(0, std::atoi(threads));
  return options;
}

// Equal nodes share a Program, but no two random nodes draw from one stream. `text` holds the key if it is
// more than the node's own text.
std::string_view key_of(const plugin::NodeView& node, std::string& text) {
  if (!is_random_op(node.op())) return node.json();
  text = std::string(node.json()) + "\n" + std::string(node.name());
  return text;
}

}  // namespace

Device::Device(const DeviceOptions& options, const std::string& cache_dir)
    : options_(options),
      core_(backend::core(options.target)),
      memory_(std::make_shared<DeviceMemory>(memory_of(options.target, options.compile.lnc))),
      description_(std::string(core_.name) + ", " +
                   (options.compile.lnc == 2 ? "1 logical core of 2 " : "1 ") + core_.core_version +
                   " (simulated)"),
      simulator_(core_, as_hosted(options)),
      clock_(core_),
      disk_(cache_dir.empty() || options.cache_bytes == 0
                ? std::nullopt
                : std::optional<DiskCache>(std::in_place, cache_dir, options.cache_bytes)),
      graphs_(disk_ ? &*disk_ : nullptr) {}

void Device::count_execution(double device_seconds, uint64_t cycles) {
  counters_.device_seconds += core_.launch_us * 1e-6 + device_seconds;
  counters_.cycles += cycles;
}

void Device::count_copy(bool to_device, uint64_t bytes) {
  const double seconds =
      core_.host_copy_us * 1e-6 + static_cast<double>(bytes) / core_.host_copy_bytes_per_ns * 1e-9;
  counters_.device_seconds += seconds;
  if (recorder_) recorder_->copy(to_device, bytes, seconds);
}

void Device::count_collective(std::string_view name, uint64_t bytes, double begin_s, double seconds) {
  const double wait_s = std::max(0.0, begin_s - counters_.device_seconds);
  counters_.device_seconds = std::max(counters_.device_seconds, begin_s) + seconds;
  if (recorder_) recorder_->collective(name, bytes, wait_s, seconds);
}

void Device::start_profile() {
  recorder_ = std::make_unique<Recorder>(core_, lnc(), options_.profile_events);
}

std::string Device::finish_profile() {
  if (recorder_ == nullptr) return "[]";
  const std::unique_ptr<Recorder> done = std::move(recorder_);
  return done->finish();
}

// A Program that was kept for an equal node; nullopt if there is none that can be used.
std::optional<CompiledCall> Device::from_disk(const GraphKey& key, std::string& miss) {
  DiskCache::Found found = disk_->load(key);
  miss = std::move(found.miss);
  if (!found.bytes) return std::nullopt;
  try {
    CompiledCall out{read_program(*found.bytes, "compile cache"), Native::engines};
    validate(out.program, core_);
    out.native = native_of(out.program);
    return out;
  } catch (const Error&) {  // ProgramError is one
    disk_->discard(key);
    miss = kCorruptEntry;
    return std::nullopt;
  }
}

CacheEntry& Device::compile(const plugin::NodeView& node, std::string_view key) {
  const auto start = std::chrono::steady_clock::now();
  CompileOptions compile = options_.compile;
  std::string stream;
  if (is_random_op(node.op())) {
    compile.draw_seed = options_.simulator.seed;
    stream = node.name();
    compile.draw_key = fnv1a64(stream);
  }
  const GraphKey whole_key = node_key(node.op(), node.json(), input_metas(node), stream, core_.generation,
                                      compile, compiler_version());
  std::string on_disk;
  std::optional<CompiledCall> kept;
  if (disk_) kept = from_disk(whole_key, on_disk);
  const bool hit = kept.has_value();
  CompiledCall compiled = hit ? std::move(*kept) : compile_call(read_call(node), core_, compile);
  if (disk_ && !hit) {
    std::string note;  // a cache that cannot be written costs time, no result
    disk_->store(whole_key, write_program(compiled.program), note);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  counters_.compile_seconds += seconds.count();
  CacheEntry& entry = cache_.insert(key, std::move(compiled));
  entry.from_disk = hit;
  if (!hit) entry.miss_reason = reasons_.of(whole_key, on_disk);
  reasons_.add(whole_key);
  return entry;
}

Device::Support Device::supports(const plugin::NodeView& node) {
  Support out;
  try {
    std::string text;
    const std::string_view key = key_of(node, text);
    CacheEntry* entry = cache_.find(key);
    if (entry == nullptr) entry = &compile(node, key);
    out.supported = true;
    out.native = entry->compiled.native;
  } catch (const Unsupported& error) {
    out.reason = error.reason();
    out.message = error.what();
  } catch (const ProgramError& error) {
    out.reason = reason_of(error.error_class());
    out.message = error.what();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unknown_operator) throw;
    out.reason = ASSAY_REASON_OPERATOR;
    out.message = error.what();
  }
  return out;
}

Device::Executed Device::execute(const plugin::NodeView& node, std::span<const HbmBinding> inputs,
                                 std::span<const HbmBinding> outputs) {
  std::string text;
  const std::string_view key = key_of(node, text);
  CacheEntry* entry = cache_.find(key);
  try {
    if (entry == nullptr) entry = &compile(node, key);
  } catch (const Unsupported& error) {
    throw plugin::Failure(ASSAY_UNSUPPORTED, error.what(), error.reason());
  } catch (const ProgramError& error) {
    throw plugin::Failure(ASSAY_COMPILE_ERROR, error.what(), reason_of(error.error_class()));
  }
  const bool first = !std::exchange(entry->executed, true);
  Executed out;
  if (!first) {
    ++counters_.memory_hits;
  } else if (entry->from_disk) {
    ++counters_.disk_hits;
    out.hit = CacheHit::disk;
  } else {
    ++counters_.compiles;
    out = {CacheHit::miss, entry->miss_reason.c_str()};
  }
  const Program& program = entry->compiled.program;
  if (first) {
    const TimingResult timing = clock_.time(program);
    entry->device_seconds = timing.seconds;
    entry->device_cycles = timing.cycles;
  }
  if (!first && !entry->prepared) entry->prepared = simulator_.prepare(program);
  const Prepared* const prepared = entry->prepared ? &*entry->prepared : nullptr;
  memory_->touch(static_cast<uint64_t>(program.scratch_bytes()));
  try {
    counters_.instructions += simulator_.run(program, inputs, outputs, prepared).instructions;
  } catch (const Trap& trap) {
    throw plugin::Failure(ASSAY_EXECUTION_ERROR, "node " + node.name() + " (" + node.op() + "): " +
                                                     std::string(name_of(trap.kind())) + ": " + trap.what());
  }
  ++counters_.nodes_executed;
  // A Program without instructions (an empty tensor, a reinterpretation) launches nothing.
  if (!program.instructions.empty()) count_execution(entry->device_seconds, entry->device_cycles);
  if (recorder_) {
    const std::string name(node.name()), source(node.source());
    recorder_->launch(program, {{&name, 1}, {&source, 1}}, memory_->in_use());
  }
  return out;
}

}  // namespace assay::backend
