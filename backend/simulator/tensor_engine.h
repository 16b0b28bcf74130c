// The Tensor engine: tile products and transposes. Internal to simulator/.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/simulator/machine.h"
#include "backend/simulator/matmul_tile.h"

namespace assay::backend {

// Products, and transposes from SBUF to PSUM, are collected and executed together when anything else could
// see their results: consecutive ones read only SBUF and write only PSUM, so products of different PSUM banks
// or partitions are independent, and those of the same place stay in program order. fp32 operands of whole
// panels are read where they lie, unless they are read often; others are packed once for as long as their
// bytes in SBUF do not change.
class TensorEngine {
 public:
  TensorEngine(Machine& machine, const TileKernel& kernel);

  const TileKernel& kernel() const { return kernel_; }

  // Of a run. Nothing that was packed before counts, so that a Program takes the same buffers each time.
  void begin();
  void matmul(const Execution& e);
  // Collects a transpose as if it were a product, or executes it.
  void transpose(const Execution& e);  // Tensor or Vector engine
  // Whether the instruction is collected.
  bool collects(const Execution& e) const;
  // Executes what was collected. Must precede every other instruction's execution and the end of a run.
  void flush();
  // Forgets what was collected (after a trap).
  void discard();

 private:
  struct Packed {
    AccessPattern source;
    TileFormat format = TileFormat::pairs;
    int panel = 0;
    uint64_t last_write = 0;  // of the source when it was packed
    uint64_t used = 0;        // flush number; products that wait must find their operands
    bool stale = true;        // to be packed before the next products
    std::vector<uint32_t> words;
  };
  // Words that lie in SBUF as the kernels read them, or a Packed entry.
  struct Operand {
    std::size_t entry;
    TileOperand unpacked;  // words is nullptr: packed
  };
  struct Product {
    AccessPattern dst;
    Operand stationary, moving;
    TileFormat format;
    int depth;
    bool accumulate;
    std::size_t index;  // instruction
    int bank;           // of dst; -1 if it spans several
    bool by_columns;    // panels of dst are panels of its bank: parts may have columns
    const AccessPattern* transposed = nullptr;  // what dst is the transpose of: no product
  };

  Operand operand(const AccessPattern& source, TileFormat format, int panel, bool pack);
  TileOperand words_of(const Operand& operand) const;
  std::size_t packed(const AccessPattern& source, TileFormat format, int panel);
  void pack(Packed& entry, Scratch& scratch);
  int bank_of(const AccessPattern& psum) const;
  bool is_exact(const Execution& e) const;
  void move_transposed(const Execution& e);
  void multiply_by_identity(const Execution& e);
  // Partitions [first, end) of PSUM, and bytes [first_byte, end_byte) of a bank.
  struct Part {
    int first, end;
    int64_t first_byte, end_byte;
  };
  bool splits_by_columns(const AccessPattern& dst) const;
  // Columns of a product in a part.
  struct Columns {
    int64_t first, end;
  };
  Columns columns_of(const Product& product, const Part& part) const;
  void prefetch(const Product& product, const Part& part) const;
  // `following`: what the caller computes next, or null.
  void compute(const Product& product, const Product* following, const Part& part, Scratch& scratch);
  void compute_tile(const Product& product, const TileProduct& tile, Scratch& scratch);
  void run_parts();

  Machine& machine_;
  const TileKernel& kernel_;
  std::vector<Packed> entries_;
  Packed turned_;                   // what is multiplied by
  std::vector<uint32_t> identity_;  // packed
  std::vector<std::size_t> to_pack_;
  std::vector<Product> products_;
  int64_t pending_work_ = 0;
  uint64_t flushes_ = 1;
  uint64_t first_flush_ = 1;  // of this run
};

}  // namespace assay::backend
