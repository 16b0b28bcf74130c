// Philox 4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC 2011). A stream is a pure function of key and counter, so any element can be drawn
// alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

using PhiloxBlock = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key);
// Words of `kPhiloxBlocks` blocks, in order: those with counters (low(first + i), high(first + i), node,
// replay) and the seed as key. The same words on every machine.
inline constexpr std::size_t kPhiloxBlocks = 16;
void philox_blocks(uint64_t seed, uint64_t first, uint32_t node, uint32_t replay,
                   uint32_t words[4 * kPhiloxBlocks]);

// 64-bit FNV-1a of the UTF-8 bytes, low word first: how names become keys (sweeps/export/weights.md).
PhiloxKey key_of_name(std::string_view name);
uint64_t fnv1a64(std::string_view bytes);

// Word of element `i`: word i % 4 of the block with counter (low(i/4), high(i/4), low(seed), high(seed)).
uint32_t draw_word(PhiloxKey key, uint64_t seed, uint64_t i);
// Uniform on [-1, 1), a multiple of 2^-23: ((word >> 8) - 2^23) * 2^-23.
double draw_symmetric(PhiloxKey key, uint64_t seed, uint64_t i);
// Uniform on [low, high): low + floor(word * (high - low) / 2^32). Throws Error unless 1 <= high - low <=
// 2^32.
int64_t draw_integer(PhiloxKey key, uint64_t seed, uint64_t i, int64_t low, int64_t high);

}  // namespace assay
