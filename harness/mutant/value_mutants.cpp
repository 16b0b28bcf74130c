// Defects at special values: NaN, infinity, zero, integers, comparisons, selections, duplicates.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "harness/mutant/families.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

constexpr double kPositiveInfinity = std::numeric_limits<double>::infinity();

bool is_maximum(const OpCall& call) {
  return first_output_is_float(call) && is_one_of(call, {"aten::amax", "aten::max", "aten::maximum",
                                                         "aten::relu", "aten::max_pool2d_with_indices"});
}

bool has_index_output(const OpCall& call) {
  return call.outputs().size() == 2 && is_one_of(call, {"aten::topk", "aten::sort", "aten::max", "aten::min",
                                                        "aten::max_pool2d_with_indices"});
}

// Moves every float by one unit in the last place, every integer by one.
Tensor nudged(const Tensor& tensor, bool up) {
  if (is_integral(tensor.dtype())) {
    std::vector<int64_t> values = tensor.to_ints();
    for (int64_t& v : values) v += up ? 1 : -1;
    return Tensor::from_ints(tensor.dtype(), tensor.shape(), values);
  }
  std::vector<double> values = tensor.to_doubles();
  const FloatFormat& format = float_format(tensor.dtype());
  for (double& v : values) {
    if (!std::isfinite(v)) continue;
    const double step =
        std::ldexp(1.0, std::max(v == 0 ? format.min_exponent : std::ilogb(v), format.min_exponent) -
                            format.precision + 1);
    v = round_to(format, up ? v + step : v - step);
  }
  return Tensor::from_doubles(tensor.dtype(), tensor.shape(), values);
}

// scatter_add in which the last of several sources of one destination wins.
void scatter_last(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const auto at = [&](std::string_view name) { return static_cast<std::size_t>(call.tensor(name)); };
  const Tensor& index = inputs[at("index")];
  const Tensor& source = inputs[at("src")];
  const auto dim = static_cast<std::size_t>(normalise_dim(call.integer("dim"), index.rank(), call));
  const std::vector<int64_t> targets = index.to_ints();
  std::vector<double> values = source.to_doubles();
  const Shape strides = contiguous_strides(index.shape()),
              source_strides = contiguous_strides(source.shape());
  std::map<std::vector<int64_t>, std::size_t> last;  // destination -> its latest source
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<int64_t> place(index.shape().size());
    auto rest = static_cast<int64_t>(i);
    int64_t from = 0;
    for (std::size_t d = 0; d < place.size(); ++d) {
      place[d] = rest / strides[d];
      rest %= strides[d];
      from += place[d] * source_strides[d];
    }
    if (!place.empty()) place[dim] = targets[i];
    const auto [known, fresh] = last.emplace(std::move(place), static_cast<std::size_t>(from));
    if (!fresh) values[std::exchange(known->second, static_cast<std::size_t>(from))] = 0;
  }
  std::vector<Tensor> changed = inputs;
  changed[at("src")] = Tensor::from_doubles(source.dtype(), source.shape(), values);
  adopt(call, inputs, outputs, recompute(call, changed));
}

// Windows that reach into the padding see zeros there.
void pool_with_zeros(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const Shape& in = inputs[0].shape();
  const Shape& out = outputs[0].shape();
  const std::vector<int64_t> kernel = call.integers("kernel_size", 2), padding = call.integers("padding", 2),
                             dilation = call.integers("dilation", 2);
  std::vector<int64_t> stride = call.integers("stride");
  if (stride.empty()) stride = kernel;
  if (stride.size() == 1) stride.push_back(stride[0]);
  const std::size_t rank = out.size();
  const int64_t plane = out[rank - 1] * out[rank - 2];
  edit_floats(outputs, [&](std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int64_t flat = static_cast<int64_t>(i) % plane;
      const int64_t place[2] = {flat / out[rank - 1], flat % out[rank - 1]};
      bool outside = false;
      for (std::size_t d = 0; d < 2; ++d) {
        const int64_t begin = place[d] * stride[d] - padding[d];
        outside = outside || begin < 0 || begin + (kernel[d] - 1) * dilation[d] >= in[rank - 2 + d];
      }
      if (outside) values[i] = std::max(values[i], 0.0);
    }
  });
}

}  // namespace

void add_value_mutants(std::vector<Mutant>& table) {
  const auto floats = [](const OpCall& call) {
    return first_output_is_float(call) && !call.inputs().empty();
  };
  table.push_back({"nan_becomes_zero", "NaN results are stored as 0", floats,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     edit_floats(outputs, [](std::vector<double>& values) {
                       for (double& v : values) v = std::isnan(v) ? 0 : v;
                     });
                   }});
  table.push_back({"nan_ignored_by_max", "a maximum skips NaN instead of returning it", is_maximum,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     std::vector<Tensor> changed = inputs;
                     for (Tensor& input : changed) {
                       if (is_integral(input.dtype())) continue;
                       std::vector<double> values = input.to_doubles();
                       for (double& v : values) v = std::isnan(v) ? -kPositiveInfinity : v;
                       input = Tensor::from_doubles(input.dtype(), input.shape(), values);
                     }
                     adopt(call, inputs, outputs, recompute(call, changed));
                   }});
  table.push_back({"infinity_saturates", "infinite results are stored as the largest finite number", floats,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     const double largest = float_format(outputs[0].dtype()).max;
                     edit_floats(outputs, [largest](std::vector<double>& values) {
                       for (double& v : values) v = std::isinf(v) ? std::copysign(largest, v) : v;
                     });
                   }});
  table.push_back({"zero_loses_its_sign", "-0 is stored as +0", floats,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     edit_floats(outputs, [](std::vector<double>& values) {
                       for (double& v : values) v = v == 0 ? 0.0 : v;
                     });
                   },
                   Effect::result, nullptr, Allowance::zero_sign});
  table.push_back({"integers_through_fp32", "integers pass through fp32 and lose what is beyond 24 bits",
                   [](const OpCall& call) {
                     return !call.outputs().empty() &&
                            (call.output(0).dtype == DType::i32 || call.output(0).dtype == DType::i64);
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     std::vector<int64_t> values = outputs[0].to_ints();
                     for (int64_t& v : values) {
                       const double wide = static_cast<double>(static_cast<float>(v));
                       v = wide >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(wide);
                     }
                     outputs[0] = Tensor::from_ints(outputs[0].dtype(), outputs[0].shape(), values);
                   }});
  table.push_back({"comparison_is_strict", "<= and >= are computed as < and >",
                   [](const OpCall& call) {
                     return is_one_of(call, {"aten::le", "aten::ge"}) && call.tensor_opt("self").has_value();
                   },
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     std::vector<Tensor> changed = inputs;
                     Tensor& self = changed[static_cast<std::size_t>(call.tensor("self"))];
                     self = nudged(self, is_one_of(call, {"aten::le"}));
                     adopt(call, inputs, outputs, recompute(call, changed));
                   }});
  table.push_back({"index_off_by_one", "the first returned index is one too small or too large",
                   has_index_output,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     std::vector<int64_t> values = outputs[1].to_ints();
                     if (values.empty()) return;
                     values[0] += values[0] > 0 ? -1 : 1;
                     outputs[1] = Tensor::from_ints(outputs[1].dtype(), outputs[1].shape(), values);
                   }});
  table.push_back({"index_returned_twice", "the second of the returned indices repeats the first",
                   [](const OpCall& call) {
                     return has_index_output(call) && is_one_of(call, {"aten::topk", "aten::sort"}) &&
                            !call.output(1).shape.empty() && call.output(1).shape.back() >= 2;
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     std::vector<int64_t> values = outputs[1].to_ints();
                     if (values.size() >= 2) values[1] = values[0];
                     outputs[1] = Tensor::from_ints(outputs[1].dtype(), outputs[1].shape(), values);
                   }});
  table.push_back({"duplicates_lost", "of several sources for one destination only the last is added",
                   [](const OpCall& call) {
                     return first_output_is_float(call) && is_one_of(call, {"aten::scatter_add"}) &&
                            reference::has_operator(call.op());
                   },
                   scatter_last});
  table.push_back({"pool_pads_with_zero", "max pooling pads with 0 instead of -infinity",
                   [](const OpCall& call) {
                     if (!first_output_is_float(call) || !is_one_of(call, {"aten::max_pool2d_with_indices"}))
                       return false;
                     const std::vector<int64_t> padding = call.integers("padding", 2);
                     return std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p > 0; });
                   },
                   pool_with_zeros});
}

}  // namespace assay
