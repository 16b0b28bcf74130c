#include "core/graph/json_cursor.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json.h"

namespace assay {
namespace {

// The path from `from` to `to`, "graph.nodes[3].name"; false if it is not in there. Members of `table` have
// names of their own: "values['x']".
bool append_path(const nlohmann::json& from, const nlohmann::json* to, const nlohmann::json* table,
                 std::string& path) {
  if (&from == to) return true;
  const std::size_t length = path.size();
  std::size_t index = 0;
  for (auto item = from.begin(); from.is_structured() && item != from.end(); ++item, ++index) {
    if (from.is_array()) {
      fmt::format_to(std::back_inserter(path), "[{}]", index);
    } else if (&from == table) {
      fmt::format_to(std::back_inserter(path), "['{}']", item.key());
    } else {
      fmt::format_to(std::back_inserter(path), "{}{}", path.empty() ? "" : ".", item.key());
    }
    if (append_path(*item, to, table, path)) return true;
    path.resize(length);
  }
  return false;
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

JsonCursor::JsonCursor(const nlohmann::json& document, const std::string& origin)
    : document_(&document), value_(&document), origin_(&origin) {}

JsonCursor JsonCursor::of(const nlohmann::json& value) const {
  JsonCursor cursor = *this;
  cursor.value_ = &value;
  return cursor;
}

std::string JsonCursor::place() const {
  std::string path;
  append_path(*document_, value_, table_, path);
  return path.empty() ? *origin_ : fmt::format("{}: {}", *origin_, path);
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
  return of(*member);
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  if (!value_->is_object()) expected("an object");
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return of(*member);
}

std::size_t JsonCursor::size() const {
  if (!value_->is_array()) expected("an array");
  return value_->size();
}

JsonCursor JsonCursor::at(std::size_t index) const {
  if (index >= size()) fail(fmt::format("entry {} is missing", index));
  return of((*value_)[index]);
}

std::vector<std::pair<const std::string&, JsonCursor>> JsonCursor::members() const {
  if (!value_->is_object()) expected("an object");
  std::vector<std::pair<const std::string&, JsonCursor>> result;
  result.reserve(value_->size());
  for (auto member = value_->begin(); member != value_->end(); ++member) {
    result.emplace_back(member.key(), of(*member)).second.table_ = value_;
  }
  return result;
}

std::pair<const std::string&, JsonCursor> JsonCursor::alternative() const {
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
  return {*key, of(*found)};
}

const std::string& JsonCursor::string() const {
  if (!value_->is_string()) expected("a string");
  return value_->get_ref<const std::string&>();
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
