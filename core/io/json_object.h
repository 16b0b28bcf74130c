// JSON objects from lists of members. For .cpp files only: it includes json.hpp.
//
// nlohmann's own initializer lists make an array of two for each member first, and operator[] of its ordered
// objects compares all the keys before: most of the time of writing a small document.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

namespace assay {

template <class Json>
struct JsonMember {
  const char* key;
  mutable Json value;  // moved out of the list
};

// Members in the given order; no key twice.
inline nlohmann::ordered_json json_object(std::initializer_list<JsonMember<nlohmann::ordered_json>> members) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  auto& object = out.get_ref<nlohmann::ordered_json::object_t&>();
  object.reserve(members.size());
  for (const auto& member : members) object.emplace_back(member.key, std::move(member.value));
  return out;
}

// Members in the order of their keys.
inline nlohmann::json json_map(std::initializer_list<JsonMember<nlohmann::json>> members) {
  nlohmann::json out = nlohmann::json::object();
  auto& object = out.get_ref<nlohmann::json::object_t&>();
  for (const auto& member : members) object.emplace(member.key, std::move(member.value));
  return out;
}

}  // namespace assay
