// The reference as a backend: assay_get_api over the static library. Each node is evaluated in fp64 and
// rounded once to its dtype, eagerly or a whole graph in one call.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/plugin.hpp"
#include "core/distributed/join.h"
#include "core/distributed/traffic.h"
#include "core/error.h"
#include "core/graph/graph.h"
#include "core/graph/json.h"
#include "core/philox.h"
#include "reference/draws.h"
#include "reference/evaluate.h"
#include "reference/plugin/contract.h"

namespace plugin = assay::plugin;
using assay::reference::Wide;
using plugin::Failure;

// One node as it crosses the ABI, ready to be evaluated.
struct ParsedNode {
  assay::Graph graph;
  std::unique_ptr<assay::OpCall> call;
};

struct assay_device {
  const assay_node_api* node_api = nullptr;
  std::map<std::string, std::shared_ptr<const ParsedNode>, std::less<>> nodes;  // by node JSON
  std::string message;                                                          // of the last `supports`
  uint64_t seed = 0;
  uint64_t bytes = 0, peak_bytes = 0;
  uint64_t compiles = 0, memory_hits = 0, bytes_to_device = 0, bytes_to_host = 0, nodes_executed = 0;
  double compile_seconds = 0, device_seconds = 0;
};

struct assay_buffer {
  assay_device* device;
  plugin::Meta meta;
  assay::Tensor tensor;
};

struct assay_executable {
  assay_device* device;
  assay::Graph graph;
  std::unique_ptr<assay::reference::Walker> walker;
};

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

plugin::Handles<assay_device>& devices() {
  static plugin::Handles<assay_device> handles;
  return handles;
}
plugin::Handles<assay_buffer>& buffers() {
  static plugin::Handles<assay_buffer> handles;
  return handles;
}
plugin::Handles<assay_executable>& executables() {
  static plugin::Handles<assay_executable> handles;
  return handles;
}

// Runs a body; errors of core and reference keep their kind.
template <class Body>
assay_error* run(Body&& body) noexcept {
  return plugin::guard([&] {
    try {
      body();
    } catch (const assay::Error& error) {
      const bool unsupported =
          error.code() == assay::ErrorCode::unsupported || error.code() == assay::ErrorCode::unknown_operator;
      const bool internal = error.code() == assay::ErrorCode::internal;
      throw Failure(unsupported ? ASSAY_UNSUPPORTED
                    : internal  ? ASSAY_INTERNAL
                                : ASSAY_INVALID_ARGUMENT,
                    error.what(), unsupported ? ASSAY_REASON_OPERATOR : ASSAY_REASON_NONE);
    }
  });
}

assay_error* create(assay_create_args* args) {
  return run([&] {
    plugin::require(args, &assay_create_args::device, "create");
    if (args->node_api == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "create: node_api is null");
    if (args->target != nullptr && *args->target != '\0') {
      throw Failure(ASSAY_INVALID_ARGUMENT,
                    std::string("create: the reference has no target \"") + args->target + "\"");
    }
    const auto options = plugin::read_options(args);
    if (!options.empty()) {
      throw Failure(ASSAY_INVALID_ARGUMENT,
                    "create: the reference has no option \"" + options.begin()->first + "\"; it takes none");
    }
    auto device = std::make_unique<assay_device>();
    device->node_api = args->node_api;
    device->seed = args->seed;
    args->device = devices().add(device.release());
  });
}

void destroy(assay_device* device) {
  if (devices().remove(device)) delete device;
}

assay_error* describe(assay_device* device, assay_description* out) {
  return run([&] {
    devices().check(device, "device");
    if (out == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "describe: null argument struct");
    plugin::set(out, &assay_description::name, "reference");
    plugin::set(out, &assay_description::version, "1.0");
    plugin::set(out, &assay_description::device, "host CPU, fp64");
    plugin::set(out, &assay_description::contract_json, assay::reference::contract_json());
    plugin::set(out, &assay_description::memory_bytes, 0);
    plugin::set(out, &assay_description::simulated, 0);
    plugin::set(out, &assay_description::deterministic, 1);
  });
}

assay_error* supports(assay_supports_args* args) {
  return run([&] {
    plugin::require(args, &assay_supports_args::message, "supports");
    assay_device& device = devices().check(args->device, "device");
    const plugin::NodeView node(device.node_api, args->node);
    const auto answer = [&](assay_reason reason, std::string message) {
      device.message = std::move(message);
      args->supported = reason == ASSAY_REASON_NONE ? 1 : 0;
      args->native = args->supported;
      args->reason = reason;
      args->message = device.message.c_str();
    };
    const std::string op = node.op();
    if (!assay::reference::has_operator(op)) {
      return answer(ASSAY_REASON_OPERATOR, "the reference has no kernel for " + op);
    }
    for (std::size_t i = 0; i < node.output_count(); ++i) {
      for (const int64_t size : node.output(i).sizes) {
        if (size < 0)
          return answer(ASSAY_REASON_DYNAMIC_SHAPE, op + ": the shape of its result depends on data");
      }
    }
    for (std::size_t i = 0; i < node.input_count(); ++i) {
      const int32_t dtype = node.input(i).dtype;
      if ((dtype == ASSAY_C64 || dtype == ASSAY_C128) && !assay::reference::supports_complex(op)) {
        return answer(ASSAY_REASON_COMPLEX, "the reference has no complex kernel for " + op);
      }
    }
    answer(ASSAY_REASON_NONE, "");
  });
}

assay_error* buffer_create(assay_buffer_create_args* args) {
  return run([&] {
    plugin::require(args, &assay_buffer_create_args::buffer, "buffer_create");
    assay_device& device = devices().check(args->device, "device");
    auto buffer = std::make_unique<assay_buffer>();
    buffer->device = &device;
    buffer->meta = plugin::read_meta(&args->meta);
    const std::size_t bytes = plugin::byte_size(buffer->meta);
    if (bytes > (std::size_t{1} << 40)) {
      throw Failure(ASSAY_OUT_OF_MEMORY, "buffer_create: " + std::to_string(bytes) + " bytes",
                    ASSAY_REASON_MEMORY);
    }
    buffer->tensor = assay::Tensor(static_cast<assay::DType>(buffer->meta.dtype), buffer->meta.sizes);
    device.bytes += bytes;
    device.peak_bytes = std::max(device.peak_bytes, device.bytes);
    args->buffer = buffers().add(buffer.release());
  });
}

void buffer_destroy(assay_buffer* buffer) {
  if (!buffers().remove(buffer)) return;
  if (devices().contains(buffer->device)) buffer->device->bytes -= buffer->tensor.bytes();
  delete buffer;
}

assay_error* buffer_meta(assay_buffer* handle, assay_tensor_meta* out) {
  return run([&] {
    const assay_buffer& buffer = buffers().check(handle, "buffer");
    if (out == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "buffer_meta: null argument struct");
    plugin::set(out, &assay_tensor_meta::dtype, buffer.meta.dtype);
    plugin::set(out, &assay_tensor_meta::rank, buffer.meta.sizes.size());
    plugin::set(out, &assay_tensor_meta::sizes, buffer.meta.sizes.data());
  });
}

assay_buffer& checked_copy(assay_copy_args* args, const char* what) {
  plugin::require(args, &assay_copy_args::size, what);
  devices().check(args->device, "device");
  assay_buffer& buffer = buffers().check(args->buffer, "buffer");
  if (buffer.device != args->device) {
    throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": the buffer belongs to another device");
  }
  if (args->size != buffer.tensor.bytes()) {
    throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": " + std::to_string(args->size) +
                                              " bytes given, the buffer has " +
                                              std::to_string(buffer.tensor.bytes()));
  }
  if (args->host == nullptr && args->size > 0) {
    throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": null host pointer");
  }
  return buffer;
}
assay_error* copy_to_device(assay_copy_args* args) {
  return run([&] {
    assay_buffer& buffer = checked_copy(args, "copy_to_device");
    if (args->size > 0) std::memcpy(buffer.tensor.mutable_data(), args->host, args->size);
    args->device->bytes_to_device += args->size;
  });
}
assay_error* copy_to_host(assay_copy_args* args) {
  return run([&] {
    const assay_buffer& buffer = checked_copy(args, "copy_to_host");
    if (args->size > 0) std::memcpy(args->host, buffer.tensor.data(), args->size);
    args->device->bytes_to_host += args->size;
  });
}

std::shared_ptr<const ParsedNode> parsed(assay_device& device, const plugin::NodeView& node) {
  const std::string_view json = node.json();
  if (const auto it = device.nodes.find(json); it != device.nodes.end()) {
    ++device.memory_hits;
    return it->second;
  }
  const auto start = Clock::now();
  auto result = std::make_shared<ParsedNode>();
  result->graph = assay::graph_from_json(json, "node " + node.name());
  if (result->graph.nodes.size() != 1) {
    throw Failure(ASSAY_INVALID_ARGUMENT, "execute_eager: the node's JSON is not a graph of one node");
  }
  result->call = std::make_unique<assay::OpCall>(result->graph, result->graph.nodes[0]);
  device.nodes.emplace(std::string(json), result);
  ++device.compiles;
  device.compile_seconds += seconds_since(start);
  return result;
}

// Inputs as wide arrays; each buffer is converted once.
class Operands {
 public:
  Operands(assay_buffer* const* given, std::size_t count, const std::vector<assay::TensorMeta>& expected,
           const assay_device& device, const char* what) {
    if (count != expected.size() || (given == nullptr && count > 0)) {
      throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": " + std::to_string(count) +
                                                " inputs given, " + std::to_string(expected.size()) +
                                                " expected");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const assay_buffer& buffer = buffers().check(given[i], "input buffer");
      if (buffer.device != &device) {
        throw Failure(ASSAY_INVALID_ARGUMENT,
                      std::string(what) + ": input " + std::to_string(i) + " belongs to another device");
      }
      if (buffer.tensor.dtype() != expected[i].dtype || buffer.tensor.shape() != expected[i].shape) {
        throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": input " + std::to_string(i) + " is " +
                                                  std::string(assay::name_of(buffer.tensor.dtype())) +
                                                  assay::to_string(buffer.tensor.shape()) + ", expected " +
                                                  std::string(assay::name_of(expected[i].dtype)) +
                                                  assay::to_string(expected[i].shape));
      }
      auto [it, added] = wide_.try_emplace(&buffer);
      if (added) it->second = Wide::from(buffer.tensor);
      pointers_.push_back(&it->second);
      buffers_.push_back(&buffer);
    }
  }
  const std::vector<const Wide*>& pointers() const { return pointers_; }
  bool contains(const assay_buffer* buffer) const { return wide_.count(buffer) != 0; }

 private:
  std::map<const assay_buffer*, Wide> wide_;
  std::vector<const Wide*> pointers_;
  std::vector<const assay_buffer*> buffers_;
};

// Output buffers are checked before anything is computed: of the right meta, live, and no input.
void check_outputs(assay_buffer** outputs, std::size_t count, const std::vector<assay::TensorMeta>& expected,
                   const Operands& inputs, const assay_device& device, const char* what) {
  if (count != expected.size() || (outputs == nullptr && count > 0)) {
    throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": " + std::to_string(count) +
                                              " outputs given, " + std::to_string(expected.size()) +
                                              " expected");
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (outputs[i] == nullptr) continue;  // created with the result
    const assay_buffer& buffer = buffers().check(outputs[i], "output buffer");
    if (buffer.device != &device) {
      throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": an output belongs to another device");
    }
    if (inputs.contains(&buffer)) {
      throw Failure(ASSAY_INVALID_ARGUMENT,
                    std::string(what) + ": output " + std::to_string(i) + " is also an input");
    }
    if (buffer.tensor.dtype() != expected[i].dtype || buffer.tensor.shape() != expected[i].shape) {
      throw Failure(ASSAY_INVALID_ARGUMENT,
                    std::string(what) + ": output " + std::to_string(i) + " has the wrong dtype or shape");
    }
  }
}

void write_output(assay_device& device, assay_buffer*& handle, assay::Tensor tensor) {
  if (handle != nullptr) {
    if (tensor.bytes() > 0) std::memcpy(handle->tensor.mutable_data(), tensor.data(), tensor.bytes());
    return;
  }
  auto buffer = std::make_unique<assay_buffer>();
  buffer->device = &device;
  buffer->meta = {static_cast<int32_t>(tensor.dtype()), tensor.shape()};
  device.bytes += tensor.bytes();
  buffer->tensor = std::move(tensor);
  handle = buffers().add(buffer.release());
}

void count_bytes(const assay::OpCall& call, assay_collective_args& args) {
  if (plugin::has(&args, &assay_collective_args::algorithm)) args.algorithm = "direct";
  const auto start = [&](uint64_t* bytes) { std::fill_n(bytes, args.rank_count, uint64_t{0}); };
  uint64_t* sent = plugin::has(&args, &assay_collective_args::sent) ? args.sent : nullptr;
  uint64_t* received = plugin::has(&args, &assay_collective_args::received) ? args.received : nullptr;
  if (sent != nullptr) start(sent);
  if (received != nullptr) start(received);
  for (const assay::Transfer& transfer : assay::direct_transfers(call)) {
    if (args.ranks[transfer.from] == args.ranks[transfer.to]) continue;  // a rank's message to itself
    const auto bytes = static_cast<uint64_t>(transfer.bytes);
    if (sent != nullptr) sent[transfer.from] += bytes;
    if (received != nullptr) received[transfer.to] += bytes;
  }
}

assay_error* execute_eager(assay_eager_args* args) {
  return run([&] {
    plugin::require(args, &assay_eager_args::output_count, "execute_eager");
    assay_device& device = devices().check(args->device, "device");
    const plugin::NodeView view(device.node_api, args->node);
    const auto node = parsed(device, view);
    const Operands operands(args->inputs, args->input_count, node->call->inputs(), device, "execute_eager");
    std::vector<assay::TensorMeta> metas;
    const auto& ids = node->graph.nodes[0].outputs;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0) metas.push_back(node->call->outputs()[i]);
    }
    check_outputs(args->outputs, args->output_count, metas, operands, device, "execute_eager");
    const auto start = Clock::now();
    const assay::reference::DrawSeed draws(device.seed ^ assay::fnv1a64(view.name()));
    const auto results = assay::reference::evaluate(*node->call, operands.pointers());
    std::size_t next = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0) write_output(device, args->outputs[next++], results.at(i).rounded());
    }
    device.device_seconds += seconds_since(start);
    ++device.nodes_executed;
  });
}

// Every rank's buffers lie on its own device; the value is that of the definition, and bytes are counted for
// the direct algorithm.
assay_error* collective(assay_collective_args* args) {
  return run([&] {
    plugin::require(args, &assay_collective_args::outputs, "collective");
    const std::size_t ranks = args->rank_count;
    if (ranks == 0 || args->ranks == nullptr || args->inputs == nullptr || args->outputs == nullptr) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "collective: no ranks, or null lists");
    }
    for (std::size_t r = 0; r < ranks; ++r) devices().check(args->ranks[r], "device");
    assay_device& first = *args->ranks[0];
    const auto node = parsed(first, plugin::NodeView(first.node_api, args->node));
    if (!assay::is_joined_collective(node->call->op()) || node->call->inputs().size() != ranks ||
        node->graph.nodes[0].outputs.size() != ranks) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "collective: " + node->call->op() + " is no collective of " +
                                                std::to_string(ranks) + " ranks");
    }
    std::vector<Wide> wide(ranks);
    std::vector<const Wide*> inputs;
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::vector<assay::TensorMeta> in{node->call->inputs()[r]}, out{node->call->outputs()[r]};
      const Operands operands(&args->inputs[r], 1, in, *args->ranks[r], "collective");
      check_outputs(&args->outputs[r], 1, out, operands, *args->ranks[r], "collective");
      wide[r] = *operands.pointers()[0];
      inputs.push_back(&wide[r]);
    }
    const auto start = Clock::now();
    const auto results = assay::reference::evaluate(*node->call, inputs);
    for (std::size_t r = 0; r < ranks; ++r) {
      write_output(*args->ranks[r], args->outputs[r], results.at(r).rounded());
      args->ranks[r]->device_seconds += seconds_since(start);
    }
    ++first.nodes_executed;
    count_bytes(*node->call, *args);
  });
}

assay_error* compile(assay_compile_args* args) {
  return run([&] {
    plugin::require(args, &assay_compile_args::executable, "compile");
    assay_device& device = devices().check(args->device, "device");
    if (args->graph_json == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "compile: null graph");
    const auto start = Clock::now();
    auto executable = std::make_unique<assay_executable>();
    executable->device = &device;
    executable->graph = assay::graph_from_json({args->graph_json, args->graph_json_size}, "compiled graph");
    executable->walker = std::make_unique<assay::reference::Walker>(executable->graph);
    for (const assay::Node& node : executable->graph.nodes) {
      if (node.op.starts_with("aten::") && !assay::reference::has_operator(node.op) &&
          !assay::reference::is_host_scalar(node.op)) {
        throw Failure(ASSAY_UNSUPPORTED, "compile: the reference has no kernel for " + node.op,
                      ASSAY_REASON_OPERATOR);
      }
    }
    ++device.compiles;
    device.compile_seconds += seconds_since(start);
    plugin::set(args, &assay_compile_args::cache_hit, ASSAY_CACHE_MISS);
    plugin::set(args, &assay_compile_args::artifact_bytes, args->graph_json_size);
    plugin::set(args, &assay_compile_args::miss_reason, "the reference keeps no cache");
    plugin::set(args, &assay_compile_args::diagnostics, "");
    args->executable = executables().add(executable.release());
  });
}

std::vector<assay::TensorMeta> metas_of(const assay::Graph& graph, const std::vector<assay::ValueId>& ids) {
  std::vector<assay::TensorMeta> metas;
  for (const assay::ValueId id : ids) {
    const assay::Value& value = graph.values[static_cast<std::size_t>(id)];
    if (value.kind == assay::ValueKind::tensor) {
      metas.push_back({value.dtype, value.shape});
    } else {
      metas.push_back({value.kind == assay::ValueKind::symbolic_int     ? assay::DType::i64
                       : value.kind == assay::ValueKind::symbolic_float ? assay::DType::f64
                                                                        : assay::DType::boolean,
                       {}});
    }
  }
  return metas;
}

assay_error* execute(assay_execute_args* args) {
  return run([&] {
    plugin::require(args, &assay_execute_args::output_count, "execute");
    assay_device& device = devices().check(args->device, "device");
    assay_executable& executable = executables().check(args->executable, "executable");
    if (executable.device != &device) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "execute: the executable belongs to another device");
    }
    const assay::Graph& graph = executable.graph;
    std::vector<assay::ValueId> in, out;
    std::vector<std::size_t> slots;
    for (const auto& input : graph.inputs) {
      if (input.value >= 0) in.push_back(input.value);
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      if (graph.outputs[i].value < 0) continue;
      out.push_back(graph.outputs[i].value);
      slots.push_back(i);
    }
    const Operands operands(args->inputs, args->input_count, metas_of(graph, in), device, "execute");
    check_outputs(args->outputs, args->output_count, metas_of(graph, out), operands, device, "execute");
    const auto start = Clock::now();
    const assay::reference::DrawSeed draws(device.seed);
    const auto results = executable.walker->run(
        operands.pointers(), [&](int, const assay::OpCall& call, const std::vector<const Wide*>& inputs) {
          auto outputs = assay::reference::evaluate(call, inputs);
          for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (call.output_used(static_cast<int>(i))) outputs[i] = Wide::from(outputs[i].rounded());
          }
          ++device.nodes_executed;
          return outputs;
        });
    for (std::size_t i = 0; i < slots.size(); ++i) {
      write_output(device, args->outputs[i], results.at(slots[i]).rounded());
    }
    device.device_seconds += seconds_since(start);
  });
}

void executable_destroy(assay_executable* executable) {
  if (executables().remove(executable)) delete executable;
}

assay_error* counters(assay_counters* out) {
  return run([&] {
    plugin::require(out, &assay_counters::device, "counters");
    const assay_device& device = devices().check(out->device, "device");
    plugin::set(out, &assay_counters::cycles, 0);
    plugin::set(out, &assay_counters::device_seconds, device.device_seconds);
    plugin::set(out, &assay_counters::instructions, 0);
    plugin::set(out, &assay_counters::peak_bytes, device.peak_bytes);
    plugin::set(out, &assay_counters::compiles, device.compiles);
    plugin::set(out, &assay_counters::memory_hits, device.memory_hits);
    plugin::set(out, &assay_counters::disk_hits, 0);
    plugin::set(out, &assay_counters::compile_seconds, device.compile_seconds);
    plugin::set(out, &assay_counters::bytes_to_device, device.bytes_to_device);
    plugin::set(out, &assay_counters::bytes_to_host, device.bytes_to_host);
    plugin::set(out, &assay_counters::nodes_executed, device.nodes_executed);
  });
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_api* assay_get_api(void) {
  static const assay_api api = [] {
    assay_api table{};
    table.struct_size = sizeof(assay_api);
    table.abi_major = ASSAY_ABI_MAJOR;
    table.abi_minor = ASSAY_ABI_MINOR;
    table.error_info = plugin::error_info;
    table.error_destroy = plugin::error_destroy;
    table.create = create;
    table.destroy = destroy;
    table.describe = describe;
    table.supports = supports;
    table.buffer_create = buffer_create;
    table.buffer_destroy = buffer_destroy;
    table.buffer_meta = buffer_meta;
    table.copy_to_device = copy_to_device;
    table.copy_to_host = copy_to_host;
    table.execute_eager = execute_eager;
    table.compile = compile;
    table.execute = execute;
    table.executable_destroy = executable_destroy;
    table.counters = counters;
    table.collective = collective;
    return table;
  }();
  return &api;
}
