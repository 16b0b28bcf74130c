// Graph <-> JSON of PyTorch's export format (schema major 8), the "catalogue JSON" that also crosses the ABI.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace assay {

// Reads the object of models/model.json. `origin` names the file in errors. Checks nesting (limit 64),
// duplicate keys, names, counts, schema major; calls validate(). Operators without a schema:
// ErrorCode::unknown_operator.
Graph graph_from_json(std::string_view json, const std::string& origin);
// The same without validate(): cases of bad input must reach the backend that ought to refuse them.
Graph graph_from_json_unchecked(std::string_view json, const std::string& origin);

// PyTorch's Graph object alone, as it stands for a function that is an argument (core/graph/argument.h,
// GraphArg): all inputs are parameters, all outputs results. Calls validate().
std::shared_ptr<const Graph> function_from_json(std::string_view json, const std::string& origin);

// Canonical: equal graphs give equal bytes. Reads back to an equal graph.
std::string graph_to_json(const Graph& graph);

// The checks that every JSON text from outside passes before it is parsed. Throws Error{malformed_file} with
// the byte offset: nesting beyond `limit`, duplicate keys in one object, invalid UTF-8.
void check_json_text(std::string_view json, const std::string& origin, int limit = 64);

}  // namespace assay
