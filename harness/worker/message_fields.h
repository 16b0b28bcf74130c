// Members of a map in a header that came from another process.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "harness/worker/message_pack.h"

namespace assay {

class Fields {
 public:
  // Throws Error{malformed_file} if `map` is none, as all members do for what they do not find.
  Fields(const MessageValue& map, std::string place) : map_(map), place_(std::move(place)) {
    if (!map.is_object()) throw Error(ErrorCode::malformed_file, place_ + ": expected a map");
  }
  [[noreturn]] void fail(const std::string& member, const std::string& expected) const {
    throw Error(ErrorCode::malformed_file, place_ + ": member \"" + member + "\": expected " + expected);
  }
  bool absent(const char* member) const {
    const auto value = map_.find(member);
    return !value || value->is_null();
  }
  MessageValue at(const char* member) const {
    const auto value = map_.find(member);
    if (!value) fail(member, "to be present");
    return *value;
  }
  std::string text(const char* member) const {
    const MessageValue value = at(member);
    if (!value.is_string()) fail(member, "a string");
    return std::string(value.text());
  }
  std::string text_or(const char* member, const std::string& otherwise) const {
    return absent(member) ? otherwise : text(member);
  }
  int64_t integer(const char* member, int64_t low = 0,
                  int64_t high = std::numeric_limits<int64_t>::max()) const {
    const MessageValue value = at(member);
    const bool too_large = value.is_number_unsigned() &&
                           value.natural() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!value.is_number_integer() || too_large || value.integer() < low || value.integer() > high) {
      fail(member, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return value.integer();
  }
  uint64_t unsigned_integer(const char* member) const {
    const MessageValue value = at(member);
    if (!value.is_number_unsigned()) fail(member, "an unsigned integer");
    return value.natural();
  }
  bool boolean(const char* member) const {
    const MessageValue value = at(member);
    if (!value.is_boolean()) fail(member, "a boolean");
    return value.boolean();
  }
  double real(const char* member) const {
    const MessageValue value = at(member);
    if (!value.is_number()) fail(member, "a number");
    return value.real();
  }
  std::optional<double> real_opt(const char* member) const {
    return absent(member) ? std::nullopt : std::optional(real(member));
  }
  MessageValue array(const char* member) const {
    const MessageValue value = at(member);
    if (!value.is_array()) fail(member, "an array");
    return value;
  }
  std::vector<std::string> texts(const char* member) const {
    std::vector<std::string> out;
    for (const MessageValue entry : array(member)) {
      if (!entry.is_string()) fail(member, "an array of strings");
      out.emplace_back(entry.text());
    }
    return out;
  }
  std::map<std::string, std::string> text_map(const char* member) const {
    const MessageValue map = at(member);
    if (!map.is_object()) fail(member, "a map of strings");
    std::map<std::string, std::string> out;
    for (const auto& [key, value] : map.members()) {
      if (!value.is_string()) fail(member, "strings");
      out.emplace(key, value.text());
    }
    return out;
  }
  Fields object(const char* member) const { return Fields(at(member), place_ + ": " + member); }
  const std::string& place() const { return place_; }

 private:
  MessageValue map_;
  std::string place_;
};

}  // namespace assay
