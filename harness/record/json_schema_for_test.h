// A validator for the subset of JSON Schema that abi/record.schema.json uses. For tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace assay {

// Complaints, each with its place; empty if `value` is valid. Throws std::runtime_error for a keyword it does
// not know, so that a schema cannot silently grow beyond what is checked.
inline void validate_against(const nlohmann::json& schema, const nlohmann::json& root,
                             const nlohmann::json& value, const std::string& place,
                             std::vector<std::string>& complaints) {
  using Json = nlohmann::json;
  const auto is_type = [&](const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    throw std::runtime_error("unknown type " + type);
  };
  for (const auto& [keyword, argument] : schema.items()) {
    if (keyword == "type") {
      bool good = false;
      for (const Json& type : argument.is_array() ? argument : Json::array({argument})) good |= is_type(type);
      if (!good) complaints.push_back(place + ": type is not " + argument.dump());
    } else if (keyword == "enum") {
      if (std::find(argument.begin(), argument.end(), value) == argument.end()) {
        complaints.push_back(place + ": " + value.dump() + " is not one of the values");
      }
    } else if (keyword == "required") {
      for (const Json& name : argument) {
        if (value.is_object() && !value.contains(name))
          complaints.push_back(place + ": lacks " + name.dump());
      }
    } else if (keyword == "properties") {
      if (!value.is_object()) continue;
      for (const auto& [name, sub] : argument.items()) {
        if (value.contains(name)) validate_against(sub, root, value[name], place + "/" + name, complaints);
      }
    } else if (keyword == "items") {
      if (!value.is_array()) continue;
      for (const Json& entry : value) validate_against(argument, root, entry, place + "[]", complaints);
    } else if (keyword == "minimum") {
      if (value.is_number() && value < argument) complaints.push_back(place + ": below " + argument.dump());
    } else if (keyword == "minLength") {
      if (value.is_string() && value.get<std::string>().size() < argument)
        complaints.push_back(place + ": too short");
    } else if (keyword == "anyOf") {
      bool good = false;
      for (const Json& alternative : argument) {
        std::vector<std::string> ignored;
        validate_against(alternative, root, value, place, ignored);
        good |= ignored.empty();
      }
      if (!good) complaints.push_back(place + ": " + value.dump() + " fits none of the alternatives");
    } else if (keyword == "$ref") {
      const std::string pointer = argument.get<std::string>().substr(1);
      validate_against(root.at(Json::json_pointer(pointer)), root, value, place, complaints);
    } else if (keyword != "description" && keyword != "title" && keyword != "$schema" && keyword != "$id" &&
               keyword != "$defs") {
      throw std::runtime_error("unknown keyword " + keyword);
    }
  }
}

inline std::vector<std::string> validate_against(const nlohmann::json& schema, const nlohmann::json& value) {
  std::vector<std::string> complaints;
  validate_against(schema, schema, value, "", complaints);
  return complaints;
}

}  // namespace assay
