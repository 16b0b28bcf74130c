// Operator schemas, parsed from data: PyTorch's own (core/opset/schemas.txt, written by
// sweeps/export/dump_schemas.py) and those that PyTorch's registry does not have (own_schemas.txt). Both are
// compiled in.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/argument.h"

namespace assay {

enum class BaseType {
  tensor,
  integer,
  floating,
  boolean,
  scalar,
  string,
  dtype,
  layout,
  device,
  memory_format,
  generator,
  any,   // "Any": a process group's name in _c10d_functional
  graph  // "Graph": a function, of higher-order operators only
};

struct SchemaType {
  BaseType base = BaseType::tensor;
  bool list = false;                  // int[], Tensor[]
  bool optional = false;              // Tensor?, int[]?
  bool optional_elements = false;     // Tensor?[]
  std::optional<int64_t> fixed_size;  // int[2]: a single int is repeated
  bool symbolic = false;              // SymInt, SymBool
  std::string alias;                  // "a", "a!", "a -> *", ""
  bool alias_of_list = false;         // the alias is written after the brackets: Tensor[](a!)
  bool operator==(const SchemaType&) const = default;
};

struct SchemaArgument {
  std::string name;
  SchemaType type;
  bool keyword_only = false;
  std::optional<Argument> default_value;  // nullopt: required
  std::string default_text;               // the default's spelling in the schema, "" if required
};

struct Schema {
  std::string name;      // "aten::add"
  std::string overload;  // "Tensor"; "default" where the schema has none
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaType> returns;
  std::vector<std::string> return_names;  // one for each return; "" where it has none
  std::string text;                       // as written
  std::string full_name() const { return name + "." + overload; }
  const SchemaArgument* find(std::string_view argument) const;
};

// The grammar is that of torch/csrc/jit/frontend/function_schema_parser.cpp, without varargs, tuples and
// futures. Throws Error{invalid_argument} with the column (1-based).
Schema parse_schema(std::string_view text);

// The schema in PyTorch's spelling, built from the parsed fields: equals `text` for what PyTorch itself
// prints.
std::string to_string(const Schema& schema);
std::string to_string(const SchemaType& type);

// All schemas compiled in, sorted by full name.
const std::vector<Schema>& all_schemas();
// By full name, overload spelled ("aten::relu.default"). nullptr if unknown.
const Schema* find_schema(std::string_view full_name);

// Throws Error naming the argument if `value` cannot be passed as `type` (Scalar takes int, float and bool;
// int[2] takes an int; Tensor? takes None; SymInt takes a value). Tensor arguments of add, sub, mul, div and
// copy also take a number, since exported graphs write mul.Tensor(x, 0.25).
void check_argument(const Schema& schema, const SchemaArgument& argument, const Argument& value);

}  // namespace assay
