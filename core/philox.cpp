#include "core/philox.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/error.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define ASSAY_WIDE_PHILOX __attribute__((target("avx512f,avx512dq")))
#endif

namespace assay {
namespace {

constexpr uint32_t multiplier_0 = 0xD2511F53;
constexpr uint32_t multiplier_1 = 0xCD9E8D57;
constexpr uint32_t weyl_0 = 0x9E3779B9;  // golden ratio
constexpr uint32_t weyl_1 = 0xBB67AE85;  // sqrt(3) - 1
constexpr int rounds = 10;

constexpr uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

#ifdef ASSAY_WIDE_PHILOX
constexpr std::size_t lanes = 8;
using Words = __v8du;

// Of the low 32 bits of each lane.
ASSAY_WIDE_PHILOX inline void multiply(const Words& x, int64_t y, Words& product) {
  product = reinterpret_cast<Words>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(x), _mm512_set1_epi64(y)));
}

// Of each lane only the low 32 bits count.
ASSAY_WIDE_PHILOX void wide_blocks(uint64_t seed, uint64_t first, uint32_t node, uint32_t replay,
                                   uint32_t* words) {
  constexpr uint64_t kLow = 0xFFFFFFFF;
  for (std::size_t half = 0; half < kPhiloxBlocks; half += lanes) {
    Words a = Words{0, 1, 2, 3, 4, 5, 6, 7} + (first + half), b = a >> 32, c = Words{} + node,
          d = Words{} + replay;
    uint64_t key0 = seed, key1 = seed >> 32;
    for (int round = 0; round < rounds; ++round) {
      Words product0, product1;
      multiply(a, multiplier_0, product0);
      multiply(c, multiplier_1, product1);
      a = (product1 >> 32) ^ b ^ key0;
      c = (product0 >> 32) ^ d ^ key1;
      b = product1;
      d = product0;
      key0 += weyl_0;
      key1 += weyl_1;
    }
    const Words ab = (a & kLow) | (b << 32), cd = (c & kLow) | (d << 32);
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::array<uint64_t, 2> block = {ab[i], cd[i]};
      std::memcpy(words + 4 * (half + i), block.data(), sizeof(block));
    }
  }
}
#endif

}  // namespace

PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < rounds; ++round) {
    const uint64_t product_0 = uint64_t{multiplier_0} * counter[0];
    const uint64_t product_1 = uint64_t{multiplier_1} * counter[2];
    counter = {high(product_1) ^ counter[1] ^ key[0], low(product_1), high(product_0) ^ counter[3] ^ key[1],
               low(product_0)};
    key[0] += weyl_0;
    key[1] += weyl_1;
  }
  return counter;
}

void philox_blocks(uint64_t seed, uint64_t first, uint32_t node, uint32_t replay,
                   uint32_t words[4 * kPhiloxBlocks]) {
#ifdef ASSAY_WIDE_PHILOX
  static const bool wide = __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (wide) return wide_blocks(seed, first, node, replay, words);
#endif
  for (std::size_t i = 0; i < kPhiloxBlocks; ++i) {
    const PhiloxBlock block =
        philox4x32_10({low(first + i), high(first + i), node, replay}, {low(seed), high(seed)});
    std::copy(block.begin(), block.end(), words + 4 * i);
  }
}

uint64_t fnv1a64(std::string_view bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001B3;
  }
  return hash;
}

PhiloxKey key_of_name(std::string_view name) {
  const uint64_t hash = fnv1a64(name);
  return {low(hash), high(hash)};
}

uint32_t draw_word(PhiloxKey key, uint64_t seed, uint64_t i) {
  const PhiloxBlock block = philox4x32_10({low(i / 4), high(i / 4), low(seed), high(seed)}, key);
  return block[i % 4];
}

double draw_symmetric(PhiloxKey key, uint64_t seed, uint64_t i) {
  const int32_t k = static_cast<int32_t>(draw_word(key, seed, i) >> 8) - (1 << 23);
  return static_cast<double>(k) * 0x1p-23;
}

int64_t draw_integer(PhiloxKey key, uint64_t seed, uint64_t i, int64_t low, int64_t high) {
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  if (high <= low || range > uint64_t{1} << 32) {
    throw Error(ErrorCode::invalid_argument, "cannot draw an integer from [" + std::to_string(low) + ", " +
                                                 std::to_string(high) + "): it must hold 1 to 2^32 numbers");
  }
  const uint64_t word = draw_word(key, seed, i);
  // word * 2^32 may not fit 64 bits only when range is 2^32 itself, and then the quotient is the word.
  const uint64_t step = range == uint64_t{1} << 32 ? word : (word * range) >> 32;
  return static_cast<int64_t>(static_cast<uint64_t>(low) + step);
}

}  // namespace assay
