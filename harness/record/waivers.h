// Waivers: known failures that somebody accepted, for a while (ci/waivers.json).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace assay {

struct Waiver {
  std::string cases;         // glob on record ids
  std::string backend;       // glob
  std::string version;       // glob on the backend's version, "*" if it does not matter
  std::string owner;         // who answers for it
  std::string bug;           // URL
  std::string expires;       // YYYY-MM-DD, the last day on which it holds
  std::string status = "*";  // glob on the record's status, "*" if any failure is meant
};

// {"schema": 1, "waivers": [{"case", "backend", "version"?, "status"?, "owner", "bug", "expires"}]}. Throws
// Error{malformed_file} naming file, number of the waiver and field: unknown or missing members, a date that
// is none.
std::vector<Waiver> read_waivers(const std::string& path);
std::vector<Waiver> parse_waivers(std::string_view text, const std::string& origin);

bool covers(const Waiver& waiver, const Record& record, const std::string& backend_version);
// The same, whatever the record's status.
bool covers_case(const Waiver& waiver, const Record& record, const std::string& backend_version);
bool names_one_case(const Waiver& waiver);  // no wildcard in `cases`
// `today` is YYYY-MM-DD.
bool is_expired(const Waiver& waiver, const std::string& today);

}  // namespace assay
