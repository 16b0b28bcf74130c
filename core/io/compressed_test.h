// What tests of compressed files write.
#pragma once

#include <zstd.h>

#include <string>

namespace assay {

// One zstd frame that holds TEXT.
inline std::string compress(const std::string& text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 1));
  return bytes;
}

}  // namespace assay
