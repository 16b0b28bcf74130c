#include "core/opset/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "core/opset/added_schemas.h"

namespace assay {

// Generated from core/opset/schemas.txt and own_schemas.txt.
const std::vector<std::string_view>& schema_lines();

const SchemaArgument* Schema::find(std::string_view argument) const {
  for (const SchemaArgument& candidate : arguments) {
    if (candidate.name == argument) return &candidate;
  }
  return nullptr;
}

const std::vector<Schema>& all_schemas() {
  static const std::vector<Schema> schemas = [] {
    std::vector<Schema> out;
    out.reserve(schema_lines().size());
    for (const std::string_view line : schema_lines()) {
      if (!line.empty()) out.push_back(parse_schema(line));
    }
    std::sort(out.begin(), out.end(),
              [](const Schema& a, const Schema& b) { return a.full_name() < b.full_name(); });
    for (std::size_t i = 1; i < out.size(); ++i) {
      if (out[i - 1].full_name() == out[i].full_name()) {
        throw Error(ErrorCode::internal, "core/opset holds the schema of " + out[i].full_name() + " twice");
      }
    }
    return out;
  }();
  return schemas;
}

namespace {

// Schemas of operators that were added while the program runs.
struct AddedSchemas {
  std::shared_mutex mutex;
  std::map<std::string, Schema, std::less<>> by_name;  // nodes stay where they are
  static AddedSchemas& instance() {
    static AddedSchemas all;
    return all;
  }
};

}  // namespace

const Schema& add_schema(std::string_view text) {
  Schema schema = parse_schema(text);
  const std::string name = schema.full_name();
  AddedSchemas& added = AddedSchemas::instance();
  const Schema* known = find_schema(name);
  if (known == nullptr) {
    const std::unique_lock lock(added.mutex);
    known = &added.by_name.try_emplace(name, std::move(schema)).first->second;
  }
  if (known->text != text)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} is {} already, not {}", name, known->text, text));
  return *known;
}

const Schema* find_schema(std::string_view full_name) {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static const auto index = [] {
    std::unordered_map<std::string, const Schema*, Hash, std::equal_to<>> out;
    for (const Schema& schema : all_schemas()) out.emplace(schema.full_name(), &schema);
    return out;
  }();
  const auto found = index.find(full_name);
  if (found != index.end()) return found->second;
  AddedSchemas& added = AddedSchemas::instance();
  const std::shared_lock lock(added.mutex);
  const auto later = added.by_name.find(full_name);
  return later == added.by_name.end() ? nullptr : &later->second;
}

namespace {

bool is_number(const Argument& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value) ||
         std::holds_alternative<bool>(value);
}

bool is_keyword(const Argument& value, std::string_view kind) {
  const auto* keyword = std::get_if<KeywordArg>(&value);
  return keyword != nullptr && keyword->kind == kind;
}

// The operators whose Tensor arguments take a number (should_allow_numbers_as_tensors in
// torch/csrc/utils/python_arg_parser.cpp, found by trying); all others have overloads of their own for that.
bool takes_numbers_as_tensors(const Schema& schema, const SchemaArgument& argument) {
  static constexpr std::string_view kNames[] = {
      "aten::add",          "aten::add_",     "aten::sub",   "aten::sub_", "aten::mul",
      "aten::mul_",         "aten::div",      "aten::div_",  "aten::copy", "aten::copy_",
      "aten::floor_divide", "aten::subtract", "aten::divide"};
  const bool written_to = argument.type.alias.find('!') != std::string::npos;
  return !written_to && std::find(std::begin(kNames), std::end(kNames), schema.name) != std::end(kNames);
}

bool is_single(const SchemaType& type, const Argument& value) {
  const auto* node_value = std::get_if<ValueArg>(&value);
  const bool given_by_node = node_value != nullptr && node_value->id >= 0;
  switch (type.base) {
    case BaseType::tensor:
      return given_by_node;
    case BaseType::integer:
      return std::holds_alternative<int64_t>(value) || (type.symbolic && given_by_node);
    case BaseType::floating:
      return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value) || given_by_node;
    case BaseType::boolean:
      return std::holds_alternative<bool>(value) || given_by_node;
    case BaseType::scalar:
      return is_number(value) || given_by_node;
    case BaseType::string:
      return std::holds_alternative<std::string>(value);
    case BaseType::dtype:
      return std::holds_alternative<DTypeArg>(value);
    case BaseType::layout:
      return is_keyword(value, "layout");
    case BaseType::device:
      return is_keyword(value, "device");
    case BaseType::memory_format:
      return is_keyword(value, "memory_format");
    case BaseType::generator:
      return false;  // a generator cannot be in a graph; the argument is optional and None
    case BaseType::any:
      return std::holds_alternative<std::string>(value) || is_number(value) || given_by_node;
    case BaseType::graph: {
      const auto* function = std::get_if<GraphArg>(&value);
      return function != nullptr && function->graph != nullptr;
    }
  }
  return false;
}

bool is_list(const SchemaType& type, const Argument& value) {
  const auto* ints = std::get_if<IntListArg>(&value);
  const bool empty = ints != nullptr && ints->ints.empty() && ints->values.empty();  // a list of any type
  switch (type.base) {
    case BaseType::tensor: {
      const auto* values = std::get_if<ValueListArg>(&value);
      if (values == nullptr) return empty;
      return type.optional_elements ||
             std::none_of(values->ids.begin(), values->ids.end(), [](ValueId id) { return id < 0; });
    }
    case BaseType::integer:
      if (ints == nullptr) return type.fixed_size && std::holds_alternative<int64_t>(value);
      if (!ints->values.empty() && ints->values.size() != ints->ints.size()) return false;
      return type.symbolic ||
             std::none_of(ints->values.begin(), ints->values.end(), [](ValueId id) { return id >= 0; });
    case BaseType::floating:
      return std::holds_alternative<std::vector<double>>(value) || (ints != nullptr && ints->values.empty());
    case BaseType::boolean:
      return std::holds_alternative<std::vector<bool>>(value) || empty;
    case BaseType::string:
      return std::holds_alternative<std::vector<std::string>>(value) || empty;
    default:
      return empty;
  }
}

}  // namespace

void check_argument(const Schema& schema, const SchemaArgument& argument, const Argument& value) {
  const SchemaType& type = argument.type;
  const bool fits = std::holds_alternative<NoneArg>(value) ? type.optional
                    : type.list                            ? is_list(type, value)
                                                           : is_single(type, value);
  if (fits) return;
  if (type.base == BaseType::tensor && !type.list && is_number(value) &&
      takes_numbers_as_tensors(schema, argument)) {
    return;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}: argument {} must be {}, {} was given", schema.full_name(), argument.name,
                          to_string(type), to_string(value)));
}

}  // namespace assay
