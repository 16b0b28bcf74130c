// Where a worker is, in memory that it shares with the orchestrator: what a `progress` frame says, but nobody
// wakes up to read it, and it stays whatever ends the worker (docs/worker_protocol.md, "Process").
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

class ProgressPage {
 public:
  static constexpr int kDescriptor = 5;  // the worker's

  struct Place {
    std::string_view phase;
    int node;  // -1: of no node
  };

  // The orchestrator's. Throws Error{io}.
  ProgressPage();
  // The worker's, with a descriptor of its own: nullopt if `fd` is no such page.
  static std::optional<ProgressPage> given(int fd = kDescriptor);
  ~ProgressPage();
  ProgressPage(ProgressPage&& other) noexcept;
  ProgressPage& operator=(ProgressPage&&) = delete;
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  int descriptor() const { return fd_; }  // which the worker is to get
  // Forgets the place.
  void clear() { word_->store(0, std::memory_order_relaxed); }
  // A phase that the protocol does not know is not put.
  void put(std::string_view phase, int node);
  // nullopt if nothing was put, or something that cannot be a place.
  std::optional<Place> get() const;

 private:
  explicit ProgressPage(int fd) : fd_(fd) {}
  bool map();

  int fd_ = -1;
  std::atomic<uint64_t>* word_ = nullptr;  // number of the phase, from 1, above the node's
};

}  // namespace assay
