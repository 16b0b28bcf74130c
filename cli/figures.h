// Figures in tables of calibrations.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>

namespace assay::cli {

inline std::string signed_percent(const std::optional<double>& error) {
  return error ? fmt::format("{:+.1f} %", *error * 100) : "-";
}
inline std::string plain_percent(const std::optional<double>& error) {
  return error ? fmt::format("{:.1f} %", *error * 100) : "-";
}
inline std::string microseconds(double us) {
  return us < 10 ? fmt::format("{:.3f}", us) : fmt::format("{:.1f}", us);
}

}  // namespace assay::cli
