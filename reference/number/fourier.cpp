#include "reference/number/fourier.h"

#include <cmath>
#include <numbers>

namespace assay::reference {
namespace {

using Transform = FourierTransform<long double>;

// Of a length without prime factors above 13, FFT libraries work by butterflies alone.
bool is_smooth(std::size_t n) {
  for (const std::size_t p : {2U, 3U, 5U, 7U, 11U, 13U}) {
    while (n > 1 && n % p == 0) n /= p;
  }
  return n <= 1;
}

template <class T>
std::vector<ComplexOf<double>> values(const std::vector<ComplexOf<T>>& x) {
  std::vector<ComplexOf<double>> out;
  out.reserve(x.size());
  for (const ComplexOf<T>& z : x) out.push_back(plain(z));
  return out;
}

double levels(std::size_t n) { return n < 2 ? 0 : std::log2(static_cast<double>(n)) + 2; }

}  // namespace

std::vector<ComplexOf<double>> fourier(const std::vector<ComplexOf<double>>& x, int sign) {
  const std::size_t n = x.size();
  std::vector<Transform::Number> roots(n), in(n), out(n);
  for (std::size_t k = 0; k < n; ++k) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
    roots[k] = {std::cos(angle), static_cast<long double>(sign) * std::sin(angle)};
    in[k] = {x[k].re, x[k].im};
  }
  Transform(std::move(roots)).run(in.data(), out.data());
  std::vector<ComplexOf<double>> result(n);
  for (std::size_t k = 0; k < n; ++k) {
    result[k] = {static_cast<double>(out[k].re), static_cast<double>(out[k].im)};
  }
  return result;
}

std::vector<ComplexOf<Bounded>> fourier(const std::vector<ComplexOf<Bounded>>& x, int sign) {
  const std::size_t n = x.size();
  const std::vector<ComplexOf<double>> in = values(x), exact = fourier(in, sign);
  double sum = 0, squares = 0, carried = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double size = std::hypot(in[k].re, in[k].im);
    sum += size;
    squares += size * size;
    carried += std::hypot(x[k].re.bound, x[k].im.bound);
  }
  if (!is_smooth(n)) sum = std::sqrt(static_cast<double>(n) * squares);
  const Environment& e = *current_environment;
  double error = carried;
  if (n > 1) error += 6 * e.u_acc * levels(n) * sum + static_cast<double>(n) * e.eta;
  // An infinite or NaN input reaches every output, as what is up to the order.
  if (!std::isfinite(sum)) error = HUGE_VAL;
  std::vector<ComplexOf<Bounded>> out(n);
  const double variance = std::isfinite(error) ? e.u_acc * e.u_acc * levels(n) * squares : 0;
  for (std::size_t k = 0; k < n; ++k) {
    out[k] = {{exact[k].re, error, variance}, {exact[k].im, error, variance}};
  }
  return out;
}

std::vector<ComplexOf<Stochastic>> fourier(const std::vector<ComplexOf<Stochastic>>& x, int sign) {
  const std::vector<ComplexOf<double>> in = values(x), exact = fourier(in, sign);
  double squares = 0;
  for (const ComplexOf<double>& z : in) squares += z.re * z.re + z.im * z.im;
  Environment& e = *current_environment;
  // Each level rounds a product and a sum of numbers whose squares keep their total: stochastic rounding has
  // twice the variance u^2 / 3 of rounding to nearest.
  const double sigma = e.u_acc * std::sqrt(2.0 / 3 * 3 * levels(x.size()) * squares);
  std::vector<ComplexOf<Stochastic>> out(x.size());
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto noisy = [&](double v) {
      return sigma > 0 && std::isfinite(sigma) ? Stochastic(v + sigma * e.random.normal()) : Stochastic(v);
    };
    out[k].re = noisy(exact[k].re);
    out[k].im = noisy(exact[k].im);
  }
  return out;
}

}  // namespace assay::reference
