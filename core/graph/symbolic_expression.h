// Symbolic sizes of exported graphs: integer expressions over symbols, written by PyTorch as SymPy's srepr
// ("Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(1))") and kept by Assay as "2*s0
// + 1".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct SymbolicExpression {
  enum class Kind { integer, symbol, function };
  Kind kind = Kind::integer;
  int64_t value = 0;  // integer
  std::string name;   // symbol, or SymPy's function: Add, Mul, Pow, FloorDiv, Mod, Max, ...
  std::vector<SymbolicExpression> arguments;
};

// Accepts srepr and arithmetic ("2*s0 + 1", "s77 // 2", "Max(1, s0)"). Throws Error{malformed_file} with the
// column; nesting is limited to 64, length to 64 KiB.
SymbolicExpression parse_expression(std::string_view text);

std::string to_string(const SymbolicExpression& expression);  // arithmetic, as few parentheses as needed
std::string to_srepr(const SymbolicExpression& expression);

// nullopt if a symbol is not bound, a function is not known, or the result is no 64-bit integer (overflow, x
// // 0, a fraction). Comparisons and logic give 0 or 1.
std::optional<int64_t> evaluate(const SymbolicExpression& expression,
                                const std::map<std::string, int64_t>& symbols);

// Adds the symbols used to `names`, in order of appearance, each once.
void collect_symbols(const SymbolicExpression& expression, std::vector<std::string>& names);

}  // namespace assay
