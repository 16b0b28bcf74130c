// The null backend: accepts every node, computes nothing and returns what was in the buffers. It must never
// pass; if it does, what let it pass is broken. It is also the smallest complete plug-in: it needs
// assay/backend.h only.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "assay/backend.h"

struct assay_error {
  assay_code code;
  std::string message;
};

// It counts honestly: not 0, which would mean that it cannot tell, and standing still, as nothing is
// executed. So even an output without elements, which nobody can leave unwritten, does not pass.
struct assay_device {
  uint64_t nodes_executed = 1;
};

struct assay_buffer {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  std::vector<unsigned char> bytes;
};

struct assay_executable {
  int unused = 0;
};

namespace {

constexpr unsigned char kPoison = 0xff;

assay_error* error(assay_code code, const char* message) {
  return new (std::nothrow) assay_error{code, message};
}

// A struct that is too short for a member does not have it.
#define HAS(args, type, member) \
  ((args) != nullptr && (args)->struct_size >= offsetof(type, member) + sizeof((args)->member))
#define SET(args, type, member, value)                     \
  do {                                                     \
    if (HAS(args, type, member)) (args)->member = (value); \
  } while (false)

std::size_t element_size(int32_t dtype) {
  static const unsigned char sizes[] = {0, 1, 1, 1, 2, 4, 8, 1, 1, 1, 2, 2, 4, 8, 8, 16};
  return dtype >= ASSAY_BOOL && dtype <= ASSAY_C128 ? sizes[dtype] : 0;
}

void error_info(const assay_error* e, assay_error_info* out) {
  SET(out, assay_error_info, code, e != nullptr ? e->code : ASSAY_INVALID_ARGUMENT);
  SET(out, assay_error_info, reason, ASSAY_REASON_NONE);
  SET(out, assay_error_info, message, e != nullptr ? e->message.c_str() : "null error");
}

void error_destroy(assay_error* e) { delete e; }

assay_error* create(assay_create_args* args) {
  if (!HAS(args, assay_create_args, device))
    return error(ASSAY_INVALID_ARGUMENT, "create: the struct is too short");
  args->device = new (std::nothrow) assay_device;
  return args->device != nullptr ? nullptr : error(ASSAY_OUT_OF_MEMORY, "create: no memory");
}

void destroy(assay_device* device) { delete device; }

assay_error* describe(assay_device* device, assay_description* out) {
  if (device == nullptr || out == nullptr)
    return error(ASSAY_INVALID_ARGUMENT, "describe: null device or struct");
  SET(out, assay_description, name, "null");
  SET(out, assay_description, version, "1");
  SET(out, assay_description, device, "nothing: accepts all, computes nothing");
  SET(out, assay_description, contract_json, R"({"name": "null", "source": "computes nothing"})");
  SET(out, assay_description, memory_bytes, 0);
  SET(out, assay_description, simulated, 0);
  SET(out, assay_description, deterministic, 1);
  return nullptr;
}

assay_error* supports(assay_supports_args* args) {
  if (!HAS(args, assay_supports_args, supported) || args->device == nullptr || args->node == nullptr) {
    return error(ASSAY_INVALID_ARGUMENT, "supports: null device or node, or a short struct");
  }
  args->supported = 1;
  SET(args, assay_supports_args, native, 1);
  SET(args, assay_supports_args, reason, ASSAY_REASON_NONE);
  SET(args, assay_supports_args, message, "");
  return nullptr;
}

assay_error* make_buffer(const assay_tensor_meta* meta, assay_buffer** out) {
  if (!HAS(meta, assay_tensor_meta, sizes) || element_size(meta->dtype) == 0 || meta->rank < 0 ||
      meta->rank > 64 || (meta->rank > 0 && meta->sizes == nullptr)) {
    return error(ASSAY_INVALID_ARGUMENT, "buffer_create: not a tensor meta");
  }
  try {
    auto* buffer = new assay_buffer;
    buffer->dtype = meta->dtype;
    buffer->sizes.assign(meta->sizes, meta->sizes + meta->rank);
    std::size_t bytes = element_size(meta->dtype);
    for (const int64_t size : buffer->sizes) {
      if (size < 0 || (size > 0 && bytes > (std::size_t{1} << 48) / static_cast<std::size_t>(size))) {
        delete buffer;
        return error(ASSAY_INVALID_ARGUMENT, "buffer_create: a size is negative or too large");
      }
      bytes *= static_cast<std::size_t>(size);
    }
    try {
      buffer->bytes.assign(bytes, kPoison);
    } catch (const std::bad_alloc&) {
      delete buffer;
      throw;
    }
    *out = buffer;
    return nullptr;
  } catch (const std::bad_alloc&) {
    return error(ASSAY_OUT_OF_MEMORY, "buffer_create: no memory");
  }
}

assay_error* buffer_create(assay_buffer_create_args* args) {
  if (!HAS(args, assay_buffer_create_args, buffer) || args->device == nullptr) {
    return error(ASSAY_INVALID_ARGUMENT, "buffer_create: null device or a short struct");
  }
  return make_buffer(&args->meta, &args->buffer);
}

void buffer_destroy(assay_buffer* buffer) { delete buffer; }

assay_error* buffer_meta(assay_buffer* buffer, assay_tensor_meta* out) {
  if (buffer == nullptr || out == nullptr)
    return error(ASSAY_INVALID_ARGUMENT, "buffer_meta: null buffer or struct");
  SET(out, assay_tensor_meta, dtype, buffer->dtype);
  SET(out, assay_tensor_meta, rank, static_cast<int32_t>(buffer->sizes.size()));
  SET(out, assay_tensor_meta, sizes, buffer->sizes.data());
  return nullptr;
}

assay_error* copy(assay_copy_args* args, bool to_device) {
  if (!HAS(args, assay_copy_args, size) || args->buffer == nullptr ||
      (args->host == nullptr && args->size > 0)) {
    return error(ASSAY_INVALID_ARGUMENT, "copy: null buffer or memory, or a short struct");
  }
  if (args->size != args->buffer->bytes.size()) {
    return error(ASSAY_INVALID_ARGUMENT, "copy: the size is not that of the buffer");
  }
  if (args->size == 0) return nullptr;
  if (to_device) {
    std::memcpy(args->buffer->bytes.data(), args->host, args->size);
  } else {
    std::memcpy(args->host, args->buffer->bytes.data(), args->size);
  }
  return nullptr;
}

assay_error* copy_to_device(assay_copy_args* args) { return copy(args, true); }
assay_error* copy_to_host(assay_copy_args* args) { return copy(args, false); }

assay_error* check_lists(assay_buffer* const* inputs, std::size_t input_count, assay_buffer** outputs,
                         std::size_t output_count) {
  for (std::size_t i = 0; i < input_count; ++i) {
    if (inputs == nullptr || inputs[i] == nullptr)
      return error(ASSAY_INVALID_ARGUMENT, "execute: null input");
  }
  for (std::size_t i = 0; i < output_count; ++i) {
    if (outputs == nullptr) return error(ASSAY_INVALID_ARGUMENT, "execute: null outputs");
    if (outputs[i] != nullptr) continue;
    // A shape that depends on data: nothing was computed, so nothing was found.
    const int64_t none[] = {0};
    const assay_tensor_meta meta{sizeof(meta), ASSAY_F32, 1, none};
    if (assay_error* e = make_buffer(&meta, &outputs[i])) return e;
  }
  return nullptr;
}

assay_error* execute_eager(assay_eager_args* args) {
  if (!HAS(args, assay_eager_args, output_count) || args->device == nullptr || args->node == nullptr) {
    return error(ASSAY_INVALID_ARGUMENT, "execute_eager: null device or node, or a short struct");
  }
  return check_lists(args->inputs, args->input_count, args->outputs, args->output_count);
}

assay_error* compile(assay_compile_args* args) {
  if (!HAS(args, assay_compile_args, executable) || args->device == nullptr || args->graph_json == nullptr) {
    return error(ASSAY_INVALID_ARGUMENT, "compile: null device or graph, or a short struct");
  }
  args->executable = new (std::nothrow) assay_executable;
  if (args->executable == nullptr) return error(ASSAY_OUT_OF_MEMORY, "compile: no memory");
  SET(args, assay_compile_args, cache_hit, ASSAY_CACHE_MISS);
  SET(args, assay_compile_args, artifact_bytes, 0);
  SET(args, assay_compile_args, miss_reason, "");
  SET(args, assay_compile_args, diagnostics, "");
  return nullptr;
}

assay_error* execute(assay_execute_args* args) {
  if (!HAS(args, assay_execute_args, output_count) || args->device == nullptr ||
      args->executable == nullptr) {
    return error(ASSAY_INVALID_ARGUMENT, "execute: null device or executable, or a short struct");
  }
  return check_lists(args->inputs, args->input_count, args->outputs, args->output_count);
}

void executable_destroy(assay_executable* executable) { delete executable; }

assay_error* counters(assay_counters* args) {
  if (!HAS(args, assay_counters, device) || args->device == nullptr) {
    return error(ASSAY_INVALID_ARGUMENT, "counters: null device or a short struct");
  }
  SET(args, assay_counters, nodes_executed, args->device->nodes_executed);
  return nullptr;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_api* assay_get_api(void) {
  static const assay_api api = [] {
    assay_api table{};
    table.struct_size = sizeof(table);
    table.abi_major = ASSAY_ABI_MAJOR;
    table.abi_minor = ASSAY_ABI_MINOR;
    table.error_info = error_info;
    table.error_destroy = error_destroy;
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
    return table;
  }();
  return &api;
}
