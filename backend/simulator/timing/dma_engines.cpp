#include "backend/simulator/timing/dma_engines.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay::backend {

DmaEngines::DmaEngines(const CoreDescription& core, double hbm_bytes_per_ns, int* shared)
    : bytes_per_ns_(core.dma_bytes_per_ns_per_engine),
      packet_bytes_(core.dma_packet_bytes),
      hbm_bytes_per_ns_(hbm_bytes_per_ns),
      hbm_users_(shared == nullptr ? own_users_ : *shared) {
  reset();
}

void DmaEngines::reset() {
  for (Engine& engine : engines_) engine = Engine{};
  burst_end_.fill(kNever);
  in_order_.fill(Ring{});
  pieces_.clear();
  transfers_.clear();
  free_piece_ = free_transfer_ = kNone;
  empty_ = hbm_users_ = busy_ = 0;
  busy_since_ = any_active_ns_ = all_active_ns_ = all_bytes_ = 0;
  simulated_ = 1;
  next_ = kNever;
}

template <typename T>
uint32_t DmaEngines::take(std::vector<T>& pool, uint32_t& free) {
  if (free == kNone) {
    pool.emplace_back();
    return static_cast<uint32_t>(pool.size() - 1);
  }
  const uint32_t slot = free;
  free = pool[slot].next;
  return slot;
}

// From here on every engine is simulated: the others continue as the first does.
void DmaEngines::part() {
  simulated_ = kDmaEngines;
  if (busy_ == 0) return;
  busy_ = kDmaEngines;
  for (std::size_t e = 1; e < kDmaEngines; ++e) {
    const double active_ns = engines_[e].active_ns, bytes = engines_[e].bytes;
    engines_[e] = engines_[0];
    engines_[e].active_ns = active_ns;
    engines_[e].bytes = bytes;
    burst_end_[e] = burst_end_[0];
    for (Ring& ring : engines_[e].rings) {
      uint32_t from = ring.head;
      ring = Ring{};
      for (; from != kNone; from = pieces_[from].next) {
        const uint32_t copy = take(pieces_, free_piece_);
        pieces_[copy] = pieces_[from];
        pieces_[copy].next = kNone;
        (ring.head == kNone ? ring.head : pieces_[ring.tail].next) = copy;
        ring.tail = copy;
        ++transfers_[pieces_[copy].transfer].pieces;
      }
    }
  }
}

void DmaEngines::arrive(double now, uint32_t id, int ring, const Transfer& t) {
  const auto r = static_cast<std::size_t>(ring);
  const bool even = t.engines == kDmaEngines && t.share == t.last_share;
  if (even && busy_ == 0) simulated_ = 1;
  if (!even && t.engines != 0 && simulated_ == 1) part();
  const int pieces = simulated_ == 1 ? std::min<int>(t.engines, 1) : t.engines;
  const int stands_for = simulated_ == 1 ? kDmaEngines : 1;
  const uint32_t slot = take(transfers_, free_transfer_);
  transfers_[slot] = {id, kNone, kNever, now, pieces, t.engines != 0};
  Ring& order = in_order_[r];
  (order.head == kNone ? order.head : transfers_[order.tail].next) = slot;
  order.tail = slot;
  if (t.engines == 0) {  // nothing to move: done as soon as its turn comes
    transfers_[slot].start_ns = now;
    ++empty_;
    next_ = std::min(next_, now);
    return;
  }
  uint32_t idle = 0;
  for (int k = 0; k < pieces; ++k) {
    const int e = t.first_engine + k;
    Engine& engine = engines_[static_cast<std::size_t>(e)];
    const double share = k + 1 == t.engines ? t.last_share : t.share;
    const double bytes = t.bytes * share;
    const double packets = std::max(1.0, std::ceil(bytes / packet_bytes_ - 1e-9));
    const uint32_t p = take(pieces_, free_piece_);
    pieces_[p] = {packets,  bytes / packets, t.extra_ns * (share / t.share) / packets,
                  slot,     kNone,           static_cast<float>(t.rate),
                  t.touches};
    Ring& queue = engine.rings[r];
    (queue.head == kNone ? queue.head : pieces_[queue.tail].next) = p;
    queue.tail = p;
    engine.pending |= 1u << r;
    if (!engine.busy) {
      if (busy_++ == 0) busy_since_ = now;
      engine.busy = true;
      engine.current = ring;
      hbm_users_ += t.touches * stands_for;
      idle |= 1u << e;
    } else if (engine.current != ring && engine.burst_packets > 1) {
      // The other ring's turn comes after the packet that is moving.
      const double moved = std::floor((now - engine.burst_start) / engine.packet_ns) + 1;
      if (moved < engine.burst_packets) {
        engine.burst_packets = moved;
        burst_end_[static_cast<std::size_t>(e)] = engine.burst_start + moved * engine.packet_ns;
        next_ = std::min(next_, burst_end_[static_cast<std::size_t>(e)]);
      }
    }
  }
  // All that start now have joined the users of HBM.
  for (; idle != 0; idle &= idle - 1) start(static_cast<std::size_t>(std::countr_zero(idle)), now);
}

// Begins with the front piece of the engine's current ring; whoever calls has counted it among HBM's users.
void DmaEngines::start(std::size_t e, double now) {
  Engine& engine = engines_[e];
  const Piece& piece = pieces_[engine.rings[static_cast<std::size_t>(engine.current)].head];
  double rate = bytes_per_ns_ * piece.rate;
  if (piece.touches > 0) rate = std::min(rate, hbm_bytes_per_ns_ / std::max(1, hbm_users_));
  engine.packet_ns = piece.packet_bytes / rate + piece.packet_extra_ns;
  const bool alone = (engine.pending & (engine.pending - 1)) == 0;
  engine.burst_packets = alone ? std::min(piece.packets, kBurst) : 1;
  engine.burst_start = now;
  burst_end_[e] = now + engine.burst_packets * engine.packet_ns;
  InFlight& transfer = transfers_[piece.transfer];
  transfer.start_ns = std::min(transfer.start_ns, now);
  next_ = std::min(next_, burst_end_[e]);
}

void DmaEngines::finish_piece(Engine& engine, double now, std::vector<Finished>& finished) {
  const auto r = static_cast<std::size_t>(engine.current);
  Ring& queue = engine.rings[r];
  const uint32_t p = queue.head;
  const uint32_t slot = pieces_[p].transfer;
  queue.head = pieces_[p].next;
  if (queue.head == kNone) {
    queue.tail = kNone;
    engine.pending &= ~(1u << r);
  }
  pieces_[p].next = free_piece_;
  free_piece_ = p;
  InFlight& transfer = transfers_[slot];
  if (--transfer.pieces == 0) {
    transfer.end_ns = now;
    if (in_order_[r].head == slot) report(engine.current, finished);
  }
}

void DmaEngines::report(int ring, std::vector<Finished>& finished) {
  Ring& order = in_order_[static_cast<std::size_t>(ring)];
  double not_before = 0;
  while (order.head != kNone && transfers_[order.head].pieces == 0) {
    const uint32_t slot = order.head;
    InFlight& transfer = transfers_[slot];
    not_before = std::max(not_before, transfer.end_ns);
    finished.push_back({transfer.id, std::min(transfer.start_ns, not_before), not_before});
    order.head = transfer.next;
    if (order.head == kNone) order.tail = kNone;
    empty_ -= transfer.moves ? 0 : 1;
    transfer.next = free_transfer_;
    free_transfer_ = slot;
  }
}

void DmaEngines::advance(std::vector<Finished>& finished) {
  const double now = next_;
  if (empty_ > 0) {
    for (int ring = 0; ring < kRings; ++ring) report(ring, finished);
  }
  next_ = kNever;
  uint32_t again = 0;
  const int stands_for = simulated_ == 1 ? kDmaEngines : 1;
  for (std::size_t e = 0; e < simulated_; ++e) {
    if (burst_end_[e] > now) {
      next_ = std::min(next_, burst_end_[e]);
      continue;
    }
    Engine& engine = engines_[e];
    Piece& piece = pieces_[engine.rings[static_cast<std::size_t>(engine.current)].head];
    (simulated_ == 1 ? all_active_ns_ : engine.active_ns) += burst_end_[e] - engine.burst_start;
    (simulated_ == 1 ? all_bytes_ : engine.bytes) += engine.burst_packets * piece.packet_bytes;
    piece.packets -= engine.burst_packets;
    hbm_users_ -= piece.touches * stands_for;
    if (piece.packets < 0.5) finish_piece(engine, now, finished);
    burst_end_[e] = kNever;
    if (engine.pending == 0) {
      engine.busy = false;
      if (--busy_ == 0) any_active_ns_ += now - busy_since_;
      continue;
    }
    // The next ring in turn that has a piece.
    const uint32_t after = engine.pending & ~((2u << engine.current) - 1);
    engine.current = std::countr_zero(after != 0 ? after : engine.pending);
    hbm_users_ += pieces_[engine.rings[static_cast<std::size_t>(engine.current)].head].touches * stands_for;
    again |= 1u << e;
  }
  for (; again != 0; again &= again - 1) {
    start(static_cast<std::size_t>(std::countr_zero(again)), now);
  }
}

}  // namespace assay::backend
