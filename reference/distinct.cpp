#include "reference/distinct.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

#include "reference/pieces.h"

namespace assay::reference {
namespace {

// In alphabetical order.
constexpr std::array<std::string_view, 30> kFunctions = {
    "aten::acos.default",    "aten::acosh.default",      "aten::asin.default",  "aten::asinh.default",
    "aten::atan.default",    "aten::atanh.default",      "aten::cos.default",   "aten::cosh.default",
    "aten::digamma.default", "aten::erf.default",        "aten::erfc.default",  "aten::erfinv.default",
    "aten::exp.default",     "aten::expm1.default",      "aten::gelu.default",  "aten::i0.default",
    "aten::lgamma.default",  "aten::log.default",        "aten::log10.default", "aten::log1p.default",
    "aten::log2.default",    "aten::reciprocal.default", "aten::rsqrt.default", "aten::sigmoid.default",
    "aten::silu.default",    "aten::sin.default",        "aten::sinh.default",  "aten::sqrt.default",
    "aten::tan.default",     "aten::tanh.default"};
constexpr std::size_t kWorthwhile = 4096;  // elements
constexpr uint16_t kUnseen = 0xffff;

uint64_t bits_of(double v) { return std::bit_cast<uint64_t>(v); }

}  // namespace

std::span<const std::string_view> functions_of_one_number() { return kFunctions; }

std::optional<DistinctCall> distinct_call(const OpCall& call, const std::vector<const Wide*>& inputs) {
  if (inputs.size() != 1 || call.outputs().size() != 1 || inputs[0]->is_integral()) return std::nullopt;
  const Wide& x = *inputs[0];
  const DType dtype = x.meta.dtype;
  if (x.real.size() < kWorthwhile || is_complex(dtype) || size_of(dtype) > 2) return std::nullopt;
  if (!std::binary_search(kFunctions.begin(), kFunctions.end(), std::string_view(call.op())))
    return std::nullopt;

  std::vector<uint16_t> codes(x.real.size());
  if (size_of(dtype) == 2) {
    encode_floats(dtype, x.real.data(), codes.data(), codes.size());
  } else {
    std::vector<uint8_t> bytes(codes.size());
    encode_floats(dtype, x.real.data(), bytes.data(), bytes.size());
    std::copy(bytes.begin(), bytes.end(), codes.begin());
  }
  std::vector<uint16_t> place_of(std::size_t{1} << 16, kUnseen);
  std::vector<double> values;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    uint16_t& place = place_of[codes[i]];
    if (place == kUnseen) {
      if (values.size() >= codes.size() / 4 || values.size() >= kUnseen) return std::nullopt;
      place = static_cast<uint16_t>(values.size());
      values.push_back(x.real[i]);
    } else if (bits_of(values[place]) != bits_of(x.real[i])) {
      return std::nullopt;
    }
    codes[i] = place;
  }
  OpCall small = call_on(call, values.size());
  Wide wide;
  wide.meta = small.input(0);
  wide.real = std::move(values);
  return DistinctCall{std::move(small), std::move(wide), std::move(codes), call.output(0)};
}

}  // namespace assay::reference
