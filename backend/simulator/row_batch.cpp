#include "backend/simulator/row_batch.h"

#include <algorithm>
#include <limits>
#include <string>

namespace assay::backend {
namespace {

constexpr std::size_t kMostWorks = 64;
constexpr int kPartitionsAtOnce = 16;

// What an element costs, roughly, in elementary operations.
int64_t weight_of(const Instruction& i) {
  switch (i.opcode) {
    case Opcode::activation:
    case Opcode::find_index8:
    case Opcode::match_replace8:
    case Opcode::gpsimd:
      return 8;
    case Opcode::tensor_tensor_scan:
    case Opcode::max8:
      return 4;
    case Opcode::iota:
    case Opcode::affine_select:
      return 2;
    default:
      return i.op0 == AluOp::pow || i.op1 == AluOp::pow ? 8 : 1;
  }
}

constexpr int kNowhere = -1, kSeveral = -2;

// Partition of row 0 of the operands on the chip: kNowhere if there are none, kSeveral if they differ.
int origin_of(const Execution& e) {
  int origin = kNowhere;
  for (std::size_t k = 0; k < e.instruction.operand_count; ++k) {
    const AccessPattern& a = e.op(k);
    if (!on_chip(a)) continue;
    if (origin != kNowhere && origin != a.partition_start) return kSeveral;
    origin = a.partition_start;
  }
  return origin;
}

}  // namespace

RowBatch::RowBatch(Machine& machine) : machine_(machine) { works_.reserve(kMostWorks); }

bool RowBatch::takes(const Execution& e) {
  switch (e.instruction.opcode) {
    case Opcode::nc_matmul:
    case Opcode::nc_transpose:
    case Opcode::dma_gather:
    case Opcode::dma_scatter:
    case Opcode::semaphore_wait:
      return false;
    case Opcode::dma_copy:
      return dma_by_rows(e);
    default:
      return true;
  }
}

// Whether the instruction and one that waits touch the same bytes of HBM, one of them writing. Leaves what
// the instruction touches in regions_.
bool RowBatch::meets_in_hbm(const Execution& e) {
  regions_.clear();
  if (!is_dma(e.instruction.opcode)) return false;
  append_regions(e.program, e.instruction, regions_);
  std::erase_if(regions_, [&](const AccessRegion& r) { return never_written(e.program, r); });
  std::erase_if(regions_, [](const AccessRegion& r) { return r.space != Space::hbm; });
  return std::any_of(regions_.begin(), regions_.end(), [&](const AccessRegion& r) {
    return std::any_of(hbm_.begin(), hbm_.end(), [&](const AccessRegion& w) { return conflict(r, w); });
  });
}

void RowBatch::add(const Execution& e) {
  const int origin = origin_of(e);
  const bool meets = meets_in_hbm(e), alone = origin < 0;
  if (works_.size() == kMostWorks || alone || meets) flush();
  hbm_.insert(hbm_.end(), regions_.begin(), regions_.end());
  works_.push_back({e, {}, std::max(origin, 0)});
  for (std::size_t k = 0; k < e.instruction.operand_count; ++k) {
    if (e.op(k).defined()) works_.back().rows[k] = machine_.make_row(e.op(k));
  }
  elements_ += e.op(0).elements() * weight_of(e.instruction);
  if (e.instruction.opcode == Opcode::tensor_reduce) elements_ += e.op(1).elements();
  if (alone) flush();
}

void RowBatch::execute(const Work& work, int first_partition, int end_partition, Scratch& scratch) const {
  Execution e = work.execution;
  e.rows = work.rows.data();
  e.scratch = &scratch;
  e.first = std::max(first_partition - work.origin, 0);
  e.end = std::min(end_partition - work.origin, e.op(0).partitions);
  if (e.first >= e.end) return;
  switch (e.instruction.opcode) {
    case Opcode::activation:
    case Opcode::tensor_tensor:
    case Opcode::tensor_scalar:
    case Opcode::scalar_tensor_tensor:
    case Opcode::select:
    case Opcode::copy_predicated:
    case Opcode::memset:
    case Opcode::tensor_copy:
      return execute_elementwise(e);
    case Opcode::iota:
    case Opcode::affine_select:
    case Opcode::gpsimd:
      return execute_gpsimd(e);
    case Opcode::dma_copy:
      return execute_dma_rows(e);
    default:
      return execute_reduction(e);
  }
}

void RowBatch::flush() {
  if (works_.empty()) return;
  int first = std::numeric_limits<int>::max(), end = 0;
  for (const Work& work : works_) {
    first = std::min(first, work.origin);
    end = std::max(end, work.origin + work.execution.op(0).partitions);
  }
  WorkerPool& pool = machine_.pool;
  const int partitions = end - first;
  const int at_once = machine_.partitions_per_task(partitions, kPartitionsAtOnce);
  const auto task = [&](int number, int worker) {
    const int begin = first + number * at_once;
    for (const Work& work : works_)
      execute(work, begin, std::min(begin + at_once, end),
              machine_.scratch[static_cast<std::size_t>(worker)]);
  };
  const int tasks = (partitions + at_once - 1) / at_once;
  if (elements_ < Machine::kWorthwhile) {
    for (const Work& work : works_) execute(work, first, end, machine_.scratch[0]);
  } else {
    pool.run(tasks, task);
  }
  const RefusedNan nan = machine_.refused_nan.load();
  if (nan == RefusedNan{}) return discard();
  const auto work = std::find_if(works_.begin(), works_.end(),
                                 [&](const Work& w) { return w.execution.index == nan.instruction; });
  const Execution refused = work->execution;
  discard();
  refused.trap(TrapKind::nan_operand, "element " + std::to_string(nan.element) + " of row " +
                                          std::to_string(nan.row) + " of its source is NaN");
}

void RowBatch::discard() {
  machine_.refused_nan.store(RefusedNan{});
  works_.clear();
  hbm_.clear();
  elements_ = 0;
}

}  // namespace assay::backend
