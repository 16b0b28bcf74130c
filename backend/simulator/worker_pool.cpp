#include "backend/simulator/worker_pool.h"

#include <chrono>
#include <string>

#include "core/error.h"

namespace assay::backend {
namespace {

// Spinning this long costs less than waking up, and the next instruction usually comes sooner.
constexpr std::chrono::microseconds kSpin{30};

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

template <typename T>
void wait_until_changed(std::atomic<T>& value, T old) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 1; value.load(std::memory_order_acquire) == old; ++i) {
    pause();
    if (i % 64 == 0 && std::chrono::steady_clock::now() - start > kSpin) {
      value.wait(old, std::memory_order_acquire);
    }
  }
}

}  // namespace

WorkerPool::WorkerPool(int threads) : ranges_(static_cast<std::size_t>(threads)) {
  for (int worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { loop(worker); });
}

WorkerPool::~WorkerPool() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::work(int worker) {
  const auto workers = ranges_.size(), own = static_cast<std::size_t>(worker);
  for (std::size_t k = 0; k < workers; ++k) {
    std::atomic<uint64_t>& tasks = ranges_[(own + k) % workers].tasks;
    int done = 0, count = 0;
    for (uint64_t seen = tasks.load(std::memory_order_acquire);;) {
      const auto first = static_cast<int>(seen >> 16 & 0xffff), end = static_cast<int>(seen & 0xffff);
      if (first >= end) break;
      count = count_.load(std::memory_order_relaxed);
      const void* task = task_.load(std::memory_order_relaxed);
      const Call call = call_.load(std::memory_order_relaxed);
      // Its own tasks from the front, those of others from the back. If the exchange succeeds the round is
      // still the one that `seen` named, and cannot end before this task is done: so the three values above
      // are its own.
      const bool front = k == 0;
      if (!tasks.compare_exchange_weak(seen, front ? seen + (1u << 16) : seen - 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        continue;
      }
      call(task, front ? first : end - 1, worker);
      ++done;
      seen = tasks.load(std::memory_order_acquire);
    }
    // The round, and so `count`, lasts until these are counted.
    if (done > 0 && done_.fetch_add(done, std::memory_order_acq_rel) + done == count) done_.notify_all();
  }
}

void WorkerPool::loop(int worker) {
  for (uint32_t seen = 0;;) {
    wait_until_changed(round_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    seen = round_.load(std::memory_order_acquire);
    work(worker);
  }
}

void WorkerPool::run_erased(int count, const void* task, Call call) {
  if (threads_.empty() || count <= 1) {
    for (int number = 0; number < count; ++number) call(task, number, 0);
    return;
  }
  if (count > kMostTasks)
    throw Error(ErrorCode::internal, "worker pool: " + std::to_string(count) + " tasks; at most " +
                                         std::to_string(kMostTasks) + " are possible");
  // The last round's tasks are all taken, so nobody takes one while these change.
  count_.store(count, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  task_.store(task, std::memory_order_relaxed);
  call_.store(call, std::memory_order_relaxed);
  const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  const auto workers = static_cast<uint64_t>(size()), all = static_cast<uint64_t>(count);
  for (uint64_t w = 0; w < workers; ++w) {
    ranges_[w].tasks.store(uint64_t{round} << 32 | (all * w / workers) << 16 | all * (w + 1) / workers,
                           std::memory_order_release);
  }
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  work(0);
  for (int done = done_.load(std::memory_order_acquire); done != count;
       done = done_.load(std::memory_order_acquire)) {
    wait_until_changed(done_, done);
  }
}

}  // namespace assay::backend
