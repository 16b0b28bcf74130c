// Elements as words of their size, for what moves bits unchanged.
#pragma once

#include <cstdint>

namespace assay::backend {

// Calls f with a word of an element's size: 1, 2, 4 or 8 bytes.
template <typename F>
auto with_words(int64_t element, F f) {
  switch (element) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

}  // namespace assay::backend
