#include "harness/worker/message_pack.h"

#include <fmt/format.h>

#include <bit>

#include "core/error.h"
#include "core/graph/unique_keys.h"

namespace assay {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = std::size_t{1} << 24;  // an Item is larger than the smallest value

// `tag` and the low `bytes` bytes of `value`, most significant first.
void append_number(std::string& out, int tag, uint64_t value, int bytes) {
  out.push_back(static_cast<char>(tag));
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    out.push_back(static_cast<char>(value >> shift & 0xff));
}

}  // namespace

// --- writing
// ---------------------------------------------------------------------------------------------------

PackedValue::PackedValue(std::nullptr_t) { bytes_.push_back(static_cast<char>(0xc0)); }
PackedValue::PackedValue(bool value) { bytes_.push_back(static_cast<char>(value ? 0xc3 : 0xc2)); }
PackedValue::PackedValue(double value) { append_number(bytes_, 0xcb, std::bit_cast<uint64_t>(value), 8); }

PackedValue::PackedValue(std::string_view text) {
  bytes_.reserve(text.size() + 5);
  if (text.size() < 32) {
    bytes_.push_back(static_cast<char>(0xa0 | text.size()));
  } else if (text.size() < 0x100) {
    append_number(bytes_, 0xd9, text.size(), 1);
  } else if (text.size() < 0x10000) {
    append_number(bytes_, 0xda, text.size(), 2);
  } else {
    append_number(bytes_, 0xdb, text.size(), 4);
  }
  bytes_ += text;
}

void PackedValue::append_signed(int64_t value) {
  if (value >= 0) return append_unsigned(static_cast<uint64_t>(value));
  const auto bits = static_cast<uint64_t>(value);
  if (value >= -32) {
    bytes_.push_back(static_cast<char>(value));
  } else if (value >= -0x80) {
    append_number(bytes_, 0xd0, bits, 1);
  } else if (value >= -0x8000) {
    append_number(bytes_, 0xd1, bits, 2);
  } else if (value >= -0x80000000LL) {
    append_number(bytes_, 0xd2, bits, 4);
  } else {
    append_number(bytes_, 0xd3, bits, 8);
  }
}

void PackedValue::append_unsigned(uint64_t value) {
  if (value < 0x80) {
    bytes_.push_back(static_cast<char>(value));
  } else if (value < 0x100) {
    append_number(bytes_, 0xcc, value, 1);
  } else if (value < 0x10000) {
    append_number(bytes_, 0xcd, value, 2);
  } else if (value < 0x100000000) {
    append_number(bytes_, 0xce, value, 4);
  } else {
    append_number(bytes_, 0xcf, value, 8);
  }
}

void PackedValue::append_count(std::size_t count, int few, int tag) {
  if (count < 16) {
    bytes_.push_back(static_cast<char>(few | static_cast<int>(count)));
  } else if (count < 0x10000) {
    append_number(bytes_, tag, count, 2);
  } else {
    append_number(bytes_, tag + 1, count, 4);
  }
}

PackedValue::PackedValue(const PackedArray& array) {
  append_array(array.count_);
  bytes_ += array.bytes_;
}

PackedValue::PackedValue(const PackedMap& map) {
  append_map(map.count_);
  bytes_ += map.bytes_;
}

PackedMap::PackedMap(std::initializer_list<Member> members) {
  std::size_t bytes = 0;
  for (const Member& member : members) bytes += member.value.bytes().size() + 32;
  bytes_.reserve(bytes);
  for (const Member& member : members) set(member.key, member.value);
}

void PackedMap::set(std::string_view key, const PackedValue& value) {
  bytes_ += PackedValue(key).bytes();
  bytes_ += value.bytes();
  ++count_;
}

// --- reading
// ---------------------------------------------------------------------------------------------------

class MessageScanner {
 public:
  MessageScanner(Message& message, const std::string& origin)
      : bytes_(message.bytes_), items_(message.items_), origin_(origin) {}

  void run() {
    if (bytes_.empty()) fail("is empty");
    const uint8_t first = peek();
    if (!((first & 0xf0) == 0x80 || first == 0xde || first == 0xdf)) fail("is not a map");
    value();
    while (!open_.empty()) {
      Container& top = open_.back();
      if (top.left == 0) {
        items_[top.item].next = static_cast<uint32_t>(items_.size());
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
  using Kind = Message::Kind;
  struct Container {
    std::size_t item;
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

  void add(Kind kind, uint64_t word, uint64_t length = 0) {
    if (items_.size() >= kMaxValues) fail(fmt::format("holds more than {} values", kMaxValues));
    items_.push_back({kind, static_cast<uint32_t>(length), static_cast<uint32_t>(items_.size() + 1), word});
  }

  std::string_view bytes(Kind kind, uint64_t count) {
    if (count > bytes_.size() - at_) fail("claims more bytes than there are");
    add(kind, at_, count);
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

  void open(bool map, uint64_t count) {
    if (open_.size() >= kMaxDepth) fail(fmt::format("is nested deeper than {}", kMaxDepth));
    // Every entry takes at least one byte, a map's two.
    if (count > (bytes_.size() - at_) / (map ? 2 : 1)) fail("claims more entries than there are bytes");
    open_.push_back({items_.size(), map, false, count});
    add(map ? Kind::map : Kind::array, 0, count);
    keys_.open();
  }

  std::string_view key() {
    const uint8_t tag = peek();
    ++at_;
    if ((tag & 0xe0) == 0xa0) return bytes(Kind::text, tag & 0x1f);
    if (tag >= 0xd9 && tag <= 0xdb) return bytes(Kind::text, big_endian(std::size_t{1} << (tag - 0xd9)));
    --at_;
    fail("has a key that is no string");
  }

  void natural(uint64_t value) { add(Kind::natural, value); }
  void integer(int64_t value) {
    add(value < 0 ? Kind::negative : Kind::natural, static_cast<uint64_t>(value));
  }
  void real(double value) { add(Kind::real, std::bit_cast<uint64_t>(value)); }

  void value() {
    const uint8_t tag = peek();
    ++at_;
    if (tag < 0x80) return natural(tag);
    if (tag >= 0xe0) return integer(static_cast<int8_t>(tag));
    if (tag < 0x90) return open(true, tag & 0x0f);
    if (tag < 0xa0) return open(false, tag & 0x0f);
    if (tag < 0xc0) return static_cast<void>(bytes(Kind::text, tag & 0x1f));
    switch (tag) {
      case 0xc0:
        return add(Kind::nil, 0);
      case 0xc2:
      case 0xc3:
        return add(Kind::boolean, tag & 1);
      case 0xc4:  // bin 8, 16, 32
      case 0xc5:
      case 0xc6:
        return static_cast<void>(bytes(Kind::binary, big_endian(std::size_t{1} << (tag - 0xc4))));
      case 0xca:
        return real(std::bit_cast<float>(static_cast<uint32_t>(big_endian(4))));
      case 0xcb:
        return real(std::bit_cast<double>(big_endian(8)));
      case 0xcc:  // unsigned 8 .. 64
      case 0xcd:
      case 0xce:
      case 0xcf:
        return natural(big_endian(std::size_t{1} << (tag - 0xcc)));
      case 0xd0:
        return integer(static_cast<int8_t>(big_endian(1)));
      case 0xd1:
        return integer(static_cast<int16_t>(big_endian(2)));
      case 0xd2:
        return integer(static_cast<int32_t>(big_endian(4)));
      case 0xd3:
        return integer(static_cast<int64_t>(big_endian(8)));
      case 0xd9:  // str 8, 16, 32
      case 0xda:
      case 0xdb:
        return static_cast<void>(bytes(Kind::text, big_endian(std::size_t{1} << (tag - 0xd9))));
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
  std::vector<Message::Item>& items_;
  const std::string& origin_;
  std::size_t at_ = 0;
  std::vector<Container> open_;
  UniqueKeys keys_;
};

Message::Message(std::string bytes, const std::string& origin) : bytes_(std::move(bytes)) {
  items_.reserve(64);
  MessageScanner(*this, origin).run();
}

MessageValue Message::root() const { return {this, 0}; }

void MessageValue::expect(bool right, const char* what) const {
  if (!right) throw Error(ErrorCode::malformed_file, fmt::format("MessagePack: expected {}", what));
}

std::optional<MessageValue> MessageValue::find(std::string_view key) const {
  if (!is_object()) return std::nullopt;
  uint32_t at = at_ + 1;
  for (std::size_t left = size(); left > 0; --left) {
    const MessageValue name(message_, at), value(message_, at + 1);
    if (name.text() == key) return value;
    at = value.item().next;
  }
  return std::nullopt;
}

std::vector<std::pair<std::string_view, MessageValue>> MessageValue::members() const {
  std::vector<std::pair<std::string_view, MessageValue>> out;
  if (!is_object()) return out;
  out.reserve(size());
  uint32_t at = at_ + 1;
  for (std::size_t left = size(); left > 0; --left) {
    const MessageValue value(message_, at + 1);
    out.emplace_back(MessageValue(message_, at).text(), value);
    at = value.item().next;
  }
  return out;
}

bool MessageValue::boolean() const {
  expect(is_boolean(), "a boolean");
  return item().word != 0;
}

int64_t MessageValue::integer() const {
  expect(is_number_integer(), "an integer");
  return static_cast<int64_t>(item().word);
}

uint64_t MessageValue::natural() const {
  expect(is_number_unsigned(), "an unsigned integer");
  return item().word;
}

double MessageValue::real() const {
  expect(is_number(), "a number");
  if (kind() == Kind::real) return std::bit_cast<double>(item().word);
  return is_number_unsigned() ? static_cast<double>(item().word) : static_cast<double>(integer());
}

std::string_view MessageValue::text() const {
  expect(is_string(), "a string");
  return std::string_view(message_->bytes_).substr(item().word, item().length);
}

}  // namespace assay
