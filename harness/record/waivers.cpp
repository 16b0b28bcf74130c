#include "harness/record/waivers.h"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/contract/contract.h"
#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/file.h"

namespace assay {
namespace {

using nlohmann::json;

bool is_date(const std::string& text) {
  int year = 0, month = 0, day = 0;
  // Digits in their places: scanf would take blanks and signs, and dates are compared as text.
  static constexpr std::string_view kForm = "dddd-dd-dd";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return false;
  }
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d", &year, &month, &day) != 3) return false;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return date.ok();
}

Waiver read_one(const json& entry, const std::string& place) {
  if (!entry.is_object()) throw Error(ErrorCode::malformed_file, place + ": expected an object");
  Waiver waiver;
  waiver.version = waiver.status = "*";
  const std::vector<std::pair<const char*, std::string*>> members{
      {"case", &waiver.cases},     {"backend", &waiver.backend}, {"version", &waiver.version},
      {"status", &waiver.status},  {"owner", &waiver.owner},     {"bug", &waiver.bug},
      {"expires", &waiver.expires}};
  for (const auto& [key, value] : entry.items()) {
    bool known = false;
    for (const auto& [name, target] : members) {
      if (key != name) continue;
      if (!value.is_string())
        throw Error(ErrorCode::malformed_file, place + ": '" + key + "' must be a string");
      *target = value.get<std::string>();
      known = true;
    }
    if (!known) {
      throw Error(ErrorCode::malformed_file,
                  place + ": unknown member '" + key +
                      "'; a waiver has case, backend, version, status, owner, bug, expires");
    }
  }
  for (const auto& [name, target] : members) {
    if (target->empty())
      throw Error(ErrorCode::malformed_file, place + ": '" + std::string(name) + "' is missing");
  }
  if (!is_date(waiver.expires)) {
    throw Error(ErrorCode::malformed_file,
                place + ": expires '" + waiver.expires + "' is no date; write YYYY-MM-DD");
  }
  return waiver;
}

}  // namespace

std::vector<Waiver> parse_waivers(std::string_view text, const std::string& origin) {
  check_json_text(text, origin);
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object() || !object.contains("waivers") || !object["waivers"].is_array()) {
    throw Error(ErrorCode::malformed_file, origin + ": expected {\"schema\": 1, \"waivers\": [...]}");
  }
  std::vector<Waiver> waivers;
  for (const json& entry : object["waivers"]) {
    waivers.push_back(read_one(entry, origin + ": waiver " + std::to_string(waivers.size() + 1)));
  }
  return waivers;
}

std::vector<Waiver> read_waivers(const std::string& path) { return parse_waivers(read_file(path), path); }

bool covers(const Waiver& waiver, const Record& record, const std::string& backend_version) {
  return covers_case(waiver, record, backend_version) && glob_match(waiver.status, name_of(record.status));
}

bool covers_case(const Waiver& waiver, const Record& record, const std::string& backend_version) {
  return glob_match(waiver.cases, record.id) && glob_match(waiver.backend, record.backend) &&
         glob_match(waiver.version, backend_version);
}

bool names_one_case(const Waiver& waiver) { return waiver.cases.find_first_of("*?") == std::string::npos; }

bool is_expired(const Waiver& waiver, const std::string& today) { return waiver.expires < today; }

}  // namespace assay
