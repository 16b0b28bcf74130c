// What the checks of `assay abi-test` share.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>

#include "core/error.h"
#include "harness/worker/plugin.h"

namespace assay::abi {

inline constexpr unsigned char kSentinel = 0xab;

[[noreturn]] inline void fail(const std::string& what) { throw Error(ErrorCode::invalid_argument, what); }
inline void expect(bool holds, const std::string& what) {
  if (!holds) fail(what);
}

struct Subject {
  std::shared_ptr<const Plugin> plugin;
  const assay_api* table;  // as the plug-in gave it
  std::string path;

  const assay_api& api() const { return plugin->api(); }
  // The null backend accepts everything and computes nothing, which is what it is for.
  bool is_null() const { return device()->info().name == "null"; }

  // The error must be one, readable, and is destroyed. Returns its message.
  std::string refused(assay_error* error, const std::string& what) const {
    expect(error != nullptr, what + " was accepted");
    assay_error_info info{};
    info.struct_size = sizeof info;
    api().error_info(error, &info);
    const std::string message = info.message != nullptr ? info.message : "";
    const bool known = info.code >= ASSAY_INVALID_ARGUMENT && info.code <= ASSAY_INTERNAL;
    api().error_destroy(error);
    expect(known, fmt::format("{}: the error's code {} is no assay_code", what, info.code));
    expect(!message.empty(), what + ": the error has no message");
    return message;
  }
  std::unique_ptr<Device> device() const { return std::make_unique<Device>(plugin, HelloRequest{}); }
  // A device handle of our own, to be given to the table's functions.
  assay_device* raw_device() const {
    assay_create_args args{};
    args.struct_size = sizeof args;
    args.node_api = &NodeHandle::api();
    args.target = "";
    plugin->check(api().create(&args), "create");
    expect(args.device != nullptr, "create gave a null device without an error");
    return args.device;
  }
};

// A struct followed by bytes that nobody may touch.
template <typename Struct>
struct Long {
  Struct args{};
  unsigned char beyond[64];
  Long() {
    args.struct_size = sizeof(*this);
    std::memset(beyond, kSentinel, sizeof beyond);
  }
  void check() const {
    for (const unsigned char byte : beyond)
      expect(byte == kSentinel, "bytes beyond the known members were written");
  }
};

// Checks about nodes (abi_node_checks.cpp).
void supports_agrees_with_execution(const Subject& s);
void unknown_operator(const Subject& s);
void supports_short(const Subject& s);
void bad_execution(const Subject& s);
void inputs_stay(const Subject& s);
void counters_count(const Subject& s);
void compile_bad_graphs(const Subject& s);
void compile_one_node(const Subject& s);

}  // namespace assay::abi
