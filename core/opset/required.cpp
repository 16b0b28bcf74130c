#include "core/opset/required.h"

#include <set>
#include <vector>

namespace assay {

// Generated from required_operators.txt.
const std::vector<std::string_view>& required_operator_lines();

bool is_required_operator(std::string_view full_name) {
  static const auto names = [] {
    std::set<std::string_view> out;
    for (const std::string_view line : required_operator_lines()) out.insert(line.substr(0, line.find(' ')));
    return out;
  }();
  return !full_name.starts_with("aten::") || names.contains(full_name);
}

}  // namespace assay
