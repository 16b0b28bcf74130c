// Eight lanes are computed at a time, with AVX-512 where the machine has it. No product is fused with a sum
// (-ffp-contract=off), so that every machine gives the same bits.
#include "reference/number/normals.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ASSAY_WIDE_LANES __attribute__((target("avx512f,avx512dq")))
#endif

namespace assay::reference {
namespace {

constexpr std::size_t kLanes = 8;
// NOLINTBEGIN(modernize-use-using): attributes of vectors
typedef double Reals __attribute__((vector_size(kLanes * sizeof(double))));
typedef int64_t Integers __attribute__((vector_size(kLanes * sizeof(int64_t))));
// NOLINTEND(modernize-use-using)

// log x of normal numbers: x = 2^e m with m around 1, log m = 2 artanh((m - 1) / (m + 1)).
[[gnu::always_inline]] inline void logarithm(const Reals& x, Reals& log) {
  const auto bits = reinterpret_cast<Integers>(x);
  const Integers exponent = (bits - std::bit_cast<int64_t>(std::numbers::sqrt2 / 2)) >> 52;
  const auto m = reinterpret_cast<Reals>(bits - (exponent << 52));
  const Reals s = (m - 1) / (m + 1), z = s * s;
  const Reals series =
      1 + z * (1. / 3 + z * (1. / 5 + z * (1. / 7 + z * (1. / 9 + z * (1. / 11 + z * (1. / 13))))));
  log = __builtin_convertvector(exponent, Reals) * std::numbers::ln2 + 2 * s * series;
}

// Cosine and sine of 2 pi turns, 0 < turns < 1: Taylor's series within an eighth of a turn around the nearest
// quarter.
[[gnu::always_inline]] inline void direction(const Reals& turns, Reals& cosine, Reals& sine) {
  const Integers quarter = __builtin_convertvector(4 * turns + 0.5, Integers);
  const Reals x = (4 * turns - __builtin_convertvector(quarter, Reals)) * (std::numbers::pi / 2), z = x * x;
  const Reals s =
      x * (1 - z * (1. / 6) *
                   (1 - z * (1. / 20) *
                            (1 - z * (1. / 42) *
                                     (1 - z * (1. / 72) * (1 - z * (1. / 110) * (1 - z * (1. / 156)))))));
  const Reals c =
      1 -
      z * (1. / 2) *
          (1 - z * (1. / 12) *
                   (1 - z * (1. / 30) * (1 - z * (1. / 56) * (1 - z * (1. / 90) * (1 - z * (1. / 132))))));
  const Integers turned = (quarter & 1) != 0;
  cosine = turned ? s : c;
  cosine = ((quarter + 1) & 2) != 0 ? -cosine : cosine;
  sine = turned ? c : s;
  sine = (quarter & 2) != 0 ? -sine : sine;
}

// out[0 .. 7] and out[8 .. 15] from uniform u and v.
[[gnu::always_inline]] inline void pairs_by_lane(const Reals& u, const Reals& v, double* out) {
  Reals radius, cosine, sine;
  logarithm(u, radius);
  for (std::size_t i = 0; i < kLanes; ++i) radius[i] = std::sqrt(-2 * radius[i]);
  direction(v, cosine, sine);
  cosine *= radius;
  sine *= radius;
  for (std::size_t i = 0; i < kLanes; ++i) {
    out[i] = cosine[i];
    out[kLanes + i] = sine[i];
  }
}

#ifdef ASSAY_WIDE_LANES
ASSAY_WIDE_LANES void wide_pairs(const Reals& u, const Reals& v, double* out) { pairs_by_lane(u, v, out); }

bool has_wide_lanes() {
  static const bool has = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  return has;
}
#endif

void pairs(const Reals& u, const Reals& v, double* out) {
#ifdef ASSAY_WIDE_LANES
  if (has_wide_lanes()) return wide_pairs(u, v, out);
#endif
  pairs_by_lane(u, v, out);
}

}  // namespace

void draw_normals(RandomStream& random, double* out, std::size_t count) {
  std::array<double, 2 * kLanes> drawn;
  for (std::size_t done = 0; done < count; done += drawn.size()) {
    Reals u, v;
    for (std::size_t i = 0; i < kLanes; ++i) u[i] = random.uniform();
    for (std::size_t i = 0; i < kLanes; ++i) v[i] = random.uniform();
    pairs(u, v, drawn.data());
    std::copy_n(drawn.begin(), std::min(count - done, drawn.size()), out + done);
  }
}

}  // namespace assay::reference
