// RFC 4648 base64, padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

std::optional<std::string> decode_base64(std::string_view text);  // nullopt if it is not valid
std::string encode_base64(std::string_view bytes);

}  // namespace assay
