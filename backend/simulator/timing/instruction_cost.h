// What one instruction costs the engine that executes it, by the published formulas.
#pragma once

#include "backend/isa/program.h"

namespace assay::backend {

// Cycles of the executing engine's own clock that the instruction holds it (its initiation interval); 0 for
// DMA triggers and semaphore_wait. N below is elements a partition. Sources: NKI ISA reference of SDK 2.26
// (the last with cost formulas), NKI architecture guides, gpsimd.md for the closed list.
//   nc_matmul             max(min(64, columns of stationary), N of moving), fp32 four times; loading the
//                         stationary operand (a quarter of its columns) hides behind the product before
//   nc_transpose          Tensor: max(P, min(64, F)), fp32 two passes where there is a transpose mode, else
//                         four; Vector: max(64, N)
//   activation            max(64, N), + 64 with a sum; half of N for 16-bit where Scalar does 256 a cycle
//   tensor_scalar, _copy  max(64, N); v3 on: N/4 for contiguous 16-bit SBUF to SBUF, N/2 for other 16-bit
//   tensor_tensor         N if an operand lies in PSUM, or both are contiguous 16-bit in SBUF and it adds,
//                         subtracts or multiplies; else 2N. select, copy_predicated alike (derived)
//   scalar_tensor_tensor  N for 16-bit operands, else 2N
//   tensor_reduce         N/2 for 16-bit add and max, else N (of the source)
//   tensor_tensor_scan 2N; memset N, N/2 zero 16-bit; bn_stats, max8, find_index8, match_replace8 N;
//   bn_aggr 13/3 N; reciprocal and divide on Vector 8N (divide: derived)
// An innermost stride above 16 bytes halves the memory's bandwidth: twice N. Never below
// min_initiation_cycles.
double instruction_cycles(const Program& program, const Instruction& instruction,
                          const CoreDescription& core);

double engine_ghz(const CoreDescription& core, Engine engine);

}  // namespace assay::backend
