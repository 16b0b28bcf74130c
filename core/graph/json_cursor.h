// Reads JSON from outside with errors that name the file and the place: "model.pt2:
// graph_module.nodes[3].inputs[1]: expected a string, found 7".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// check_json_text (core/graph/json.h), then a parse. Throws Error{malformed_file}.
nlohmann::json parse_json(std::string_view text, const std::string& origin, int nesting_limit = 64);

// A place in a document. Document and origin must outlive it, and the document must not change.
class JsonCursor {
 public:
  JsonCursor(const nlohmann::json& document, const std::string& origin);

  const nlohmann::json& value() const { return *value_; }
  std::string place() const;  // "model.pt2: graph_module.graph.nodes[3]"

  JsonCursor at(std::string_view key) const;                   // required member of an object
  std::optional<JsonCursor> find(std::string_view key) const;  // nullopt if absent or null
  std::size_t size() const;                                    // of an array
  JsonCursor at(std::size_t index) const;
  std::vector<std::pair<const std::string&, JsonCursor>> members() const;  // of an object
  // The one member of an object that stands for a union, {"as_int": 3}; all others null or absent. The key is
  // the document's.
  std::pair<const std::string&, JsonCursor> alternative() const;

  const std::string& string() const;  // the document's
  int64_t integer() const;
  double number() const;  // also the strings "Infinity", "-Infinity" and "NaN"
  bool boolean() const;

  [[noreturn]] void fail(const std::string& what) const;  // throws Error{malformed_file}

 private:
  [[noreturn]] void expected(const char* kind) const;
  JsonCursor of(const nlohmann::json& value) const;
  // Where value_ is in document_ is searched for once somebody asks: many places are read, and few named.
  const nlohmann::json* document_;
  const nlohmann::json* value_;
  const nlohmann::json* table_ = nullptr;  // of which it was one of members()
  const std::string* origin_;
};

struct Graph;
// graph_from_json after the parse; members beside PyTorch's are ignored.
Graph graph_from_document(const nlohmann::json& document, const std::string& origin);

}  // namespace assay
