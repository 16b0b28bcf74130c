#include "backend/simulator/schedule.h"

#include <array>
#include <deque>
#include <random>

namespace assay::backend {

std::vector<std::size_t> shuffled_order(const Program& program, uint64_t seed) {
  constexpr std::size_t kLanes = kMaxCores * kEngines, kQueues = kMaxCores * kDmaQueues;
  std::array<std::vector<std::size_t>, kLanes> engines;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    engines[lane_of(program.instructions[i])].push_back(i);
  }
  std::array<std::size_t, kLanes> next{};
  std::array<std::deque<std::size_t>, kQueues> queues;
  std::vector<int32_t> semaphores(static_cast<std::size_t>(program.semaphores), 0);
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order;
  order.reserve(program.instructions.size());

  const auto ready = [&](const Instruction& i) {
    for (const SemaphoreWait& wait : program.waits_of(i)) {
      if (semaphores[static_cast<std::size_t>(wait.semaphore)] < wait.at_least) return false;
    }
    return true;
  };
  const auto complete = [&](std::size_t index) {
    const int32_t signal = program.instructions[index].signal;
    if (signal >= 0) ++semaphores[static_cast<std::size_t>(signal)];
    order.push_back(index);
  };
  for (;;) {
    std::array<std::size_t, kLanes + kQueues> candidates{};
    std::size_t n = 0;
    for (std::size_t s = 0; s < kLanes; ++s) {
      if (next[s] < engines[s].size() && ready(program.instructions[engines[s][next[s]]]))
        candidates[n++] = s;
    }
    for (std::size_t q = 0; q < kQueues; ++q) {
      if (!queues[q].empty()) candidates[n++] = kLanes + q;
    }
    if (n == 0) return order;
    const std::size_t chosen = candidates[random() % n];
    if (chosen >= kLanes) {
      std::deque<std::size_t>& queue = queues[chosen - kLanes];
      complete(queue.front());
      queue.pop_front();
      continue;
    }
    const std::size_t index = engines[chosen][next[chosen]++];
    const Instruction& i = program.instructions[index];
    if (is_dma(i.opcode)) {
      queues[ring_of(i)].push_back(index);
    } else {
      complete(index);
    }
  }
}

}  // namespace assay::backend
