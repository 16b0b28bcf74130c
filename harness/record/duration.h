#pragma once

#include <string>

namespace assay {

// Seconds as people read them: "12.3 us", "4.56 ms", "7.890 s".
std::string duration(double seconds);

}  // namespace assay
