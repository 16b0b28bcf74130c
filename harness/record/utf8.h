// Text from outside, made fit for JSON and XML.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Each byte sequence that is no UTF-8 replaced by U+FFFD, as records are written (docs/records.md).
std::string valid_utf8(std::string_view text);

}  // namespace assay
