// Operators that move or name data without arithmetic: outside the residency shares, counted by themselves.
#pragma once

#include <string_view>

namespace assay {

// view, permute, expand, slice, alias, getitem, ... and assertions.
bool is_metadata_operator(std::string_view full_name);

}  // namespace assay
