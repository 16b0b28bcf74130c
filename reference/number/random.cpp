#include "reference/number/random.h"

#include <cmath>
#include <numbers>

#include "core/philox.h"

namespace assay::reference {

void RandomStream::refill() {
  const PhiloxKey key = {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)};
  for (std::size_t i = 0; i < kBatch; i += 4, ++block_) {
    const PhiloxBlock block = philox4x32_10(
        {static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32), node_, replay_}, key);
    for (std::size_t j = 0; j < 4; ++j) words_[i + j] = block[j];
  }
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
