#include "backend/simulator/turn.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/simulator/words.h"

namespace assay::backend {
namespace {

// A matrix that is turned, and where to.
struct Turned {
  const std::byte* from;
  int64_t from_stride;
  std::byte* to;
  int64_t to_stride;
};

template <typename T>
void turn_element(const Turned& t, int64_t r, int64_t c) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  std::memcpy(t.to + c * t.to_stride + r * kSize, t.from + r * t.from_stride + c * kSize, sizeof(T));
}

// Rows and columns of a block that is turned in registers.
template <typename T>
constexpr int64_t kSquare = sizeof(T) == 2   ? 8
                            : sizeof(T) == 4 ? 4
                                             : 1;

template <typename T>
void turn_square(const Turned& t, int64_t r, int64_t c) {
  turn_element<T>(t, r, c);
}

// Sixteen bytes of each row; pairs of rows are woven into each other until columns have come together.
template <>
void turn_square<uint32_t>(const Turned& t, int64_t r, int64_t c) {
  using Words = uint32_t __attribute__((vector_size(16)));
  std::array<Words, 4> x{};
  for (int k = 0; k < 4; ++k)
    std::memcpy(&x[static_cast<std::size_t>(k)], t.from + (r + k) * t.from_stride + c * 4, sizeof(Words));
  const Words a = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5),
              b = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7),
              d = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5),
              e = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
  const std::array<Words, 4> y{
      __builtin_shufflevector(a, d, 0, 1, 4, 5), __builtin_shufflevector(a, d, 2, 3, 6, 7),
      __builtin_shufflevector(b, e, 0, 1, 4, 5), __builtin_shufflevector(b, e, 2, 3, 6, 7)};
  for (int k = 0; k < 4; ++k)
    std::memcpy(t.to + (c + k) * t.to_stride + r * 4, &y[static_cast<std::size_t>(k)], sizeof(Words));
}

template <>
void turn_square<uint16_t>(const Turned& t, int64_t r, int64_t c) {
  using Halves = uint16_t __attribute__((vector_size(16)));
  std::array<Halves, 8> x{};
  for (int k = 0; k < 8; ++k)
    std::memcpy(&x[static_cast<std::size_t>(k)], t.from + (r + k) * t.from_stride + c * 2, sizeof(Halves));
  // Weaving row k with row k + 4 three times brings every element to its place.
  for (int step = 0; step < 3; ++step) {
    std::array<Halves, 8> y{};
    for (std::size_t k = 0; k < 4; ++k) {
      y[2 * k] = __builtin_shufflevector(x[k], x[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      y[2 * k + 1] = __builtin_shufflevector(x[k], x[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    x = y;
  }
  for (int k = 0; k < 8; ++k)
    std::memcpy(t.to + (c + k) * t.to_stride + r * 2, &x[static_cast<std::size_t>(k)], sizeof(Halves));
}

// By blocks whose rows are cache lines of the source and whose columns are cache lines of the destination.
// They are put together in a buffer: distances between rows are often powers of two, and lines so far apart
// crowd each other out of the first cache. Rows an odd number of lines apart, such as those of SBUF, do not.
template <typename T>
void turn_all(const Turned& t, int64_t rows, int64_t columns) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kRows = 128, kColumns = 64 / kSize, kSide = kSquare<T>;
  alignas(64) std::array<std::byte, kRows * kColumns * kSize> buffer;
  const bool direct = t.to_stride % 128 == 64;
  for (int64_t r0 = 0; r0 < rows; r0 += kRows) {
    const int64_t height = std::min(rows - r0, kRows), whole_height = height / kSide * kSide;
    for (int64_t c0 = 0; c0 < columns; c0 += kColumns) {
      const int64_t width = std::min(columns - c0, kColumns), whole_width = width / kSide * kSide;
      const std::byte* from = t.from + r0 * t.from_stride + c0 * kSize;
      const Turned block =
          direct ? Turned{from, t.from_stride, t.to + c0 * t.to_stride + r0 * kSize, t.to_stride}
                 : Turned{from, t.from_stride, buffer.data(), kRows * kSize};
      // What comes next: the same rows, or the next ones.
      const bool more = c0 + kColumns < columns;
      const std::byte* next = more ? block.from + 64 : t.from + (r0 + kRows) * t.from_stride;
      const int64_t next_height = more ? height : std::min(rows - r0 - kRows, kRows);
      std::byte* next_to = more ? t.to + (c0 + kColumns) * t.to_stride + r0 * kSize : nullptr;
      const int64_t next_width = direct && more ? std::min(columns - c0 - kColumns, kColumns) : 0;
      for (int64_t r = 0; r < whole_height; r += kSide) {
        // And where it goes: a line of every one of its columns for each line's worth of rows.
        if (r * kSize % 64 == 0) {
          for (int64_t c = 0; c < next_width; ++c)
            __builtin_prefetch(next_to + c * t.to_stride + r * kSize, 1);
        }
        for (int64_t k = r; k < std::min(r + kSide, next_height); ++k)
          __builtin_prefetch(next + k * t.from_stride);
        for (int64_t c = 0; c < whole_width; c += kSide) turn_square<T>(block, r, c);
        for (int64_t c = whole_width; c < width; ++c) {
          for (int64_t k = r; k < r + kSide; ++k) turn_element<T>(block, k, c);
        }
      }
      for (int64_t r = whole_height; r < height; ++r) {
        for (int64_t c = 0; c < width; ++c) turn_element<T>(block, r, c);
      }
      for (int64_t c = 0; c < width && !direct; ++c) {
        std::memcpy(t.to + (c0 + c) * t.to_stride + r0 * kSize, buffer.data() + c * kRows * kSize,
                    static_cast<std::size_t>(height * kSize));
      }
    }
  }
}

}  // namespace

void turn(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t rows,
          int64_t columns, int64_t element) {
  const Turned t{from, from_stride, to, to_stride};
  with_words(element, [&]<typename T>(T) { turn_all<T>(t, rows, columns); });
}

}  // namespace assay::backend
