// Random words and normal numbers, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/number/random.h"

namespace assay::reference {

// Independent draws of N(0, 1), to about 1e-12 (Box and Muller, both values used). The same bits on every
// machine.
void draw_normals(RandomStream& random, double* out, std::size_t count);

}  // namespace assay::reference
