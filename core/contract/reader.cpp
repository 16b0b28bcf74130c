// Contract <-> JSON.
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/contract/changes.h"
#include "core/contract/contract.h"
#include "core/error.h"
#include "core/graph/json_cursor.h"

namespace assay {
namespace {

using nlohmann::json;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t max_text = std::size_t{16} << 20;
constexpr std::size_t max_rules = 10000;

template <class T>
struct Word {
  std::string_view text;
  T value;
};
constexpr std::array<Word<Rounding>, 3> roundings{{{"rne", Rounding::nearest_even},
                                                   {"stochastic", Rounding::stochastic},
                                                   {"truncate", Rounding::truncate}}};
constexpr std::array<Word<ReductionOrder>, 3> orders{{{"any", ReductionOrder::any},
                                                      {"ascending", ReductionOrder::ascending},
                                                      {"undeclared", ReductionOrder::undeclared}}};

template <class T, std::size_t N>
T read_word(const JsonCursor& cursor, const std::array<Word<T>, N>& words) {
  const std::string text = cursor.string();
  std::string choices;
  for (const Word<T>& word : words) {
    if (word.text == text) return word.value;
    choices += (choices.empty() ? "\"" : ", \"") + std::string(word.text) + "\"";
  }
  cursor.fail("expected one of " + choices + ", found \"" + text + "\"");
}

template <class T, std::size_t N>
std::string word_of(T value, const std::array<Word<T>, N>& words) {
  for (const Word<T>& word : words) {
    if (word.value == value) return std::string(word.text);
  }
  return {};
}

DType read_float_dtype(const JsonCursor& cursor) {
  const std::string text = cursor.string();
  const std::optional<DType> dtype = parse_dtype(text);
  if (!dtype || !is_float(*dtype))
    cursor.fail("expected a float element type as \"bf16\" or \"f32\", found \"" + text + "\"");
  return *dtype;
}

double read_allowance(const JsonCursor& cursor) {
  if (!cursor.value().is_number()) cursor.fail("expected a number of at least 0");
  const double value = cursor.value().get<double>();
  if (!(value >= 0 && value < infinity)) cursor.fail("expected a finite number of at least 0");
  return value + 0.0;  // -0 and 0 are one number here
}

double read_limit(const JsonCursor& cursor) {
  if (cursor.value().is_string()) {
    const std::string text = cursor.string();
    if (text == "inf") return infinity;
    if (text == "-inf") return -infinity;
  } else if (cursor.value().is_number()) {
    const double value = cursor.value().get<double>();
    if (std::isfinite(value)) return value + 0.0;
  }
  cursor.fail("expected a number, \"inf\" or \"-inf\"");
}

[[noreturn]] void unknown_member(const JsonCursor& cursor, const char* where, const char* known) {
  cursor.fail(std::string("no such member of ") + where + "; it may have " + known);
}

FunctionAllowance read_function(const JsonCursor& cursor) {
  FunctionAllowance allowance;
  for (const auto& [name, member] : cursor.members()) {
    if (name == "ulp") {
      allowance.ulp = read_allowance(member);
    } else if (name == "abs") {
      allowance.abs = read_allowance(member);
    } else if (name == "lo") {
      allowance.lo = read_limit(member);
    } else if (name == "hi") {
      allowance.hi = read_limit(member);
    } else if (name == "outside") {
      allowance.outside = member.string();
      if (allowance.outside != "exact" && allowance.outside != "undefined_but_alive") {
        member.fail("expected \"exact\" or \"undefined_but_alive\", found \"" + allowance.outside + "\"");
      }
    } else {
      unknown_member(member, "a function", "ulp, abs, lo, hi and outside");
    }
  }
  if (!(allowance.lo <= allowance.hi)) cursor.fail("lo is greater than hi");
  return allowance;
}

bool is_function_name(const std::string& name) {
  if (name == "*") return true;
  if (name.empty() || name.size() > 64) return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return true;
}

int read_bits(const JsonCursor& cursor) {
  const int64_t bits = cursor.integer();
  if (bits < 1 || bits > 63) cursor.fail("expected 1 to 63 bits, found " + std::to_string(bits));
  return static_cast<int>(bits);
}

// Reads one precision field; false if `name` is none.
bool read_field(const std::string& name, const JsonCursor& value, PrecisionChanges& changes) {
  const bool null = value.value().is_null();
  if (name == "input") {
    changes.input = null ? std::optional<DType>() : read_float_dtype(value);
  } else if (name == "accumulator") {
    changes.accumulator = read_float_dtype(value);
  } else if (name == "order") {
    changes.order = read_word(value, orders);
  } else if (name == "intermediate") {
    changes.intermediate = read_float_dtype(value);
  } else if (name == "store") {
    changes.store = null ? std::optional<DType>() : read_float_dtype(value);
  } else if (name == "rounding") {
    changes.rounding = read_word(value, roundings);
  } else if (name == "ftz_in") {
    changes.ftz_in = value.boolean();
  } else if (name == "ftz_out") {
    changes.ftz_out = value.boolean();
  } else if (name == "early_overflow") {
    changes.early_overflow = value.boolean();
  } else if (name == "int_exact_bits") {
    changes.int_exact_bits = null ? std::optional<int>() : read_bits(value);
  } else if (name == "products_exact") {
    changes.products_exact = value.boolean();
  } else if (name == "correctly_rounded") {
    changes.correctly_rounded = value.boolean();
  } else if (name == "functions") {
    for (const auto& [function, allowance] : value.members()) {
      if (!is_function_name(function))
        allowance.fail("expected \"*\" or a name of letters a-z, digits and '_'");
      changes.functions.insert_or_assign(function, read_function(allowance));
    }
  } else {
    return false;
  }
  return true;
}

std::string read_glob(const JsonCursor& cursor) {
  std::string text = cursor.string();
  if (text.empty()) cursor.fail("expected a pattern; \"*\" matches everything");
  return text;
}

template <class Texts>
void must_match_one(const JsonCursor& cursor, const std::string& pattern, const Texts& texts,
                    const char* what) {
  for (const std::string_view text : texts) {
    if (glob_match(pattern, text)) return;
  }
  cursor.fail("\"" + pattern + "\" matches no " + what);
}

std::vector<std::string_view> dtype_names() {
  std::vector<std::string_view> names;
  for (int32_t number = 1; is_valid(static_cast<DType>(number)); ++number) {
    names.push_back(name_of(static_cast<DType>(number)));
  }
  return names;
}

std::pair<ContractRule, PrecisionChanges> read_rule(const JsonCursor& cursor) {
  constexpr std::array<std::string_view, 2> modes{"eager", "compile"};
  ContractRule rule;
  PrecisionChanges changes;
  for (const auto& [name, member] : cursor.members()) {
    if (name == "op") {
      rule.op = read_glob(member);
    } else if (name == "dtype") {
      rule.dtype = read_glob(member);
      must_match_one(member, rule.dtype, dtype_names(),
                     "element type; they are spelled as \"bf16\" or \"f32\"");
    } else if (name == "mode") {
      rule.mode = read_glob(member);
      must_match_one(member, rule.mode, modes, "mode; they are \"eager\" and \"compile\"");
    } else if (name == "option") {
      rule.option = read_glob(member);
      if (rule.option != "*" && rule.option.find('=') == std::string::npos) {
        member.fail("expected \"*\" or a pattern for KEY=VALUE as \"auto_cast=matmult\", found \"" +
                    rule.option + "\"");
      }
    } else if (name == "source") {
      rule.source = member.string();
    } else if (!read_field(name, member, changes)) {
      unknown_member(
          member, "a rule",
          "op, dtype, mode, option, source, input, accumulator, order, intermediate, store, rounding, "
          "ftz_in, ftz_out, early_overflow, int_exact_bits, products_exact, correctly_rounded and functions");
    }
  }
  rule.json = to_canonical_json(changes);
  return {std::move(rule), std::move(changes)};
}

json limit_to_json(double limit) {
  if (std::isinf(limit)) return limit > 0 ? "inf" : "-inf";
  return limit;
}

json dtype_to_json(const std::optional<DType>& dtype) {
  return dtype ? json(std::string(name_of(*dtype))) : json(nullptr);
}

}  // namespace

std::string to_canonical_json(const PrecisionChanges& changes) {
  json object = json::object();
  if (changes.input) object["input"] = dtype_to_json(*changes.input);
  if (changes.accumulator) object["accumulator"] = dtype_to_json(*changes.accumulator);
  if (changes.order) object["order"] = word_of(*changes.order, orders);
  if (changes.intermediate) object["intermediate"] = dtype_to_json(*changes.intermediate);
  if (changes.store) object["store"] = dtype_to_json(*changes.store);
  if (changes.rounding) object["rounding"] = word_of(*changes.rounding, roundings);
  if (changes.ftz_in) object["ftz_in"] = *changes.ftz_in;
  if (changes.ftz_out) object["ftz_out"] = *changes.ftz_out;
  if (changes.early_overflow) object["early_overflow"] = *changes.early_overflow;
  if (changes.int_exact_bits) {
    object["int_exact_bits"] = *changes.int_exact_bits ? json(**changes.int_exact_bits) : json(nullptr);
  }
  if (changes.products_exact) object["products_exact"] = *changes.products_exact;
  if (changes.correctly_rounded) object["correctly_rounded"] = *changes.correctly_rounded;
  for (const auto& [name, allowance] : changes.functions) {
    object["functions"][name] = {{"ulp", allowance.ulp},
                                 {"abs", allowance.abs},
                                 {"lo", limit_to_json(allowance.lo)},
                                 {"hi", limit_to_json(allowance.hi)},
                                 {"outside", allowance.outside}};
  }
  return object.dump();
}

class ContractReader {
 public:
  static Contract read(const JsonCursor& root) {
    Contract contract;
    contract.name_ = root.at("name").string();
    if (contract.name_.empty()) root.at("name").fail("expected a name");
    for (const auto& [name, member] : root.members()) {
      if (name == "source") {
        contract.source_ = member.string();
      } else if (name == "rules") {
        contract.rules_ = read_rules(member);
      } else if (name != "name") {
        unknown_member(member, "a Contract", "name, source and rules");
      }
    }
    return contract;
  }

 private:
  static std::shared_ptr<const Contract::Rules> read_rules(const JsonCursor& rules) {
    const std::size_t count = rules.size();
    if (count > max_rules) rules.fail("more than " + std::to_string(max_rules) + " rules");
    auto out = std::make_shared<Contract::Rules>();
    for (std::size_t i = 0; i < count; ++i) {
      auto [rule, changes] = read_rule(rules.at(i));
      out->rules.push_back(std::move(rule));
      out->changes.push_back(std::make_shared<const PrecisionChanges>(std::move(changes)));
    }
    return out;
  }
};

Contract Contract::parse(std::string_view text, const std::string& origin) {
  if (text.size() > max_text) {
    throw Error(ErrorCode::malformed_file, origin + ": a Contract of more than 16 MiB");
  }
  const json document = parse_json(text, origin);
  return ContractReader::read(JsonCursor(document, origin));
}

std::string Contract::to_json() const {
  json document{{"name", name_}, {"rules", json::array()}};
  if (!source_.empty()) document["source"] = source_;
  for (const ContractRule& rule : rules()) {
    json object = json::parse(rule.json);
    object["op"] = rule.op;
    object["dtype"] = rule.dtype;
    object["mode"] = rule.mode;
    object["option"] = rule.option;
    if (!rule.source.empty()) object["source"] = rule.source;
    document["rules"].push_back(std::move(object));
  }
  return document.dump();
}

}  // namespace assay
