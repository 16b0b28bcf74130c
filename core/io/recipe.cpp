// Drawing tensors: sweeps/export/weights.md is the specification.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "core/io/model.h"
#include "core/philox.h"

namespace assay {
namespace {

constexpr uint64_t kWords = 4 * kPhiloxBlocks;  // drawn at once
constexpr uint64_t kChunk = 64 * kWords;        // elements

// Calls use(first, words, count) for the words of elements [0, count), a chunk at a time.
template <typename Use>
void for_words(PhiloxKey key, uint64_t seed, uint64_t count, Use use) {
  std::vector<uint32_t> words(std::min(kChunk, (count + kWords - 1) / kWords * kWords));
  const uint64_t name = key[0] | uint64_t{key[1]} << 32;
  for (uint64_t first = 0; first < count; first += kChunk) {
    const uint64_t length = std::min(kChunk, count - first);
    for (uint64_t i = 0; i < length; i += kWords) {
      philox_blocks(name, (first + i) / 4, static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                    words.data() + i);
    }
    use(first, words.data(), length);
  }
}

void draw_uniform(const UniformDraw& draw, PhiloxKey key, uint64_t seed, Tensor& tensor) {
  const DType dtype = tensor.dtype();
  const bool complex = is_complex(dtype);
  const DType part = complex ? part_dtype(dtype) : dtype;
  const uint64_t count = static_cast<uint64_t>(tensor.count()) * (complex ? 2 : 1);
  std::vector<double> values(std::min(kChunk, count));
  std::byte* out = tensor.mutable_data();
  for_words(key, seed, count, [&](uint64_t first, const uint32_t* words, uint64_t length) {
    for (uint64_t i = 0; i < length; ++i) {
      const auto k = static_cast<int64_t>(words[i] >> 8) - (int64_t{1} << 23);
      values[i] = draw.center + draw.scale * (static_cast<double>(k) * 0x1p-23);
    }
    encode_floats(part, values.data(), out + first * size_of(part), length);
  });
}

void draw_integers(const IntegerDraw& draw, PhiloxKey key, uint64_t seed, Tensor& tensor) {
  const auto range = static_cast<uint64_t>(draw.high) - static_cast<uint64_t>(draw.low);
  const DType dtype = tensor.dtype();
  const auto count = static_cast<uint64_t>(tensor.count());
  std::vector<int64_t> values(std::min(kChunk, count));
  std::vector<double> doubles(values.size());
  std::byte* out = tensor.mutable_data();
  for_words(key, seed, count, [&](uint64_t first, const uint32_t* words, uint64_t length) {
    for (uint64_t i = 0; i < length; ++i) {
      // range <= 2^32, so the product fits.
      values[i] = draw.low + static_cast<int64_t>((words[i] * range) >> 32);
      doubles[i] = static_cast<double>(values[i]);
    }
    if (is_integral(dtype)) {
      encode_ints(dtype, values.data(), out + first * size_of(dtype), length);
    } else {
      encode_floats(dtype, doubles.data(), out + first * size_of(dtype), length);
    }
  });
}

}  // namespace

Tensor materialise(const TensorRecipe& recipe, std::string_view stream, uint64_t seed) {
  if (const auto* stored = std::get_if<Tensor>(&recipe.source)) return *stored;
  const PhiloxKey key = key_of_name(stream);
  Tensor tensor(recipe.dtype, recipe.shape);
  if (tensor.count() == 0) return tensor;
  if (const auto* uniform = std::get_if<UniformDraw>(&recipe.source)) {
    if (is_integral(recipe.dtype)) {
      throw Error(ErrorCode::invalid_argument, fmt::format("'{}': {} cannot be drawn from a continuous range",
                                                           stream, name_of(recipe.dtype)));
    }
    draw_uniform(*uniform, key, seed, tensor);
    return tensor;
  }
  const auto& integers = std::get<IntegerDraw>(recipe.source);
  const auto range = static_cast<uint64_t>(integers.high) - static_cast<uint64_t>(integers.low);
  if (integers.high <= integers.low || range > (uint64_t{1} << 32) || is_complex(recipe.dtype)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("'{}': cannot draw {} from [{}, {})", stream,
                                                         name_of(recipe.dtype), integers.low, integers.high));
  }
  draw_integers(integers, key, seed, tensor);
  return tensor;
}

}  // namespace assay
