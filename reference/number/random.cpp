#include "reference/number/random.h"

#include <cmath>
#include <numbers>

#include "core/philox.h"
#include "reference/number/normals.h"

namespace assay::reference {

void RandomStream::refill() {
  static_assert(kBatch == 4 * kPhiloxBlocks);
  philox_blocks(seed_, block_, node_, replay_, words_.data());
  block_ += kPhiloxBlocks;
  next_ = 0;
}

double RandomStream::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace assay::reference
