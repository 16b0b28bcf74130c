#include "reference/order_choice.h"

#include <algorithm>
#include <cmath>

#include "reference/ops/order_statistics.h"

namespace assay::reference {
namespace {

enum class Kind { running_maximum, running_minimum, median, nan_median, kth, mode };

std::optional<Kind> kind_of(const std::string& op) {
  static const std::pair<const char*, Kind> kinds[] = {{"aten::cummax.default", Kind::running_maximum},
                                                       {"aten::cummin.default", Kind::running_minimum},
                                                       {"aten::median.dim", Kind::median},
                                                       {"aten::nanmedian.dim", Kind::nan_median},
                                                       {"aten::kthvalue.default", Kind::kth},
                                                       {"aten::mode.default", Kind::mode}};
  for (const auto& [name, kind] : kinds) {
    if (op == name) return kind;
  }
  return std::nullopt;
}

template <class V>
bool same(const V& a, const V& b) {
  return a == b || (!(a == a) && !(b == b));
}

// One line of the input. The result's slots of this line: `length` of them for scans, else one.
template <class V>
class Line {
 public:
  Line(Kind kind, int64_t k, std::vector<V> elements) : kind_(kind), k_(k), x_(std::move(elements)) {
    if (kind == Kind::median || kind == Kind::nan_median)
      right_ = x_[at(median_position(x_, kind == Kind::nan_median))];
    if (kind == Kind::kth) right_ = x_[at(sorted_positions(x_)[at(k_ - 1)])];
    if (kind == Kind::mode) {
      for (const V& v : x_) most_ = std::max(most_, std::count(x_.begin(), x_.end(), v));
    }
  }

  // "" if `index` is right at position `slot` of the result.
  std::string judge(int64_t slot, int64_t index) {
    const bool scan = kind_ == Kind::running_maximum || kind_ == Kind::running_minimum;
    const auto size = static_cast<int64_t>(x_.size());
    const int64_t limit = scan ? slot + 1 : size;
    if (index < 0 || index >= limit)
      return "index " + std::to_string(index) + " is out of range [0, " + std::to_string(limit) + ")";
    const V& chosen = x_[at(index)];
    if (scan) {
      const V& next = x_[at(slot)];
      const bool better =
          slot == 0 || (best_ == best_ &&
                        (!(next == next) || (kind_ == Kind::running_maximum ? best_ < next : next < best_)));
      if (better) best_ = next;
      return same(chosen, best_) ? "" : "the element at index " + std::to_string(index) + " is no extremum";
    }
    if (kind_ == Kind::mode) {
      // A NaN equals nothing, itself included.
      const auto count = std::count(x_.begin(), x_.end(), chosen);
      return count == most_ ? ""
                            : "the element at index " + std::to_string(index) + " is not the most frequent";
    }
    return same(chosen, right_) ? "" : "the element at index " + std::to_string(index) + " has another rank";
  }

 private:
  Kind kind_;
  int64_t k_;
  std::vector<V> x_;
  V right_{}, best_{};
  std::ptrdiff_t most_ = 0;
};

template <class V>
std::string check_lines(const OpCall& call, Kind kind, const Wide& input, const std::vector<V>& x,
                        const std::vector<V>* values, const Wide& indices) {
  const int64_t dim = normalise_dim(call.integer("dim"), input.rank(), call);
  const Axis axis = axis_of(input.meta.shape, dim);
  const bool scan = kind == Kind::running_maximum || kind == Kind::running_minimum;
  Axis to = axis;
  if (!scan) to.size = 1;
  if (to.outer * to.size * to.inner != indices.count()) return "the indices have another shape";
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t n = 0; n < axis.inner; ++n) {
      std::vector<V> elements(at(axis.size));
      for (int64_t i = 0; i < axis.size; ++i) elements[at(i)] = x[at(axis.at(o, i, n))];
      Line<V> line(kind, kind == Kind::kth ? call.integer("k") : 0, std::move(elements));
      for (int64_t i = 0; i < to.size; ++i) {
        const auto slot = at(to.at(o, i, n));
        const int64_t index = indices.integer[slot];
        std::string problem = line.judge(i, index);
        if (problem.empty() && values != nullptr && !same((*values)[slot], x[at(axis.at(o, index, n))]))
          problem = "the value is not the one at index " + std::to_string(index);
        if (!problem.empty()) return "element " + std::to_string(slot) + ": " + problem;
      }
    }
  }
  return "";
}

}  // namespace

std::optional<std::string> check_order_choice(const OpCall& call, const std::vector<const Wide*>& inputs,
                                              const std::vector<Tensor>& outputs) {
  const auto kind = kind_of(call.op());
  if (!kind || outputs.size() < 2 || !outputs[1].defined()) return std::nullopt;
  const Wide& input = *inputs.at(static_cast<std::size_t>(call.tensor("self")));
  const Wide indices = Wide::from(outputs[1]);
  std::optional<Wide> values;
  if (outputs[0].defined()) values = Wide::from(outputs[0]);
  if (values && values->count() != indices.count()) return "values and indices have different shapes";
  if (input.is_integral())
    return check_lines(call, *kind, input, input.integer, values ? &values->integer : nullptr, indices);
  return check_lines(call, *kind, input, input.real, values ? &values->real : nullptr, indices);
}

}  // namespace assay::reference
