#include "backend/testing/steady_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "backend/simulator/prepared.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ASSAY_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef ASSAY_COUNTS_ALLOCATIONS
#define ASSAY_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<uint64_t> count{0};
}

#if ASSAY_COUNTS_ALLOCATIONS
// The forms for arrays and those that do not throw call these.
void* operator new(std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto a = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace assay::backend {

bool counts_allocations() { return ASSAY_COUNTS_ALLOCATIONS != 0; }
uint64_t allocations() { return count.load(std::memory_order_relaxed); }

void expect_no_allocations(const Program& program, std::span<const HbmBinding> inputs,
                           std::span<const HbmBinding> outputs, const std::string& what) {
  SimulatorOptions options;
  options.threads = 1;
  options.cores = program.cores;
  options.validate = false;  // as the device has it: Programs are checked when they are made
  FunctionalSimulator simulator(core(program.target), options);
  Prepared prepared = simulator.prepare(program);
  for (const bool divided : {false, true}) {
    if (divided) prepared.division = divide(program, 3, {0, 1e9});
    if (divided && prepared.division.groups.empty()) continue;
    for (int run = 0; run < 2; ++run) simulator.run(program, inputs, outputs, &prepared);
    const uint64_t before = allocations();
    simulator.run(program, inputs, outputs, &prepared);
    EXPECT_EQ(allocations() - before, 0u) << what << (divided ? ", divided" : "");
  }
}

}  // namespace assay::backend
