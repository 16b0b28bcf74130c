// The Argument union of PyTorch's export schema <-> core/graph/argument.h. Internal to core/graph.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/json_cursor.h"

namespace assay {

inline constexpr int64_t kStridedLayout = 7;  // schema.py: Layout.Strided

using ValueNames = std::unordered_map<std::string, ValueId>;

// Names are looked up in `names`: a name that no earlier node or input defines is malformed.
Argument read_argument(const JsonCursor& cursor, const ValueNames& names);
ValueId read_value_name(const JsonCursor& cursor, const ValueNames& names);

// Writing appends to `out`: a document of a graph is text at once, without values in between.
void append_json_string(std::string& out, std::string_view text);  // quoted; invalid UTF-8 is replaced
void append_argument(std::string& out, const Argument& argument, const std::vector<Value>& values);
// {"as_tensor": {"name": ...}}, {"as_sym_int": {"as_name": ...}}, ...
void append_value(std::string& out, const Value& value);
// A graph that is an argument: PyTorch's Graph object.
void append_subgraph(std::string& out, const Graph& graph);

}  // namespace assay
