// Text in a zstd frame, unpacked a piece at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace assay {

// Calls use(piece) for consecutive pieces of what one zstd frame holds. Throws Error{malformed_file} naming
// `origin` for a damaged frame, one that is cut off or followed by data, a window beyond 128 MiB (what zstd
// itself allows by default) or content beyond `limit` bytes.
void unpack_zstd(std::string_view frame, const std::string& origin, uint64_t limit,
                 const std::function<void(std::string_view piece)>& use);

}  // namespace assay
