#include "reference/draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/error.h"

namespace assay::reference {
namespace {

thread_local uint64_t seed_in_force = 0;

DrawStream stream_of(const OpCall& call) { return {"draw:" + call.node_name(), seed_in_force}; }

template <class V, class F>
std::vector<V> drawn(const OpCall& call, std::size_t n, F&& one) {
  DrawStream stream = stream_of(call);
  std::vector<V> values(n);
  for (V& value : values) value = one(stream);
  return values;
}

}  // namespace

DrawSeed::DrawSeed(uint64_t seed) : previous_(seed_in_force) { seed_in_force = seed; }
DrawSeed::~DrawSeed() { seed_in_force = previous_; }

double DrawStream::uniform(int bits) {
  if (bits <= 32) return std::ldexp(static_cast<double>(word() >> (32 - bits)), -bits);
  return std::ldexp(static_cast<double>(words() >> (64 - bits)), -bits);
}

double DrawStream::positive() { return (static_cast<double>(words() >> 12) + 0.5) * 0x1p-52; }

double DrawStream::normal() {
  const double radius = std::sqrt(-2 * std::log(positive()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

int64_t DrawStream::below(uint64_t n) {
  return static_cast<int64_t>(static_cast<unsigned __int128>(words()) * n >> 64);
}

std::vector<double> draw_uniform(const OpCall& call, std::size_t n, DType dtype, double from, double to) {
  const int bits = float_format(dtype).precision;
  const double last = to > from ? std::nextafter(to, from) : from;
  return drawn<double>(call, n, [&](DrawStream& stream) {
    const double value = from + stream.uniform(bits) * (to - from);
    return std::min(value, last);
  });
}

std::vector<double> draw_normal(const OpCall& call, std::size_t n) {
  return drawn<double>(call, n, [](DrawStream& stream) { return stream.normal(); });
}

std::vector<double> draw_exponential(const OpCall& call, std::size_t n, double rate) {
  return drawn<double>(call, n, [&](DrawStream& stream) { return -std::log(stream.positive()) / rate; });
}

std::vector<double> draw_cauchy(const OpCall& call, std::size_t n, double median, double sigma) {
  return drawn<double>(call, n, [&](DrawStream& stream) {
    return median + sigma * std::tan(std::numbers::pi * (stream.positive() - 0.5));
  });
}

std::vector<int64_t> draw_geometric(const OpCall& call, std::size_t n, double p) {
  return drawn<int64_t>(call, n, [&](DrawStream& stream) {
    const double trials = std::ceil(std::log(stream.positive()) / std::log1p(-p));
    return static_cast<int64_t>(std::clamp(trials, 1.0, 0x1p62));
  });
}

std::vector<int64_t> draw_integers(const OpCall& call, std::size_t n, int64_t low, int64_t high) {
  const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  return drawn<int64_t>(call, n, [&](DrawStream& stream) {
    return static_cast<int64_t>(static_cast<uint64_t>(low) + static_cast<uint64_t>(stream.below(width)));
  });
}

std::vector<int64_t> draw_permutation(const OpCall& call, std::size_t n) {
  DrawStream stream = stream_of(call);
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = n; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(stream.below(i))]);
  return order;
}

std::vector<int64_t> draw_bernoulli(const OpCall& call, std::size_t n, const std::vector<double>& p) {
  std::size_t i = 0;
  return drawn<int64_t>(call, n, [&](DrawStream& stream) {
    const double chance = p[p.size() == 1 ? 0 : i++];
    if (!(chance >= 0 && chance <= 1)) {
      throw Error(ErrorCode::invalid_argument,
                  call.op() + ": a probability is " + std::to_string(chance) + "; it must be within [0, 1]");
    }
    return static_cast<int64_t>(stream.uniform() < chance);
  });
}

namespace {

double checked_total(const OpCall& call, const double* weights, std::size_t categories, std::size_t samples,
                     bool replacement) {
  double total = 0;
  std::size_t positive = 0;
  for (std::size_t c = 0; c < categories; ++c) {
    if (!(weights[c] >= 0) || std::isinf(weights[c])) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": a weight is " + std::to_string(weights[c]) +
                                                   "; weights must be finite and not negative");
    }
    total += weights[c];
    positive += weights[c] > 0;
  }
  if (positive == 0 || (!replacement && positive < samples)) {
    throw Error(ErrorCode::invalid_argument, call.op() + ": a row has " + std::to_string(positive) +
                                                 " positive weights, too few for " + std::to_string(samples) +
                                                 " samples");
  }
  return total;
}

}  // namespace

std::vector<int64_t> draw_categories(const OpCall& call, const std::vector<double>& weights, std::size_t rows,
                                     std::size_t categories, std::size_t samples, bool replacement) {
  DrawStream stream = stream_of(call);
  std::vector<int64_t> chosen;
  chosen.reserve(rows * samples);
  std::vector<double> cumulated(categories);
  std::vector<std::pair<double, int64_t>> arrivals;
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = weights.data() + r * categories;
    const double total = checked_total(call, row, categories, samples, replacement);
    if (replacement) {
      std::partial_sum(row, row + categories, cumulated.begin());
      for (std::size_t s = 0; s < samples; ++s) {
        const double at = stream.uniform() * total;
        auto place = std::upper_bound(cumulated.begin(), cumulated.end(), at);
        while (place == cumulated.end() || row[place - cumulated.begin()] == 0) --place;
        chosen.push_back(place - cumulated.begin());
      }
      continue;
    }
    // The first arrivals of independent exponential clocks of these rates are such a sample.
    arrivals.clear();
    for (std::size_t c = 0; c < categories; ++c) {
      const double wait = -std::log(stream.positive());
      if (row[c] > 0) arrivals.emplace_back(wait / row[c], static_cast<int64_t>(c));
    }
    std::partial_sort(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(samples),
                      arrivals.end());
    for (std::size_t s = 0; s < samples; ++s) chosen.push_back(arrivals[s].second);
  }
  return chosen;
}

}  // namespace assay::reference
