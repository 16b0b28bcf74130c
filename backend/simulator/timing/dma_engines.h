// The sixteen DMA engines of a core and their rings.
//
// A transfer puts a piece into the same ring of each engine that works on it. An engine serves one piece a
// ring, first in first out, and takes turns among rings that have one, a packet each. Pieces of one ring can
// therefore be at different places on different engines, but transfers of a ring are reported in order. HBM
// is shared evenly by the engines that touch it.
//
// While every transfer is spread evenly over all sixteen, they are in the same state: the first then stands
// for all, until a transfer comes that is not.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/device/device.h"
#include "backend/simulator/timing/transfer.h"

namespace assay::backend {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

class DmaEngines {
 public:
  // `hbm_bytes_per_ns`: what this core may take from HBM, or with `shared` what both cores may that count
  // their accesses there; it outlives both.
  DmaEngines(const CoreDescription& core, double hbm_bytes_per_ns, int* shared = nullptr);

  DmaEngines(const DmaEngines&) = delete;
  DmaEngines& operator=(const DmaEngines&) = delete;

  void reset();
  void set_hbm(double bytes_per_ns) { hbm_bytes_per_ns_ = bytes_per_ns; }

  // Puts a transfer into a ring, not before any time that advance() has returned. `id` is the caller's.
  void arrive(double now, uint32_t id, int ring, const Transfer& transfer);

  // When something happens next; kNever if nothing moves.
  double next() const { return next_; }

  struct Finished {
    uint32_t id;
    double start_ns, end_ns;  // of the first packet; of the last, or of the transfer before it in the ring
  };
  // Lets time go on to next(); appends what finished then, in ring order.
  void advance(std::vector<Finished>& finished);

  double active_ns(int engine) const {
    return all_active_ns_ + engines_[static_cast<std::size_t>(engine)].active_ns;
  }
  double bytes(int engine) const { return all_bytes_ + engines_[static_cast<std::size_t>(engine)].bytes; }
  double any_active_ns() const { return any_active_ns_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kRings = 16;
  // Packets that an undisturbed ring moves before the share of HBM is looked at again.
  static constexpr double kBurst = 32;

  struct Piece {
    double packets;       // still to move
    double packet_bytes;  // of one of them, on average
    double packet_extra_ns;
    uint32_t transfer;
    uint32_t next;
    float rate;
    uint8_t touches;
  };
  struct InFlight {
    uint32_t id;
    uint32_t next;  // in the ring
    double start_ns, end_ns;
    int pieces;  // not yet moved
    bool moves;
  };
  struct Ring {
    uint32_t head = kNone, tail = kNone;
  };
  struct Engine {
    std::array<Ring, kRings> rings;
    uint32_t pending = 0;  // rings with a piece
    int current = 0;       // ring
    bool busy = false;
    double burst_start = 0, burst_packets = 0, packet_ns = 0;
    double active_ns = 0, bytes = 0;
  };

  void start(std::size_t e, double now);
  void finish_piece(Engine& engine, double now, std::vector<Finished>& finished);
  void report(int ring, std::vector<Finished>& finished);
  void part();
  template <typename T>
  static uint32_t take(std::vector<T>& pool, uint32_t& free);

  double bytes_per_ns_, packet_bytes_, hbm_bytes_per_ns_;
  std::array<Engine, kDmaEngines> engines_;
  std::array<double, kDmaEngines> burst_end_;  // kNever: idle
  std::array<Ring, kRings> in_order_;          // transfers in flight
  std::vector<Piece> pieces_;
  std::vector<InFlight> transfers_;
  uint32_t free_piece_ = kNone, free_transfer_ = kNone;
  int empty_ = 0;              // transfers in flight that move nothing
  std::size_t simulated_ = 1;  // engines: the first for all, or each
  double all_active_ns_ = 0, all_bytes_ = 0;
  int own_users_ = 0;
  int& hbm_users_;  // accesses at a time
  int busy_ = 0;    // simulated engines
  double busy_since_ = 0, any_active_ns_ = 0;
  double next_ = kNever;
};

}  // namespace assay::backend
