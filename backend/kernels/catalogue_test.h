// The model catalogue, for tests over all of it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace assay::backend {

inline const std::string kCatalogue = std::string(ASSAY_SOURCE_DIR) + "/sweeps/catalogue/models/";

// Names of its files, sorted.
inline std::vector<std::string> catalogue_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(kCatalogue)) {
    out.push_back(entry.path().filename());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace assay::backend
