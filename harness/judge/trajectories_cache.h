// Trajectories of the reference that an earlier judgement computed. They depend on the case, the Contract and
// the judge itself, not on what a backend returned, and take most of a long run's time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/steps.h"
#include "reference/array.h"

namespace assay {

// What one trajectory observed: by output, then step.
using Observations = std::vector<std::vector<reference::Wide>>;

// The steps (at least one) of one output as one tensor [steps, ...].
reference::Wide joined_steps(std::span<const reference::Wide> steps);

class TrajectoriesCache {
 public:
  // A request without cache_dir has no cache: nothing is found and nothing is kept.
  explicit TrajectoriesCache(const StepsRequest& request);

  // All trajectories in the order in which they were kept; nullopt if there are none, or the file is not
  // whole, is another judge's or another case's.
  std::optional<std::vector<Observations>> find() const;
  // Written beside and renamed; a folder that cannot be written to is no error.
  void keep(const std::vector<Observations>& trajectories) const;

  const std::string& path() const { return path_; }  // "": no cache

 private:
  const StepsRequest& request_;
  std::string key_;  // everything that the trajectories depend on, as text
  std::string path_;
};

}  // namespace assay
