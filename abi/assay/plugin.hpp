// Helpers for backends written in C++ over assay/backend.h. Header only, standard library only; using it is
// optional.
//
// They take the tedious part of the C ABI off a plug-in: reading and writing structs of any `struct_size`,
// turning exceptions into assay_error objects, telling a live handle from a bad one, and walking a node's
// arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "assay/backend.h"

// The error object of backends that use this header.
struct assay_error {
  assay_code code;
  assay_reason reason;
  std::string message;
};

namespace assay::plugin {

// What API functions throw inside `guard`; becomes an assay_error.
class Failure : public std::runtime_error {
 public:
  Failure(assay_code code, const std::string& message, assay_reason reason = ASSAY_REASON_NONE)
      : std::runtime_error(message), code_(code), reason_(reason) {}
  assay_code code() const noexcept { return code_; }
  assay_reason reason() const noexcept { return reason_; }

 private:
  assay_code code_;
  assay_reason reason_;
};

// Runs an API function's body; no exception leaves it. Out of memory gives an object that needs no
// allocation.
template <class Body>
assay_error* guard(Body&& body) noexcept {
  static assay_error out_of_memory{ASSAY_OUT_OF_MEMORY, ASSAY_REASON_MEMORY, "out of host memory"};
  try {
    try {
      body();
      return nullptr;
    } catch (const Failure& failure) {
      return new assay_error{failure.code(), failure.reason(), failure.what()};
    } catch (const std::bad_alloc&) {
      return &out_of_memory;
    } catch (const std::exception& error) {
      return new assay_error{ASSAY_INTERNAL, ASSAY_REASON_NONE, error.what()};
    } catch (...) {
      return new assay_error{ASSAY_INTERNAL, ASSAY_REASON_NONE, "unknown exception"};
    }
  } catch (...) {
    return &out_of_memory;
  }
}

// True if `member` lies wholly inside the struct as its filler compiled it.
template <class Struct, class Member>
bool has(const Struct* s, Member Struct::*member) noexcept {
  // NOLINTNEXTLINE(bugprone-sizeof-expression): members are pointers, too
  const auto* end = reinterpret_cast<const unsigned char*>(&(s->*member)) + sizeof(Member);
  return static_cast<std::size_t>(end - reinterpret_cast<const unsigned char*>(s)) <= s->struct_size;
}

// The member, or `fallback` where the struct is too short to have it.
template <class Struct, class Member>
Member get(const Struct* s, Member Struct::*member, Member fallback) noexcept {
  return has(s, member) ? s->*member : fallback;
}

// Writes an out member if the caller's struct has room for it.
template <class Struct, class Member, class Value>
void set(Struct* s, Member Struct::*member, Value&& value) noexcept {
  if (has(s, member)) s->*member = static_cast<Member>(std::forward<Value>(value));
}

// Throws Failure unless the struct is given and reaches to the end of `last`, the last member the callee
// cannot do without.
template <class Struct, class Member>
void require(const Struct* s, Member Struct::*last, const char* what) {
  if (s == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, std::string(what) + ": null argument struct");
  if (!has(s, last)) {
    throw Failure(ASSAY_INVALID_ARGUMENT,
                  std::string(what) + ": struct_size " + std::to_string(s->struct_size) +
                      " is too small; fill the struct as assay/backend.h declares it");
  }
}

// Functions for the table.
inline void error_info(const assay_error* error, assay_error_info* out) {
  if (out == nullptr) return;
  set(out, &assay_error_info::code, error != nullptr ? error->code : ASSAY_INVALID_ARGUMENT);
  set(out, &assay_error_info::reason, error != nullptr ? error->reason : ASSAY_REASON_NONE);
  set(out, &assay_error_info::message, error != nullptr ? error->message.c_str() : "null error handle");
}
inline void error_destroy(assay_error* error) {
  // The one error that is not allocated is the one that says that nothing could be.
  if (error != nullptr && error->message != "out of host memory") delete error;
}

// Live handles of one kind: a null, foreign or destroyed handle is an error, not a crash. Thread safe.
template <class Handle>
class Handles {
 public:
  Handle* add(Handle* handle) {
    const std::lock_guard lock(mutex_);
    live_.insert(handle);
    return handle;
  }
  // False if it was not live.
  bool remove(const Handle* handle) {
    const std::lock_guard lock(mutex_);
    return live_.erase(handle) != 0;
  }
  std::size_t size() const {
    const std::scoped_lock lock(mutex_);
    return live_.size();
  }
  bool contains(const Handle* handle) const {
    const std::lock_guard lock(mutex_);
    return live_.count(handle) != 0;
  }
  Handle& check(Handle* handle, const char* what) const {
    if (handle == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, std::string("null ") + what + " handle");
    if (!contains(handle)) {
      throw Failure(ASSAY_INVALID_ARGUMENT, std::string("not a live ") + what + " handle of this backend");
    }
    return *handle;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_set<const Handle*> live_;
};

// Bytes of one element; 0 for a number that is no assay_dtype.
inline std::size_t element_size(int32_t dtype) noexcept {
  switch (dtype) {
    case ASSAY_BOOL:
    case ASSAY_U8:
    case ASSAY_I8:
    case ASSAY_F8E4M3FN:
    case ASSAY_F8E5M2:
    case ASSAY_F8E4M3:
      return 1;
    case ASSAY_I16:
    case ASSAY_F16:
    case ASSAY_BF16:
      return 2;
    case ASSAY_I32:
    case ASSAY_F32:
      return 4;
    case ASSAY_I64:
    case ASSAY_F64:
    case ASSAY_C64:
      return 8;
    case ASSAY_C128:
      return 16;
    default:
      return 0;
  }
}

struct Meta {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  bool operator==(const Meta&) const = default;
};

// Copies a meta that came from outside. Throws Failure on an unknown dtype, a rank outside [0, 64] or missing
// sizes.
inline Meta read_meta(const assay_tensor_meta* meta) {
  require(meta, &assay_tensor_meta::sizes, "tensor meta");
  if (element_size(meta->dtype) == 0) {
    throw Failure(ASSAY_INVALID_ARGUMENT, "dtype " + std::to_string(meta->dtype) + " is no assay_dtype");
  }
  if (meta->rank < 0 || meta->rank > 64 || (meta->rank > 0 && meta->sizes == nullptr)) {
    throw Failure(ASSAY_INVALID_ARGUMENT,
                  "tensor meta: rank " + std::to_string(meta->rank) + " without sizes, negative or above 64");
  }
  return Meta{meta->dtype, std::vector<int64_t>(meta->sizes, meta->sizes + meta->rank)};
}

// Bytes of a packed tensor. Throws Failure on a negative size or beyond 2^62.
inline std::size_t byte_size(const Meta& meta) {
  std::size_t bytes = element_size(meta.dtype);
  bool empty = false;
  for (const int64_t size : meta.sizes) {
    if (size < 0) throw Failure(ASSAY_INVALID_ARGUMENT, "tensor meta: size " + std::to_string(size));
    if (size == 0) empty = true;
  }
  if (empty) return 0;
  for (const int64_t size : meta.sizes) {
    if (bytes > (std::size_t{1} << 62) / static_cast<std::size_t>(size)) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "tensor meta: more than 2^62 bytes");
    }
    bytes *= static_cast<std::size_t>(size);
  }
  return bytes;
}

// Options as a map; later entries win. Entries may be longer than ours: they are walked by their own
// struct_size.
inline std::map<std::string, std::string> read_options(const assay_create_args* args) {
  std::map<std::string, std::string> options;
  if (!has(args, &assay_create_args::option_count) || args->options == nullptr) return options;
  const auto* bytes = reinterpret_cast<const unsigned char*>(args->options);
  const std::size_t stride = args->options[0].struct_size;
  if (args->option_count > 0 && stride < offsetof(assay_option, value) + sizeof(const char*)) {
    throw Failure(ASSAY_INVALID_ARGUMENT, "options: struct_size is too small");
  }
  for (std::size_t i = 0; i < args->option_count; ++i) {
    const auto* option = reinterpret_cast<const assay_option*>(bytes + i * stride);
    if (option->key == nullptr || option->value == nullptr) {
      throw Failure(ASSAY_INVALID_ARGUMENT,
                    "options: entry " + std::to_string(i) + " has a null key or value");
    }
    options[option->key] = option->value;
  }
  return options;
}

// A node as the harness describes it. Cheap to copy; valid during the call that brought the node.
class NodeView {
 public:
  NodeView(const assay_node_api* api, const assay_node* node) : api_(api), node_(node) {
    if (api == nullptr)
      throw Failure(ASSAY_INVALID_ARGUMENT, "no node API was given when the device was created");
    if (node == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "null node handle");
  }
  std::string name() const { return text(&assay_node_api::name); }
  std::string op() const { return text(&assay_node_api::op); }
  std::string schema() const { return text(&assay_node_api::schema); }
  std::string source() const { return text(&assay_node_api::source); }
  // The node as a canonical one-node graph in catalogue JSON; the view lives as long as the node.
  std::string_view json() const {
    if (!has(api_, &assay_node_api::json) || api_->json == nullptr) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "the harness offers no node JSON");
    }
    std::size_t size = 0;
    const char* text = api_->json(node_, &size);
    if (text == nullptr) throw Failure(ASSAY_INVALID_ARGUMENT, "null node JSON");
    return {text, size};
  }
  std::size_t argument_count() const { return count(&assay_node_api::argument_count); }
  assay_argument argument(std::size_t i) const {
    assay_argument out{};
    out.struct_size = sizeof out;
    if (!has(api_, &assay_node_api::argument) || api_->argument == nullptr ||
        api_->argument(node_, i, &out) != 0) {
      throw Failure(ASSAY_INVALID_ARGUMENT, "node has no argument " + std::to_string(i));
    }
    return out;
  }
  std::size_t input_count() const { return count(&assay_node_api::input_count); }
  std::size_t output_count() const { return count(&assay_node_api::output_count); }
  Meta input(std::size_t i) const { return meta(&assay_node_api::input, i, "input"); }
  Meta output(std::size_t i) const { return meta(&assay_node_api::output, i, "output"); }

 private:
  using Text = const char* (*)(const assay_node*);
  using Count = std::size_t (*)(const assay_node*);
  using MetaOf = int32_t (*)(const assay_node*, std::size_t, assay_tensor_meta*);
  std::string text(Text assay_node_api::*function) const {
    if (!has(api_, function) || api_->*function == nullptr) return "";
    const char* text = (api_->*function)(node_);
    return text != nullptr ? text : "";
  }
  std::size_t count(Count assay_node_api::*function) const {
    return has(api_, function) && api_->*function != nullptr ? (api_->*function)(node_) : 0;
  }
  Meta meta(MetaOf assay_node_api::*function, std::size_t i, const char* what) const {
    assay_tensor_meta out{};
    out.struct_size = sizeof out;
    if (!has(api_, function) || api_->*function == nullptr || (api_->*function)(node_, i, &out) != 0) {
      throw Failure(ASSAY_INVALID_ARGUMENT, std::string("node has no ") + what + " " + std::to_string(i));
    }
    return read_meta(&out);
  }
  const assay_node_api* api_;
  const assay_node* node_;
};

}  // namespace assay::plugin
