#include "harness/judge/random_draws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "harness/judge/compare.h"
#include "harness/judge/distribution.h"
#include "harness/judge/node_rules.h"

namespace assay {
namespace {

constexpr std::size_t kRemembered = 32;         // draws that a later one is compared with
constexpr std::size_t kMostRemembered = 65536;  // numbers of one of them

// Numbers of one result. Where the distribution of an element has no spread (std 0, p 0) the element was
// compared exactly and is left out.
struct Sample {
  std::vector<Quantile> quantiles;
  std::vector<double> centred, variances;  // mean 0, |centred| <= 1
  void add(const Quantile& q) {
    quantiles.push_back(q);
    centred.push_back(q.middle() - 0.5);
    variances.push_back(1.0 / 12);  // of a uniform number; those of discrete ones are less
  }
  void add_chance(double p, bool hit) {
    centred.push_back((hit ? 1 : 0) - p);
    variances.push_back(p * (1 - p));
  }
};

struct Numbers {
  DType dtype = DType::f32;
  std::vector<double> values;
  double spacing(double x) const {
    if (is_integral(dtype) || !std::isfinite(x)) return 0;
    const FloatFormat& format = float_format(real_part(dtype));
    return std::max(format.smallest_subnormal(), 2 * format.unit_roundoff() * std::fabs(x));
  }
  // Uniform numbers are made of at most so many digits.
  double grain() const {
    return is_integral(dtype) ? 0 : std::ldexp(1.0, -float_format(real_part(dtype)).precision);
  }
};

Numbers numbers_of(const Tensor& tensor) {
  if (!is_integral(tensor.dtype())) return {tensor.dtype(), tensor.to_doubles()};
  const std::vector<int64_t> integers = tensor.to_ints();
  return {tensor.dtype(), std::vector<double>(integers.begin(), integers.end())};
}

std::string at(std::size_t i, double x) { return fmt::format("element {} is {}", i, x); }

// x of a continuous distribution: rounded to the dtype, drawn on a grid.
Quantile continuous(const Numbers& numbers, double x, const std::function<double(double)>& cdf) {
  const double step = numbers.spacing(x), grain = numbers.grain();
  return {std::max(0.0, cdf(x - step) - grain), std::min(1.0, cdf(x + step) + grain)};
}

using Cdf = std::function<double(double)>;

std::string collect(const Numbers& numbers, const Cdf& cdf, double low, double high, bool high_is_reached,
                    Sample& sample) {
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const double x = numbers.values[i];
    if (!(x >= low) || !(high_is_reached ? x <= high : x < high)) {
      return fmt::format("{}, outside of [{}, {}{}", at(i, x), low, high, high_is_reached ? "]" : ")");
    }
    sample.add(continuous(numbers, x, cdf));
  }
  return "";
}

std::string uniform(const Numbers& numbers, double from, double to, Sample& sample) {
  const double width = to - from;
  if (width == 0) {
    for (std::size_t i = 0; i < numbers.values.size(); ++i) {
      if (std::fabs(numbers.values[i] - from) > numbers.spacing(from)) return at(i, numbers.values[i]);
    }
    return "";
  }
  // The upper end is no number of the distribution unless rounding to the dtype makes it one.
  const FloatFormat& format = float_format(real_part(numbers.dtype));
  const double last = to - width * numbers.grain();
  const bool rounds_up = round_to(format, last) >= to;
  const double low = std::min(from, round_to(format, from)), high = std::max(to, round_to(format, to));
  return collect(
      numbers, [&](double x) { return std::clamp((x - from) / width, 0.0, 1.0); }, low, rounds_up ? high : to,
      rounds_up, sample);
}

// Elements of mean m[i] and deviation s[i]; vectors of one element hold for all.
std::string normal(const Numbers& numbers, const std::vector<double>& m, const std::vector<double>& s,
                   Sample& sample) {
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const double x = numbers.values[i], mean = m[m.size() == 1 ? 0 : i], deviation = s[s.size() == 1 ? 0 : i];
    if (!std::isfinite(mean) || !std::isfinite(deviation)) continue;
    if (std::isnan(x)) return at(i, x);
    if (deviation == 0) {
      if (std::fabs(x - mean) > numbers.spacing(mean)) return at(i, x) + ", of mean and deviation 0 another";
      continue;
    }
    sample.add(continuous(numbers, x, [&](double v) { return normal_cdf((v - mean) / deviation); }));
  }
  return "";
}

// Whole numbers with P(X <= k) = cdf(k). Beyond the dtype's digits they are rounded.
std::string whole(const Numbers& numbers, double low, double high, const Cdf& cdf, Sample& sample) {
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const double x = numbers.values[i], step = numbers.spacing(x) > 1 ? numbers.spacing(x) : 0;
    if (x != std::floor(x) || x < low - step || x > high + step) {
      return fmt::format("{}, expected an integer of [{}, {}]", at(i, x), low, high);
    }
    sample.add({std::max(0.0, cdf(x - 1 - step)), std::min(1.0, cdf(x + step))});
  }
  return "";
}

std::string chances(const Numbers& numbers, const std::vector<double>& p, Sample& sample) {
  double sum = 0, variance = 0;
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const double x = numbers.values[i], chance = p[p.size() == 1 ? 0 : i];
    if (x != 0 && x != 1) return at(i, x) + ", expected 0 or 1";
    if ((chance == 0 && x == 1) || (chance == 1 && x == 0))
      return fmt::format("{} with probability {} of 1", at(i, x), chance);
    sample.add_chance(chance, x == 1);
    sum += sample.centred.back();
    variance += sample.variances.back();
  }
  if (is_plausible_sum(sum, variance, 1)) return "";
  return fmt::format("the number of ones is {:.1f} standard deviations off",
                     std::fabs(sum) / std::sqrt(variance));
}

// Input `name` spread over the result's shape.
std::vector<double> spread(const OpCall& call, const std::vector<const reference::Wide*>& inputs,
                           std::string_view name, const Shape& shape) {
  if (!call.tensor_opt(name)) return {call.floating(name)};
  const reference::Wide& from = *inputs.at(static_cast<std::size_t>(call.tensor(name)));
  if (from.real.size() <= 1) return from.real;
  const auto count = static_cast<std::size_t>(element_count(shape));
  std::vector<double> out(count);
  const std::size_t shift = shape.size() - from.meta.shape.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i, place = 0, step = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(shape[d]);
      if (d >= shift) {
        const auto own = static_cast<std::size_t>(from.meta.shape[d - shift]);
        place += own == 1 ? 0 : rest % size * step;
        step *= own;
      }
      rest /= size;
    }
    out[i] = from.real[place];
  }
  return out;
}

std::string multinomial(const OpCall& call, const reference::Wide& weights, const Numbers& numbers) {
  const auto categories = static_cast<std::size_t>(weights.meta.shape.back());
  const auto samples = static_cast<std::size_t>(call.integer("num_samples"));
  const bool replacement = call.boolean("replacement");
  // Of each category: times drawn - expected, summed over independent draws.
  std::vector<double> off(categories, 0), variance(categories, 0);
  for (std::size_t first = 0; first < numbers.values.size(); first += samples) {
    const double* row = weights.real.data() + first / samples * categories;
    double total = 0;
    for (std::size_t c = 0; c < categories; ++c) total += row[c];
    std::set<std::size_t> seen;
    for (std::size_t s = 0; s < samples; ++s) {
      const double x = numbers.values[first + s];
      if (!(x >= 0 && x < static_cast<double>(categories)))
        return fmt::format("{}, expected a category below {}", at(first + s, x), categories);
      const auto chosen = static_cast<std::size_t>(x);
      if (row[chosen] == 0) return at(first + s, x) + ", a category of weight 0";
      if (!replacement && !seen.insert(chosen).second) return at(first + s, x) + ", drawn twice";
      // Without replacement each draw is from what is left.
      for (std::size_t c = 0; c < categories; ++c) {
        const double p = !replacement && c != chosen && seen.contains(c) ? 0 : std::min(1.0, row[c] / total);
        off[c] += (c == chosen ? 1 : 0) - p;
        variance[c] += p * (1 - p);
      }
      if (!replacement) total -= row[chosen];
    }
  }
  for (std::size_t c = 0; c < categories; ++c) {
    if (!is_plausible_sum(off[c], variance[c] + 1e-9, 1)) {
      return fmt::format("category {} was drawn {:+.1f} times more than expected, {:.1f} standard deviations",
                         c, off[c], std::fabs(off[c]) / std::sqrt(variance[c]));
    }
  }
  return "";
}

// y where the device's own mask keeps it is x / (1 - p), by a multiplication's Bound; else 0. (NaN and
// infinities that are dropped give 0 or, multiplied by it, NaN.)
std::string dropped(const reference::Wide& x, const Tensor& y, const std::vector<double>& mask, double scale,
                    const Precision& precision) {
  const OpCall product("aten::mul.Tensor", {x.meta}, {{"self", ValueArg{0}}, {"other", scale}},
                       {{y.dtype(), y.shape()}});
  const reference::BoundedWide want = reference::evaluate_bounded(product, {&x}, precision)[0];
  reference::Wide masked = want.value;
  std::vector<double> bound = want.bound;
  const std::vector<double> got = y.to_doubles();
  const std::size_t parts = is_complex(y.dtype()) ? 2 : 1;
  for (std::size_t i = 0; i < masked.real.size(); ++i) {
    if (mask[i / parts] != 0) continue;
    const bool either = !std::isfinite(x.real[i]) && std::isnan(got[i]);
    masked.real[i] = either ? got[i] : 0;
    bound[i] = 0;
  }
  CompareRule rule;
  rule.output = "0";
  rule.zero_sign = false;
  rule.special = &want.special;
  rule.flush = precision.ftz_out || precision.ftz_in;
  const Comparison comparison = compare_bounded(y, masked, bound, rule);
  return comparison.ok() ? "" : describe(comparison);
}

std::string dropout(const OpCall& call, const std::vector<const reference::Wide*>& inputs,
                    const std::vector<Tensor>& got, const Precision& precision, Sample& sample) {
  const double p = call.floating("p");
  const bool train = call.is_none("train") || call.boolean("train");
  const reference::Wide& x = *inputs.at(static_cast<std::size_t>(call.tensor("input")));
  const double scale = train ? (p < 1 ? 1 / (1 - p) : 0) : 1;
  if (!got[1].defined()) {
    // Without the mask, what was dropped is what is 0 (or NaN, of an infinity).
    if (!got[0].defined()) return "";
    std::vector<double> mask;
    const std::vector<double> y = got[0].to_doubles();
    const std::size_t parts = is_complex(got[0].dtype()) ? 2 : 1;
    Numbers kept;
    kept.dtype = DType::boolean;
    for (std::size_t i = 0; i < y.size(); i += parts) {
      bool zero = true, telling = false;
      for (std::size_t k = i; k < i + parts; ++k) {
        zero = zero && (y[k] == 0 || (std::isnan(y[k]) && !std::isfinite(x.real[k])));
        telling =
            telling || (std::isfinite(x.real[k]) &&
                        std::fabs(x.real[k]) >= float_format(real_part(x.meta.dtype)).smallest_normal());
      }
      mask.push_back(zero && telling && train ? 0 : 1);
      if (telling) kept.values.push_back(mask.back());
    }
    if (std::string wrong = chances(kept, {train ? 1 - p : 1.0}, sample); !wrong.empty()) return wrong;
    return dropped(x, got[0], mask, scale, precision);
  }
  const Numbers mask = numbers_of(got[1]);
  if (std::string wrong = chances(mask, {train ? 1 - p : 1.0}, sample); !wrong.empty())
    return "the mask: " + wrong;
  return got[0].defined() ? dropped(x, got[0], mask.values, scale, precision) : "";
}

std::string judge_values(const OpCall& call, const std::vector<const reference::Wide*>& inputs,
                         const std::vector<Tensor>& got, const Precision& precision, Sample& sample) {
  const std::string_view full = call.op();
  const std::string_view op = full.substr(6, full.find('.') - 6);  // without "aten::" and overload
  if (op == "native_dropout") return dropout(call, inputs, got, precision, sample);
  if (!got[0].defined()) return "";
  const Numbers numbers = numbers_of(got[0]);
  const Shape& shape = call.output(0).shape;
  const double part = is_complex(numbers.dtype) ? std::numbers::sqrt2 / 2 : 1;
  const double infinity = HUGE_VAL;
  if (op == "rand" || op == "rand_like") return uniform(numbers, 0, 1, sample);
  if (op == "uniform") return uniform(numbers, call.floating("from"), call.floating("to"), sample);
  if (op == "randn" || op == "randn_like") return normal(numbers, {0}, {part}, sample);
  if (op == "normal_functional")
    return normal(numbers, {call.floating("mean")}, {part * call.floating("std")}, sample);
  if (op == "normal") {
    if (is_complex(numbers.dtype))
      throw Error(ErrorCode::unsupported, std::string(full) + " of complex numbers");
    return normal(numbers, spread(call, inputs, "mean", shape), spread(call, inputs, "std", shape), sample);
  }
  if (op == "exponential") {
    const double rate = call.floating("lambd");
    return collect(
        numbers, [&](double x) { return exponential_cdf(rate * x); }, 0, infinity, true, sample);
  }
  if (op == "cauchy") {
    const double median = call.floating("median"), sigma = call.floating("sigma");
    return collect(
        numbers, [&](double x) { return cauchy_cdf((x - median) / sigma); }, -infinity, infinity, true,
        sample);
  }
  if (op == "log_normal") {
    const double mean = call.floating("mean"), deviation = call.floating("std");
    const Cdf cdf = [&](double x) { return x > 0 ? normal_cdf((std::log(x) - mean) / deviation) : 0; };
    return collect(numbers, cdf, 0, infinity, true, sample);
  }
  if (op == "geometric") {
    const double p = call.floating("p");
    const Cdf cdf = [&](double k) { return k < 1 ? 0 : -std::expm1(k * std::log1p(-p)); };
    return whole(numbers, 1, infinity, cdf, sample);
  }
  if (op == "randint" || op == "randint_like") {
    const double low = call.schema().find("low") ? static_cast<double>(call.integer("low")) : 0;
    const auto high = static_cast<double>(call.integer("high"));
    const Cdf cdf = [&](double k) { return std::clamp((k + 1 - low) / (high - low), 0.0, 1.0); };
    return whole(numbers, low, high - 1, cdf, sample);
  }
  if (op == "bernoulli") {
    const bool own = call.schema().find("p") == nullptr;
    return chances(numbers, spread(call, inputs, own ? "self" : "p", shape), sample);
  }
  if (op == "randperm") {
    std::vector<int64_t> order;
    for (const double x : numbers.values) {
      if (x != std::floor(x)) return fmt::format("{} is no index", x);
      order.push_back(static_cast<int64_t>(x));
    }
    return test_permutation(order);
  }
  if (op == "multinomial") return multinomial(call, *inputs.at(0), numbers);
  throw Error(ErrorCode::internal, std::string(full) + " has no test of its distribution");
}

// One number again and again. The test of the distribution misses it where there are few numbers.
std::string test_equal(const std::vector<Quantile>& quantiles) {
  if (quantiles.size() < 2) return "";
  const Quantile& first = quantiles.front();
  const bool equal = std::all_of(quantiles.begin(), quantiles.end(), [&](const Quantile& q) {
    return q.below == first.below && q.upto == first.upto;
  });
  const double again = std::max(first.upto - first.below, 0x1p-52);
  const auto others = static_cast<double>(quantiles.size() - 1);
  if (!equal || others * std::log(again) >= std::log(1e-9)) return "";
  return fmt::format("all {} numbers are equal", quantiles.size());
}

// Distances at which a device's tiling would repeat numbers: rows, planes, powers of two, and the shares of
// two, four and eight cores.
std::set<std::size_t> lags_of(const Shape& shape, std::size_t count) {
  std::set<std::size_t> lags;
  for (std::size_t lag = 1; lag < count; lag *= 2) lags.insert(lag);
  for (const std::size_t parts : {2, 4, 8}) {
    if (count >= 2 * parts) lags.insert(count / parts);
  }
  std::size_t row = 1;
  for (std::size_t d = shape.size(); d-- > 1;) {
    row *= static_cast<std::size_t>(std::max<int64_t>(shape[d], 1));
    if (row < count) lags.insert(row);
  }
  return lags;
}

}  // namespace

std::string DrawHistory::compare(const std::string& node, std::vector<double> centred,
                                 const std::vector<double>& variances) {
  centred.resize(std::min(centred.size(), kMostRemembered));
  std::string found;
  for (const Draw& draw : draws_) {
    if (std::string wrong = test_independence(centred, variances, draw.centred);
        !wrong.empty() && found.empty())
      found = fmt::format("the numbers depend on those of node '{}': {}", draw.node, wrong);
  }
  if (draws_.size() < kRemembered) draws_.push_back({node, std::move(centred)});
  return found;
}

std::string judge_draw(const OpCall& call, const std::vector<const reference::Wide*>& inputs,
                       const std::vector<Tensor>& got, const Precision& precision, DrawHistory* history) {
  Sample sample;
  if (std::string wrong = judge_values(call, inputs, got, precision, sample); !wrong.empty()) return wrong;
  if (std::string wrong = test_equal(sample.quantiles); !wrong.empty()) return wrong;
  if (std::string wrong = test_kolmogorov_smirnov(sample.quantiles); !wrong.empty()) return wrong;
  if (std::string wrong = test_counts(sample.quantiles); !wrong.empty()) return wrong;
  for (const std::size_t lag : lags_of(call.output(0).shape, sample.centred.size())) {
    if (std::string wrong = test_correlation(sample.centred, sample.variances, lag); !wrong.empty())
      return wrong;
  }
  if (history == nullptr || sample.centred.empty()) return "";
  return history->compare(call.node_name(), std::move(sample.centred), sample.variances);
}

}  // namespace assay
