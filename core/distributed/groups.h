// Process groups: which ranks take part in a collective.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay {

// Ranks are numbered from 0 to world_size - 1. A position is a rank's place in its group: `src`, `dst`, split
// sizes and the order of gathered blocks go by positions, as in _c10d_functional.
struct ProcessGroups {
  int world_size = 1;
  // Further groups by name, in the order of their positions. The group "world" has all ranks.
  std::map<std::string, std::vector<int>> groups;

  // nullopt-like: empty if there is no such group.
  std::vector<int> members(const std::string& name) const;
  std::string names() const;  // "world, row0, row1"
  // Throws Error{invalid_argument}: no rank, a rank outside of the world or twice in a group, more than
  // kMaxRanks ranks.
  void check() const;
};

inline constexpr int kMaxRanks = 4096;

}  // namespace assay
