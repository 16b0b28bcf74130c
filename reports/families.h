// Operators by the kind of work that they do, for tables that would be too long otherwise.
#pragma once

#include <string>
#include <string_view>

namespace assay::reports {

// `op`: an operator's name as in case ids ("sum.dim_IntList", with or without "aten::"). "elementwise" also
// holds what no other family claims.
std::string family_of(std::string_view op);

}  // namespace assay::reports
