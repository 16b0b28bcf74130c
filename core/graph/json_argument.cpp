#include "core/graph/json_argument.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/io/json_object.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

ValueId look_up(const JsonCursor& place, const std::string& name, const ValueNames& names) {
  const auto found = names.find(name);
  if (found == names.end()) {
    place.fail(
        fmt::format("value '{}' is used but not defined before (undefined, out of order, or a cycle)", name));
  }
  return found->second;
}

ValueListArg read_tensors(const JsonCursor& list, const ValueNames& names) {
  ValueListArg result;
  for (std::size_t i = 0; i < list.size(); ++i) result.ids.push_back(read_value_name(list.at(i), names));
  return result;
}

ValueId read_optional_tensor(const JsonCursor& item, const ValueNames& names) {
  const auto [kind, value] = item.alternative();
  if (kind == "as_none") return -1;
  if (kind == "as_tensor") return read_value_name(value, names);
  item.fail(fmt::format("expected as_tensor or as_none, found {}", kind));
}

// A SymIntArgument, SymFloatArgument or SymBoolArgument: as_name, or a plain value.
Argument read_symbolic(const JsonCursor& item, const ValueNames& names) {
  const auto [kind, value] = item.alternative();
  if (kind == "as_name") return ValueArg{look_up(value, value.string(), names)};
  if (kind == "as_int") return value.integer();
  if (kind == "as_float") return value.number();
  if (kind == "as_bool") return value.boolean();
  item.fail(fmt::format("expected as_name or a value, found {}", kind));
}

IntListArg read_symbolic_ints(const JsonCursor& list, const ValueNames& names) {
  IntListArg result;
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Argument item = read_symbolic(list.at(i), names);
    if (const auto* value = std::get_if<ValueArg>(&item)) {
      result.ints.push_back(0);
      result.values.push_back(value->id);
      any = true;
    } else if (const auto* plain = std::get_if<int64_t>(&item)) {
      result.ints.push_back(*plain);
      result.values.push_back(-1);
    } else {
      list.at(i).fail("expected an integer or the name of one");
    }
  }
  if (!any) result.values.clear();
  return result;
}

template <typename T>
std::vector<T> read_plain_list(const JsonCursor& list, const ValueNames& names, const char* what) {
  std::vector<T> result;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Argument item = read_symbolic(list.at(i), names);
    const T* plain = std::get_if<T>(&item);
    if (plain == nullptr)
      list.at(i).fail(fmt::format("expected {}; symbolic ones are not supported in lists", what));
    result.push_back(*plain);
  }
  return result;
}

KeywordArg read_device(const JsonCursor& device) {
  Json text;
  text["type"] = device.at("type").string();
  const auto index = device.find("index");
  text["index"] = index ? Json(index->integer()) : Json(nullptr);
  return {"device", text.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

[[noreturn]] void unsupported(const JsonCursor& cursor, const std::string& kind) {
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: arguments of kind {} are not supported", cursor.place(), kind));
}

Json float_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

struct ArgumentWriter {
  const std::vector<Value>& values;

  const Value& value(ValueId id) const { return values.at(static_cast<std::size_t>(id)); }
  Json name(ValueId id) const { return json_object({{"name", value(id).name}}); }

  Json operator()(const NoneArg&) const { return json_object({{"as_none", true}}); }
  Json operator()(const ValueArg& a) const { return write_value(value(a.id)); }
  Json operator()(const ValueListArg& a) const {
    bool optional = false;
    for (const ValueId id : a.ids) optional = optional || id < 0;
    Json list = Json::array();
    for (const ValueId id : a.ids) {
      if (!optional) {
        list.push_back(name(id));
      } else if (id < 0) {
        list.push_back(json_object({{"as_none", true}}));
      } else {
        list.push_back(json_object({{"as_tensor", name(id)}}));
      }
    }
    return json_object({{optional ? "as_optional_tensors" : "as_tensors", std::move(list)}});
  }
  Json operator()(int64_t a) const { return json_object({{"as_int", a}}); }
  Json operator()(double a) const { return json_object({{"as_float", float_json(a)}}); }
  Json operator()(bool a) const { return json_object({{"as_bool", a}}); }
  Json operator()(const std::string& a) const { return json_object({{"as_string", a}}); }
  Json operator()(const IntListArg& a) const {
    if (a.values.empty()) return json_object({{"as_ints", a.ints}});
    Json list = Json::array();
    for (std::size_t i = 0; i < a.ints.size(); ++i) {
      if (a.values[i] >= 0) {
        list.push_back(json_object({{"as_name", value(a.values[i]).name}}));
      } else {
        list.push_back(json_object({{"as_int", a.ints[i]}}));
      }
    }
    return json_object({{"as_sym_ints", std::move(list)}});
  }
  Json operator()(const std::vector<double>& a) const {
    Json list = Json::array();
    for (const double item : a) list.push_back(float_json(item));
    return json_object({{"as_floats", std::move(list)}});
  }
  Json operator()(const std::vector<bool>& a) const { return json_object({{"as_bools", a}}); }
  Json operator()(const std::vector<std::string>& a) const { return json_object({{"as_strings", a}}); }
  Json operator()(const DTypeArg& a) const { return json_object({{"as_scalar_type", export_code(a.dtype)}}); }
  Json operator()(const KeywordArg& a) const {
    return {{"as_" + a.kind, Json::parse(a.text, nullptr, false)}};
  }
  Json operator()(const GraphArg& a) const {
    return json_object(
        {{"as_graph",
          json_object({{"name", a.name}, {"graph", a.graph ? write_subgraph(*a.graph) : Json(nullptr)}})}});
  }
};

}  // namespace

ValueId read_value_name(const JsonCursor& cursor, const ValueNames& names) {
  const JsonCursor name = cursor.at("name");
  return look_up(name, name.string(), names);
}

Argument read_argument(const JsonCursor& cursor, const ValueNames& names) {
  const auto [kind, value] = cursor.alternative();
  if (kind == "as_tensor") return ValueArg{read_value_name(value, names)};
  if (kind == "as_none") return NoneArg{};
  if (kind == "as_int") return value.integer();
  if (kind == "as_float") return value.number();
  if (kind == "as_bool") return value.boolean();
  if (kind == "as_string") return value.string();
  if (kind == "as_tensors") return read_tensors(value, names);
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool")
    return read_symbolic(value, names);
  if (kind == "as_sym_ints") return read_symbolic_ints(value, names);
  if (kind == "as_sym_floats") return read_plain_list<double>(value, names, "a float");
  if (kind == "as_sym_bools") return read_plain_list<bool>(value, names, "true or false");
  if (kind == "as_device") return read_device(value);
  if (kind == "as_layout") return KeywordArg{"layout", std::to_string(value.integer())};
  if (kind == "as_memory_format") return KeywordArg{"memory_format", std::to_string(value.integer())};
  if (kind == "as_scalar_type") {
    const auto dtype = dtype_from_export_code(value.integer());
    if (!dtype)
      unsupported(value, fmt::format("as_scalar_type {} (a dtype that is not known here)", value.integer()));
    return DTypeArg{*dtype};
  }
  if (kind == "as_optional_tensor") {
    const ValueId id = read_optional_tensor(value, names);
    return id < 0 ? Argument(NoneArg{}) : Argument(ValueArg{id});
  }
  if (kind == "as_ints") {
    IntListArg ints;
    for (std::size_t i = 0; i < value.size(); ++i) ints.ints.push_back(value.at(i).integer());
    return ints;
  }
  if (kind == "as_floats") {
    std::vector<double> floats;
    for (std::size_t i = 0; i < value.size(); ++i) floats.push_back(value.at(i).number());
    return floats;
  }
  if (kind == "as_bools") {
    std::vector<bool> bools;
    for (std::size_t i = 0; i < value.size(); ++i) bools.push_back(value.at(i).boolean());
    return bools;
  }
  if (kind == "as_strings") {
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < value.size(); ++i) strings.push_back(value.at(i).string());
    return strings;
  }
  if (kind == "as_optional_tensors") {
    ValueListArg list;
    for (std::size_t i = 0; i < value.size(); ++i)
      list.ids.push_back(read_optional_tensor(value.at(i), names));
    return list;
  }
  for (const char* known : {"as_graph", "as_custom_obj", "as_operator", "as_complex", "as_nested_tensors",
                            "as_int_lists", "as_float_lists", "as_string_to_argument"}) {
    if (kind == known) unsupported(value, kind);
  }
  cursor.fail(fmt::format("'{}' is no kind of argument of export schema 8", kind));
}

nlohmann::ordered_json write_value(const Value& value) {
  switch (value.kind) {
    case ValueKind::tensor:
      return json_object({{"as_tensor", json_object({{"name", value.name}})}});
    case ValueKind::symbolic_int:
      return json_object({{"as_sym_int", json_object({{"as_name", value.name}})}});
    case ValueKind::symbolic_float:
      return json_object({{"as_sym_float", json_object({{"as_name", value.name}})}});
    case ValueKind::symbolic_bool:
      return json_object({{"as_sym_bool", json_object({{"as_name", value.name}})}});
  }
  return nullptr;
}

nlohmann::ordered_json write_argument(const Argument& argument, const std::vector<Value>& values) {
  return std::visit(ArgumentWriter{values}, argument);
}

}  // namespace assay
