#include "harness/judge/vacuous.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

constexpr std::size_t kFewBytes = 16;
constexpr int64_t kManyValues = 16;

constexpr std::size_t kBlock = 512;

// What holds of every number (complex: part) of a float tensor; most questions are answered by the first.
template <class Predicate>
bool all_numbers(const Tensor& tensor, Predicate holds) {
  const Tensor packed = tensor.contiguous();
  const DType dtype = real_part(packed.dtype());
  const std::size_t count = packed.bytes() / size_of(dtype);
  std::array<double, kBlock> block;
  for (std::size_t first = 0; first < count; first += kBlock) {
    const std::size_t length = std::min(kBlock, count - first);
    decode_floats(dtype, packed.data() + first * size_of(dtype), block.data(), length);
    if (!std::all_of(block.begin(), block.begin() + length, holds)) return false;
  }
  return true;
}

bool all_bytes_equal(const std::byte* data, std::size_t size) {
  return std::all_of(data, data + size, [first = data[0]](std::byte b) { return b == first; });
}

}  // namespace

bool is_filled_with_one_byte(const Tensor& tensor) {
  if (!tensor.defined() || tensor.count() == 0) return false;
  const Tensor packed = tensor.contiguous();
  const std::byte* data = packed.data();
  if (data[0] == std::byte{0} || !all_bytes_equal(data, packed.bytes())) return false;
  if (packed.dtype() == DType::boolean) return data[0] != std::byte{1};
  return packed.bytes() >= kFewBytes;
}

bool is_unwritten(const Tensor& got, const reference::Wide& want) {
  if (!is_filled_with_one_byte(got) || is_filled_with_one_byte(want.rounded())) return false;
  if (is_integral(got.dtype())) return true;
  const auto nan = [](double v) { return std::isnan(v); };
  return !(std::all_of(want.real.begin(), want.real.end(), nan) && all_numbers(got, nan));
}

int64_t count_filled_elements(const Tensor& tensor) {
  const std::size_t size = size_of(tensor.dtype());
  if (size < 2 || tensor.count() == 0) return 0;
  const Tensor packed = tensor.contiguous();
  int64_t filled = 0;
  for (int64_t i = 0; i < packed.count(); ++i) {
    const std::byte* element = packed.data() + static_cast<std::size_t>(i) * size;
    filled += element[0] != std::byte{0} && all_bytes_equal(element, size) ? 1 : 0;
  }
  return filled;
}

bool is_undefined(const reference::BoundedWide& output) {
  return !output.special.empty() &&
         std::all_of(output.special.begin(), output.special.end(),
                     [](uint8_t mark) { return (mark & reference::special_undefined) != 0; });
}

bool is_all_zero_unlike(const Tensor& got, const reference::Wide& want, const std::vector<double>& bound,
                        const std::vector<uint8_t>& special) {
  if (got.count() == 0) return false;
  const auto undefined = [&](std::size_t i) {
    return i < special.size() && (special[i] & reference::special_undefined) != 0;
  };
  int64_t telling = 0;  // values that a right kernel would hardly return as 0
  bool outside = false;
  if (is_integral(got.dtype())) {
    const std::vector<int64_t> values = got.to_ints();
    if (std::any_of(values.begin(), values.end(), [](int64_t v) { return v != 0; })) return false;
    for (std::size_t i = 0; i < want.integer.size(); ++i)
      outside = outside || (want.integer[i] != 0 && !undefined(i));
    return outside && want.integer.size() > 1;
  }
  if (!all_numbers(got, [](double v) { return !(v != 0); })) return false;
  const std::vector<double> wanted = want.rounded().to_doubles();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 || undefined(i)) continue;
    const double allowed = i < bound.size() ? bound[i] : 0;
    outside = outside || !(std::fabs(want.real[i]) <= allowed);
    telling += std::fabs(want.real[i]) > allowed / 8 ? 1 : 0;
  }
  return (outside || telling >= kManyValues) && wanted.size() > 1;
}

namespace {

bool reads_nan(const std::vector<Tensor>& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& input) {
    return input.defined() && !is_integral(input.dtype()) &&
           !all_numbers(input, [](double v) { return !std::isnan(v); });
  });
}

}  // namespace

bool is_reference_nan(const std::vector<const reference::Wide*>& outputs, const std::vector<Tensor>& inputs) {
  bool any = false;
  for (const reference::Wide* output : outputs) {
    if (!output->integer.empty()) return false;  // integers can be compared
    for (const double value : output->real) {
      if (!std::isnan(value)) return false;
      any = true;
    }
  }
  return any && !reads_nan(inputs);
}

bool is_chain_nan(const std::vector<const Tensor*>& outputs, const std::vector<Tensor>& inputs) {
  bool any = false;
  for (const Tensor* output : outputs) {
    if (output->count() == 0) continue;
    if (is_integral(output->dtype()) || !all_numbers(*output, [](double v) { return std::isnan(v); }))
      return false;
    any = true;
  }
  return any && !reads_nan(inputs);
}

}  // namespace assay
