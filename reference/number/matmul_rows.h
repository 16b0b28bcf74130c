// The inner loops of matrix products in fp64.
#pragma once

#include <cstdint>

namespace assay::reference {

// c[i,j] = start[i,j] (0 if `start` is null) + sum of a[i,p] b[p,j] over ascending p, where every product and
// every sum is rounded to fp64: [m,k] x [k,n]. With `squares` (not null) squares[i,j] is the sum of
// partial sum^2, plus product^2 if products round, in the same order. The same bits on every machine.
struct MatmulRows {
  const double* a;
  const double* b;
  const double* start;
  double* c;
  double* squares;
  bool products_round;
  int64_t m, n, k;
};
void matmul_rows(const MatmulRows& x);

// One after the other, as the definition says: what matmul_rows does where it knows no faster way.
void matmul_rows_plainly(const MatmulRows& x);

}  // namespace assay::reference
