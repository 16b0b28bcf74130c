// A plug-in for tests: negates right, and misbehaves on relu in the way that $ASSAY_TEST_MISBEHAVIOUR names.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "assay/plugin.hpp"

using assay::plugin::Failure;
using assay::plugin::guard;
using assay::plugin::Meta;
using assay::plugin::NodeView;

struct assay_device {
  const assay_node_api* node_api = nullptr;
  std::string target;
  int executed = 0;
};

struct assay_buffer {
  Meta meta;
  std::vector<unsigned char> bytes;
};

namespace {

std::string target_of_library;  // the last device's: copies know only buffers

void compute(assay_device& device, const std::string& op, const assay_buffer& in, assay_buffer& out) {
  std::vector<float> values(in.bytes.size() / sizeof(float));
  std::memcpy(values.data(), in.bytes.data(), in.bytes.size());
  for (float& v : values) v = op == "aten::neg.default" ? -v : (v > 0 ? v : 0);
  std::memcpy(out.bytes.data(), values.data(), in.bytes.size());
  ++device.executed;
}

void misbehave(assay_device& device, assay_buffer& in, assay_buffer& out) {
  const std::string& how = device.target;
  if (how == "segv") raise(SIGSEGV);
  if (how == "kill") raise(SIGKILL);
  if (how == "exit") _exit(3);
  if (how == "hang") {
    while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  if (how == "spin") {
    std::atomic<int> i = 0;
    while (true) ++i;
  }
  if (how == "memory") {
    std::vector<std::vector<char>> hoard;
    while (true) {
      hoard.emplace_back(std::size_t{16} << 20, 'x');
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  if (how == "rubbish") {
    const char text[] = "this is no frame, but more than eight bytes";
    [[maybe_unused]] const ssize_t n = write(4, text, sizeof text);
  }
  if (how == "length") {
    const unsigned char huge[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    [[maybe_unused]] const ssize_t n = write(4, huge, sizeof huge);
  }
  if (how == "torn") {
    const unsigned char some[] = {200, 0, 0, 0, 0, 0, 0, 0, 0x81};
    [[maybe_unused]] const ssize_t n = write(4, some, sizeof some);
    _exit(0);
  }
  if (how == "noise") {
    for (int i = 0; i < 20000; ++i)
      std::printf("chatter at %p of process %d\n", static_cast<void*>(&i), getpid());
    std::fflush(stdout);
  }
  if (how == "trap") throw Failure(ASSAY_EXECUTION_ERROR, "engine 3 trapped");
  if (how == "full") throw Failure(ASSAY_OUT_OF_MEMORY, "HBM is full", ASSAY_REASON_MEMORY);
  if (how == "compiler") throw Failure(ASSAY_COMPILE_ERROR, "cannot schedule");
  if (how == "utf8") throw Failure(ASSAY_EXECUTION_ERROR, "bad \xff\xfe bytes");
  if (how == "stale") {
    ++device.executed;
    return;
  }
  if (how == "half") {  // writes the first half of its output only
    const std::vector<unsigned char> before = out.bytes;
    compute(device, "aten::relu.default", in, out);
    const auto half = static_cast<std::ptrdiff_t>(before.size() / 2);
    std::copy(before.begin() + half, before.end(), out.bytes.begin() + half);
    return;
  }
  if (how == "input") {  // the right result, and its input spoilt
    compute(device, "aten::relu.default", in, out);
    std::memset(in.bytes.data(), 0, in.bytes.size());
    return;
  }
  if (how == "idle") {  // right numbers from nowhere: the device's own count says that it did nothing
    compute(device, "aten::relu.default", in, out);
    --device.executed;
    return;
  }
  if (how == "dice") {
    compute(device, "aten::relu.default", in, out);
    out.bytes[0] = static_cast<unsigned char>(device.executed);
    return;
  }
  compute(device, "aten::relu.default", in, out);
}

assay_error* create(assay_create_args* args) {
  return guard([&] {
    auto device = std::make_unique<assay_device>();
    device->node_api = args->node_api;
    const char* how = std::getenv("ASSAY_TEST_MISBEHAVIOUR");
    device->target = how != nullptr ? how : "";
    if (device->target == "refuse") throw Failure(ASSAY_INVALID_ARGUMENT, "no such target");
    if (device->target == "greet") _exit(5);
    target_of_library = device->target;
    // It dies of what it does, also where a sanitizer would report and exit.
    signal(SIGSEGV, SIG_DFL);
    args->device = device.release();
  });
}
void destroy(assay_device* device) { delete device; }
assay_error* describe(assay_device*, assay_description* out) {
  out->name = "misbehaving";
  out->version = "1";
  out->device = "a device for tests";
  out->contract_json = R"({"name": "misbehaving"})";
  out->deterministic = 1;
  return nullptr;
}
assay_error* supports(assay_supports_args* args) {
  return guard([&] {
    const NodeView node(args->device->node_api, args->node);
    const std::string op = node.op();
    static std::string message;
    args->supported =
        (op == "aten::neg.default" || op == "aten::relu.default") && node.input(0).dtype == ASSAY_F32;
    args->native = 1;
    args->reason = args->supported ? ASSAY_REASON_NONE : ASSAY_REASON_OPERATOR;
    message = args->supported ? "" : "only neg and relu";
    args->message = message.c_str();
  });
}
assay_error* buffer_create(assay_buffer_create_args* args) {
  return guard([&] {
    auto buffer = std::make_unique<assay_buffer>();
    buffer->meta = assay::plugin::read_meta(&args->meta);
    buffer->bytes.resize(assay::plugin::byte_size(buffer->meta));
    args->buffer = buffer.release();
  });
}
void buffer_destroy(assay_buffer* buffer) { delete buffer; }
assay_error* buffer_meta(assay_buffer* buffer, assay_tensor_meta* out) {
  out->dtype = buffer->meta.dtype;
  out->rank = static_cast<int32_t>(buffer->meta.sizes.size());
  out->sizes = buffer->meta.sizes.data();
  return nullptr;
}
assay_error* copy_to_device(assay_copy_args* args) {
  std::memcpy(args->buffer->bytes.data(), args->host, args->size);
  return nullptr;
}
assay_error* copy_to_host(assay_copy_args* args) {
  std::memcpy(args->host, args->buffer->bytes.data(), args->size);
  if (target_of_library == "overrun") static_cast<unsigned char*>(args->host)[args->size] = 0;
  return nullptr;
}
assay_error* execute_eager(assay_eager_args* args) {
  return guard([&] {
    const NodeView node(args->device->node_api, args->node);
    if (node.op() == "aten::relu.default") {
      misbehave(*args->device, *args->inputs[0], *args->outputs[0]);
    } else {
      compute(*args->device, node.op(), *args->inputs[0], *args->outputs[0]);
    }
  });
}
assay_error* counters(assay_counters* out) {
  out->nodes_executed = static_cast<uint64_t>(out->device->executed);
  return nullptr;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_api* assay_get_api(void) {
  static assay_api api{};
  api.struct_size = sizeof api;
  api.abi_major = ASSAY_ABI_MAJOR;
  api.abi_minor = ASSAY_ABI_MINOR;
  api.error_info = assay::plugin::error_info;
  api.error_destroy = assay::plugin::error_destroy;
  api.create = create;
  api.destroy = destroy;
  api.describe = describe;
  api.supports = supports;
  api.buffer_create = buffer_create;
  api.buffer_destroy = buffer_destroy;
  api.buffer_meta = buffer_meta;
  api.copy_to_device = copy_to_device;
  api.copy_to_host = copy_to_host;
  api.execute_eager = execute_eager;
  api.counters = counters;
  return &api;
}
