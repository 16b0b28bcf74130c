#include "harness/record/utc.h"

#include <ctime>

namespace assay {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string today_utc() { return utc_now().substr(0, 10); }

}  // namespace assay
