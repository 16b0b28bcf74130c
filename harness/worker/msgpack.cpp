// The pre-scan of MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md).
#include <fmt/format.h>

#include <vector>

#include "core/error.h"
#include "core/graph/unique_keys.h"
#include "harness/worker/frame.h"

namespace assay {
namespace {

constexpr std::size_t kMaxDepth = 64;

class Scanner {
 public:
  Scanner(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  void run() {
    if (bytes_.empty()) fail("is empty");
    const uint8_t first = peek();
    if (!((first & 0xf0) == 0x80 || first == 0xde || first == 0xdf)) fail("is not a map");
    value();
    while (!open_.empty()) {
      Container& top = open_.back();
      if (top.left == 0) {
        open_.pop_back();
        keys_.close();
        continue;
      }
      --top.left;
      if (top.map && !top.key_read) {
        top.key_read = true;
        ++top.left;  // the entry counts when its value is read
        const std::string_view text = key();
        if (!keys_.add(text)) fail(fmt::format("has the key \"{}\" twice", text));
        continue;
      }
      top.key_read = false;
      value();
    }
    if (at_ != bytes_.size()) fail("has bytes left over");
  }

 private:
  struct Container {
    bool map;
    bool key_read = false;
    uint64_t left;  // entries
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::malformed_file,
                fmt::format("{}: MessagePack header {} (byte {})", origin_, what, at_));
  }

  uint8_t peek() const {
    if (at_ >= bytes_.size()) fail("ends too early");
    return static_cast<uint8_t>(bytes_[at_]);
  }

  uint64_t big_endian(std::size_t count) {
    uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      value = value << 8 | peek();
      ++at_;
    }
    return value;
  }

  std::string_view skip(uint64_t count) {
    if (count > bytes_.size() - at_) fail("claims more bytes than there are");
    const std::string_view text = bytes_.substr(at_, count);
    at_ += count;
    return text;
  }

  void open(bool map, uint64_t count) {
    if (open_.size() >= kMaxDepth) fail(fmt::format("is nested deeper than {}", kMaxDepth));
    // Every entry takes at least one byte, a map's two.
    if (count > (bytes_.size() - at_) / (map ? 2 : 1)) fail("claims more entries than there are bytes");
    open_.push_back({map, false, count});
    keys_.open();
  }

  std::string_view key() {
    const uint8_t tag = peek();
    ++at_;
    if ((tag & 0xe0) == 0xa0) return skip(tag & 0x1f);
    if (tag >= 0xd9 && tag <= 0xdb) return skip(big_endian(std::size_t{1} << (tag - 0xd9)));
    --at_;
    fail("has a key that is no string");
  }

  void value() {
    const uint8_t tag = peek();
    ++at_;
    if (tag < 0x80 || tag >= 0xe0) return;  // small integers
    if (tag < 0x90) return open(true, tag & 0x0f);
    if (tag < 0xa0) return open(false, tag & 0x0f);
    if (tag < 0xc0) return static_cast<void>(skip(tag & 0x1f));
    switch (tag) {
      case 0xc0:  // nil
      case 0xc2:  // false
      case 0xc3:  // true
        return;
      case 0xc4:  // bin 8, 16, 32
      case 0xc5:
      case 0xc6:
        return static_cast<void>(skip(big_endian(std::size_t{1} << (tag - 0xc4))));
      case 0xca:  // float 32, 64
        return static_cast<void>(skip(4));
      case 0xcb:
        return static_cast<void>(skip(8));
      case 0xcc:  // unsigned 8 .. 64
      case 0xcd:
      case 0xce:
      case 0xcf:
        return static_cast<void>(skip(uint64_t{1} << (tag - 0xcc)));
      case 0xd0:  // signed 8 .. 64
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return static_cast<void>(skip(uint64_t{1} << (tag - 0xd0)));
      case 0xd9:  // str 8, 16, 32
      case 0xda:
      case 0xdb:
        return static_cast<void>(skip(big_endian(std::size_t{1} << (tag - 0xd9))));
      case 0xdc:  // array 16, 32
      case 0xdd:
        return open(false, big_endian(tag == 0xdc ? 2 : 4));
      case 0xde:  // map 16, 32
      case 0xdf:
        return open(true, big_endian(tag == 0xde ? 2 : 4));
      default:
        --at_;
        fail(fmt::format("has a type that the protocol does not use (0x{:02x})", tag));
    }
  }

  std::string_view bytes_;
  const std::string& origin_;
  std::size_t at_ = 0;
  std::vector<Container> open_;
  UniqueKeys keys_;
};

}  // namespace

void check_msgpack(std::string_view bytes, const std::string& origin) { Scanner(bytes, origin).run(); }

}  // namespace assay
