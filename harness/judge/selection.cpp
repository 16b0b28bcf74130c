#include "harness/judge/selection.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "harness/judge/node_rules.h"

namespace assay {
namespace {

// 64-bit integers and doubles both fit.
using Number = long double;

Number number_at(const reference::Wide& tensor, int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return is_integral(tensor.meta.dtype) ? static_cast<Number>(tensor.integer[at])
                                        : static_cast<Number>(tensor.real[at]);
}

// NaN is the largest number and equal to itself.
bool before(Number a, Number b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
bool same(Number a, Number b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// The rows that are selected from: element k of row r is at `base(r) + k * step`.
struct Rows {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t count() const { return outer * inner; }
  int64_t at(int64_t row, int64_t k, int64_t row_length) const {
    return (row / inner) * row_length * inner + k * inner + row % inner;
  }
};

Rows rows_of(const OpCall& call, const Shape& shape) {
  Rows rows;
  if (shape.empty()) return rows;
  const auto dim = call.integer_opt("dim");
  if (!dim) {
    rows.length = element_count(shape);
    return rows;
  }
  const auto d = static_cast<std::size_t>(normalise_dim(*dim, static_cast<int64_t>(shape.size()), call));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i < d) rows.outer *= shape[i];
    if (i > d) rows.inner *= shape[i];
  }
  rows.length = shape[d];
  return rows;
}

class Checker {
 public:
  Checker(const OpCall& call, const reference::Wide& input, const std::vector<reference::Wide>& want,
          const std::vector<Tensor>& got, const Slack& slack, const CompareRule& rule)
      : call_(call),
        input_(input),
        slack_(slack),
        rule_(rule),
        position_(index_output(call)),
        indices_(got[static_cast<std::size_t>(position_)].to_ints()),
        shape_(got[static_cast<std::size_t>(position_)].shape()),
        wanted_(want[static_cast<std::size_t>(position_)].integer) {}

  SelectionVerdict check_rows() {
    const Rows rows = rows_of(call_, input_.meta.shape);
    const auto total = static_cast<int64_t>(indices_.size());
    if (rows.count() == 0 || total == 0) return std::move(verdict_);
    const int64_t k = total / rows.count();
    const bool sorted = call_.schema().find("sorted") == nullptr || call_.boolean("sorted");
    for (int64_t row = 0; row < rows.count() && verdict_.ok; ++row) check_row(rows, row, k, sorted);
    return std::move(verdict_);
  }

  SelectionVerdict check_windows(int64_t dims) {
    const std::vector<int64_t> kernel = call_.integers("kernel_size", static_cast<int>(dims));
    std::vector<int64_t> stride = call_.integers("stride");
    if (stride.empty()) stride = kernel;
    if (stride.size() == 1) stride.assign(static_cast<std::size_t>(dims), stride[0]);
    const std::vector<int64_t> padding = call_.integers("padding", static_cast<int>(dims));
    const std::vector<int64_t> dilation = call_.integers("dilation", static_cast<int>(dims));
    const Shape& in = input_.meta.shape;
    const Shape in_plane(in.end() - dims, in.end());
    const Shape out_plane(shape_.end() - dims, shape_.end());
    const int64_t in_count = element_count(in_plane), out_count = element_count(out_plane);
    for (std::size_t i = 0; i < indices_.size() && verdict_.ok; ++i) {
      const auto flat = static_cast<int64_t>(i);
      const int64_t plane = flat / out_count;
      const int64_t index = indices_[i];
      if (index < 0 || index >= in_count) {
        fail(flat, fmt::format("index {} is outside of the plane of {} elements", index, in_count));
        break;
      }
      const std::vector<int64_t> out = index_of(out_plane, flat % out_count, false);
      const std::vector<int64_t> at = index_of(in_plane, index, false);
      for (std::size_t d = 0; d < out.size() && verdict_.ok; ++d) {
        const int64_t offset = at[d] - (out[d] * stride[d] - padding[d]);
        if (offset < 0 || offset % dilation[d] != 0 || offset / dilation[d] >= kernel[d]) {
          fail(flat, fmt::format("index {} is outside of the window", index));
        }
      }
      if (verdict_.ok) check_value(flat, plane * in_count + index, plane * in_count + wanted_[i]);
    }
    return std::move(verdict_);
  }

 private:
  void check_row(const Rows& rows, int64_t row, int64_t k, bool sorted) {
    std::vector<int64_t> ours, theirs;  // flat positions in the input
    std::set<int64_t> seen;
    for (int64_t j = 0; j < k; ++j) {
      const int64_t flat = rows.at(row, j, k);
      const int64_t index = indices_[static_cast<std::size_t>(flat)];
      if (index < 0 || index >= rows.length) {
        fail(flat, fmt::format("index {} is outside of the row of {} elements", index, rows.length));
        return;
      }
      if (!seen.insert(index).second) {
        fail(flat, fmt::format("index {} was returned twice for one row", index));
        return;
      }
      theirs.push_back(rows.at(row, index, rows.length));
      ours.push_back(rows.at(row, wanted_[static_cast<std::size_t>(flat)], rows.length));
    }
    if (!sorted) {
      const auto by_value = [this](int64_t a, int64_t b) {
        return before(number_at(input_, a), number_at(input_, b));
      };
      std::sort(ours.begin(), ours.end(), by_value);
      std::sort(theirs.begin(), theirs.end(), by_value);
    }
    const bool stable =
        call_.schema().find("stable") != nullptr && !call_.is_none("stable") && call_.boolean("stable");
    for (int64_t j = 0; j < k && verdict_.ok; ++j) {
      const auto at = static_cast<std::size_t>(j);
      check_value(rows.at(row, j, k), theirs[at], ours[at]);
      const bool tie = j > 0 && same(number_at(input_, theirs[at]), number_at(input_, theirs[at - 1]));
      if (stable && tie && theirs[at] < theirs[at - 1]) {
        fail(rows.at(row, j, k), "equal elements are out of order, but the sort is stable");
      }
    }
  }

  void check_value(int64_t flat, int64_t theirs, int64_t ours) {
    const Number a = number_at(input_, theirs), b = number_at(input_, ours);
    if (same(a, b)) return;
    Number allowed = 0;
    if (!slack_.empty()) {
      allowed = static_cast<Number>(slack_[static_cast<std::size_t>(theirs)]) +
                static_cast<Number>(slack_[static_cast<std::size_t>(ours)]);
    }
    if (std::fabs(a - b) <= allowed) return;
    fail(flat, fmt::format("the returned index points at {:.9g}, the right value is {:.9g}",
                           static_cast<double>(a), static_cast<double>(b)));
    verdict_.worst->got = static_cast<double>(a);
    verdict_.worst->want = static_cast<double>(b);
    verdict_.worst->bound = static_cast<double>(allowed);
  }

  void fail(int64_t flat, const std::string& what) {
    verdict_.ok = false;
    const std::vector<int64_t> index = index_of(shape_, flat, false);
    verdict_.detail = fmt::format("output {} {}: {}", rule_.output, to_string(index), what);
    const auto at = static_cast<std::size_t>(flat);
    verdict_.worst =
        Worst{rule_.output, index, static_cast<double>(indices_[at]), static_cast<double>(wanted_[at]), 0,
              std::nullopt};
  }

  const OpCall& call_;
  const reference::Wide& input_;
  const Slack& slack_;
  const CompareRule& rule_;
  int position_;
  std::vector<int64_t> indices_;
  Shape shape_;
  const std::vector<int64_t>& wanted_;
  SelectionVerdict verdict_;
};

}  // namespace

std::vector<int64_t> selected_positions(const OpCall& call, const Shape& input,
                                        const reference::Wide& indices) {
  std::vector<int64_t> positions;
  const auto total = static_cast<int64_t>(indices.integer.size());
  if (total == 0) return positions;
  if (call.op().starts_with("aten::max_pool")) {
    const std::ptrdiff_t dims = call.op().starts_with("aten::max_pool3d") ? 3 : 2;
    const int64_t in_count = element_count(Shape(input.end() - dims, input.end()));
    const Shape& out = indices.meta.shape;
    const int64_t out_count = element_count(Shape(out.end() - dims, out.end()));
    for (int64_t i = 0; i < total; ++i) {
      positions.push_back(i / out_count * in_count + indices.integer[static_cast<std::size_t>(i)]);
    }
    return positions;
  }
  const Rows rows = rows_of(call, input);
  const int64_t k = total / rows.count();
  positions.resize(indices.integer.size());
  for (int64_t row = 0; row < rows.count(); ++row) {
    for (int64_t j = 0; j < k; ++j) {
      const auto flat = static_cast<std::size_t>(rows.at(row, j, k));
      positions[flat] = rows.at(row, indices.integer[flat], rows.length);
    }
  }
  return positions;
}

int index_output(const OpCall& call) { return call.op().starts_with("aten::arg") ? 0 : 1; }

SelectionVerdict judge_selection(const OpCall& call, const reference::Wide& input,
                                 const std::vector<reference::Wide>& want, const std::vector<Tensor>& got,
                                 const Slack& slack, const CompareRule& rule, bool exact_values) {
  SelectionVerdict verdict;
  const auto position = static_cast<std::size_t>(index_output(call));
  if (position < got.size() && got[position].defined()) {
    Checker checker(call, input, want, got, slack, rule);
    const std::string_view op = call.op();
    if (op.starts_with("aten::max_pool")) {
      verdict = checker.check_windows(op.starts_with("aten::max_pool3d") ? 3 : 2);
    } else {
      verdict = checker.check_rows();
    }
  }
  if (exact_values && position == 1 && got[0].defined()) {
    CompareRule values_rule = rule;
    values_rule.zero_sign = false;  // -0 and +0 tie
    verdict.values = compare_exact(got[0], want[0].rounded(), values_rule);
    if (!verdict.values.ok()) {
      verdict.ok = false;
      verdict.worst = verdict.values.worst;
      verdict.detail = describe(verdict.values);
    }
  }
  return verdict;
}

}  // namespace assay
