// A loaded backend plug-in (abi/assay/backend.h) behind C++ types. Nothing that the plug-in says is trusted:
// struct sizes, null members, null strings and handles are checked here, once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "assay/backend.h"
#include "core/opset/call.h"
#include "core/tensor.h"
#include "harness/worker/messages.h"
#include "harness/worker/node_handle.h"

namespace assay {

// An error object of a backend, or a violation of the ABI (code ASSAY_INTERNAL).
class PluginError : public std::runtime_error {
 public:
  PluginError(assay_code code, assay_reason reason, const std::string& message)
      : std::runtime_error(message), code_(code), reason_(reason) {}
  assay_code code() const { return code_; }
  assay_reason reason() const { return reason_; }

 private:
  assay_code code_;
  assay_reason reason_;
};

// Reason enum of records for assay_reason; "" for none or a number that is none.
std::string reason_text(int32_t reason);

class Plugin {
 public:
  // Never unloaded: a plug-in's static destructors and threads are not ours to end. Throws
  // Error{invalid_argument} naming the file and what is wrong: no shared object, no entry point, null table,
  // other major, short table, null member that may not be null.
  static std::shared_ptr<const Plugin> load(const std::string& path);
  // Checks a table as load() does; `origin` names it in errors.
  static std::shared_ptr<const Plugin> from_table(const assay_api* table, const std::string& origin);

  const assay_api& api() const { return api_; }  // our size: members the plug-in does not have are null
  const std::string& origin() const { return origin_; }
  bool has_compile() const { return api_.compile != nullptr; }
  // Throws PluginError if `error` is not null, and destroys it.
  void check(assay_error* error, const char* function) const;

 private:
  assay_api api_{};
  std::string origin_;
};

class Buffer {
 public:
  Buffer(std::shared_ptr<const Plugin> plugin, assay_device* device, assay_buffer* handle);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  assay_buffer* handle() const { return handle_; }

  TensorMeta meta() const;
  void write(const Tensor& tensor);
  void fill(const TensorMeta& meta, uint8_t pattern);
  // Between guard bands on the host: throws PluginError if copy_to_host writes outside.
  Tensor read(const TensorMeta& meta) const;

 private:
  std::shared_ptr<const Plugin> plugin_;
  assay_device* device_;
  assay_buffer* handle_;
};
using BufferPtr = std::shared_ptr<Buffer>;

struct DeviceTotals {
  uint64_t cycles = 0, instructions = 0, peak_bytes = 0, compiles = 0, memory_hits = 0, disk_hits = 0;
  uint64_t nodes_executed = 0;
  double device_seconds = 0, compile_seconds = 0;
};

// What a backend says about a collective: by position in its group. Empty if it says nothing.
struct CollectiveBytes {
  std::string algorithm;
  std::vector<int64_t> sent, received;
  int64_t staged = 0;  // beyond the fewest bytes, by the algorithm's closed form
};

class Executable;

class Device {
 public:
  Device(std::shared_ptr<const Plugin> plugin, const HelloRequest& request);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const BackendInfo& info() const { return info_; }
  // From now on this is a world of that many devices, this one being rank 0; the others are created when
  // first needed. What belongs to a rank goes by its name (core/distributed/join.h); 1 is the ordinary case.
  void use_ranks(int ranks);
  int rank_for(const std::string& name) const;
  // Of the collectives executed since use_ranks(), by node name; of repeated executions the last.
  const std::map<std::string, CollectiveBytes>& collectives() const { return collectives_; }

  const Plugin& plugin() const { return *plugin_; }

  NodeSupport supports(const NodeHandle& node);
  BufferPtr create(const TensorMeta& meta, int rank = 0);
  BufferPtr upload(const Tensor& tensor, int rank = 0);
  // Null outputs are created by the backend and replaced. A node ranks::* is the collective of all its ranks.
  void execute(const NodeHandle& node, const std::vector<BufferPtr>& inputs, std::vector<BufferPtr>& outputs);
  // Why nodes that execute() ran had to be compiled, in order, since this was last asked.
  std::vector<std::string> take_misses() { return std::exchange(misses_, {}); }
  // Of all ranks together; time and cycles are those of the rank that had most. nullopt if the backend does
  // not count.
  std::optional<DeviceTotals> totals();

  // Records what is executed; then the Chrome trace events as a JSON array. Throw Error{unsupported} if the
  // backend records no profiles.
  void start_profile();
  std::string finish_profile();

  std::unique_ptr<Executable> compile(const std::string& graph_json);
  void execute(Executable& executable, const std::vector<BufferPtr>& inputs, std::vector<BufferPtr>& outputs);

 private:
  assay_device* make() const;
  void collective(const NodeHandle& node, const std::vector<assay_buffer*>& in,
                  std::vector<assay_buffer*>& out);
  assay_device* at(int rank) const;
  DeviceTotals totals_of(assay_device* device) const;
  BackendInfo describe();
  void adopt(const std::vector<assay_buffer*>& handles, std::vector<BufferPtr>& outputs,
             const char* function);

  std::shared_ptr<const Plugin> plugin_;
  HelloRequest request_;
  assay_device* device_ = nullptr;
  std::vector<assay_device*> peers_;  // ranks from 1
  int ranks_ = 1;
  std::map<std::string, CollectiveBytes> collectives_;
  std::vector<std::string> misses_;
  BackendInfo info_;
};

class Executable {
 public:
  Executable(const Plugin& plugin, assay_executable* handle) : plugin_(plugin), handle_(handle) {}
  ~Executable() { plugin_.api().executable_destroy(handle_); }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;
  assay_executable* handle() const { return handle_; }

  assay_cache_hit cache_hit = ASSAY_CACHE_MISS;
  uint64_t artifact_bytes = 0;
  std::string miss_reason, diagnostics;

 private:
  const Plugin& plugin_;
  assay_executable* handle_;
};

}  // namespace assay
