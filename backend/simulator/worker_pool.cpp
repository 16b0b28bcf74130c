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
  for (uint64_t ticket = ticket_.load(std::memory_order_acquire);;) {
    const int count = count_.load(std::memory_order_relaxed);
    const void* task = task_.load(std::memory_order_relaxed);
    const Call call = call_.load(std::memory_order_relaxed);
    const auto number = static_cast<int>(static_cast<uint32_t>(ticket));
    if (number >= count) return;
    // If the exchange succeeds the round is still the one that the ticket named, and cannot end before this
    // task is done: so the three values above are its own.
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
      continue;
    }
    call(task, number, worker);
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == count) done_.notify_all();
    ticket = ticket_.load(std::memory_order_acquire);
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
  // The last round's tickets are used up, so nobody takes a task while these change.
  count_.store(0, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  task_.store(task, std::memory_order_relaxed);
  call_.store(call, std::memory_order_relaxed);
  const uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  ticket_.store(uint64_t{round} << 32, std::memory_order_release);
  count_.store(count, std::memory_order_release);
  round_.store(round, std::memory_order_release);
  round_.notify_all();
  work(0);
  for (int done = done_.load(std::memory_order_acquire); done != count;
       done = done_.load(std::memory_order_acquire)) {
    wait_until_changed(done_, done);
  }
}

}  // namespace assay::backend
