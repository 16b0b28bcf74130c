// The checks that JSON text from outside passes before a parser sees it: one pass, no recursion.
#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/graph/unique_keys.h"

namespace assay {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, const std::string& origin, int limit)
      : text_(text), origin_(origin), limit_(limit) {}

  void run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      switch (c) {
        case '{':
        case '[':
          open(c == '{');
          break;
        case '}':
        case ']':
          close(c == '}');
          break;
        case ',':
          if (!frames_.empty()) frames_.back().expects_key = frames_.back().is_object;
          ++at_;
          break;
        case '"':
          string();
          break;
        default:
          if (static_cast<unsigned char>(c) >= 0x80)
            fail(at_, "a character outside a string that is not ASCII");
          // nlohmann::json takes a NUL for the end of the text.
          if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r')
            fail(at_, "a control character outside a string");
          ++at_;
      }
    }
    if (!frames_.empty()) fail(text_.size(), "the text ends inside an object or array (is it cut off?)");
  }

 private:
  struct Frame {
    bool is_object;
    bool expects_key;
  };

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw Error(ErrorCode::malformed_file, fmt::format("{}: not valid JSON: byte {}: {}", origin_, at, what));
  }

  void open(bool object) {
    if (static_cast<int>(frames_.size()) >= limit_) {
      fail(at_, fmt::format("nesting is deeper than {} levels, the limit", limit_));
    }
    frames_.push_back({object, object});
    keys_.open();
    ++at_;
  }

  void close(bool object) {
    if (frames_.empty() || frames_.back().is_object != object) {
      fail(at_, fmt::format("'{}' closes nothing that is open", text_[at_]));
    }
    keys_.close();
    frames_.pop_back();
    ++at_;
  }

  void string() {
    const std::size_t start = at_++;
    const bool is_key = !frames_.empty() && frames_.back().expects_key;
    std::string decoded;  // from the first escape on
    bool escaped = false;
    for (;;) {
      if (at_ >= text_.size()) fail(start, "a string without end (is the text cut off?)");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c < 0x20) fail(at_, "a control character inside a string");
      if (c == '\\') {
        if (!escaped && is_key) decoded = text_.substr(start + 1, at_ - start - 1);
        escaped = true;
        escape(decoded);
      } else {
        const std::size_t length = c < 0x80 ? 1 : sequence(c);
        if (escaped && is_key) decoded.append(text_.substr(at_, length));
        at_ += length;
      }
    }
    ++at_;
    if (!is_key) return;
    frames_.back().expects_key = false;
    if (escaped) decoded_.push_back(std::move(decoded));
    const std::string_view key = escaped ? decoded_.back() : text_.substr(start + 1, at_ - start - 2);
    if (!keys_.add(key)) fail(start, fmt::format("the key \"{}\" appears twice in one object", key));
  }

  // Length of the well-formed UTF-8 sequence at at_ (Unicode 15, table 3-7).
  std::size_t sequence(unsigned char lead) const {
    std::size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf) {
      length = 2;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      length = 3;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      length = 4;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    }
    if (length == 0 || text_.size() - at_ < length) fail(at_, "invalid UTF-8");
    for (std::size_t i = 1; i < length; ++i) {
      const auto c = static_cast<unsigned char>(text_[at_ + i]);
      if (c < low || c > high) fail(at_, "invalid UTF-8");
      low = 0x80;
      high = 0xbf;
    }
    return length;
  }

  uint32_t hex4(std::size_t at) const {
    if (text_.size() < at + 4) fail(at, "a \\u escape without four digits");
    uint32_t code = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      const char c = text_[i];
      uint32_t digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<uint32_t>(c - '0');
      } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
        digit = static_cast<uint32_t>((c | 0x20) - 'a') + 10;
      } else {
        fail(at, "a \\u escape without four digits");
      }
      code = code * 16 + digit;
    }
    return code;
  }

  void escape(std::string& decoded) {
    if (at_ + 1 >= text_.size()) fail(at_, "an escape without end (is the text cut off?)");
    const char c = text_[at_ + 1];
    constexpr std::string_view kShort = "\"\\/bfnrt";
    constexpr std::string_view kMeaning = "\"\\/\b\f\n\r\t";
    if (const auto i = kShort.find(c); i != std::string_view::npos) {
      decoded.push_back(kMeaning[i]);
      at_ += 2;
      return;
    }
    if (c != 'u') fail(at_, "an unknown escape");
    uint32_t code = hex4(at_ + 2);
    std::size_t length = 6;
    if (code >= 0xdc00 && code <= 0xdfff) fail(at_, "a low surrogate without a high one");
    if (code >= 0xd800 && code <= 0xdbff) {
      if (text_.substr(at_ + 6, 2) != "\\u") fail(at_, "a high surrogate without a low one");
      const uint32_t second = hex4(at_ + 8);
      if (second < 0xdc00 || second > 0xdfff) fail(at_, "a high surrogate without a low one");
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      length = 12;
    }
    append_utf8(decoded, code);
    at_ += length;
  }

  static void append_utf8(std::string& out, uint32_t code) {
    const auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xc0 | (code >> 6));
      byte(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      byte(0xe0 | (code >> 12));
      byte(0x80 | ((code >> 6) & 0x3f));
      byte(0x80 | (code & 0x3f));
    } else {
      byte(0xf0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 0x3f));
      byte(0x80 | ((code >> 6) & 0x3f));
      byte(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  const std::string& origin_;
  int limit_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  UniqueKeys keys_;
  std::deque<std::string> decoded_;  // keys with escapes
};

}  // namespace

void check_json_text(std::string_view json, const std::string& origin, int limit) {
  Scanner(json, origin, limit).run();
}

}  // namespace assay
