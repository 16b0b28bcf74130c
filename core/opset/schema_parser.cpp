// Recursive descent over one line of schema text.
#include <fmt/format.h>

#include <charconv>
#include <set>

#include "core/error.h"
#include "core/opset/schema.h"

namespace assay {
namespace {

constexpr std::size_t kMaxText = 1 << 16;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct BaseName {
  std::string_view text;
  BaseType base;
  bool symbolic;
};
constexpr BaseName kBaseNames[] = {
    {"Tensor", BaseType::tensor, false},       {"int", BaseType::integer, false},
    {"SymInt", BaseType::integer, true},       {"float", BaseType::floating, false},
    {"bool", BaseType::boolean, false},        {"SymBool", BaseType::boolean, true},
    {"Scalar", BaseType::scalar, false},       {"str", BaseType::string, false},
    {"ScalarType", BaseType::dtype, false},    {"Layout", BaseType::layout, false},
    {"Device", BaseType::device, false},       {"MemoryFormat", BaseType::memory_format, false},
    {"Generator", BaseType::generator, false}, {"Any", BaseType::any, false},
    {"Graph", BaseType::graph, false},
};

// c10::ScalarType (c10/core/ScalarType.h), which numbers differently from torch/_export/serde/schema.py.
std::optional<DType> dtype_from_c10(int64_t code) {
  switch (code) {
    case 0:
      return DType::u8;
    case 1:
      return DType::i8;
    case 2:
      return DType::i16;
    case 3:
      return DType::i32;
    case 4:
      return DType::i64;
    case 5:
      return DType::f16;
    case 6:
      return DType::f32;
    case 7:
      return DType::f64;
    case 9:
      return DType::c64;
    case 10:
      return DType::c128;
    case 11:
      return DType::boolean;
    case 15:
      return DType::bf16;
    case 23:
      return DType::f8e5m2;
    case 24:
      return DType::f8e4m3fn;
    default:
      return std::nullopt;
  }
}
std::optional<DType> dtype_from_c10_name(std::string_view name) {
  struct Entry {
    std::string_view name;
    DType dtype;
  };
  static constexpr Entry kNames[] = {{"long", DType::i64},   {"int", DType::i32},      {"float", DType::f32},
                                     {"double", DType::f64}, {"bool", DType::boolean}, {"half", DType::f16}};
  for (const Entry& entry : kNames) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema parse() {
    if (text_.size() > kMaxText)
      fail_at(kMaxText, fmt::format("schema text is longer than {} bytes", kMaxText));
    Schema schema;
    schema.text = std::string(text_);
    skip_space();
    schema.name = std::string(identifier("a namespace"));
    expect("::");
    schema.name += "::";
    schema.name += identifier("an operator name");
    schema.overload = accept(".") ? std::string(identifier("an overload name")) : "default";
    arguments(schema);
    skip_space();
    expect("->");
    returns(schema);
    skip_space();
    if (at_ != text_.size()) fail(fmt::format("expected the end of the schema, found '{}'", shown()));
    return schema;
  }

 private:
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("schema \"{}\", column {}: {}", printable(), at + 1, what));
  }
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_, what); }

  // The beginning of the text with bytes outside printable ASCII replaced.
  std::string printable() const {
    std::string out(text_.substr(0, 100));
    for (char& c : out) {
      if (c < 0x20 || c > 0x7e) c = '?';
    }
    return text_.size() > 100 ? out + "..." : out;
  }
  std::string shown() const {
    if (at_ >= text_.size()) return "end of text";
    const char c = text_[at_];
    return c < 0x20 || c > 0x7e ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}', found '{}'", token, shown()));
  }
  std::string_view identifier(std::string_view what) {
    const std::size_t start = at_;
    if (!is_letter(peek())) fail(fmt::format("expected {}, found '{}'", what, shown()));
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    return text_.substr(start, at_ - start);
  }
  int64_t integer(std::string_view what) {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    while (is_digit(peek())) ++at_;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + start, text_.data() + at_, value);
    if (error != std::errc() || end != text_.data() + at_) {
      at_ = start;
      fail(fmt::format("expected {}, found '{}'", what, shown()));
    }
    return value;
  }

  // "(a)", "(a!)", "(a|b)", "(a -> *)", "(a! -> a|b)": kept as text; classify.cpp reads it.
  std::string alias() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ')') {
      const char c = text_[at_];
      if (!is_letter(c) && !is_digit(c) && c != '!' && c != '|' && c != '*' && c != ' ' && c != '-' &&
          c != '>') {
        fail(fmt::format("expected an alias set, found '{}'", shown()));
      }
      ++at_;
    }
    const std::string_view text = text_.substr(start, at_ - start);
    if (text.empty() || (!is_letter(text[0]) && text[0] != '*')) {
      fail_at(start, "expected an alias set such as (a) or (a!)");
    }
    expect(")");
    return std::string(text);
  }

  SchemaType type() {
    SchemaType out;
    const std::size_t start = at_;
    const std::string_view name = identifier("a type");
    const BaseName* found = nullptr;
    for (const BaseName& candidate : kBaseNames) {
      if (candidate.text == name) found = &candidate;
    }
    if (found == nullptr) fail_at(start, fmt::format("unknown type '{}'", name));
    out.base = found->base;
    out.symbolic = found->symbolic;
    if (accept("(")) out.alias = alias();
    bool question = accept("?");
    if (peek() == '[') {
      out.optional_elements = question;
      question = false;
      out.list = true;
      ++at_;
      if (peek() != ']') {
        const std::size_t size_at = at_;
        const int64_t size = integer("a list size");
        if (size < 1 || size > 1024) fail_at(size_at, "a fixed list size must be within [1, 1024]");
        out.fixed_size = size;
      }
      expect("]");
      if (peek() == '[') fail("lists of lists are not supported");
      if (peek() == '(') {
        if (!out.alias.empty()) fail("the type has two alias sets");
        ++at_;
        out.alias = alias();
        out.alias_of_list = true;
      }
      question = accept("?");
    }
    out.optional = question;
    return out;
  }

  std::string quoted() {
    const char quote = peek();
    const std::size_t start = at_++;
    std::string out;
    while (true) {
      if (at_ >= text_.size()) fail_at(start, "the string is not closed");
      char c = text_[at_++];
      if (c == quote) return out;
      if (c == '\\') {
        if (at_ >= text_.size()) fail_at(start, "the string is not closed");
        c = text_[at_++];
        if (c != quote && c != '\\') fail_at(at_ - 1, "only quotes and backslashes can be escaped");
      }
      out += c;
    }
  }

  // int64_t, or double where the spelling has a point, an exponent, or is inf or nan.
  std::variant<int64_t, double> number() {
    const std::size_t start = at_;
    if (peek() == '-') ++at_;
    if (is_letter(peek())) {
      const std::string_view word = identifier("a number");
      const double sign = text_[start] == '-' ? -1 : 1;
      if (word == "inf") return sign * std::numeric_limits<double>::infinity();
      if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
      fail_at(start, fmt::format("expected a number, found '{}'", word));
    }
    while (is_digit(peek()) || peek() == '.' || peek() == 'e' || peek() == 'E' ||
           ((peek() == '-' || peek() == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E'))) {
      ++at_;
    }
    const std::string_view spelling = text_.substr(start, at_ - start);
    if (spelling.find_first_of(".eE") == std::string_view::npos) {
      at_ = start;
      return integer("a number");
    }
    double value = 0;
    const auto [end, error] = std::from_chars(spelling.data(), spelling.data() + spelling.size(), value);
    if (error != std::errc() || end != spelling.data() + spelling.size()) {
      fail_at(start, fmt::format("'{}' is not a number that a double can hold", spelling));
    }
    return value;
  }

  bool boolean() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    fail(fmt::format("expected True or False, found '{}'", shown()));
  }

  Argument list_value(const SchemaType& type) {
    std::vector<int64_t> ints;
    std::vector<double> doubles;
    std::vector<bool> bools;
    std::vector<std::string> strings;
    expect("[");
    skip_space();
    bool first = true;
    std::size_t count = 0;
    while (!accept("]")) {
      if (!first) {
        expect(",");
        skip_space();
      }
      first = false;
      ++count;
      switch (type.base) {
        case BaseType::integer:
          ints.push_back(integer("an integer"));
          break;
        case BaseType::floating: {
          const auto value = number();
          doubles.push_back(std::holds_alternative<double>(value)
                                ? std::get<double>(value)
                                : static_cast<double>(std::get<int64_t>(value)));
          break;
        }
        case BaseType::boolean:
          bools.push_back(boolean());
          break;
        case BaseType::string:
          if (peek() != '\'' && peek() != '"') fail(fmt::format("expected a string, found '{}'", shown()));
          strings.push_back(quoted());
          break;
        default:
          fail("only an empty list can be the default of this type");
      }
      skip_space();
    }
    // int[1] says that a single int may stand for the list, not how many there are: dim=[-2, -1] of fft_fft2.
    if (type.fixed_size.value_or(1) != 1 && count != 0 && static_cast<int64_t>(count) != *type.fixed_size) {
      fail(fmt::format("the default has {} elements, the type has {}", count, *type.fixed_size));
    }
    switch (type.base) {
      case BaseType::floating:
        return doubles;
      case BaseType::boolean:
        return bools;
      case BaseType::string:
        return strings;
      case BaseType::tensor:
        return ValueListArg{};
      default:
        return IntListArg{ints, {}};
    }
  }

  Argument keyword_value(const char* kind) {
    const std::size_t start = at_;
    if (is_letter(peek())) {
      identifier("a keyword");
    } else {
      integer("a number");
    }
    return KeywordArg{kind, std::string(text_.substr(start, at_ - start))};
  }

  Argument default_of(const SchemaType& type) {
    if (accept("None")) {
      if (!type.optional) fail("None is the default of a type that is not optional");
      return NoneArg{};
    }
    if (type.list && peek() == '[') return list_value(type);
    if (type.list && !type.fixed_size) fail(fmt::format("expected a list, found '{}'", shown()));
    switch (type.base) {
      case BaseType::integer:
        return integer("an integer");
      case BaseType::boolean:
        return boolean();
      case BaseType::floating: {
        const auto value = number();
        if (std::holds_alternative<double>(value)) return std::get<double>(value);
        return static_cast<double>(std::get<int64_t>(value));
      }
      case BaseType::scalar: {
        if (peek() == 'T' || peek() == 'F') return boolean();
        const auto value = number();
        if (std::holds_alternative<double>(value)) return std::get<double>(value);
        return std::get<int64_t>(value);
      }
      case BaseType::string:
      case BaseType::any:
        if (peek() != '\'' && peek() != '"') fail(fmt::format("expected a string, found '{}'", shown()));
        return quoted();
      case BaseType::dtype: {
        const std::size_t start = at_;
        const std::optional<DType> dtype = is_letter(peek()) ? dtype_from_c10_name(identifier("a dtype"))
                                                             : dtype_from_c10(integer("a ScalarType"));
        if (!dtype) {
          fail_at(start,
                  fmt::format("'{}' is no ScalarType that Assay knows", text_.substr(start, at_ - start)));
        }
        return DTypeArg{*dtype};
      }
      case BaseType::layout:
        return keyword_value("layout");
      case BaseType::device:
        return keyword_value("device");
      case BaseType::memory_format:
        return keyword_value("memory_format");
      case BaseType::tensor:
      case BaseType::generator:
      case BaseType::graph:
        fail("this type has no default but None");
    }
    fail("unknown type");
  }

  void arguments(Schema& schema) {
    std::set<std::string, std::less<>> names;
    bool keyword_only = false;
    bool defaulted = false;
    expect("(");
    skip_space();
    bool first = true;
    while (!accept(")")) {
      if (!first) {
        expect(",");
        skip_space();
      }
      first = false;
      if (!keyword_only && accept("*")) {
        keyword_only = true;
        skip_space();
        if (peek() != ',') fail("expected ', ' and an argument after '*'");
        continue;
      }
      SchemaArgument argument;
      argument.keyword_only = keyword_only;
      argument.type = type();
      if (peek() != ' ') fail(fmt::format("expected a space and the argument's name, found '{}'", shown()));
      skip_space();
      const std::size_t name_at = at_;
      argument.name = std::string(identifier("an argument name"));
      if (!names.insert(argument.name).second) {
        fail_at(name_at, fmt::format("argument '{}' is there twice", argument.name));
      }
      if (accept("=")) {
        const std::size_t start = at_;
        argument.default_value = default_of(argument.type);
        argument.default_text = std::string(text_.substr(start, at_ - start));
        defaulted = true;
      } else if (defaulted && !keyword_only) {
        fail_at(name_at,
                fmt::format("argument '{}' without default follows one with a default", argument.name));
      }
      schema.arguments.push_back(std::move(argument));
      skip_space();
    }
  }

  void returns(Schema& schema) {
    skip_space();
    if (!accept("(")) {
      schema.returns.push_back(type());
      schema.return_names.emplace_back();
      return;
    }
    skip_space();
    bool first = true;
    while (!accept(")")) {
      if (!first) {
        expect(",");
        skip_space();
      }
      first = false;
      schema.returns.push_back(type());
      skip_space();
      schema.return_names.emplace_back(is_letter(peek()) ? identifier("a name") : std::string_view());
      skip_space();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).parse(); }

std::string to_string(const SchemaType& type) {
  std::string out;
  for (const BaseName& name : kBaseNames) {
    if (name.base == type.base && name.symbolic == type.symbolic) out = name.text;
  }
  if (!type.alias.empty() && !type.alias_of_list) out += "(" + type.alias + ")";
  if (type.optional_elements) out += "?";
  if (type.list) out += type.fixed_size ? fmt::format("[{}]", *type.fixed_size) : "[]";
  if (!type.alias.empty() && type.alias_of_list) out += "(" + type.alias + ")";
  if (type.optional) out += "?";
  return out;
}

std::string to_string(const Schema& schema) {
  std::string out = schema.name;
  if (schema.overload != "default") out += "." + schema.overload;
  out += "(";
  bool keyword_only = false;
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaArgument& argument = schema.arguments[i];
    if (i != 0) out += ", ";
    if (argument.keyword_only && !keyword_only) {
      out += "*, ";
      keyword_only = true;
    }
    out += to_string(argument.type) + " " + argument.name;
    if (argument.default_value) out += "=" + argument.default_text;
  }
  out += ") -> ";
  if (schema.returns.size() == 1 && schema.return_names[0].empty()) return out + to_string(schema.returns[0]);
  out += "(";
  for (std::size_t i = 0; i < schema.returns.size(); ++i) {
    if (i != 0) out += ", ";
    out += to_string(schema.returns[i]);
    if (!schema.return_names[i].empty()) out += " " + schema.return_names[i];
  }
  return out + ")";
}

}  // namespace assay
