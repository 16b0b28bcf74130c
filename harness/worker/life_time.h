#pragma once

#include <chrono>

namespace assay {

// Adds the seconds of its life to a sum.
class LifeTime {
 public:
  explicit LifeTime(double& sum) : sum_(sum) {}
  ~LifeTime() { sum_ += std::chrono::duration<double>(Clock::now() - start_).count(); }
  LifeTime(const LifeTime&) = delete;
  LifeTime& operator=(const LifeTime&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& sum_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace assay
