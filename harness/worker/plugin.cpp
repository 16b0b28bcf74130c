#include "harness/worker/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "core/distributed/join.h"
#include "core/error.h"

namespace assay {
namespace {

constexpr std::size_t kGuardBytes = 64;
constexpr uint8_t kGuardPattern = 0xb6;
constexpr std::size_t kLargestTable = std::size_t{1} << 20;

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

assay_tensor_meta meta_of(const TensorMeta& meta) {
  return {sizeof(assay_tensor_meta), static_cast<int32_t>(meta.dtype),
          static_cast<int32_t>(meta.shape.size()), meta.shape.data()};
}

std::size_t byte_size(const TensorMeta& meta) {
  return static_cast<std::size_t>(element_count(meta.shape)) * size_of(meta.dtype);
}

[[noreturn]] void violation(const std::string& message) {
  throw PluginError(ASSAY_INTERNAL, ASSAY_REASON_NONE, "the backend breaks the ABI: " + message);
}

std::vector<assay_buffer*> handles_of(const std::vector<BufferPtr>& buffers) {
  std::vector<assay_buffer*> handles;
  for (const BufferPtr& buffer : buffers) handles.push_back(buffer ? buffer->handle() : nullptr);
  return handles;
}

}  // namespace

std::string reason_text(int32_t reason) {
  static const char* const names[] = {"",        "operator", "dtype",  "shape", "argument", "dynamic_shape",
                                      "complex", "float64",  "memory", "policy"};
  return reason > 0 && reason <= ASSAY_REASON_POLICY ? names[reason] : "";
}

// --- Plugin
// ----------------------------------------------------------------------------------------------------

std::shared_ptr<const Plugin> Plugin::load(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: not a plug-in that can be loaded: {}", path, text_of(::dlerror())));
  }
  const auto get_api = reinterpret_cast<assay_get_api_fn>(::dlsym(library, ASSAY_GET_API_SYMBOL));
  if (get_api == nullptr) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: exports no function {}; see abi/assay/backend.h", path, ASSAY_GET_API_SYMBOL));
  }
  return from_table(get_api(), path);
}

std::shared_ptr<const Plugin> Plugin::from_table(const assay_api* table, const std::string& origin) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, origin + ": " + what);
  };
  if (table == nullptr) fail(fmt::format("{} returned null", ASSAY_GET_API_SYMBOL));
  if (table->struct_size < offsetof(assay_api, error_info) || table->struct_size > kLargestTable) {
    fail(fmt::format("the table's struct_size is {}, which cannot be", table->struct_size));
  }
  if (table->abi_major != ASSAY_ABI_MAJOR) {
    fail(fmt::format("built for ABI {}.{}; this harness speaks {}.{}", table->abi_major, table->abi_minor,
                     ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR));
  }
  if (table->abi_minor < 0) fail(fmt::format("negative minor version {}", table->abi_minor));
  auto plugin = std::make_shared<Plugin>();
  plugin->origin_ = origin;
  std::memcpy(&plugin->api_, table, std::min(table->struct_size, sizeof(assay_api)));
  plugin->api_.struct_size = sizeof(assay_api);
  const assay_api& api = plugin->api_;
  const std::pair<bool, const char*> required[] = {
      {api.error_info != nullptr, "error_info"},
      {api.error_destroy != nullptr, "error_destroy"},
      {api.create != nullptr, "create"},
      {api.destroy != nullptr, "destroy"},
      {api.describe != nullptr, "describe"},
      {api.supports != nullptr, "supports"},
      {api.buffer_create != nullptr, "buffer_create"},
      {api.buffer_destroy != nullptr, "buffer_destroy"},
      {api.buffer_meta != nullptr, "buffer_meta"},
      {api.copy_to_device != nullptr, "copy_to_device"},
      {api.copy_to_host != nullptr, "copy_to_host"},
      {api.execute_eager != nullptr, "execute_eager"},
  };
  for (const auto& [given, name] : required) {
    if (!given) fail(fmt::format("the table's member {} is null or beyond its struct_size", name));
  }
  if (api.compile != nullptr && (api.execute == nullptr || api.executable_destroy == nullptr)) {
    fail("the table has compile, but not execute and executable_destroy");
  }
  return plugin;
}

void Plugin::check(assay_error* error, const char* function) const {
  if (error == nullptr) return;
  assay_error_info info{};
  info.struct_size = sizeof(info);
  api_.error_info(error, &info);
  const auto code = info.code >= ASSAY_INVALID_ARGUMENT && info.code <= ASSAY_INTERNAL
                        ? static_cast<assay_code>(info.code)
                        : ASSAY_INTERNAL;
  const auto reason = static_cast<assay_reason>(
      info.reason >= ASSAY_REASON_NONE && info.reason <= ASSAY_REASON_POLICY ? info.reason
                                                                             : ASSAY_REASON_NONE);
  std::string message = text_of(info.message);
  api_.error_destroy(error);
  if (message.empty()) message = fmt::format("{} failed without a message", function);
  throw PluginError(code, reason, message);
}

// --- Buffer
// ----------------------------------------------------------------------------------------------------

Buffer::Buffer(std::shared_ptr<const Plugin> plugin, assay_device* device, assay_buffer* handle)
    : plugin_(std::move(plugin)), device_(device), handle_(handle) {}

Buffer::~Buffer() { plugin_->api().buffer_destroy(handle_); }

TensorMeta Buffer::meta() const {
  assay_tensor_meta out{};
  out.struct_size = sizeof(out);
  plugin_->check(plugin_->api().buffer_meta(handle_, &out), "buffer_meta");
  const auto dtype = static_cast<DType>(out.dtype);
  if (!is_valid(dtype)) violation(fmt::format("buffer_meta gives dtype {}", out.dtype));
  if (out.rank < 0 || out.rank > 64 || (out.rank > 0 && out.sizes == nullptr)) {
    violation(fmt::format("buffer_meta gives rank {}", out.rank));
  }
  TensorMeta meta{dtype, Shape(out.sizes, out.sizes + out.rank)};
  for (const int64_t size : meta.shape) {
    if (size < 0) violation(fmt::format("buffer_meta gives the shape {}", to_string(meta.shape)));
  }
  return meta;
}

void Buffer::write(const Tensor& tensor) {
  const Tensor packed = tensor.contiguous();
  assay_copy_args args{sizeof(args), device_, handle_, const_cast<std::byte*>(packed.data()), packed.bytes()};
  plugin_->check(plugin_->api().copy_to_device(&args), "copy_to_device");
}

void Buffer::fill(const TensorMeta& meta, uint8_t pattern) {
  std::vector<uint8_t> bytes(byte_size(meta), pattern);
  assay_copy_args args{sizeof(args), device_, handle_, bytes.data(), bytes.size()};
  plugin_->check(plugin_->api().copy_to_device(&args), "copy_to_device");
}

Tensor Buffer::read(const TensorMeta& meta) const {
  const std::size_t size = byte_size(meta);
  std::vector<uint8_t> bytes(size + 2 * kGuardBytes, kGuardPattern);
  assay_copy_args args{sizeof(args), device_, handle_, bytes.data() + kGuardBytes, size};
  plugin_->check(plugin_->api().copy_to_host(&args), "copy_to_host");
  for (std::size_t i = 0; i < kGuardBytes; ++i) {
    if (bytes[i] != kGuardPattern || bytes[kGuardBytes + size + i] != kGuardPattern) {
      violation("copy_to_host wrote outside of the memory that it was given");
    }
  }
  return Tensor::from_bytes(meta.dtype, meta.shape, bytes.data() + kGuardBytes, size);
}

// --- Device
// ----------------------------------------------------------------------------------------------------

Device::Device(std::shared_ptr<const Plugin> plugin, const HelloRequest& request)
    : plugin_(std::move(plugin)), request_(request), device_(make()) {
  try {
    info_ = describe();
  } catch (...) {
    plugin_->api().destroy(device_);
    throw;
  }
}

Device::~Device() {
  for (assay_device* peer : peers_) plugin_->api().destroy(peer);
  plugin_->api().destroy(device_);
}

void Device::use_ranks(int ranks) {
  while (static_cast<int>(peers_.size()) + 1 < ranks) peers_.push_back(make());
  ranks_ = ranks;
  collectives_.clear();
}

int Device::rank_for(const std::string& name) const {
  return ranks_ > 1 ? std::clamp(rank_of(name), 0, ranks_ - 1) : 0;
}

assay_device* Device::at(int rank) const {
  return rank == 0 ? device_ : peers_.at(static_cast<std::size_t>(rank) - 1);
}

assay_device* Device::make() const {
  const HelloRequest& request = request_;
  std::vector<assay_option> options;
  for (const auto& [key, value] : request.options) {
    options.push_back({sizeof(assay_option), key.c_str(), value.c_str()});
  }
  assay_create_args args{};
  args.struct_size = sizeof(args);
  args.node_api = &NodeHandle::api();
  args.target = request.target.c_str();
  args.options = options.data();
  args.option_count = options.size();
  args.cache_dir = request.cache_dir ? request.cache_dir->c_str() : nullptr;
  args.seed = request.seed;
  plugin_->check(plugin_->api().create(&args), "create");
  if (args.device == nullptr) violation("create gives a null device without an error");
  return args.device;
}

BackendInfo Device::describe() {
  assay_description out{};
  out.struct_size = sizeof(out);
  plugin_->check(plugin_->api().describe(device_, &out), "describe");
  if (out.name == nullptr || *out.name == '\0') violation("describe gives no name");
  if (out.contract_json == nullptr || *out.contract_json == '\0') violation("describe gives no Contract");
  BackendInfo info;
  info.name = out.name;
  info.version = text_of(out.version);
  info.device = text_of(out.device);
  info.contract = out.contract_json;
  info.memory_bytes = out.memory_bytes;
  info.simulated = out.simulated != 0;
  info.deterministic = out.deterministic != 0;
  info.compile = plugin_->has_compile();
  return info;
}

NodeSupport Device::supports(const NodeHandle& node) {
  if (is_joined_collective(node.node().op) && plugin_->api().collective == nullptr) {
    return {false, 0, "operator", node.node().op + ": the backend has no collectives"};
  }
  assay_supports_args args{};
  args.struct_size = sizeof(args);
  args.device = at(rank_for(node.node().name));
  args.node = node.handle();
  plugin_->check(plugin_->api().supports(&args), "supports");
  NodeSupport support;
  support.supported = args.supported != 0;
  support.native = support.supported ? (args.native == 2 ? 2 : 1) : 0;
  support.reason = support.supported ? "" : reason_text(args.reason);
  if (!support.supported && support.reason.empty()) support.reason = "operator";
  support.message = text_of(args.message);
  return support;
}

BufferPtr Device::create(const TensorMeta& meta, int rank) {
  assay_buffer_create_args args{};
  args.struct_size = sizeof(args);
  args.device = at(rank);
  args.meta = meta_of(meta);
  plugin_->check(plugin_->api().buffer_create(&args), "buffer_create");
  if (args.buffer == nullptr) violation("buffer_create gives a null buffer without an error");
  return std::make_shared<Buffer>(plugin_, at(rank), args.buffer);
}

BufferPtr Device::upload(const Tensor& tensor, int rank) {
  BufferPtr buffer = create({tensor.dtype(), tensor.shape()}, rank);
  buffer->write(tensor);
  return buffer;
}

void Device::adopt(const std::vector<assay_buffer*>& handles, std::vector<BufferPtr>& outputs,
                   const char* function) {
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (outputs[i] == nullptr && handles[i] != nullptr) {
      outputs[i] = std::make_shared<Buffer>(plugin_, device_, handles[i]);
    } else if (outputs[i] != nullptr && handles[i] != outputs[i]->handle()) {
      violation(fmt::format("{} replaced output buffer {}", function, i));
    }
  }
}

void Device::execute(const NodeHandle& node, const std::vector<BufferPtr>& inputs,
                     std::vector<BufferPtr>& outputs) {
  const std::vector<assay_buffer*> in = handles_of(inputs);
  std::vector<assay_buffer*> out = handles_of(outputs);
  if (is_joined_collective(node.node().op)) {
    collective(node, in, out);
    adopt(out, outputs, "collective");
    return;
  }
  assay_device* device = at(rank_for(node.node().name));
  assay_eager_args args{};
  args.struct_size = sizeof(args);
  args.device = device;
  args.node = node.handle();
  args.inputs = in.data();
  args.input_count = in.size();
  args.outputs = out.data();
  args.output_count = out.size();
  args.cache_hit = -1;
  plugin_->check(plugin_->api().execute_eager(&args), "execute_eager");
  if (args.cache_hit == ASSAY_CACHE_MISS) {
    if (std::string reason = text_of(args.miss_reason); !reason.empty()) misses_.push_back(std::move(reason));
  }
  adopt(out, outputs, "execute_eager");
}

void Device::collective(const NodeHandle& node, const std::vector<assay_buffer*>& in,
                        std::vector<assay_buffer*>& out) {
  constexpr uint64_t kUnsaid = std::numeric_limits<uint64_t>::max();
  std::vector<assay_device*> ranks;
  for (const ValueId id : node.input_values()) ranks.push_back(at(rank_for(node.value_name(id))));
  if (out.size() != ranks.size()) {
    throw Error(ErrorCode::internal, node.node().op + ": results that nobody asked for");
  }
  std::vector<uint64_t> sent(ranks.size(), kUnsaid), received(ranks.size(), kUnsaid);
  assay_collective_args args{};
  args.struct_size = sizeof(args);
  args.ranks = ranks.data();
  args.rank_count = ranks.size();
  args.node = node.handle();
  args.inputs = in.data();
  args.outputs = out.data();
  args.sent = sent.data();
  args.received = received.data();
  plugin_->check(plugin_->api().collective(&args), "collective");
  CollectiveBytes& bytes = collectives_[node.node().name];
  bytes = {text_of(args.algorithm), {}, {}, 0};
  const auto said = [](uint64_t count) { return count <= uint64_t{1} << 62; };
  if (!std::all_of(sent.begin(), sent.end(), said) || !std::all_of(received.begin(), received.end(), said))
    return;
  if (!said(args.staged)) return;
  bytes.staged = static_cast<int64_t>(args.staged);
  for (const uint64_t count : sent) bytes.sent.push_back(static_cast<int64_t>(count));
  for (const uint64_t count : received) bytes.received.push_back(static_cast<int64_t>(count));
}

std::optional<DeviceTotals> Device::totals() {
  if (plugin_->api().counters == nullptr) return std::nullopt;
  DeviceTotals all = totals_of(device_);
  for (int rank = 1; rank < ranks_; ++rank) {
    const DeviceTotals one = totals_of(at(rank));
    all.cycles = std::max(all.cycles, one.cycles);
    all.device_seconds = std::max(all.device_seconds, one.device_seconds);
    all.instructions += one.instructions;
    all.peak_bytes += one.peak_bytes;
    all.compiles += one.compiles;
    all.memory_hits += one.memory_hits;
    all.disk_hits += one.disk_hits;
    all.nodes_executed += one.nodes_executed;
    all.compile_seconds += one.compile_seconds;
  }
  return all;
}

DeviceTotals Device::totals_of(assay_device* device) const {
  assay_counters c{};
  c.struct_size = sizeof(c);
  c.device = device;
  plugin_->check(plugin_->api().counters(&c), "counters");
  DeviceTotals totals;
  totals.cycles = c.cycles;
  totals.instructions = c.instructions;
  totals.peak_bytes = c.peak_bytes;
  totals.compiles = c.compiles;
  totals.memory_hits = c.memory_hits;
  totals.disk_hits = c.disk_hits;
  totals.nodes_executed = c.nodes_executed;
  totals.device_seconds = c.device_seconds;
  totals.compile_seconds = c.compile_seconds;
  return totals;
}

void Device::start_profile() {
  if (plugin_->api().profile == nullptr) {
    throw Error(ErrorCode::unsupported, "the backend records no profiles");
  }
  assay_profile_args args{sizeof(args), device_, 1, nullptr, 0};
  plugin_->check(plugin_->api().profile(&args), "profile");
}

std::string Device::finish_profile() {
  assay_profile_args args{sizeof(args), device_, 0, nullptr, 0};
  plugin_->check(plugin_->api().profile(&args), "profile");
  if (args.events_json == nullptr) violation("profile gives no events");
  return {args.events_json, args.events_json_size};
}

std::unique_ptr<Executable> Device::compile(const std::string& graph_json) {
  assay_compile_args args{};
  args.struct_size = sizeof(args);
  args.device = device_;
  args.graph_json = graph_json.data();
  args.graph_json_size = graph_json.size();
  plugin_->check(plugin_->api().compile(&args), "compile");
  if (args.executable == nullptr) violation("compile gives a null executable without an error");
  auto executable = std::make_unique<Executable>(*plugin_, args.executable);
  executable->cache_hit = args.cache_hit == ASSAY_CACHE_DISK     ? ASSAY_CACHE_DISK
                          : args.cache_hit == ASSAY_CACHE_MEMORY ? ASSAY_CACHE_MEMORY
                                                                 : ASSAY_CACHE_MISS;
  executable->artifact_bytes = args.artifact_bytes;
  executable->miss_reason = text_of(args.miss_reason);
  executable->diagnostics = text_of(args.diagnostics);
  return executable;
}

void Device::execute(Executable& executable, const std::vector<BufferPtr>& inputs,
                     std::vector<BufferPtr>& outputs) {
  const std::vector<assay_buffer*> in = handles_of(inputs);
  std::vector<assay_buffer*> out = handles_of(outputs);
  assay_execute_args args{};
  args.struct_size = sizeof(args);
  args.device = device_;
  args.executable = executable.handle();
  args.inputs = in.data();
  args.input_count = in.size();
  args.outputs = out.data();
  args.output_count = out.size();
  plugin_->check(plugin_->api().execute(&args), "execute");
  adopt(out, outputs, "execute");
}

}  // namespace assay
