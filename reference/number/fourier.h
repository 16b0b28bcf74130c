// The discrete Fourier transform X_j = sum_k x_k exp(sign 2 pi i j k / n) over every number type, in
// O(n sum of the prime factors of n).
#pragma once

#include <cstdint>
#include <vector>

#include "reference/number/complex.h"

namespace assay::reference {

std::vector<ComplexOf<double>> fourier(const std::vector<ComplexOf<double>>& x, int sign);
// Each of log2(n) levels multiplies by a rounded root of unity and adds: |error_j| <= c u (log2(n) + 2)
// sum |x_k| (Higham, Accuracy and Stability, §24.1), for n with large prime factors, which are transformed by
// convolutions, sqrt(n) |x|_2 instead of the sum.
std::vector<ComplexOf<Bounded>> fourier(const std::vector<ComplexOf<Bounded>>& x, int sign);
std::vector<ComplexOf<Stochastic>> fourier(const std::vector<ComplexOf<Stochastic>>& x, int sign);

// Mixed radix over a real type R. `roots` holds exp(sign 2 pi i k / n) for k < n, re and im.
template <class R>
class FourierTransform {
 public:
  struct Number {
    R re{}, im{};
  };
  explicit FourierTransform(std::vector<Number> roots) : roots_(std::move(roots)) {}

  void run(const Number* in, Number* out) const {
    const auto n = static_cast<int64_t>(roots_.size());
    if (n > 0) step(in, out, n, 1);
  }

 private:
  static int64_t smallest_factor(int64_t n) {
    for (int64_t p = 2; p * p <= n; ++p) {
      if (n % p == 0) return p;
    }
    return n;
  }

  // `in` is read with the given stride, `out` is contiguous.
  void step(const Number* in, Number* out, int64_t n, int64_t stride) const {
    if (n == 1) {
      out[0] = in[0];
      return;
    }
    const int64_t p = smallest_factor(n), m = n / p, total = static_cast<int64_t>(roots_.size());
    for (int64_t q = 0; q < p; ++q) step(in + q * stride, out + q * m, m, stride * p);
    std::vector<Number> column(static_cast<std::size_t>(p));
    for (int64_t j = 0; j < m; ++j) {
      for (int64_t q = 0; q < p; ++q) column[static_cast<std::size_t>(q)] = out[q * m + j];
      for (int64_t r = 0; r < p; ++r) {
        Number sum = column[0];
        for (int64_t q = 1; q < p; ++q) {
          const Number &x = column[static_cast<std::size_t>(q)],
                       &w = roots_[static_cast<std::size_t>(q * (j + r * m) % n * (total / n))];
          sum.re = sum.re + (x.re * w.re - x.im * w.im);
          sum.im = sum.im + (x.re * w.im + x.im * w.re);
        }
        out[r * m + j] = sum;
      }
    }
  }

  std::vector<Number> roots_;
};

}  // namespace assay::reference
