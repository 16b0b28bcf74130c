// Whole files in and out, and sizes that cannot overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace assay {

// Throws Error{io} naming the path and the system's reason; a directory, a device, a pipe that nobody writes
// to or a file beyond `limit` bytes is refused.
std::string read_file(const std::string& path, uint64_t limit = uint64_t{64} << 30);

// Writes a temporary file beside `path`, flushes it, renames it. Throws Error{io}; leaves no temporary file
// behind.
void write_file_atomically(const std::string& path, std::string_view bytes);

// Bytes of a packed tensor; nullopt for a negative size or beyond 2^62.
std::optional<uint64_t> checked_bytes(const Shape& shape, DType dtype);

}  // namespace assay
