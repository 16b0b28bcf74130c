// The Argument union of PyTorch's export schema <-> core/graph/argument.h. Internal to core/graph.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
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

nlohmann::ordered_json write_argument(const Argument& argument, const std::vector<Value>& values);
// {"as_tensor": {"name": ...}}, {"as_sym_int": {"as_name": ...}}, ...
nlohmann::ordered_json write_value(const Value& value);
// A graph that is an argument: PyTorch's Graph object.
nlohmann::ordered_json write_subgraph(const Graph& graph);

}  // namespace assay
