// How choices are judged: ties and NaN leave a device several right answers.
#include <algorithm>
#include <cmath>

#include "reference/evaluate.h"
#include "reference/ops/adaptive_pool.h"
#include "reference/ops/pool.h"
#include "reference/ops/resample.h"
#include "reference/ops/rows.h"
#include "reference/order_choice.h"

namespace assay::reference {
namespace {

std::string place(int64_t line, int64_t position) {
  return "line " + std::to_string(line) + ", position " + std::to_string(position);
}

// Numbers of a tensor of either kind; i64 beyond 2^53 does not occur in choices that a float can tell apart,
// so such integers are compared as they are.
struct Numbers {
  explicit Numbers(const Wide& wide)
      : integral(wide.is_integral()), real(&wide.real), integer(&wide.integer) {}
  bool nan(int64_t i) const { return !integral && std::isnan((*real)[at(i)]); }
  bool equal(int64_t i, const Numbers& other, int64_t j) const {
    if (nan(i) || other.nan(j)) return nan(i) && other.nan(j);
    return integral ? (*integer)[at(i)] == (*other.integer)[at(j)] : (*real)[at(i)] == (*other.real)[at(j)];
  }
  bool less(int64_t i, int64_t j) const {
    return integral ? (*integer)[at(i)] < (*integer)[at(j)] : (*real)[at(i)] < (*real)[at(j)];
  }
  // Element i must not come after element j; NaN is larger than everything.
  bool before(int64_t i, int64_t j, bool descending) const {
    if (nan(i) || nan(j)) return nan(i) && nan(j) ? false : descending ? nan(i) : nan(j);
    return descending ? less(j, i) : less(i, j);
  }
  bool integral;
  const std::vector<double>* real;
  const std::vector<int64_t>* integer;
};

// topk and sort: k positions of each line, none twice, nothing better left out; in order if `sorted`.
std::string check_lines(const Wide& input, const Wide* values, const std::vector<int64_t>& indices,
                        int64_t dim, int64_t k, bool descending, bool sorted, bool stable) {
  const Axis from = axis_of(input.meta.shape, dim);
  Axis to = from;
  to.size = k;
  const Numbers x(input);
  std::vector<bool> chosen(at(from.size));
  for (int64_t o = 0; o < from.outer; ++o) {
    for (int64_t n = 0; n < from.inner; ++n) {
      const int64_t line = o * from.inner + n;
      std::fill(chosen.begin(), chosen.end(), false);
      int64_t worst = -1, previous = -1;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t slot = to.at(o, i, n), index = indices[at(slot)];
        if (index < 0 || index >= from.size) {
          return place(line, i) + ": index " + std::to_string(index) + " is out of range [0, " +
                 std::to_string(from.size) + ")";
        }
        if (chosen[at(index)]) return place(line, i) + ": index " + std::to_string(index) + " occurs twice";
        chosen[at(index)] = true;
        const int64_t element = from.at(o, index, n);
        if (values != nullptr && !Numbers(*values).equal(slot, x, element)) {
          return place(line, i) + ": the value is not the one at index " + std::to_string(index);
        }
        if (sorted && previous >= 0 && x.before(element, previous, descending)) {
          return place(line, i) + ": out of order";
        }
        if (stable && previous >= 0 && x.equal(element, x, previous) && element < previous) {
          return place(line, i) + ": equal elements changed places in a stable sort";
        }
        previous = element;
        if (worst < 0 || x.before(worst, element, descending)) worst = element;
      }
      for (int64_t i = 0; worst >= 0 && i < from.size; ++i) {
        if (!chosen[at(i)] && x.before(from.at(o, i, n), worst, descending)) {
          return place(line, k - 1) + ": a better element, at index " + std::to_string(i) + ", was left out";
        }
      }
    }
  }
  return "";
}

// Positions of extrema: each row's chosen element is one of its best; NaN is best of all.
std::string check_extrema(const Wide& rows_of, const Rows& rows, const Wide* values,
                          const std::vector<int64_t>& indices, bool largest) {
  const Numbers x(rows_of);
  for (int64_t r = 0; r < rows.count; ++r) {
    const int64_t index = indices[at(r)];
    if (index < 0 || index >= rows.length) {
      return place(r, 0) + ": index " + std::to_string(index) + " is out of range [0, " +
             std::to_string(rows.length) + ")";
    }
    const int64_t element = r * rows.length + index;
    if (values != nullptr && !Numbers(*values).equal(r, x, element)) {
      return place(r, 0) + ": the value is not the one at index " + std::to_string(index);
    }
    for (int64_t i = r * rows.length; i < (r + 1) * rows.length; ++i) {
      const bool better =
          x.nan(element) ? false : x.nan(i) || (largest ? x.less(element, i) : x.less(i, element));
      if (better) {
        return place(r, 0) + ": index " + std::to_string(index) + " is not an extremum; " +
               std::to_string(i - r * rows.length) + " is better";
      }
    }
  }
  return "";
}

std::string check_pool(const OpCall& call, const Wide& input, const Wide& values,
                       const std::vector<int64_t>& indices, int pooled) {
  const Shape kernel = call.integers("kernel_size", pooled);
  const Shape spatial(input.meta.shape.end() - pooled, input.meta.shape.end());
  const Numbers x(input), y(values);
  std::string problem;
  for_each_window(
      input.meta.shape, values.meta.shape, pooled, kernel, strides_or_kernel(call, kernel, pooled),
      call.integers("padding", pooled), call.integers("dilation", pooled),
      [&](int64_t channel, int64_t o, const std::vector<WindowDim>& dims) {
        if (!problem.empty()) return;
        bool inside = false, better = false;
        const int64_t chosen = channel + indices[at(o)];
        for_each_in_window(dims, spatial,
                           [&](int64_t offset) { inside = inside || offset == indices[at(o)]; });
        if (!inside) {
          problem = place(o, 0) + ": index " + std::to_string(indices[at(o)]) + " is outside the window";
          return;
        }
        for_each_in_window(dims, spatial, [&](int64_t offset) {
          const int64_t i = channel + offset;
          better = better || (!x.nan(chosen) && (x.nan(i) || x.less(chosen, i)));
        });
        if (better) problem = place(o, 0) + ": a larger element was left out";
        if (!y.equal(o, x, chosen)) problem = place(o, 0) + ": the value is not the one at the index";
      });
  return problem;
}

std::string check_adaptive_pool(const Wide& input, const Wide& values, const std::vector<int64_t>& indices,
                                std::size_t pooled) {
  const Numbers x(input), y(values);
  std::string problem;
  for_each_span(input.meta.shape, values.meta.shape, pooled,
                AdaptiveSpans(input.meta.shape, values.meta.shape, pooled),
                [&](int64_t o, int64_t, int64_t first, const std::vector<int64_t>& offsets) {
                  if (!problem.empty()) return;
                  const int64_t index = indices[at(o)], chosen = first + index;
                  if (std::find(offsets.begin(), offsets.end(), index) == offsets.end()) {
                    problem = place(o, 0) + ": index " + std::to_string(index) + " is outside the window";
                    return;
                  }
                  for (const int64_t offset : offsets) {
                    const int64_t i = first + offset;
                    if (!x.nan(chosen) && (x.nan(i) || x.less(chosen, i)))
                      problem = place(o, 0) + ": a larger element was left out";
                  }
                  if (!y.equal(o, x, chosen))
                    problem = place(o, 0) + ": the value is not the one at the index";
                });
  return problem;
}

// Nearest elements where rounding decides which one is nearest: any of them. nullopt where it nowhere does.
std::optional<std::string> check_nearest(const OpCall& call, const Wide& input, const Tensor& output) {
  const std::vector<ResizedDim> dims = resized_dims(call);
  const bool centred = is_nearest_centred(call);
  bool certain = true;
  for (const ResizedDim& dim : dims) {
    for (int64_t i = 0; i < dim.out; ++i) {
      const Nearest found = nearest(dim, i, centred);
      certain = certain && found.index == found.other;
    }
  }
  if (certain || !output.defined()) return std::nullopt;
  const Wide given = Wide::from(output);
  const Numbers x(input), y(given);
  std::string problem;
  for_each_resized(dims, planes_of(given.meta.shape),
                   [&](int64_t o, int64_t first, const std::vector<int64_t>& at_dim) {
                     bool found = false;
                     for (std::size_t corner = 0; corner < std::size_t{1} << dims.size(); ++corner) {
                       int64_t offset = 0;
                       for (std::size_t d = 0; d < dims.size(); ++d) {
                         const Nearest way = nearest(dims[d], at_dim[d], centred);
                         offset = offset * dims[d].in + ((corner >> d & 1) != 0 ? way.other : way.index);
                       }
                       found = found || y.equal(o, x, first + offset);
                     }
                     if (!found && problem.empty()) problem = place(o, 0) + ": not a nearest element";
                   });
  return problem;
}

}  // namespace

std::optional<std::string> check_choice(const OpCall& call, const std::vector<const Wide*>& inputs,
                                        const std::vector<Tensor>& outputs) {
  if (auto order = check_order_choice(call, inputs, outputs)) return order;
  const std::string& op = call.op();
  const bool topk = op == "aten::topk.default", sort = op == "aten::sort.default";
  const bool along = op == "aten::max.dim" || op == "aten::min.dim";
  const bool arg = op == "aten::argmax.default" || op == "aten::argmin.default";
  const bool pool2 = op == "aten::max_pool2d_with_indices.default",
             pool3 = op == "aten::max_pool3d_with_indices.default";
  const bool adaptive2 = op == "aten::adaptive_max_pool2d.default",
             adaptive3 = op == "aten::adaptive_max_pool3d.default";
  if (op.find("upsample_nearest") != std::string::npos && op.find("backward") == std::string::npos &&
      !outputs.empty()) {
    return check_nearest(call, *inputs.at(0), outputs[0]);
  }
  if (!topk && !sort && !along && !arg && !pool2 && !pool3 && !adaptive2 && !adaptive3) return std::nullopt;

  const Wide& input = *inputs.at(0);
  // An output that nobody asked for is undefined: the values then follow from the indices, or the other way
  // round is not checked.
  const std::size_t index_slot = arg ? 0 : 1;
  if (outputs.size() <= index_slot || !outputs[index_slot].defined()) return std::nullopt;
  const Wide index = Wide::from(outputs[index_slot]);
  std::optional<Wide> values;
  if (!arg && outputs[0].defined()) values = Wide::from(outputs[0]);
  const Wide* value = values ? &*values : nullptr;

  if (topk || sort) {
    const int64_t dim = normalise_dim(call.integer("dim"), input.rank(), call);
    const int64_t k = topk ? call.integer("k") : axis_of(input.meta.shape, dim).size;
    const bool descending = call.boolean(topk ? "largest" : "descending");
    const bool sorted = sort || call.boolean("sorted");
    return check_lines(input, value, index.integer, dim, k, descending, sorted, false);
  }
  if (pool2 || pool3) {
    if (value == nullptr) return std::nullopt;
    return check_pool(call, input, *value, index.integer, pool2 ? 2 : 3);
  }
  if (adaptive2 || adaptive3) {
    if (value == nullptr) return std::nullopt;
    return check_adaptive_pool(input, *value, index.integer, adaptive2 ? 2 : 3);
  }
  std::vector<int64_t> dims;
  const auto dim = along ? std::optional(call.integer("dim")) : call.integer_opt("dim");
  if (!dim) {
    dims = reduced_dims(call, "", input.rank());
  } else if (input.rank() > 0) {
    dims = {normalise_dim(*dim, input.rank(), call)};
  }
  Rows rows;
  const Wide gathered = gathered_rows(input, dims, rows);
  return check_extrema(gathered, rows, value, index.integer,
                       op == "aten::max.dim" || op == "aten::argmax.default");
}

}  // namespace assay::reference
