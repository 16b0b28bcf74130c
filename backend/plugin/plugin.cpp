// The simulated Trainium as a plug-in: the C functions of assay/backend.h over runtime/device.h.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "assay/plugin.hpp"
#include "backend/runtime/collective_node.h"
#include "backend/runtime/contract.h"
#include "backend/runtime/device.h"
#include "core/error.h"

using assay::plugin::Failure;

struct assay_device {
  assay_device(const assay::backend::DeviceOptions& options, const std::string& cache_dir,
               const assay_node_api* node_api)
      : device(options, cache_dir), api(node_api) {}
  assay::backend::Device device;
  const assay_node_api* api;
  int core_number = 0;  // the logical core of the world that this device is: in order of creation
  std::string message;  // of the last `supports`
  std::string profile;  // of the last `profile`
  // Reused by every execution: the steady state allocates nothing.
  std::vector<assay::backend::HbmBinding> inputs, outputs;
};

struct assay_buffer {
  assay_device* device;
  assay::plugin::Meta meta;
  assay::backend::DeviceBlock block;
};

struct assay_executable {
  assay_device* device;
  std::shared_ptr<assay::backend::Executable> compiled;
  std::string miss_reason, diagnostics;
};

namespace {

using assay::plugin::byte_size;
using assay::plugin::has;
using assay::plugin::Meta;
using assay::plugin::NodeView;
using assay::plugin::require;
using assay::plugin::set;

assay::plugin::Handles<assay_device>& devices() {
  static assay::plugin::Handles<assay_device> handles;
  return handles;
}
assay::plugin::Handles<assay_buffer>& buffers() {
  static assay::plugin::Handles<assay_buffer> handles;
  return handles;
}

assay::plugin::Handles<assay_executable>& executables() {
  static assay::plugin::Handles<assay_executable> handles;
  return handles;
}

// All devices of the process are the ranks of one world.
int world_size() { return static_cast<int>(devices().size()); }

assay_device& checked(assay_device* device) { return devices().check(device, "device"); }

assay_buffer& checked(assay_buffer* buffer, const assay_device* device) {
  assay_buffer& out = buffers().check(buffer, "buffer");
  if (device != nullptr && out.device != device) {
    throw Failure(ASSAY_INVALID_ARGUMENT, "the buffer belongs to another device");
  }
  return out;
}

// assay::Error becomes the ABI's code.
template <class Body>
assay_error* guarded(Body&& body) noexcept {
  return assay::plugin::guard([&] {
    try {
      body();
    } catch (const assay::Error& error) {
      switch (error.code()) {
        case assay::ErrorCode::invalid_argument:
        case assay::ErrorCode::malformed_file:
          throw Failure(ASSAY_INVALID_ARGUMENT, error.what());
        case assay::ErrorCode::unknown_operator:
          throw Failure(ASSAY_UNSUPPORTED, error.what(), ASSAY_REASON_OPERATOR);
        case assay::ErrorCode::unsupported:
          throw Failure(ASSAY_UNSUPPORTED, error.what(), ASSAY_REASON_DYNAMIC_SHAPE);
        default:
          throw Failure(ASSAY_INTERNAL, error.what());
      }
    }
  });
}

assay_error* create(assay_create_args* args) {
  return guarded([&] {
    require(args, &assay_create_args::device, "create");
    if (args->node_api == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "create: no node_api");
    const std::string target = args->target != nullptr ? args->target : "";
    const auto options = assay::backend::parse_options(target, assay::plugin::read_options(args), args->seed);
    const char* cache_dir = args->cache_dir;
    auto device =
        std::make_unique<assay_device>(options, cache_dir != nullptr ? cache_dir : "", args->node_api);
    device->core_number = static_cast<int>(devices().size());
    args->device = devices().add(device.get());
    static_cast<void>(device.release());  // the table owns it
  });
}

void destroy(assay_device* device) {
  if (devices().remove(device)) delete device;
}

assay_error* describe(assay_device* handle, assay_description* out) {
  return guarded([&] {
    assay_device& device = checked(handle);
    require(out, &assay_description::name, "describe");
    set(out, &assay_description::name, "trainium");
    set(out, &assay_description::version, ASSAY_VERSION);
    set(out, &assay_description::device, device.device.description().c_str());
    set(out, &assay_description::contract_json, assay::backend::contract_json());
    set(out, &assay_description::memory_bytes, device.device.memory()->capacity());
    set(out, &assay_description::simulated, 1);
    set(out, &assay_description::deterministic, 1);
  });
}

assay_error* supports(assay_supports_args* args) {
  return guarded([&] {
    require(args, &assay_supports_args::supported, "supports");
    assay_device& device = checked(args->device);
    const NodeView node(device.api, args->node);
    const assay::backend::Device::Support support =
        assay::backend::is_rank_collective(node.op())
            ? assay::backend::supports_collective(device.device, world_size(), node)
            : device.device.supports(node);
    device.message = support.message;
    set(args, &assay_supports_args::supported, support.supported ? 1 : 0);
    set(args, &assay_supports_args::native, support.supported ? static_cast<int32_t>(support.native) : 0);
    set(args, &assay_supports_args::reason, support.reason);
    set(args, &assay_supports_args::message, device.message.c_str());
  });
}

assay_error* buffer_create(assay_buffer_create_args* args) {
  return guarded([&] {
    require(args, &assay_buffer_create_args::buffer, "buffer_create");
    assay_device& device = checked(args->device);
    Meta meta = assay::plugin::read_meta(&args->meta);
    const std::size_t bytes = byte_size(meta);
    auto buffer = std::unique_ptr<assay_buffer>(
        new assay_buffer{&device, std::move(meta), {device.device.memory(), bytes}});
    args->buffer = buffers().add(buffer.get());
    static_cast<void>(buffer.release());
  });
}

void buffer_destroy(assay_buffer* buffer) {
  if (buffers().remove(buffer)) delete buffer;
}

assay_error* buffer_meta(assay_buffer* handle, assay_tensor_meta* out) {
  return guarded([&] {
    const assay_buffer& buffer = checked(handle, nullptr);
    require(out, &assay_tensor_meta::sizes, "buffer_meta");
    out->dtype = buffer.meta.dtype;
    out->rank = static_cast<int32_t>(buffer.meta.sizes.size());
    out->sizes = buffer.meta.sizes.data();
  });
}

assay_buffer& copied(assay_copy_args* args, const char* what) {
  require(args, &assay_copy_args::size, what);
  assay_buffer& buffer = checked(args->buffer, &checked(args->device));
  if (args->size != buffer.block.bytes()) {
    throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": " + std::to_string(args->size) +
                                              " bytes for a buffer of " +
                                              std::to_string(buffer.block.bytes()));
  }
  if (args->host == nullptr && args->size != 0) {
    throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": null host memory");
  }
  return buffer;
}

assay_error* copy_to_device(assay_copy_args* args) {
  return guarded([&] {
    assay_buffer& buffer = copied(args, "copy_to_device");
    if (args->size != 0) std::memcpy(buffer.block.data(), args->host, args->size);
    args->device->device.counters().bytes_to_device += args->size;
    args->device->device.count_copy(true, args->size);
  });
}

assay_error* copy_to_host(assay_copy_args* args) {
  return guarded([&] {
    assay_buffer& buffer = copied(args, "copy_to_host");
    if (args->size != 0) std::memcpy(args->host, buffer.block.data(), args->size);
    args->device->device.counters().bytes_to_host += args->size;
    args->device->device.count_copy(false, args->size);
  });
}

// Binds buffers to what is wanted: as many, with the metas that `meta_of` gives. `who` and `what` are for
// messages.
template <class MetaOf>
void bind_buffers(assay_device& device, assay_buffer* const* given, std::size_t count, std::size_t wanted,
                  const std::string& who, const char* what, const MetaOf& meta_of,
                  std::vector<assay::backend::HbmBinding>& out) {
  if (count != wanted || (count != 0 && given == nullptr)) {
    throw Failure(ASSAY_INVALID_ARGUMENT,
                  who + " has " + std::to_string(wanted) + " " + what + "s, not " + std::to_string(count));
  }
  const auto place = [&](std::size_t i) { return who + ": " + what + " " + std::to_string(i); };
  out.clear();
  for (std::size_t i = 0; i < count; ++i) {
    if (given[i] == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, place(i) + " is a null buffer");
    assay_buffer& buffer = checked(given[i], &device);
    if (!(buffer.meta == meta_of(i))) {
      throw Failure(ASSAY_INVALID_ARGUMENT,
                    place(i) + ": the buffer's dtype or sizes are not those that are needed");
    }
    out.push_back({buffer.block.data(), buffer.block.bytes()});
  }
}

// Outputs never alias inputs or each other.
void check_distinct(const std::vector<assay::backend::HbmBinding>& inputs,
                    const std::vector<assay::backend::HbmBinding>& outputs, const std::string& who) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const auto& input : inputs) {
      if (input.data == outputs[i].data) {
        throw Failure(ASSAY_INVALID_ARGUMENT, who + ": an output is also an input");
      }
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (outputs[j].data == outputs[i].data) {
        throw Failure(ASSAY_INVALID_ARGUMENT, who + ": an output is given twice");
      }
    }
  }
}

int32_t cache_hit_of(assay::backend::CacheHit hit) {
  switch (hit) {
    case assay::backend::CacheHit::disk:
      return ASSAY_CACHE_DISK;
    case assay::backend::CacheHit::memory:
      return ASSAY_CACHE_MEMORY;
    case assay::backend::CacheHit::miss:
      break;
  }
  return ASSAY_CACHE_MISS;
}

assay_error* execute_eager(assay_eager_args* args) {
  return guarded([&] {
    require(args, &assay_eager_args::output_count, "execute_eager");
    assay_device& device = checked(args->device);
    const NodeView node(device.api, args->node);
    const std::string who = "execute_eager: " + node.op();
    bind_buffers(
        device, args->inputs, args->input_count, node.input_count(), who, "input",
        [&](std::size_t i) { return node.input(i); }, device.inputs);
    bind_buffers(
        device, args->outputs, args->output_count, node.output_count(), who, "output",
        [&](std::size_t i) { return node.output(i); }, device.outputs);
    check_distinct(device.inputs, device.outputs, who);
    const assay::backend::Device::Executed done = device.device.execute(node, device.inputs, device.outputs);
    set(args, &assay_eager_args::cache_hit, cache_hit_of(done.hit));
    set(args, &assay_eager_args::miss_reason, done.miss_reason);
  });
}

assay_error* collective(assay_collective_args* args) {
  return guarded([&] {
    require(args, &assay_collective_args::outputs, "collective");
    if (args->rank_count == 0 || args->ranks == nullptr) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "collective: no ranks");
    }
    const NodeView node(checked(args->ranks[0]).api, args->node);
    const std::string who = "collective: " + node.op();
    if (node.input_count() != args->rank_count || node.output_count() != args->rank_count ||
        args->inputs == nullptr || args->outputs == nullptr) {
      throw Failure(ASSAY_INVALID_ARGUMENT, who + ": one input and one output for each rank are needed");
    }
    std::vector<assay::backend::Device*> ranks;
    std::vector<int> cores;
    std::vector<assay::backend::HbmBinding> inputs, outputs, one;
    for (std::size_t r = 0; r < args->rank_count; ++r) {
      assay_device& device = checked(args->ranks[r]);
      ranks.push_back(&device.device);
      cores.push_back(device.core_number);
      const auto bind = [&](assay_buffer* buffer, const char* what, const Meta& meta,
                            std::vector<assay::backend::HbmBinding>& out) {
        bind_buffers(
            device, &buffer, 1, 1, who, what, [&](std::size_t) { return meta; }, one);
        out.push_back(one.front());
      };
      bind(args->inputs[r], "input", node.input(r), inputs);
      bind(args->outputs[r], "output", node.output(r), outputs);
    }
    check_distinct(inputs, outputs, who);
    const auto report = assay::backend::run_collective(ranks, cores, world_size(), node, inputs, outputs);
    set(args, &assay_collective_args::algorithm, report.algorithm);
    set(args, &assay_collective_args::staged, report.staged);
    const bool counts = has(args, &assay_collective_args::received);
    for (std::size_t r = 0; r < args->rank_count && counts; ++r) {
      if (args->sent != nullptr) args->sent[r] = report.sent[r];
      if (args->received != nullptr) args->received[r] = report.received[r];
    }
  });
}

assay_error* compile(assay_compile_args* args) {
  return guarded([&] {
    require(args, &assay_compile_args::executable, "compile");
    assay_device& device = checked(args->device);
    if (args->graph_json == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "compile: null graph");
    assay::backend::CompileResult result =
        device.device.compile_graph({args->graph_json, args->graph_json_size});
    auto executable = std::make_unique<assay_executable>();
    executable->device = &device;
    executable->compiled = std::move(result.executable);
    executable->miss_reason = std::move(result.miss_reason);
    executable->diagnostics = executable->compiled->graph.diagnostics();
    if (!result.notes.empty()) executable->diagnostics += "\ncompile cache: " + result.notes;
    set(args, &assay_compile_args::cache_hit, cache_hit_of(result.hit));
    set(args, &assay_compile_args::artifact_bytes, executable->compiled->artifact_bytes);
    set(args, &assay_compile_args::miss_reason, executable->miss_reason.c_str());
    set(args, &assay_compile_args::diagnostics, executable->diagnostics.c_str());
    args->executable = executables().add(executable.get());
    static_cast<void>(executable.release());
  });
}

Meta meta_of(const assay::TensorMeta& meta) { return {static_cast<int32_t>(meta.dtype), meta.shape}; }

assay_error* execute(assay_execute_args* args) {
  return guarded([&] {
    require(args, &assay_execute_args::output_count, "execute");
    assay_device& device = checked(args->device);
    assay_executable& executable = executables().check(args->executable, "executable");
    if (executable.device != &device) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "execute: the executable belongs to another device");
    }
    assay::backend::Executable& compiled = *executable.compiled;
    const auto& inputs = compiled.graph.inputs;
    const auto& outputs = compiled.graph.outputs;
    bind_buffers(
        device, args->inputs, args->input_count, inputs.size(), "execute: the compiled graph", "input",
        [&](std::size_t i) { return meta_of(inputs[i]); }, device.inputs);
    bind_buffers(
        device, args->outputs, args->output_count, outputs.size(), "execute: the compiled graph", "output",
        [&](std::size_t i) { return meta_of(outputs[i]); }, device.outputs);
    check_distinct(device.inputs, device.outputs, "execute");
    device.device.execute(compiled, device.inputs, device.outputs);
  });
}

void executable_destroy(assay_executable* executable) {
  if (executables().remove(executable)) delete executable;
}

assay_error* counters(assay_counters* args) {
  return guarded([&] {
    require(args, &assay_counters::device, "counters");
    assay::backend::Device& device = checked(args->device).device;
    const assay::backend::DeviceCounters& c = device.counters();
    set(args, &assay_counters::cycles, c.cycles);
    set(args, &assay_counters::device_seconds, c.device_seconds);
    set(args, &assay_counters::instructions, c.instructions);
    set(args, &assay_counters::peak_bytes, device.memory()->peak());
    set(args, &assay_counters::compiles, c.compiles);
    set(args, &assay_counters::memory_hits, c.memory_hits);
    set(args, &assay_counters::disk_hits, c.disk_hits);
    set(args, &assay_counters::compile_seconds, c.compile_seconds);
    set(args, &assay_counters::bytes_to_device, c.bytes_to_device);
    set(args, &assay_counters::bytes_to_host, c.bytes_to_host);
    set(args, &assay_counters::nodes_executed, c.nodes_executed);
  });
}

assay_error* profile(assay_profile_args* args) {
  return guarded([&] {
    require(args, &assay_profile_args::events_json_size, "profile");
    assay_device& device = checked(args->device);
    device.profile.clear();
    if (args->enable != 0) {
      device.device.start_profile();
    } else {
      device.profile = device.device.finish_profile();
    }
    args->events_json = device.profile.c_str();
    args->events_json_size = device.profile.size();
  });
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_api* assay_get_api(void) {
  static const assay_api api = [] {
    assay_api a{};
    a.struct_size = sizeof a;
    a.abi_major = ASSAY_ABI_MAJOR;
    a.abi_minor = ASSAY_ABI_MINOR;
    a.error_info = assay::plugin::error_info;
    a.error_destroy = assay::plugin::error_destroy;
    a.create = create;
    a.destroy = destroy;
    a.describe = describe;
    a.supports = supports;
    a.buffer_create = buffer_create;
    a.buffer_destroy = buffer_destroy;
    a.buffer_meta = buffer_meta;
    a.copy_to_device = copy_to_device;
    a.copy_to_host = copy_to_host;
    a.execute_eager = execute_eager;
    a.compile = compile;
    a.execute = execute;
    a.executable_destroy = executable_destroy;
    a.counters = counters;
    a.profile = profile;
    a.collective = collective;
    return a;
  }();
  return &api;
}
