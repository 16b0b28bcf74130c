#include "core/io/base64.h"

#include <array>
#include <cstdint>

namespace assay {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_values() {
  std::array<int8_t, 256> values{};
  for (auto& value : values) value = -1;
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return values;
}

constexpr std::array<int8_t, 256> kValues = make_values();

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::size_t digits = i + 4 == text.size() ? 4 - padding : 4;
    uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const int8_t value = j < digits ? kValues[static_cast<unsigned char>(text[i + j])] : int8_t{0};
      if (value < 0) return std::nullopt;
      group = (group << 6) | static_cast<uint32_t>(value);
    }
    // Bits that padding leaves over must be zero: one text for each content.
    if ((digits == 2 && (group & 0xffff) != 0) || (digits == 3 && (group & 0xff) != 0)) return std::nullopt;
    for (std::size_t j = 0; j + 1 < digits; ++j)
      bytes.push_back(static_cast<char>((group >> (16 - 8 * j)) & 0xff));
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = (group << 8) | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text.push_back(i + j <= bytes.size() ? kAlphabet[(group >> (18 - 6 * j)) & 0x3f] : '=');
    }
  }
  return text;
}

}  // namespace assay
