// Tests of random numbers: each has a false alarm probability of at most 1e-9 for numbers that follow the
// distribution, for every sample size (exact tail inequalities, no asymptotics), so that a verdict at a fixed
// seed is deterministic and a failure is a defect.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay {

inline constexpr double kRandomAlpha = 1e-9;  // of one test

// Where one number lies in its distribution: P(X < x) and P(X <= x) of the numbers that a right
// implementation may return, rounding to the dtype included (so `below` is the least that P(X < x) may be,
// and `upto` the most that P(X <= x) may be).
struct Quantile {
  double below = 0, upto = 1;
  double middle() const { return below + (upto - below) / 2; }
};

// Each returns "" or a sentence that says what is wrong.

// Kolmogorov and Smirnov with the bound of Dvoretzky, Kiefer and Wolfowitz in Massart's form:
// P(sup |F_n - F| > e) <= 2 exp(-2 n e^2). The order of the quantiles does not matter.
std::string test_kolmogorov_smirnov(std::vector<Quantile> quantiles);

// Counts in the octants and in both tails, halved down to 2^-30: P(count off) <= 2 exp(-n
// KL(count / n || p)) (Chernoff). The tails are where Kolmogorov and Smirnov see little.
std::string test_counts(const std::vector<Quantile>& quantiles);

// A sum of martingale differences: |sum| with the predictable variance v and steps of at most b: P(|sum| >=
// t)
// <= 2 exp(-t^2 / (2 (v + b t / 3))) (Freedman).
bool is_plausible_sum(double sum, double variance, double step);

// Products of neighbours: centred values d (mean 0 each, |d| <= 1, variances v) at distance `lag`.
std::string test_correlation(const std::vector<double>& centred, const std::vector<double>& variances,
                             std::size_t lag);
// Products of two results, element by element: zero in the mean where they are independent.
std::string test_independence(const std::vector<double>& centred, const std::vector<double>& variances,
                              const std::vector<double>& other);

// Each of 0 .. n-1 once, and not in an order that a random permutation has with probability below 1e-9:
// fixed points (P(at least k) <= 1 / k!), descents (a sum of independent indicators of variance (n + 1) / 12,
// Harper), halves that stay (Chatterjee, "Stein's method for concentration inequalities", 2007).
std::string test_permutation(const std::vector<int64_t>& order);

// Continuous distribution functions.
double normal_cdf(double z);
double exponential_cdf(double x);
double cauchy_cdf(double x);

}  // namespace assay
