#include "harness/record/utf8.h"

#include <nlohmann/json.hpp>

namespace assay {

std::string valid_utf8(std::string_view text) {
  using nlohmann::json;
  // The same routine that writes records, so that a name compares equal to the one that was written.
  const std::string written = json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
  return json::parse(written).get<std::string>();
}

}  // namespace assay
