// What a viewer of Chrome traces asks of a file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace assay {

// Parses the events of a trace: an array, nesting up to 64. Throws Error{malformed_file} naming `origin` and
// the event: no object; a phase other than X, M, C, s, f, i; a name that is no string; pid or tid that is no
// integer; a time that is missing, negative or not finite; counters whose values are no numbers.
nlohmann::json parse_trace_events(std::string_view text, const std::string& origin);

// That slices of one track are nested or apart, that flows begin before they end, each in a slice, and that
// every track has a name. "" or what is wrong, with the event.
std::string find_trace_fault(const nlohmann::json& events);

}  // namespace assay
