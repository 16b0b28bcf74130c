// Transposition in memory, for everything that moves data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::backend {

// to[c][r] = from[r][c], bits unchanged, of `rows` x `columns` elements of 1, 2, 4 or 8 bytes. Elements of a
// row are neighbours in both; strides are bytes from row to row. The two do not overlap.
void turn(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t rows,
          int64_t columns, int64_t element);

}  // namespace assay::backend
