#include "core/graph/known_operators.h"

#include <fmt/format.h>

#include <map>

#include "core/error.h"
#include "core/graph/symbolic_function.h"
#include "core/opset/schema.h"

namespace assay {

bool is_known_operator(std::string_view op) { return find_schema(op) != nullptr || is_symbolic_function(op); }

void throw_if_unknown(const std::string& origin,
                      const std::vector<std::pair<std::string, std::string>>& unknown) {
  if (unknown.empty()) return;
  struct Uses {
    std::string first;
    int count = 0;
  };
  std::map<std::string, Uses> by_operator;
  for (const auto& [op, node] : unknown) {
    Uses& uses = by_operator[op];
    if (uses.count++ == 0) uses.first = node;
  }
  std::string list;
  bool higher_order = false;
  bool in_place = false;
  for (const auto& [op, uses] : by_operator) {
    if (!list.empty()) list += ", ";
    list += fmt::format("{} ({} time{}, first in node '{}')", op, uses.count, uses.count == 1 ? "" : "s",
                        uses.first);
    higher_order = higher_order || op.find("higher_order::") == 0;
    const auto dot = op.find('.');
    in_place = in_place || (dot != std::string::npos && dot > 0 && op[dot - 1] == '_' &&
                            !op.substr(0, dot).ends_with("__"));
  }
  std::string advice;
  if (higher_order) advice += "; control flow and other higher-order operators are not read";
  if (in_place) advice += "; in-place operators go away with run_decompositions() before torch.export.save";
  throw Error(ErrorCode::unknown_operator,
              fmt::format("{}: {} operator{} unknown (no schema describes {}): {}{}. Exporting with "
                          "exported_program.run_decompositions() leaves the fewest operators",
                          origin, by_operator.size(), by_operator.size() == 1 ? " is" : "s are",
                          by_operator.size() == 1 ? "it" : "them", list, advice));
}

}  // namespace assay
