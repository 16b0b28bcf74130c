#include "harness/judge/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace assay {
namespace {

enum class Kind { fine, beyond, nan, special };

struct Judged {
  Kind kind = Kind::fine;
  double margin = 0;
};

// Keeps the worst element. A NaN or special mismatch counts as an infinite margin; among infinite margins a
// NaN comes before an error and an error before a special value, so that `worst` shows what `finding_of`
// names.
class Collector {
 public:
  Collector(const CompareRule& rule, const Tensor& got)
      : rule_(rule), dtype_(got.dtype()), shape_(got.shape()) {}

  void add(int64_t flat, const Judged& judged, double got, double want, double bound) {
    ++result_.compared;
    result_.beyond += judged.kind == Kind::beyond ? 1 : 0;
    result_.nan += judged.kind == Kind::nan ? 1 : 0;
    result_.special += judged.kind == Kind::special ? 1 : 0;
    const int rank = rank_of(judged.kind);
    result_.margin = std::max(result_.margin, judged.margin);
    if (result_.worst && (rank < rank_ || (rank == rank_ && !(judged.margin > worst_margin_)))) return;
    rank_ = rank;
    worst_margin_ = judged.margin;
    result_.worst = Worst{rule_.output, index_of(shape_, flat, is_complex(dtype_)),
                          got,          want,
                          bound,        is_integral(dtype_) ? std::nullopt : ulp_distance(dtype_, got, want)};
  }
  void add_unmodelled() { ++result_.unmodelled; }
  // Counts an element without a finding whose margin is no news, which is all that add() would do with it.
  bool passes(double margin) {
    if (!result_.worst || !(margin <= worst_margin_)) return false;
    ++result_.compared;
    return true;
  }
  Comparison take() { return std::move(result_); }

 private:
  static int rank_of(Kind kind) {
    switch (kind) {
      case Kind::fine:
        return 0;
      case Kind::special:
        return 1;
      case Kind::beyond:
        return 2;
      case Kind::nan:
        return 3;
    }
    return 0;
  }
  const CompareRule& rule_;
  DType dtype_;
  const Shape& shape_;
  int rank_ = -1;
  double worst_margin_ = 0;
  Comparison result_;
};

uint8_t special_at(const CompareRule& rule, std::size_t i) {
  return rule.special != nullptr && i < rule.special->size() ? (*rule.special)[i] : uint8_t{0};
}

void require_equal_meta(const Tensor& got, DType dtype, const Shape& shape) {
  if (got.dtype() != dtype || got.shape() != shape) {
    throw Error(ErrorCode::internal, "compare: shapes and dtypes must be compared before values");
  }
}

Judged judge_exact(double got, double want, const CompareRule& rule, double smallest_normal) {
  if (std::isnan(got) != std::isnan(want)) return {Kind::nan, kInfinity};
  if (std::isnan(want)) return {};
  if (got == want) {
    const bool sign_differs = want == 0 && std::signbit(got) != std::signbit(want);
    if (sign_differs && rule.zero_sign) return {Kind::special, kInfinity};
    return {};
  }
  if (rule.flush && got == 0 && std::fabs(want) < smallest_normal) return {};
  if (std::isinf(got) || std::isinf(want)) return {Kind::special, kInfinity};
  return {Kind::beyond, kInfinity};
}

// The largest magnitude before the last rounding, from a Bound that includes it: Bound = b + u (|v| + b) +
// eta.
double reach_before_rounding(const FloatFormat& format, double want, double bound) {
  const double u = format.unit_roundoff();
  const double before = (bound - u * std::fabs(want) - format.smallest_subnormal()) / (1 + u);
  return std::fabs(want) + std::max(before, 0.0);
}

// From this magnitude on, rounding to nearest gives infinity: half a unit in the last place beyond the
// maximum.
double overflow_threshold(const FloatFormat& format) {
  return format.max + std::ldexp(1.0, format.max_exponent - format.precision);
}

Judged judge_bounded(double got, double want, double bound, uint8_t special, const CompareRule& rule,
                     const FloatFormat& format) {
  if (std::isinf(bound)) return {};
  if ((special & reference::special_early_overflow) != 0 && !std::isfinite(got)) return {};
  if (std::isnan(got) != std::isnan(want)) return {Kind::nan, kInfinity};
  if (std::isnan(want)) return {};
  if (std::isinf(want)) {
    if (got == want) return {};
    const bool just_below = std::signbit(got) == std::signbit(want) && std::fabs(got) > format.max / 2;
    if ((special & reference::special_overflow) != 0 && just_below) return {};
    return {Kind::special, kInfinity};
  }
  if (std::isinf(got)) {
    const bool right_sign = std::signbit(got) == std::signbit(want) || want == 0;
    const bool reaches = (special & reference::special_overflow) != 0 ||
                         reach_before_rounding(format, want, bound) >= overflow_threshold(format);
    if (right_sign && reaches) return {};
    return {Kind::special, kInfinity};
  }
  const double error = std::fabs(got - want);
  if (error == 0) {
    const bool sign_differs = want == 0 && std::signbit(got) != std::signbit(want);
    return sign_differs && rule.zero_sign ? Judged{Kind::special, kInfinity} : Judged{};
  }
  if (std::isnan(bound)) return {};
  const double margin = bound > 0 ? error / bound : kInfinity;
  if (error <= bound) return {Kind::fine, margin};
  if (rule.flush && got == 0 && std::fabs(want) < format.smallest_normal()) return {};
  return {Kind::beyond, margin};
}

// A bool is a byte of 0 or 1: another one is no value, though most programs take it for true.
std::vector<int64_t> integers_as_stored(const Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return tensor.to_ints();
  const Tensor packed = tensor.contiguous();
  std::vector<int64_t> values(static_cast<std::size_t>(tensor.count()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::to_integer<int64_t>(packed.data()[i]);
  return values;
}

Comparison compare_integers(const Tensor& got, const std::vector<int64_t>& want, const CompareRule& rule) {
  Collector collector(rule, got);
  const std::vector<int64_t> values = integers_as_stored(got);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool undefined = (special_at(rule, i) & reference::special_undefined) != 0;
    const Judged judged = values[i] == want[i] || undefined ? Judged{} : Judged{Kind::beyond, kInfinity};
    collector.add(static_cast<int64_t>(i), judged, static_cast<double>(values[i]),
                  static_cast<double>(want[i]), 0);
  }
  return collector.take();
}

}  // namespace

Comparison compare_exact(const Tensor& got, const Tensor& want, const CompareRule& rule) {
  require_equal_meta(got, want.dtype(), want.shape());
  if (is_integral(got.dtype())) return compare_integers(got, want.to_ints(), rule);
  const double smallest_normal = float_format(got.dtype()).smallest_normal();
  const std::vector<double> values = got.to_doubles();
  const std::vector<double> wanted = want.to_doubles();
  Collector collector(rule, got);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == wanted[i] && wanted[i] != 0 && collector.passes(0)) continue;
    const bool undefined = (special_at(rule, i) & reference::special_undefined) != 0;
    const Judged judged = undefined ? Judged{} : judge_exact(values[i], wanted[i], rule, smallest_normal);
    collector.add(static_cast<int64_t>(i), judged, values[i], wanted[i], 0);
  }
  return collector.take();
}

Comparison compare_bounded(const Tensor& got, const reference::Wide& want, const std::vector<double>& bound,
                           const CompareRule& rule) {
  require_equal_meta(got, want.meta.dtype, want.meta.shape);
  if (is_integral(got.dtype())) return compare_integers(got, want.integer, rule);
  if (bound.size() != want.real.size()) {
    throw Error(ErrorCode::internal, fmt::format("compare: {} bounds for {} numbers of {}", bound.size(),
                                                 want.real.size(), rule.output));
  }
  const FloatFormat& format = float_format(got.dtype());
  const std::vector<double> values = got.to_doubles();
  Collector collector(rule, got);
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Nearly all elements: finite numbers within a finite Bound. (The sign of a zero is looked at below.)
    const double error = std::fabs(values[i] - want.real[i]);
    if (error <= bound[i] && bound[i] < kInfinity && (error > 0 || want.real[i] != 0) &&
        collector.passes(error > 0 ? error / bound[i] : 0))
      continue;
    if (std::isfinite(want.real[i]) && std::isnan(bound[i])) collector.add_unmodelled();
    const uint8_t special = special_at(rule, i);
    const bool undefined = (special & reference::special_undefined) != 0;
    const Judged judged =
        undefined ? Judged{} : judge_bounded(values[i], want.real[i], bound[i], special, rule, format);
    collector.add(static_cast<int64_t>(i), judged, values[i], want.real[i], bound[i]);
  }
  return collector.take();
}

bool holds_values(const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() != DType::boolean) return true;
  const std::vector<int64_t> values = integers_as_stored(tensor);
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0 || v == 1; });
}

std::optional<MetaMismatch> compare_meta(const Tensor& got, DType dtype, const Shape& shape,
                                         const std::string& output) {
  if (!got.defined())
    return MetaMismatch{"missing_output", fmt::format("output {} was not returned", output)};
  if (got.dtype() != dtype) {
    return MetaMismatch{"dtype_mismatch", fmt::format("output {} has dtype {}, the graph declares {}", output,
                                                      name_of(got.dtype()), name_of(dtype))};
  }
  if (got.shape() != shape) {
    return MetaMismatch{"shape_mismatch", fmt::format("output {} has shape {}, the graph declares {}", output,
                                                      to_string(got.shape()), to_string(shape))};
  }
  return std::nullopt;
}

Finding finding_of(const Comparison& comparison) {
  if (comparison.nan > 0) return {Status::nan_mismatch, "nan"};
  if (comparison.beyond > 0) return {Status::wrong, "element_bound"};
  if (comparison.special > 0) return {Status::wrong, "special_value"};
  return {};
}

std::string describe(const Comparison& comparison) {
  if (!comparison.worst) return "nothing was compared";
  const Worst& worst = *comparison.worst;
  std::string text = fmt::format("output {} {}: got {:.9g}, want {:.9g} +- {:.3g}", worst.output,
                                 to_string(worst.index), worst.got, worst.want, worst.bound);
  if (worst.ulp) text += fmt::format(" ({:.3g} ulp)", *worst.ulp);
  const int64_t wrong = comparison.nan + comparison.beyond + comparison.special;
  return text + fmt::format("; {} of {} elements are wrong", wrong, comparison.compared);
}

std::optional<double> ulp_distance(DType dtype, double got, double want) {
  if (is_integral(dtype) || !std::isfinite(got) || !std::isfinite(want)) return std::nullopt;
  const FloatFormat& format = float_format(dtype);
  const int exponent = want == 0 ? format.min_exponent : std::max(std::ilogb(want), format.min_exponent);
  return std::fabs(got - want) / std::ldexp(1.0, exponent - format.precision + 1);
}

std::vector<int64_t> index_of(const Shape& shape, int64_t flat, bool complex) {
  std::vector<int64_t> index(shape.size());
  int64_t rest = complex ? flat / 2 : flat;
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = rest % shape[d];
    rest /= shape[d];
  }
  if (complex) index.push_back(flat % 2);
  return index;
}

void merge(Comparison& into, const Comparison& other) {
  const bool was_ok = into.ok();
  const bool first =
      !into.worst || (was_ok && !other.ok()) || (was_ok == other.ok() && other.margin > into.margin);
  into.compared += other.compared;
  into.beyond += other.beyond;
  into.nan += other.nan;
  into.special += other.special;
  into.unmodelled += other.unmodelled;
  if (other.worst && first) into.worst = other.worst;
  into.margin = std::max(into.margin, other.margin);
}

}  // namespace assay
