#include "backend/profile/occupancy.h"

#include <algorithm>
#include <map>

namespace assay::backend {
namespace {

class Uses {
 public:
  Uses(int64_t piece_bytes, int64_t first_byte, int64_t end_byte)
      : piece_bytes_(piece_bytes), first_byte_(first_byte), end_byte_(end_byte) {}

  void touch(const AccessPattern& a, double start, double end, bool write) {
    AccessPattern::Extent e = a.extent();
    if (e.begin < first_byte_ || e.begin >= end_byte_) return;  // the other core's
    e.begin -= first_byte_;
    e.end -= first_byte_;
    const int64_t first = e.begin / piece_bytes_, last = (e.end + piece_bytes_ - 1) / piece_bytes_;
    if (last > static_cast<int64_t>(pieces_.size())) pieces_.resize(static_cast<std::size_t>(last));
    for (int64_t k = first; k < last; ++k) {
      Piece& piece = pieces_[static_cast<std::size_t>(k)];
      // What is written again right after it was written (parts of a piece, sums in PSUM) stays one use.
      if (write && piece.read) close(piece);
      if (!piece.used) piece = {true, false, start, end};
      piece.read = piece.read || !write;
      piece.end = std::max(piece.end, end);
    }
  }

  std::vector<OccupancySample> samples(int64_t unit) {
    for (Piece& piece : pieces_) close(piece);
    std::vector<OccupancySample> out;
    int64_t now = 0;
    for (const auto& [at, change] : changes_) {
      if (change == 0) continue;
      now += change;
      out.push_back({at, now * unit});
    }
    return out;
  }

 private:
  struct Piece {
    bool used = false, read = false;
    double start = 0, end = 0;
  };
  void close(Piece& piece) {
    if (piece.used) {
      ++changes_[piece.start];
      --changes_[piece.end];
    }
    piece = {};
  }

  int64_t piece_bytes_, first_byte_, end_byte_;
  std::vector<Piece> pieces_;
  std::map<double, int64_t> changes_;
};

}  // namespace

Occupancy occupancy_of(const Program& program, const CoreDescription& description, int core,
                       const TimingResult& timing) {
  constexpr int64_t kPiece = 64;
  // A DMA holds its operands until its transfer ends; the event of its trigger says nothing.
  std::vector<const TimingEvent*> when(program.instructions.size(), nullptr);
  for (const TimingEvent& event : timing.events) {
    const bool dma = is_dma(program.instructions[event.instruction].opcode);
    if (event.kind == (dma ? EventKind::transfer : EventKind::execute)) when[event.instruction] = &event;
  }
  const auto uses_of = [&](Space space, int64_t piece) {
    return Uses(piece, first_byte(description, space, core), first_byte(description, space, core + 1));
  };
  Uses sbuf = uses_of(Space::sbuf, kPiece), psum = uses_of(Space::psum, kPsumBankBytes);
  // Semaphores keep the order of accesses to each byte as it is in the Program.
  for (std::size_t index = 0; index < program.instructions.size(); ++index) {
    if (when[index] == nullptr) continue;
    const Instruction& i = program.instructions[index];
    const auto operands = program.operands_of(i);
    // Operands are read before the destination is written, which may be one of them.
    for (std::size_t k = operands.size(); k-- > 0;) {
      const bool write = k == 0 || (i.opcode == Opcode::activation && k == 4);
      Uses* uses = operands[k].space == Space::sbuf   ? &sbuf
                   : operands[k].space == Space::psum ? &psum
                                                      : nullptr;
      if (uses != nullptr) uses->touch(operands[k], when[index]->start_s, when[index]->end_s, write);
    }
  }
  return {sbuf.samples(kPiece), psum.samples(1)};
}

}  // namespace assay::backend
