#include "core/graph/json_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

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

struct ArgumentWriter {
  std::string& out;
  const std::vector<Value>& values;

  const Value& value(ValueId id) const { return values.at(static_cast<std::size_t>(id)); }
  void name(const char* before, ValueId id, const char* after) const {
    out += before;
    append_json_string(out, value(id).name);
    out += after;
  }
  void number(int64_t a) const { fmt::format_to(std::back_inserter(out), "{}", a); }
  void number(double a) const {
    if (std::isfinite(a)) {
      out += Json(a).dump();
    } else {
      out += std::isnan(a) ? "\"NaN\"" : a > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    }
  }
  void number(bool a) const { out += a ? "true" : "false"; }

  template <typename List, typename One>
  void list(const char* kind, const List& items, const One& one) const {
    fmt::format_to(std::back_inserter(out), "{{\"{}\":[", kind);
    const char* separator = "";
    for (const auto& item : items) {
      out += std::exchange(separator, ",");
      one(item);
    }
    out += "]}";
  }
  template <typename T>
  void plain(const char* kind, T a) const {
    fmt::format_to(std::back_inserter(out), "{{\"{}\":", kind);
    number(a);
    out += '}';
  }

  void operator()(const NoneArg&) const { plain("as_none", true); }
  void operator()(const ValueArg& a) const { append_value(out, value(a.id)); }
  void operator()(const ValueListArg& a) const {
    const bool optional = std::any_of(a.ids.begin(), a.ids.end(), [](ValueId id) { return id < 0; });
    list(optional ? "as_optional_tensors" : "as_tensors", a.ids, [&](ValueId id) {
      if (id < 0) {
        plain("as_none", true);
      } else if (optional) {
        name("{\"as_tensor\":{\"name\":", id, "}}");
      } else {
        name("{\"name\":", id, "}");
      }
    });
  }
  void operator()(int64_t a) const { plain("as_int", a); }
  void operator()(double a) const { plain("as_float", a); }
  void operator()(bool a) const { plain("as_bool", a); }
  void operator()(const std::string& a) const {
    out += "{\"as_string\":";
    append_json_string(out, a);
    out += '}';
  }
  void operator()(const IntListArg& a) const {
    if (a.values.empty()) return list("as_ints", a.ints, [&](int64_t item) { number(item); });
    std::size_t i = 0;
    list("as_sym_ints", a.ints, [&](int64_t item) {
      const ValueId id = a.values[i++];
      if (id >= 0) return name("{\"as_name\":", id, "}");
      plain("as_int", item);
    });
  }
  void operator()(const std::vector<double>& a) const {
    list("as_floats", a, [&](double item) { number(item); });
  }
  void operator()(const std::vector<bool>& a) const {
    list("as_bools", a, [&](bool item) { number(item); });
  }
  void operator()(const std::vector<std::string>& a) const {
    list("as_strings", a, [&](const std::string& item) { append_json_string(out, item); });
  }
  void operator()(const DTypeArg& a) const { plain("as_scalar_type", int64_t{export_code(a.dtype)}); }
  void operator()(const KeywordArg& a) const {
    out += '{';
    append_json_string(out, "as_" + a.kind);
    out += ':';
    out += Json::parse(a.text, nullptr, false).dump(-1, ' ', false, Json::error_handler_t::replace);
    out += '}';
  }
  void operator()(const GraphArg& a) const {
    out += "{\"as_graph\":{\"name\":";
    append_json_string(out, a.name);
    out += ",\"graph\":";
    if (a.graph) {
      append_subgraph(out, *a.graph);
    } else {
      out += "null";
    }
    out += "}}";
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

void append_json_string(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && static_cast<unsigned char>(c) < 0x80 && c != '"' &&
           c != '\\';
  });
  if (plain) {
    out += '"';
    out += text;
    out += '"';
  } else {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

void append_value(std::string& out, const Value& value) {
  switch (value.kind) {
    case ValueKind::tensor:
      out += "{\"as_tensor\":{\"name\":";
      break;
    case ValueKind::symbolic_int:
      out += "{\"as_sym_int\":{\"as_name\":";
      break;
    case ValueKind::symbolic_float:
      out += "{\"as_sym_float\":{\"as_name\":";
      break;
    case ValueKind::symbolic_bool:
      out += "{\"as_sym_bool\":{\"as_name\":";
      break;
  }
  append_json_string(out, value.name);
  out += "}}";
}

void append_argument(std::string& out, const Argument& argument, const std::vector<Value>& values) {
  std::visit(ArgumentWriter{out, values}, argument);
}

}  // namespace assay
