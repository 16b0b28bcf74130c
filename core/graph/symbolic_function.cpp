#include "core/graph/symbolic_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay {
namespace {

__extension__ using Wide = __int128;

Scalar from_int(int64_t value) { return {Scalar::Kind::integer, value, static_cast<double>(value)}; }
Scalar from_float(double value) { return {Scalar::Kind::floating, 0, value}; }
Scalar from_bool(bool value) { return {Scalar::Kind::boolean, value ? 1 : 0, value ? 1.0 : 0.0}; }

using Result = std::optional<Scalar>;

Result from_wide(Wide value) {
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return from_int(static_cast<int64_t>(value));
}

bool is_floating(const Scalar& x) { return x.kind == Scalar::Kind::floating; }
bool is_true(const Scalar& x) { return is_floating(x) ? x.f != 0 : x.i != 0; }

template <typename Ints, typename Floats>
Result arithmetic(const Scalar& a, const Scalar& b, Ints ints, Floats floats) {
  if (is_floating(a) || is_floating(b)) return from_float(floats(a.as_double(), b.as_double()));
  return from_wide(ints(Wide{a.i}, Wide{b.i}));
}

template <typename Compare>
Result compare(const Scalar& a, const Scalar& b, Compare c) {
  // Ints and floats are compared as doubles here; sizes are far below 2^53.
  if (is_floating(a) || is_floating(b)) return from_bool(c(a.as_double(), b.as_double()));
  return from_bool(c(a.i, b.i));
}

Wide floor_quotient(Wide a, Wide b) {
  const Wide quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

Result floordiv(const Scalar& a, const Scalar& b) {
  if (!is_true(b)) return std::nullopt;
  return arithmetic(a, b, floor_quotient, [](double x, double y) { return std::floor(x / y); });
}

Result mod(const Scalar& a, const Scalar& b) {
  if (!is_true(b)) return std::nullopt;
  return arithmetic(
      a, b, [](Wide x, Wide y) { return x - floor_quotient(x, y) * y; },
      [](double x, double y) {
        const double r = std::fmod(x, y);
        return r != 0 && (r < 0) != (y < 0) ? r + y : r;
      });
}

Result truediv(const Scalar& a, const Scalar& b) {
  if (!is_true(b)) return std::nullopt;
  return from_float(a.as_double() / b.as_double());
}

Result pow(const Scalar& a, const Scalar& b) {
  if (is_floating(a) || is_floating(b) || b.i < 0) return from_float(std::pow(a.as_double(), b.as_double()));
  if (a.i == 0 || a.i == 1 || b.i == 0) return from_int(b.i == 0 ? 1 : a.i);
  if (a.i == -1) return from_int(b.i % 2 == 0 ? 1 : -1);
  if (b.i > 62) return std::nullopt;
  Wide result = 1;
  for (int64_t i = 0; i < b.i; ++i) {
    result *= a.i;
    if (!from_wide(result)) return std::nullopt;
  }
  return from_wide(result);
}

Result shift(const Scalar& a, const Scalar& b, bool left) {
  if (is_floating(a) || is_floating(b) || b.i < 0 || b.i > 62) return std::nullopt;
  const Wide factor = Wide{1} << b.i;
  return from_wide(left ? a.i * factor : floor_quotient(a.i, factor));
}

Result bitwise(const Scalar& a, const Scalar& b, bool both) {
  if (is_floating(a) || is_floating(b)) return std::nullopt;
  const int64_t value = both ? (a.i & b.i) : (a.i | b.i);
  if (a.kind == Scalar::Kind::boolean && b.kind == Scalar::Kind::boolean) return from_bool(value != 0);
  return from_int(value);
}

Result truncated(const Scalar& a) {
  if (!is_floating(a)) return from_int(a.i);
  if (!(a.f > -0x1p63 && a.f < 0x1p63)) return std::nullopt;
  return from_int(static_cast<int64_t>(a.f));
}

using Arguments = std::vector<Scalar>;
struct Function {
  std::string_view name;
  int arity;
  Result (*apply)(const Arguments&);
};

constexpr std::array kFunctions{
    Function{"_operator::add", 2,
             [](const Arguments& x) {
               return arithmetic(
                   x[0], x[1], [](Wide a, Wide b) { return a + b; },
                   [](double a, double b) { return a + b; });
             }},
    Function{"_operator::sub", 2,
             [](const Arguments& x) {
               return arithmetic(
                   x[0], x[1], [](Wide a, Wide b) { return a - b; },
                   [](double a, double b) { return a - b; });
             }},
    Function{"_operator::mul", 2,
             [](const Arguments& x) {
               return arithmetic(
                   x[0], x[1], [](Wide a, Wide b) { return a * b; },
                   [](double a, double b) { return a * b; });
             }},
    Function{"_operator::neg", 1,
             [](const Arguments& x) {
               return is_floating(x[0]) ? Result(from_float(-x[0].f)) : from_wide(-Wide{x[0].i});
             }},
    Function{"_operator::pos", 1,
             [](const Arguments& x) { return is_floating(x[0]) ? Result(x[0]) : from_wide(x[0].i); }},
    Function{"_operator::floordiv", 2, [](const Arguments& x) { return floordiv(x[0], x[1]); }},
    Function{"_operator::truediv", 2, [](const Arguments& x) { return truediv(x[0], x[1]); }},
    Function{"_operator::mod", 2, [](const Arguments& x) { return mod(x[0], x[1]); }},
    Function{"_operator::pow", 2, [](const Arguments& x) { return pow(x[0], x[1]); }},
    Function{"_operator::lshift", 2, [](const Arguments& x) { return shift(x[0], x[1], true); }},
    Function{"_operator::rshift", 2, [](const Arguments& x) { return shift(x[0], x[1], false); }},
    Function{"_operator::and_", 2, [](const Arguments& x) { return bitwise(x[0], x[1], true); }},
    Function{"_operator::or_", 2, [](const Arguments& x) { return bitwise(x[0], x[1], false); }},
    Function{"_operator::eq", 2,
             [](const Arguments& x) { return compare(x[0], x[1], [](auto a, auto b) { return a == b; }); }},
    Function{"_operator::ne", 2,
             [](const Arguments& x) { return compare(x[0], x[1], [](auto a, auto b) { return a != b; }); }},
    Function{"_operator::lt", 2,
             [](const Arguments& x) { return compare(x[0], x[1], [](auto a, auto b) { return a < b; }); }},
    Function{"_operator::le", 2,
             [](const Arguments& x) { return compare(x[0], x[1], [](auto a, auto b) { return a <= b; }); }},
    Function{"_operator::gt", 2,
             [](const Arguments& x) { return compare(x[0], x[1], [](auto a, auto b) { return a > b; }); }},
    Function{"_operator::ge", 2,
             [](const Arguments& x) { return compare(x[0], x[1], [](auto a, auto b) { return a >= b; }); }},
    Function{"math::trunc", 1, [](const Arguments& x) { return truncated(x[0]); }},
    Function{"torch::sym_int", 1, [](const Arguments& x) { return truncated(x[0]); }},
    Function{"torch::sym_float", 1, [](const Arguments& x) { return Result(from_float(x[0].as_double())); }},
    Function{"torch::sym_not", 1, [](const Arguments& x) { return Result(from_bool(!is_true(x[0]))); }},
    Function{"torch::sym_ite", 3, [](const Arguments& x) { return Result(is_true(x[0]) ? x[1] : x[2]); }},
    Function{"torch::sym_max", 2,
             [](const Arguments& x) {
               return arithmetic(
                   x[0], x[1], [](Wide a, Wide b) { return std::max(a, b); },
                   [](double a, double b) { return std::max(a, b); });
             }},
    Function{"torch::sym_min", 2,
             [](const Arguments& x) {
               return arithmetic(
                   x[0], x[1], [](Wide a, Wide b) { return std::min(a, b); },
                   [](double a, double b) { return std::min(a, b); });
             }},
    Function{"torch::sym_sqrt", 1,
             [](const Arguments& x) {
               return x[0].as_double() < 0 ? Result() : Result(from_float(std::sqrt(x[0].as_double())));
             }},
};

const Function* find_function(std::string_view op) {
  // PyTorch writes torch._sym_sqrt under either name, depending on how the node came about.
  if (op == "torch::_sym_sqrt") op = "torch::sym_sqrt";
  const auto* found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == op; });
  return found == kFunctions.end() ? nullptr : found;
}

}  // namespace

bool is_symbolic_function(std::string_view op) { return find_function(op) != nullptr; }

int symbolic_function_arity(std::string_view op) {
  const Function* function = find_function(op);
  return function == nullptr ? 0 : function->arity;
}

std::optional<Scalar> evaluate_symbolic(std::string_view op, const std::vector<Scalar>& arguments) {
  const Function* function = find_function(op);
  if (function == nullptr || arguments.size() != static_cast<std::size_t>(function->arity))
    return std::nullopt;
  return function->apply(arguments);
}

}  // namespace assay
