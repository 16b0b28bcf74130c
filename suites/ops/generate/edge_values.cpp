#include "suites/ops/generate/edge_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace assay::suites {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<EdgeClass> float_classes(DType dtype) {
  const FloatFormat& format = float_format(dtype);
  const double tiny = format.smallest_subnormal();
  const double normal = format.smallest_normal();
  const double epsilon = 2 * format.unit_roundoff();
  std::vector<EdgeClass> classes{
      {"nan", {kNan, 1, 2}},
      {
          "inf",
          format.has_infinity ? std::vector<double>{kInf, -kInf, 1} : std::vector<double>{},
      },
      {"zeros", {0.0, -0.0, 1}},
      {"subnormals", {tiny, -tiny, 3 * tiny, normal - tiny, tiny - normal, -5 * tiny}},
      {"limits",
       {format.max, -format.max, normal, -normal, 1 + epsilon, 1 - epsilon / 2, format.max / 2, 2 * normal}},
      {"halves", {0.5, -0.5, 1.5, -1.5, 2.5, -2.5}},
  };
  std::erase_if(classes, [](const EdgeClass& c) { return c.values.empty(); });
  EdgeClass all{"mixed", {}};
  for (const EdgeClass& c : classes) {
    for (const double value : c.values) {
      const bool known = std::any_of(all.values.begin(), all.values.end(), [&](double v) {
        return v == value ? std::signbit(v) == std::signbit(value) : std::isnan(v) && std::isnan(value);
      });
      if (!known) all.values.push_back(value);
    }
  }
  classes.push_back(std::move(all));
  return classes;
}

std::vector<EdgeClass> make_classes(DType dtype) {
  if (is_float(dtype)) return float_classes(dtype);
  if (is_complex(dtype)) return float_classes(part_dtype(dtype));  // either part
  if (!is_integral(dtype) || dtype == DType::boolean) return {};
  const int64_t low = int_min(dtype), high = int_max(dtype);
  const std::vector<int64_t> extremes =
      low == 0 ? std::vector<int64_t>{0, high, high - 1, 1, 2, high / 2}
               : std::vector<int64_t>{low, high, low + 1, high - 1, 0, -1, 1, high / 2};
  return {{"extremes", std::vector<double>(extremes.begin(), extremes.end()), extremes}};
}

// A number of the domain, different for most i.
double ordinary(const Domain& domain, std::size_t i) {
  return domain.center + domain.scale * (static_cast<double>((i * 37 + 11) % 101) / 50.5 - 1);
}

}  // namespace

const std::vector<EdgeClass>& edge_classes(DType dtype) {
  static const std::map<DType, std::vector<EdgeClass>> all = [] {
    std::map<DType, std::vector<EdgeClass>> out;
    for (int32_t code = 1; code <= static_cast<int32_t>(DType::c128); ++code) {
      out[static_cast<DType>(code)] = make_classes(static_cast<DType>(code));
    }
    return out;
  }();
  return all.at(dtype);
}

std::pair<int64_t, int64_t> integers_of(DType dtype, const Domain& domain) {
  if (dtype == DType::boolean) return {0, 2};
  const double low = std::max(std::ceil(domain.center - domain.scale), static_cast<double>(int_min(dtype)));
  const double high = std::min(std::floor(domain.center + domain.scale), static_cast<double>(int_max(dtype)));
  const auto first = static_cast<int64_t>(std::max(low, -1e6));
  return {first, std::max(first, static_cast<int64_t>(std::min(high, 1e6))) + 1};
}

Tensor with_edges(DType dtype, const Shape& shape, const Domain& domain, const EdgeClass& edges, int phase,
                  bool only_edges) {
  // A complex element is two numbers.
  const auto count = static_cast<std::size_t>(element_count(shape)) * (is_complex(dtype) ? 2 : 1);
  const std::size_t n = edges.values.size();
  const auto shift = static_cast<std::size_t>(phase);
  // Long classes are planted closer, so that small tensors hold most of them.
  const bool many = n > 8;
  // Sums and means lose subnormals beside ordinary numbers: the second half has none of those.
  const bool is_subnormal_class = std::string_view(edges.name) == "subnormals";
  // They start with the largest one, which even a tensor of few elements then holds and no result loses
  // unseen.
  const std::size_t first = is_subnormal_class ? 3 : 0;
  const auto is_dense = [&](std::size_t i) { return is_subnormal_class && i > count / 2; };
  const auto is_edge = [&](std::size_t i) {
    return only_edges || is_dense(i) || (many ? (i + shift) % 4 != 3 : (i + shift) % 3 == 0);
  };
  const auto place = [&](std::size_t i) {
    if (many) return i + 7 * shift;
    if (!is_dense(i)) return i / 3 + shift + first;
    return count < n ? i - count / 2 - 1 + shift % 2 + first : i + shift + first;
  };
  // Of the class, by its index; nullopt: an ordinary number.
  const auto edge_at = [&](std::size_t i) -> std::optional<std::size_t> {
    if (only_edges) return (phase == 0 ? i : i / n + shift - 1) % n;
    return is_edge(i) ? std::optional(place(i) % n) : std::nullopt;
  };
  if (!is_integral(dtype)) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto edge = edge_at(i);
      values[i] = edge ? edges.values[*edge] : ordinary(domain, i + 17 * shift);
    }
    return Tensor::from_doubles(dtype, shape, values);
  }
  const auto [low, high] = integers_of(dtype, domain);
  std::vector<int64_t> whole(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto edge = edge_at(i);
    whole[i] =
        edge ? edges.integers[*edge]
             : low + static_cast<int64_t>((i * 37 + 11 + 17 * shift) % static_cast<std::size_t>(high - low));
  }
  return Tensor::from_ints(dtype, shape, whole);
}

}  // namespace assay::suites
