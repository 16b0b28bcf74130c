// Reading members of a JSON object that came from another process. For .cpp files only: it includes json.hpp.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"

namespace assay {

class Fields {
 public:
  using Json = nlohmann::json;
  Fields(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
    if (!json.is_object()) throw Error(ErrorCode::malformed_file, place_ + ": expected a map");
  }
  [[noreturn]] void fail(const std::string& member, const std::string& expected) const {
    throw Error(ErrorCode::malformed_file, place_ + ": member \"" + member + "\": expected " + expected);
  }
  bool absent(const char* member) const {
    const auto it = json_.find(member);
    return it == json_.end() || it->is_null();
  }
  const Json& at(const char* member) const {
    const auto it = json_.find(member);
    if (it == json_.end()) fail(member, "to be present");
    return *it;
  }
  std::string text(const char* member) const {
    if (!at(member).is_string()) fail(member, "a string");
    return at(member).get<std::string>();
  }
  std::string text_or(const char* member, const std::string& otherwise) const {
    return absent(member) ? otherwise : text(member);
  }
  int64_t integer(const char* member, int64_t low = 0,
                  int64_t high = std::numeric_limits<int64_t>::max()) const {
    const Json& json = at(member);
    const bool too_large = json.is_number_unsigned() &&
                           json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!json.is_number_integer() || too_large || json.get<int64_t>() < low || json.get<int64_t>() > high) {
      fail(member, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return json.get<int64_t>();
  }
  uint64_t unsigned_integer(const char* member) const {
    if (!at(member).is_number_unsigned()) fail(member, "an unsigned integer");
    return at(member).get<uint64_t>();
  }
  bool boolean(const char* member) const {
    if (!at(member).is_boolean()) fail(member, "a boolean");
    return at(member).get<bool>();
  }
  bool boolean_or(const char* member, bool otherwise) const {
    return absent(member) ? otherwise : boolean(member);
  }
  double real(const char* member) const {
    if (!at(member).is_number()) fail(member, "a number");
    return at(member).get<double>();
  }
  std::optional<double> real_opt(const char* member) const {
    return absent(member) ? std::nullopt : std::optional(real(member));
  }
  const Json& array(const char* member) const {
    if (!at(member).is_array()) fail(member, "an array");
    return at(member);
  }
  std::vector<std::string> texts(const char* member) const {
    std::vector<std::string> out;
    for (const Json& entry : array(member)) {
      if (!entry.is_string()) fail(member, "an array of strings");
      out.push_back(entry.get<std::string>());
    }
    return out;
  }
  Fields object(const char* member) const { return Fields(at(member), place_ + ": " + member); }
  const std::string& place() const { return place_; }

 private:
  const Json& json_;
  std::string place_;
};

}  // namespace assay
