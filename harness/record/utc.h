// The time of day, in UTC.
#pragma once

#include <string>

namespace assay {

std::string utc_now();    // YYYY-MM-DDTHH:MM:SSZ
std::string today_utc();  // YYYY-MM-DD

}  // namespace assay
