// Headers of frames: MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), written straight
// into bytes and read where it lies. A document of nlohmann::json in between was a tenth of what a small case
// costs, and its reader overflows the stack on deep nesting; msgpack-cxx wants another Boost than ours.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// --- writing

class PackedArray;
class PackedMap;

// One value, as bytes.
class PackedValue {
 public:
  // Conversions are meant to be implicit: members of a map are written as {"name", value}.
  PackedValue(std::nullptr_t);
  PackedValue(bool value);
  PackedValue(double value);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  PackedValue(T value) {
    if constexpr (std::signed_integral<T>) {
      append_signed(value);
    } else {
      append_unsigned(value);
    }
  }
  PackedValue(const char* text) : PackedValue(std::string_view(text)) {}
  PackedValue(std::string_view text);
  PackedValue(const std::string& text) : PackedValue(std::string_view(text)) {}
  template <class T>
  PackedValue(const std::optional<T>& value)
      : PackedValue(value ? PackedValue(*value) : PackedValue(nullptr)) {}
  template <class T>
  PackedValue(const std::vector<T>& values) {
    append_array(values.size());
    for (const T& value : values) bytes_ += PackedValue(value).bytes_;
  }
  template <class T>
  PackedValue(const std::map<std::string, T>& members) {
    append_map(members.size());
    for (const auto& [key, value] : members)
      bytes_.append(PackedValue(key).bytes_).append(PackedValue(value).bytes_);
  }
  template <class A, class B>
  PackedValue(const std::pair<A, B>& values) {
    append_array(2);
    bytes_.append(PackedValue(values.first).bytes_).append(PackedValue(values.second).bytes_);
  }
  PackedValue(const PackedArray& array);
  PackedValue(const PackedMap& map);

  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  void append_signed(int64_t value);
  void append_unsigned(uint64_t value);
  void append_array(std::size_t count) { append_count(count, 0x90, 0xdc); }
  void append_map(std::size_t count) { append_count(count, 0x80, 0xde); }
  // `few`: the tag of up to 15 entries, whose number it holds; `tag`: that of 16 bits, before that of 32.
  void append_count(std::size_t count, int few, int tag);

  std::string bytes_;
};

// Values in a row, as they were pushed.
class PackedArray {
 public:
  void push_back(const PackedValue& value) {
    bytes_ += value.bytes();
    ++count_;
  }

 private:
  friend class PackedValue;
  std::string bytes_;
  std::size_t count_ = 0;
};

// Members in the order in which they were set.
class PackedMap {
 public:
  struct Member {
    const char* key;
    PackedValue value;
  };
  PackedMap() = default;
  PackedMap(std::initializer_list<Member> members);
  void set(std::string_view key, const PackedValue& value);  // no key twice

 private:
  friend class PackedValue;
  std::string bytes_;
  std::size_t count_ = 0;
};

// --- reading

class MessageValue;

// A header that came from outside.
class Message {
 public:
  // Scans without recursion: one map with string keys, nesting <= 64, no key twice, no extension types, no
  // claim beyond the bytes that are there, nothing left over. Throws Error{malformed_file} with the byte
  // offset.
  Message(std::string bytes, const std::string& origin);
  MessageValue root() const;  // the map; valid as long as this

 private:
  friend class MessageValue;
  friend class MessageScanner;
  enum class Kind : uint8_t { nil, boolean, negative, natural, real, text, binary, array, map };
  // A value; those inside it follow, of a map key and value in turns.
  struct Item {
    Kind kind;
    uint32_t length = 0;  // bytes of a text, entries of an array or map
    uint32_t next = 0;    // the item after all that is inside
    uint64_t word = 0;    // the number's bits, or where the text begins
  };
  std::string bytes_;
  std::vector<Item> items_;
};

// A value in a Message, which must outlive it.
class MessageValue {
 public:
  bool is_null() const { return kind() == Kind::nil; }
  bool is_boolean() const { return kind() == Kind::boolean; }
  bool is_number_integer() const { return kind() == Kind::negative || kind() == Kind::natural; }
  bool is_number_unsigned() const { return kind() == Kind::natural; }
  bool is_number() const { return is_number_integer() || kind() == Kind::real; }
  bool is_string() const { return kind() == Kind::text; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_object() const { return kind() == Kind::map; }

  // Of an array or a map; 0 of others.
  std::size_t size() const { return is_array() || is_object() ? item().length : 0; }
  std::optional<MessageValue> find(
      std::string_view key) const;  // nullopt if this is no map or has no such key

  // What the value is, converted; throw Error{malformed_file} if it is something else.
  bool boolean() const;
  int64_t integer() const;  // bits of naturals beyond int64_t wrap
  uint64_t natural() const;
  double real() const;  // of any number
  std::string_view text() const;

  // Values of an array; of a map its keys and values in turns.
  class Iterator {
   public:
    Iterator(const Message* message, uint32_t at, std::size_t left)
        : message_(message), at_(at), left_(left) {}
    MessageValue operator*() const { return {message_, at_}; }
    Iterator& operator++() {
      at_ = message_->items_[at_].next;
      --left_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    const Message* message_;
    uint32_t at_;
    std::size_t left_;
  };
  Iterator begin() const { return {message_, at_ + 1, is_object() ? 2 * size() : size()}; }
  Iterator end() const { return {message_, 0, 0}; }
  std::vector<std::pair<std::string_view, MessageValue>> members() const;  // of a map; empty of others

 private:
  friend class Message;
  using Kind = Message::Kind;
  MessageValue(const Message* message, uint32_t at) : message_(message), at_(at) {}
  const Message::Item& item() const { return message_->items_[at_]; }
  Kind kind() const { return item().kind; }
  void expect(bool right, const char* what) const;

  const Message* message_;
  uint32_t at_;
};

}  // namespace assay
