#include "core/graph/json_cursor.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json.h"

namespace assay {
namespace {

// Places are made for every member that is read, and read for few.
std::string joined(std::string_view path, std::string_view before, std::string_view key,
                   std::string_view after = "") {
  std::string out;
  out.reserve(path.size() + before.size() + key.size() + after.size());
  return out.append(path).append(before).append(key).append(after);
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& origin, int nesting_limit) {
  check_json_text(text, origin, nesting_limit);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::malformed_file, fmt::format("{}: not valid JSON: {}", origin, error.what()));
  }
}

JsonCursor::JsonCursor(const nlohmann::json& value, const std::string& origin, std::string path)
    : value_(&value), origin_(&origin), path_(std::move(path)) {}

std::string JsonCursor::place() const {
  return path_.empty() ? *origin_ : fmt::format("{}: {}", *origin_, path_);
}

void JsonCursor::fail(const std::string& what) const {
  throw Error(ErrorCode::malformed_file, fmt::format("{}: {}", place(), what));
}

void JsonCursor::expected(const char* kind) const {
  std::string text = value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  fail(fmt::format("expected {}, found {}", kind, text));
}

JsonCursor JsonCursor::at(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto member = value_->find(key);
  if (member == value_->end()) fail(fmt::format("member '{}' is missing", key));
  return {*member, *origin_, joined(path_, path_.empty() ? "" : ".", key)};
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return JsonCursor(*member, *origin_, joined(path_, path_.empty() ? "" : ".", key));
}

std::size_t JsonCursor::size() const {
  if (!value_->is_array()) expected("an array");
  return value_->size();
}

JsonCursor JsonCursor::at(std::size_t index) const {
  if (index >= size()) fail(fmt::format("entry {} is missing", index));
  return {(*value_)[index], *origin_, joined(path_, "[", std::to_string(index), "]")};
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::members() const {
  if (!value_->is_object()) expected("an object");
  std::vector<std::pair<std::string, JsonCursor>> result;
  result.reserve(value_->size());
  for (auto member = value_->begin(); member != value_->end(); ++member) {
    result.emplace_back(member.key(), JsonCursor(*member, *origin_, joined(path_, "['", member.key(), "']")));
  }
  return result;
}

std::pair<std::string, JsonCursor> JsonCursor::alternative() const {
  if (!value_->is_object()) expected("an object with one member");
  const std::string* key = nullptr;
  const nlohmann::json* found = nullptr;
  for (auto member = value_->begin(); member != value_->end(); ++member) {
    if (member->is_null()) continue;
    if (found != nullptr) fail(fmt::format("members '{}' and '{}' exclude each other", *key, member.key()));
    key = &member.key();
    found = &*member;
  }
  if (found == nullptr) expected("an object with one member");
  return {*key, JsonCursor(*found, *origin_, joined(path_, ".", *key))};
}

std::string JsonCursor::string() const {
  if (!value_->is_string()) expected("a string");
  return value_->get<std::string>();
}

int64_t JsonCursor::integer() const {
  if (!value_->is_number_integer()) expected("an integer");
  if (value_->is_number_unsigned() &&
      value_->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    expected("a 64-bit signed integer");
  }
  return value_->get<int64_t>();
}

double JsonCursor::number() const {
  if (value_->is_number()) return value_->get<double>();
  if (value_->is_string()) {
    const auto& text = value_->get_ref<const std::string&>();
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  expected("a number");
}

bool JsonCursor::boolean() const {
  if (!value_->is_boolean()) expected("true or false");
  return value_->get<bool>();
}

}  // namespace assay
