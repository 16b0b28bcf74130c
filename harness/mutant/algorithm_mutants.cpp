// Defects of formulas: narrow accumulators, cancellation, overflow, coarse functions.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "harness/mutant/families.h"

namespace assay {
namespace {

float bf16(float v) { return static_cast<float>(round_to(DType::bf16, static_cast<double>(v))); }

std::vector<float> floats(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_doubles();
  return {values.begin(), values.end()};
}

void store(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs,
           const std::vector<float>& values) {
  const std::vector<double> wide(values.begin(), values.end());
  std::vector<Tensor> wrong = outputs;
  wrong[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), wide);
  adopt(call, inputs, outputs, wrong);
}

bool is_plain_product(const OpCall& call) {
  return first_output_is_float(call) && call.output(0).dtype != DType::f64 &&
         is_one_of(call, {"aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm"});
}

// (beta C +) alpha A B with every partial sum rounded to bf16.
void bf16_product(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  const bool addend = is_one_of(call, {"aten::addmm", "aten::baddbmm"});
  const bool batched = is_one_of(call, {"aten::bmm", "aten::baddbmm"});
  const auto input = [&](std::string_view name) -> const Tensor& {
    return inputs[static_cast<std::size_t>(call.tensor(name))];
  };
  const Tensor& left = input(!addend ? "self" : batched ? "batch1" : "mat1");
  const Tensor& right = input(!addend ? "mat2" : batched ? "batch2" : "mat2");
  const std::vector<float> a = floats(left), b = floats(right);
  const int64_t m = left.size(-2), k = left.size(-1), n = right.size(-1);
  const int64_t batches = batched ? left.size(0) : 1;
  std::vector<float> c(static_cast<std::size_t>(batches * m * n));
  for (int64_t t = 0; t < batches; ++t) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum = bf16(sum + a[static_cast<std::size_t>((t * m + i) * k + l)] *
                               b[static_cast<std::size_t>((t * k + l) * n + j)]);
        }
        c[static_cast<std::size_t>((t * m + i) * n + j)] = sum;
      }
    }
  }
  if (addend) {
    // What the addend contributes is the result for factors of zero.
    std::vector<Tensor> without = inputs;
    Tensor& zeroed = without[static_cast<std::size_t>(call.tensor(batched ? "batch1" : "mat1"))];
    zeroed = Tensor(zeroed.dtype(), zeroed.shape());
    const std::vector<double> rest = exact_values(call, without);
    const auto alpha = static_cast<float>(call.scalar("alpha").as_double());
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = bf16(alpha * c[i] + static_cast<float>(rest[i]));
  }
  store(call, inputs, outputs, c);
}

struct LayerNorm {
  LayerNorm(const OpCall& call, const std::vector<Tensor>& inputs)
      : x(floats(inputs[static_cast<std::size_t>(call.tensor("input"))])),
        eps(static_cast<float>(call.floating("eps"))) {
    for (const int64_t size : call.integers("normalized_shape")) length *= static_cast<std::size_t>(size);
    if (const auto i = call.tensor_opt("weight")) weight = floats(inputs[static_cast<std::size_t>(*i)]);
    if (const auto i = call.tensor_opt("bias")) bias = floats(inputs[static_cast<std::size_t>(*i)]);
  }
  // `factor(mean, mean_of_squares, variance)` gives what (x - mean) is multiplied by.
  template <class Factor>
  std::vector<float> apply(Factor&& factor) const {
    std::vector<float> y(x.size());
    for (std::size_t row = 0; row + length <= x.size() && length > 0; row += length) {
      float sum = 0, squares = 0;
      for (std::size_t i = 0; i < length; ++i) {
        sum += x[row + i];
        squares += x[row + i] * x[row + i];
      }
      const float n = static_cast<float>(length), mean = sum / n;
      float deviations = 0;
      for (std::size_t i = 0; i < length; ++i) deviations += (x[row + i] - mean) * (x[row + i] - mean);
      const float r = factor(mean, squares / n, deviations / n);
      for (std::size_t i = 0; i < length; ++i) {
        const float scaled = (x[row + i] - mean) * r * (weight.empty() ? 1.0F : weight[i]);
        y[row + i] = scaled + (bias.empty() ? 0.0F : bias[i]);
      }
    }
    return y;
  }
  std::vector<float> x, weight, bias;
  std::size_t length = 1;
  float eps;
};

bool is_layer_norm(const OpCall& call) {
  return first_output_is_float(call) && call.output(0).dtype != DType::f64 &&
         is_one_of(call, {"aten::native_layer_norm", "aten::layer_norm"});
}

bool is_softmax(const OpCall& call) {
  return first_output_is_float(call) && is_one_of(call, {"aten::_softmax", "aten::softmax"});
}

// exp(x) / sum exp(x) in fp32: infinite from x = 89 on.
void softmax_without_max(const OpCall& call, const std::vector<Tensor>& inputs,
                         std::vector<Tensor>& outputs) {
  const Tensor& input = inputs[static_cast<std::size_t>(call.tensor("self"))];
  std::vector<float> x = floats(input);
  const Shape& shape = input.shape();
  const auto dim = static_cast<std::size_t>(normalise_dim(call.integer("dim"), input.rank(), call));
  const int64_t length = shape.empty() ? 1 : shape[dim];
  const int64_t inner = shape.empty() ? 1
                                      : std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1,
                                                        shape.end(), int64_t{1}, std::multiplies<>());
  for (float& v : x) v = std::exp(v);
  for (int64_t base = 0; base < static_cast<int64_t>(x.size()); base += length * inner) {
    for (int64_t j = 0; j < inner; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < length; ++i) sum += x[static_cast<std::size_t>(base + i * inner + j)];
      for (int64_t i = 0; i < length; ++i) x[static_cast<std::size_t>(base + i * inner + j)] /= sum;
    }
  }
  store(call, inputs, outputs, x);
}

double other_gelu(const std::string& approximate, double x) {
  if (approximate == "tanh") return 0.5 * x * std::erfc(-x * std::numbers::sqrt2 / 2);
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

}  // namespace

void add_algorithm_mutants(std::vector<Mutant>& table) {
  table.push_back(
      {"bf16_accumulator", "partial sums of products are kept in bf16", is_plain_product, bf16_product});
  table.push_back({"one_pass_variance", "the variance is mean(x^2) - mean(x)^2 in fp32", is_layer_norm,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     const LayerNorm norm(call, inputs);
                     store(call, inputs, outputs, norm.apply([&](float mean, float squares, float) {
                       return 1 / std::sqrt(std::max(squares - mean * mean, 0.0F) + norm.eps);
                     }));
                   },
                   Effect::result, nullptr, Allowance::last_bits});
  table.push_back({"epsilon_outside_the_root", "the variance's root is taken before eps is added",
                   is_layer_norm,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     const LayerNorm norm(call, inputs);
                     store(call, inputs, outputs, norm.apply([&](float, float, float variance) {
                       return 1 / (std::sqrt(variance) + norm.eps);
                     }));
                   }});
  table.push_back({"unbiased_variance", "the variance is divided by n - 1", is_layer_norm,
                   [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
                     const LayerNorm norm(call, inputs);
                     const auto n = static_cast<float>(norm.length);
                     store(call, inputs, outputs, norm.apply([&](float, float, float variance) {
                       return 1 / std::sqrt(variance * n / (n - 1) + norm.eps);
                     }));
                   }});
  table.push_back({"softmax_without_max", "the row's maximum is not subtracted before exp", is_softmax,
                   softmax_without_max});
  table.push_back(
      {"other_gelu", "gelu with the tanh formula where erf is asked for, and the reverse",
       [](const OpCall& call) { return first_output_is_float(call) && is_one_of(call, {"aten::gelu"}); },
       [](const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
         std::vector<double> values = inputs[0].to_doubles();
         const std::string approximate = call.string("approximate");
         for (double& v : values) v = other_gelu(approximate, v);
         std::vector<Tensor> wrong = outputs;
         wrong[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), values);
         adopt(call, inputs, outputs, wrong);
       }});
  table.push_back({"coarse_function", "the function is a table with a relative error of 2^-10",
                   [](const OpCall& call) {
                     return first_output_is_float(call) &&
                            is_one_of(call,
                                      {"aten::exp", "aten::log", "aten::log1p", "aten::tanh", "aten::sigmoid",
                                       "aten::silu", "aten::gelu", "aten::sin", "aten::cos", "aten::rsqrt",
                                       "aten::sqrt", "aten::erf", "aten::_softmax", "aten::pow"});
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     edit_floats(outputs, [](std::vector<double>& values) {
                       for (std::size_t i = 0; i < values.size(); ++i)
                         values[i] *= 1 + (i % 2 == 0 ? 1 : -1) * 0x1p-10;
                     });
                   },
                   Effect::result, nullptr, Allowance::last_bits});
}

}  // namespace assay
