// Random words and normal numbers, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/number/random.h"

namespace assay::reference {

// Words of `kPhiloxBlocks` blocks of Philox 4x32-10, in order: those with counters (low(first + i),
// high(first + i), node, replay) and the seed as key. The same words on every machine.
constexpr std::size_t kPhiloxBlocks = 16;
void philox_blocks(uint64_t seed, uint64_t first, uint32_t node, uint32_t replay,
                   uint32_t words[4 * kPhiloxBlocks]);

// Independent draws of N(0, 1), to about 1e-12 (Box and Muller, both values used). The same bits on every
// machine.
void draw_normals(RandomStream& random, double* out, std::size_t count);

}  // namespace assay::reference
