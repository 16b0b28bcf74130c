// Sums whose order a device may choose.
//
// A running sum's own error is not a Bound: a legal SIMD order was measured at 4,087 times it. So kernels
// never write
// `+=` over a reduced dimension; they call these, and each number type knows what "any order" means for it:
//   double      the value
//   Bounded     gamma_(n-1) sum |x_i| + sum of the terms' bounds (Higham §4.2), void orders simulated where
//   declared Stochastic  one draw N(0, 2 (u_acc^2 / 3) sum_k s_k^2), s_k the partial sums in natural order
#pragma once

#include <cstdint>

#include "reference/number/bounded.h"
#include "reference/number/plain.h"
#include "reference/number/stochastic.h"

namespace assay::reference {

// x[0] + ... + x[n-1]; 0 for n = 0.
double sum_any_order(const double* x, int64_t n);
Bounded sum_any_order(const Bounded* x, int64_t n);
Stochastic sum_any_order(const Stochastic* x, int64_t n);

// sum_k a[k] b[k].
double dot_any_order(const double* a, const double* b, int64_t n);
Bounded dot_any_order(const Bounded* a, const Bounded* b, int64_t n);
Stochastic dot_any_order(const Stochastic* a, const Stochastic* b, int64_t n);

// out[k] = x[0] + ... + x[k], each of them a sum in any order.
void prefix_sums_any_order(const double* x, double* out, int64_t n);
void prefix_sums_any_order(const Bounded* x, Bounded* out, int64_t n);
void prefix_sums_any_order(const Stochastic* x, Stochastic* out, int64_t n);

// x[0] * ... * x[n-1], any grouping; 1 for n = 0. Bounded: each grouping has the same first-order error;
// partial products may underflow or, where the Contract declares it, overflow though the product does not.
double product_any_order(const double* x, int64_t n);
Bounded product_any_order(const Bounded* x, int64_t n);
Stochastic product_any_order(const Stochastic* x, int64_t n);

// c[i,j] = sum_k a[i,k] b[k,j] (+ addend[i,j]): matrices [m,k], [k,n], [m,n], row-major. The addend, which
// may be null, is one more term of each sum.
void matmul_any_order(const double* a, const double* b, const double* addend, double* c, int64_t m, int64_t n,
                      int64_t k);
void matmul_any_order(const Bounded* a, const Bounded* b, const Bounded* addend, Bounded* c, int64_t m,
                      int64_t n, int64_t k);
void matmul_any_order(const Stochastic* a, const Stochastic* b, const Stochastic* addend, Stochastic* c,
                      int64_t m, int64_t n, int64_t k);

// Integers modulo 2^64.
int64_t wrapped_sum(const int64_t* x, int64_t n);
void wrapped_prefix_sums(const int64_t* x, int64_t* out, int64_t n);
int64_t wrapped_dot(const int64_t* a, const int64_t* b, int64_t n);
int64_t wrapped_product(const int64_t* x, int64_t n);

}  // namespace assay::reference
