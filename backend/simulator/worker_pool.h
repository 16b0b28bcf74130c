// A few threads that stay: the simulator's instructions are too short to start threads for.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace assay::backend {

// Runs numbered tasks on all workers, the caller being worker 0. Each worker begins with an equal range of
// the numbers, the same one whenever there are as many tasks, so that what it wrote before is still in its
// cache; who has finished helps the others from the end of their ranges. So which worker takes which task is
// not deterministic, and tasks must not depend on it beyond using the worker's own scratch memory. Tasks must
// not throw.
class WorkerPool {
 public:
  static constexpr int kMostTasks = 0xffff;

  explicit WorkerPool(int threads);  // >= 1
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls task(number, worker) for every number in [0, count) and returns when all are done. `count` is at
  // most kMostTasks. Does not allocate.
  template <typename Task>
  void run(int count, const Task& task) {
    run_erased(count, &task,
               [](const void* t, int number, int worker) { (*static_cast<const Task*>(t))(number, worker); });
  }

 private:
  using Call = void (*)(const void* task, int number, int worker);
  // Tasks of a round that nobody has taken: round << 32 | first << 16 | end.
  struct alignas(64) Range {
    std::atomic<uint64_t> tasks{0};
  };
  void run_erased(int count, const void* task, Call call);
  void work(int worker);
  void loop(int worker);

  // A round is published by storing its ranges; a task is taken by shortening one. A worker that comes late
  // finds no task left, and the caller waits only for tasks that were taken: a worker that the operating
  // system has put aside holds nobody up.
  std::vector<Range> ranges_;
  std::vector<std::thread> threads_;
  // Cores may be far from each other (a quarter of a microsecond for a cache line on some servers), so what
  // the caller writes once a round is in one line and what workers write in another.
  alignas(64) std::atomic<uint32_t> round_{0};  // what idle workers watch
  std::atomic<bool> stop_{false};
  // Of the current round; atomic because a late worker may read them while they change (and then take
  // nothing).
  std::atomic<int> count_{0};
  std::atomic<const void*> task_{nullptr};
  std::atomic<Call> call_{nullptr};
  alignas(64) std::atomic<int> done_{0};
};

}  // namespace assay::backend
