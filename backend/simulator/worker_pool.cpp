#include "backend/simulator/worker_pool.h"

#include <chrono>

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

WorkerPool::WorkerPool(int threads) {
  for (int worker = 1; worker < threads; ++worker) threads_.emplace_back([this, worker] { loop(worker); });
}

WorkerPool::~WorkerPool() {
  stop_.store(true, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::work(int worker) {
  for (int number = next_.fetch_add(1, std::memory_order_relaxed); number < count_;
       number = next_.fetch_add(1, std::memory_order_relaxed)) {
    call_(task_, number, worker);
  }
}

void WorkerPool::loop(int worker) {
  for (uint32_t seen = 0;; ++seen) {
    wait_until_changed(round_, seen);
    if (stop_.load(std::memory_order_relaxed)) return;
    work(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

void WorkerPool::run_erased(int count, const void* task, Call call) {
  if (threads_.empty() || count <= 1) {
    for (int number = 0; number < count; ++number) call(task, number, 0);
    return;
  }
  count_ = count;
  task_ = task;
  call_ = call;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work(0);
  for (int left = busy_.load(std::memory_order_acquire); left != 0;
       left = busy_.load(std::memory_order_acquire)) {
    wait_until_changed(busy_, left);
  }
}

}  // namespace assay::backend
