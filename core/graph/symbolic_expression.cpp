#include "core/graph/symbolic_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "core/error.h"

namespace assay {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxExpressionLength = std::size_t{64} << 10;

SymbolicExpression integer(int64_t value) {
  SymbolicExpression e;
  e.value = value;
  return e;
}

SymbolicExpression function(std::string name, std::vector<SymbolicExpression> arguments) {
  SymbolicExpression e;
  e.kind = SymbolicExpression::Kind::function;
  e.name = std::move(name);
  e.arguments = std::move(arguments);
  return e;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  SymbolicExpression run() {
    if (text_.size() > kMaxExpressionLength) fail("too long");
    SymbolicExpression result = sum();
    skip_space();
    if (at_ != text_.size()) fail("expected the end");
    return result;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Error(ErrorCode::malformed_file,
                fmt::format("symbolic expression '{}', column {}: {}", text_.substr(0, 200), at_ + 1, what));
  }

  struct Depth {
    explicit Depth(Parser& parser) : parser(parser) {
      if (++parser.depth_ > kMaxDepth) parser.fail("nesting is deeper than 64 levels, the limit");
    }
    ~Depth() { --parser.depth_; }
    Parser& parser;
  };

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token, const char* what) {
    if (!accept(token)) fail(what);
  }

  SymbolicExpression sum() {
    const Depth depth(*this);
    SymbolicExpression left = product();
    for (;;) {
      if (accept("+")) {
        left = combine("Add", std::move(left), product());
      } else if (accept("-")) {
        left = combine("Add", std::move(left), negate(product()));
      } else {
        return left;
      }
    }
  }

  SymbolicExpression product() {
    SymbolicExpression left = unary();
    int links = 0;  // a chain of divisions nests to the left without any recursion of this parser
    for (;; ++links) {
      if (links > kMaxDepth) fail("more than 64 factors");
      if (accept("//")) {
        left = function("FloorDiv", {std::move(left), unary()});
      } else if (accept("/")) {
        left = function("IntTrueDiv", {std::move(left), unary()});
      } else if (accept("%")) {
        left = function("PythonMod", {std::move(left), unary()});
      } else if (accept("*")) {
        left = combine("Mul", std::move(left), unary());
      } else {
        return left;
      }
    }
  }

  SymbolicExpression unary() {
    const Depth depth(*this);
    if (accept("-")) return negate(unary());
    SymbolicExpression base = atom();
    if (accept("**")) return function("Pow", {std::move(base), unary()});
    return base;
  }

  SymbolicExpression atom() {
    skip_space();
    if (accept("(")) {
      SymbolicExpression inside = sum();
      expect(")", "expected ')'");
      return inside;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    const std::string name = identifier();
    if (name == "true") return integer(1);
    if (name == "false") return integer(0);
    if (!accept("(")) {
      SymbolicExpression e;
      e.kind = SymbolicExpression::Kind::symbol;
      e.name = name;
      return e;
    }
    if (name == "Symbol") return symbol();
    std::vector<SymbolicExpression> arguments;
    if (!accept(")")) {
      do {
        arguments.push_back(sum());
      } while (accept(","));
      expect(")", "expected ',' or ')'");
    }
    if (name == "Integer" && arguments.size() == 1) return std::move(arguments[0]);
    return function(name, std::move(arguments));
  }

  // After "Symbol(": a quoted name, then assumptions such as positive=True.
  SymbolicExpression symbol() {
    if (!accept("'") && !accept("\"")) fail("expected a quoted symbol name");
    SymbolicExpression e;
    e.kind = SymbolicExpression::Kind::symbol;
    e.name = identifier();
    if (!accept("'") && !accept("\"")) fail("expected a quote");
    while (accept(",")) {
      identifier();
      expect("=", "expected '='");
      identifier();
    }
    expect(")", "expected ')'");
    return e;
  }

  std::string identifier() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  (text_[at_] == '.' && at_ > start))) {
      ++at_;
    }
    if (at_ == start || std::isdigit(static_cast<unsigned char>(text_[start])))
      fail("expected a name or a number");
    return std::string(text_.substr(start, at_ - start));
  }

  SymbolicExpression number() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("not a 64-bit integer");
    at_ = static_cast<std::size_t>(end - text_.data());
    return integer(value);
  }

  SymbolicExpression negate(SymbolicExpression e) {
    if (e.kind == SymbolicExpression::Kind::integer) return integer(-e.value);
    return combine("Mul", integer(-1), std::move(e));
  }

  // Sums and products are flat, as in SymPy.
  static SymbolicExpression combine(const char* name, SymbolicExpression left, SymbolicExpression right) {
    if (left.kind == SymbolicExpression::Kind::function && left.name == name) {
      left.arguments.push_back(std::move(right));
      return left;
    }
    return function(name, {std::move(left), std::move(right)});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

enum Precedence { kSum = 1, kProduct = 2, kUnary = 3, kPower = 4, kAtom = 5 };

int precedence(const SymbolicExpression& e) {
  if (e.kind == SymbolicExpression::Kind::integer) return e.value < 0 ? kUnary : kAtom;
  if (e.kind == SymbolicExpression::Kind::symbol) return kAtom;
  if (e.arguments.size() >= 2 && e.name == "Add") return kSum;
  if (e.arguments.size() >= 2 && e.name == "Mul") return kProduct;
  if (e.arguments.size() == 2 && e.name == "FloorDiv") return kProduct;
  if (e.arguments.size() == 2 && e.name == "Pow") return kPower;
  return kAtom;
}

std::string wrapped(const SymbolicExpression& e, int at_least) {
  const std::string text = to_string(e);
  return precedence(e) >= at_least ? text : "(" + text + ")";
}

__extension__ using Wide = __int128;

std::optional<int64_t> narrow(Wide value) {
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return static_cast<int64_t>(value);
}

Wide floor_divide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

std::optional<int64_t> power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  Wide result = 1;
  for (int64_t i = 0; i < exponent; ++i) {
    result *= base;
    if (!narrow(result)) return std::nullopt;
  }
  return narrow(result);
}

std::optional<int64_t> apply_binary(const std::string& name, int64_t a, int64_t b) {
  if (name == "FloorDiv" || name == "CleanDiv" || name == "IntTrueDiv" || name == "CeilDiv") {
    if (b == 0) return std::nullopt;
    if (name == "CeilDiv") return narrow(-floor_divide(-Wide{a}, b));
    // A true division is an integer only if it leaves nothing.
    if (name != "FloorDiv" && Wide{a} % b != 0) return std::nullopt;
    return narrow(floor_divide(a, b));
  }
  if (name == "Mod" || name == "PythonMod") {
    if (b == 0) return std::nullopt;
    return narrow(Wide{a} - floor_divide(a, b) * b);
  }
  if (name == "Pow" || name == "PowByNatural") return power(a, b);
  if (name == "LShift" || name == "RShift") {
    if (b < 0 || b > 62) return std::nullopt;
    return name == "LShift" ? narrow(Wide{a} * (Wide{1} << b)) : narrow(floor_divide(a, Wide{1} << b));
  }
  if (name == "Equality" || name == "Eq") return a == b;
  if (name == "Unequality" || name == "Ne") return a != b;
  if (name == "StrictLessThan" || name == "Lt") return a < b;
  if (name == "LessThan" || name == "Le") return a <= b;
  if (name == "StrictGreaterThan" || name == "Gt") return a > b;
  if (name == "GreaterThan" || name == "Ge") return a >= b;
  return std::nullopt;
}

std::optional<int64_t> apply_function(const std::string& name, const std::vector<int64_t>& x) {
  if (x.empty()) return std::nullopt;
  if (name == "Add" || name == "Mul") {
    int64_t total = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) {
      const auto next = narrow(name == "Add" ? Wide{total} + x[i] : Wide{total} * x[i]);
      if (!next) return std::nullopt;
      total = *next;
    }
    return total;
  }
  if (name == "Max") return *std::max_element(x.begin(), x.end());
  if (name == "Min") return *std::min_element(x.begin(), x.end());
  if (name == "And") return std::all_of(x.begin(), x.end(), [](int64_t v) { return v != 0; });
  if (name == "Or") return std::any_of(x.begin(), x.end(), [](int64_t v) { return v != 0; });
  if (x.size() == 1) {
    if (name == "Not") return x[0] == 0;
    if (name == "Identity" || name == "ToFloat" || name == "TruncToInt" || name == "FloorToInt" ||
        name == "CeilToInt" || name == "RoundToInt") {
      return x[0];  // arguments are integers here, so there is nothing to round
    }
    if (name == "Abs" && x[0] != std::numeric_limits<int64_t>::min()) return x[0] < 0 ? -x[0] : x[0];
  }
  if (x.size() == 2) return apply_binary(name, x[0], x[1]);
  if (x.size() == 3 && name == "Where") return x[0] != 0 ? x[1] : x[2];
  if (x.size() == 3 && name == "ModularIndexing") {  // (a // b) % c
    const auto quotient = apply_binary("FloorDiv", x[0], x[1]);
    return quotient ? apply_binary("Mod", *quotient, x[2]) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

SymbolicExpression parse_expression(std::string_view text) { return Parser(text).run(); }

std::string to_string(const SymbolicExpression& e) {
  if (e.kind == SymbolicExpression::Kind::integer) return std::to_string(e.value);
  if (e.kind == SymbolicExpression::Kind::symbol) return e.name;
  switch (precedence(e)) {
    case kSum: {
      std::string text = wrapped(e.arguments[0], kSum + 1);
      for (std::size_t i = 1; i < e.arguments.size(); ++i) text += " + " + wrapped(e.arguments[i], kSum + 1);
      return text;
    }
    case kProduct: {
      const char* sign = e.name == "Mul" ? "*" : "//";
      // "a*b//c" reads as (a*b)//c, so every operand but a plain one is wrapped.
      std::string text = wrapped(e.arguments[0], kUnary);
      for (std::size_t i = 1; i < e.arguments.size(); ++i) text += sign + wrapped(e.arguments[i], kUnary);
      return text;
    }
    case kPower:
      return wrapped(e.arguments[0], kAtom) + "**" + wrapped(e.arguments[1], kAtom);
    default: {
      std::string text = e.name + "(";
      for (std::size_t i = 0; i < e.arguments.size(); ++i)
        text += (i > 0 ? ", " : "") + to_string(e.arguments[i]);
      return text + ")";
    }
  }
}

std::string to_srepr(const SymbolicExpression& e) {
  if (e.kind == SymbolicExpression::Kind::integer) return fmt::format("Integer({})", e.value);
  if (e.kind == SymbolicExpression::Kind::symbol) {
    // PyTorch's backed size symbols are positive; unbacked ones (u0, ...) carry no such promise.
    const bool unbacked = !e.name.empty() && e.name[0] != 's';
    return fmt::format("Symbol('{}', {}integer=True)", e.name, unbacked ? "" : "positive=True, ");
  }
  std::string text = e.name + "(";
  for (std::size_t i = 0; i < e.arguments.size(); ++i) text += (i > 0 ? ", " : "") + to_srepr(e.arguments[i]);
  return text + ")";
}

std::optional<int64_t> evaluate(const SymbolicExpression& e, const std::map<std::string, int64_t>& symbols) {
  if (e.kind == SymbolicExpression::Kind::integer) return e.value;
  if (e.kind == SymbolicExpression::Kind::symbol) {
    const auto found = symbols.find(e.name);
    if (found == symbols.end()) return std::nullopt;
    return found->second;
  }
  std::vector<int64_t> values;
  values.reserve(e.arguments.size());
  for (const SymbolicExpression& argument : e.arguments) {
    const auto value = evaluate(argument, symbols);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return apply_function(e.name, values);
}

void collect_symbols(const SymbolicExpression& e, std::vector<std::string>& names) {
  if (e.kind == SymbolicExpression::Kind::symbol &&
      std::find(names.begin(), names.end(), e.name) == names.end()) {
    names.push_back(e.name);
  }
  for (const SymbolicExpression& argument : e.arguments) collect_symbols(argument, names);
}

}  // namespace assay
