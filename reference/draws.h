// Random draws of the reference: Philox streams that depend on the seed in force, the node's name and the
// element alone, so that two evaluations of a graph draw the same numbers and two nodes different ones.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "core/philox.h"

namespace assay::reference {

// The seed of draws on this thread while in scope; 0 outside of every scope.
class DrawSeed {
 public:
  explicit DrawSeed(uint64_t seed);
  ~DrawSeed();
  DrawSeed(const DrawSeed&) = delete;
  DrawSeed& operator=(const DrawSeed&) = delete;

 private:
  uint64_t previous_;
};

// Numbers of one stream, in order.
class DrawStream {
 public:
  DrawStream(std::string_view name, uint64_t seed) : key_(key_of_name(name)), seed_(seed) {}
  uint32_t word() { return draw_word(key_, seed_, next_++); }
  uint64_t words() {
    const uint64_t low = word();
    return low | uint64_t{word()} << 32;
  }
  // A multiple of 2^-bits in [0, 1); bits <= 53.
  double uniform(int bits = 53);
  double positive();          // in (0, 1)
  double normal();            // Box and Muller, one of each pair
  int64_t below(uint64_t n);  // in [0, n), n > 0; biased by less than n * 2^-64

 private:
  PhiloxKey key_;
  uint64_t seed_;
  uint64_t next_ = 0;
};

// What an operator draws. `dtype` is the result's: uniform numbers have its digits, so that rounding cannot
// reach the upper end. Parameters are those of torch.Tensor's methods of these names.
std::vector<double> draw_uniform(const OpCall& call, std::size_t n, DType dtype, double from, double to);
std::vector<double> draw_normal(const OpCall& call, std::size_t n);  // mean 0, deviation 1
std::vector<double> draw_exponential(const OpCall& call, std::size_t n, double rate);
std::vector<double> draw_cauchy(const OpCall& call, std::size_t n, double median, double sigma);
std::vector<int64_t> draw_geometric(const OpCall& call, std::size_t n, double p);
std::vector<int64_t> draw_integers(const OpCall& call, std::size_t n, int64_t low, int64_t high);
std::vector<int64_t> draw_permutation(const OpCall& call, std::size_t n);
// 1 with probability p[i], p of one element or n.
std::vector<int64_t> draw_bernoulli(const OpCall& call, std::size_t n, const std::vector<double>& p);
// For each of `rows` rows of `categories` weights `samples` categories. Throws Error{invalid_argument} for
// negative or infinite weights, rows without a positive one, and, without replacement, fewer positive ones
// than samples.
std::vector<int64_t> draw_categories(const OpCall& call, const std::vector<double>& weights, std::size_t rows,
                                     std::size_t categories, std::size_t samples, bool replacement);

}  // namespace assay::reference
