// A device of plain fp32 loops for tests: right by every rule of its Contract, but with sums in an order that
// its seed shuffles, fused or separate multiply-adds, and the C library's float functions. What it does not
// implement it takes from the reference, rounded once.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/graph/graph.h"
#include "core/opset/call.h"
#include "harness/case/run_result.h"
#include "harness/judge/judge.h"
#include "harness/mutant/mutant.h"
#include "reference/evaluate.h"

namespace assay::emulation {

struct DeviceOptions {
  uint64_t seed = 0;
  std::string mutant;         // planted in every node that it applies to
  std::string mutant_node;    // only in the node of this name; "" for all
  bool local_pass = true;     // false: as in compile mode, no per-node results
  bool fallback_all = false;  // pretends that the harness ran everything
};

namespace device_detail {

using Floats = std::vector<float>;

inline Floats floats(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_doubles();
  return {values.begin(), values.end()};
}

inline Tensor store(const TensorMeta& meta, const Floats& values) {
  return Tensor::from_doubles(meta.dtype, meta.shape, {values.begin(), values.end()});
}

// Sums in an order of the device's own, with or without fused multiply-adds.
class Adder {
 public:
  Adder(uint64_t seed, std::size_t n) : order_(n), fused_(seed % 2 == 0), blocked_(seed % 3 == 0) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::mt19937_64 random(seed);
    if (seed % 5 != 0) std::shuffle(order_.begin(), order_.end(), random);
  }
  template <class A, class B>
  float dot(A&& a, B&& b) const {
    float lanes[4] = {0, 0, 0, 0};
    for (std::size_t i = 0; i < order_.size(); ++i) {
      float& sum = lanes[blocked_ ? i % 4 : 0];
      const float x = a(order_[i]), y = b(order_[i]);
      volatile float product = x * y;  // no contraction behind our back
      sum = fused_ ? std::fma(x, y, sum) : sum + product;
    }
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  }
  template <class A>
  float sum(A&& a) const {
    return dot(std::forward<A>(a), [](std::size_t) { return 1.0F; });
  }

 private:
  std::vector<std::size_t> order_;
  bool fused_, blocked_;
};

using Rule = std::function<std::vector<Tensor>(const OpCall&, const std::vector<Tensor>&, uint64_t)>;

inline std::size_t index(int64_t i) { return static_cast<std::size_t>(i); }

inline std::vector<Tensor> product(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t seed,
                                   std::string_view left, std::string_view right, std::string_view addend) {
  const Tensor& a = inputs[index(call.tensor(left))];
  const Tensor& b = inputs[index(call.tensor(right))];
  const Floats x = floats(a), y = floats(b);
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1), batches = a.rank() == 3 ? a.size(0) : 1;
  const Adder adder(seed, index(k));
  Floats c(index(batches * m * n));
  for (int64_t t = 0; t < batches; ++t) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        c[index((t * m + i) * n + j)] =
            adder.dot([&](std::size_t l) { return x[index((t * m + i) * k) + l]; },
                      [&](std::size_t l) { return y[index(t * k * n) + l * index(n) + index(j)]; });
      }
    }
  }
  if (!addend.empty()) {
    const auto alpha = static_cast<float>(call.scalar("alpha").as_double());
    const auto beta = static_cast<float>(call.scalar("beta").as_double());
    const Floats d = floats(inputs[index(call.tensor(addend))]);
    for (std::size_t i = 0; i < c.size(); ++i) {
      volatile float scaled = beta * d[d.size() == index(n) ? i % index(n) : i];
      c[i] = alpha * c[i] + scaled;
    }
  }
  return {store(call.output(0), c)};
}

inline std::vector<Tensor> unary(const OpCall& call, const std::vector<Tensor>& inputs, float (*f)(float)) {
  Floats x = floats(inputs[0]);
  for (float& v : x) v = f(v);
  return {store(call.output(0), x)};
}

// Operands of equal shape, or one of a single element; else the reference's.
inline std::vector<Tensor> binary(const OpCall& call, const std::vector<Tensor>& inputs,
                                  float (*f)(float, float)) {
  if (inputs.size() != 2 || !is_float(call.output(0).dtype)) return {};
  const Floats a = floats(inputs[0]), b = floats(inputs[1]);
  const auto count = index(element_count(call.output(0).shape));
  if ((a.size() != count && a.size() != 1) || (b.size() != count && b.size() != 1)) return {};
  if (call.schema().find("alpha") && call.scalar("alpha").as_double() != 1) return {};
  Floats c(count);
  for (std::size_t i = 0; i < count; ++i) c[i] = f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  return {store(call.output(0), c)};
}

inline std::vector<Tensor> softmax(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t seed) {
  const Tensor& input = inputs[0];
  if (normalise_dim(call.integer("dim"), input.rank(), call) != input.rank() - 1) return {};
  Floats x = floats(input);
  const auto n = index(input.size(-1));
  const Adder adder(seed, n);
  for (std::size_t row = 0; row < x.size(); row += n) {
    const float largest = *std::max_element(x.begin() + static_cast<std::ptrdiff_t>(row),
                                            x.begin() + static_cast<std::ptrdiff_t>(row + n));
    for (std::size_t i = 0; i < n; ++i) x[row + i] = std::exp(x[row + i] - largest);
    const float sum = adder.sum([&](std::size_t i) { return x[row + i]; });
    const float scale = 1 / sum;
    for (std::size_t i = 0; i < n; ++i) x[row + i] = seed % 2 ? x[row + i] / sum : x[row + i] * scale;
  }
  return {store(call.output(0), x)};
}

inline std::vector<Tensor> layer_norm(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t seed) {
  const Floats x = floats(inputs[index(call.tensor("input"))]);
  const auto weight = call.tensor_opt("weight"), bias = call.tensor_opt("bias");
  const Floats w = weight ? floats(inputs[index(*weight)]) : Floats();
  const Floats b = bias ? floats(inputs[index(*bias)]) : Floats();
  std::size_t n = 1;
  for (const int64_t size : call.integers("normalized_shape")) n *= index(size);
  const auto eps = static_cast<float>(call.floating("eps"));
  const Adder adder(seed, n);
  Floats y(x.size()), means, roots;
  for (std::size_t row = 0; row < x.size(); row += n) {
    const float mean = adder.sum([&](std::size_t i) { return x[row + i]; }) / static_cast<float>(n);
    const auto deviation = [&](std::size_t i) { return x[row + i] - mean; };
    const float variance = adder.dot(deviation, deviation) / static_cast<float>(n);
    const float r = 1 / std::sqrt(variance + eps);
    for (std::size_t i = 0; i < n; ++i) {
      volatile float scaled = deviation(i) * r * (w.empty() ? 1 : w[i]);
      y[row + i] = scaled + (b.empty() ? 0 : b[i]);
    }
    means.push_back(mean);
    roots.push_back(r);
  }
  return {store(call.output(0), y), store(call.output(1), means), store(call.output(2), roots)};
}

inline std::vector<Tensor> convolution(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t seed) {
  const Tensor& input = inputs[index(call.tensor("input"))];
  const Tensor& weight = inputs[index(call.tensor("weight"))];
  if (input.rank() != 4 || call.boolean("transposed") || call.integer("groups") != 1) return {};
  const auto bias = call.tensor_opt("bias");
  const Floats x = floats(input), w = floats(weight), b = bias ? floats(inputs[index(*bias)]) : Floats();
  const std::vector<int64_t> stride = call.integers("stride", 2), padding = call.integers("padding", 2),
                             dilation = call.integers("dilation", 2);
  const Shape& out = call.output(0).shape;
  const int64_t channels = input.size(1), h = input.size(2), width = input.size(3), kh = weight.size(2),
                kw = weight.size(3);
  const Adder adder(seed, index(channels * kh * kw));
  Floats y;
  for (int64_t n = 0; n < out[0]; ++n) {
    for (int64_t o = 0; o < out[1]; ++o) {
      for (int64_t i = 0; i < out[2]; ++i) {
        for (int64_t j = 0; j < out[3]; ++j) {
          const auto pixel = [&](std::size_t t) {
            const auto flat = static_cast<int64_t>(t);
            const int64_t c = flat / (kh * kw);
            const int64_t r = i * stride[0] - padding[0] + flat / kw % kh * dilation[0];
            const int64_t s = j * stride[1] - padding[1] + flat % kw * dilation[1];
            if (r < 0 || r >= h || s < 0 || s >= width) return 0.0F;
            return x[index(((n * channels + c) * h + r) * width + s)];
          };
          const float sum =
              adder.dot(pixel, [&](std::size_t t) { return w[index(o * channels * kh * kw) + t]; });
          y.push_back(sum + (b.empty() ? 0 : b[index(o)]));
        }
      }
    }
  }
  return {store(call.output(0), y)};
}

inline float gelu(float x) { return 0.5F * x * (1 + std::erf(x * 0.70710678F)); }
inline float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline float relu(float x) { return x > 0 || std::isnan(x) ? x : 0; }
inline float plus(float a, float b) { return a + b; }
inline float minus(float a, float b) { return a - b; }
inline float times(float a, float b) { return a * b; }
inline float over(float a, float b) { return a / b; }

template <float (*F)(float)>
inline std::vector<Tensor> apply_unary(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t) {
  return unary(call, inputs, F);
}
template <float (*F)(float, float)>
inline std::vector<Tensor> apply_binary(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t) {
  return binary(call, inputs, F);
}

inline const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table{
      {"aten::mm.default",
       [](const OpCall& c, const auto& in, uint64_t s) { return product(c, in, s, "self", "mat2", ""); }},
      {"aten::bmm.default",
       [](const OpCall& c, const auto& in, uint64_t s) { return product(c, in, s, "self", "mat2", ""); }},
      {"aten::addmm.default",
       [](const OpCall& c, const auto& in, uint64_t s) { return product(c, in, s, "mat1", "mat2", "self"); }},
      {"aten::_softmax.default", softmax},
      {"aten::native_layer_norm.default", layer_norm},
      {"aten::convolution.default", convolution},
      {"aten::add.Tensor", apply_binary<plus>},
      {"aten::sub.Tensor", apply_binary<minus>},
      {"aten::mul.Tensor", apply_binary<times>},
      {"aten::div.Tensor", apply_binary<over>},
      {"aten::exp.default", apply_unary<std::exp>},
      {"aten::tanh.default", apply_unary<std::tanh>},
      {"aten::sigmoid.default", apply_unary<sigmoid>},
      {"aten::rsqrt.default", apply_unary<rsqrt>},
      {"aten::relu.default", apply_unary<relu>},
      {"aten::gelu.default",
       [](const OpCall& c, const auto& in, uint64_t) {
         return c.string("approximate") == "none" ? unary(c, in, gelu) : std::vector<Tensor>{};
       }},
  };
  return table;
}

inline std::vector<Tensor> from_reference(const OpCall& call, const std::vector<Tensor>& inputs) {
  std::vector<reference::Wide> wide;
  std::vector<const reference::Wide*> pointers;
  for (const Tensor& input : inputs) wide.push_back(reference::Wide::from(input));
  for (const reference::Wide& input : wide) pointers.push_back(&input);
  std::vector<Tensor> outputs;
  for (const reference::Wide& output : reference::evaluate(call, pointers))
    outputs.push_back(output.rounded());
  return outputs;
}

inline bool is_view(const std::string& op) {
  return op == "aten::view.default" || op == "aten::permute.default" || op == "aten::unsqueeze.default";
}

}  // namespace device_detail

// fp32 arithmetic and accumulation in any order, correctly rounded basic operations, functions as in glibc.
inline Contract emulated_contract() {
  return Contract::parse(R"({"name": "emulated", "rules": [
      {"functions": {"*": {"ulp": 1}, "tanh": {"ulp": 2}, "rsqrt": {"ulp": 2}}},
      {"op": "aten::add.*", "correctly_rounded": true}, {"op": "aten::sub.*", "correctly_rounded": true},
      {"op": "aten::mul.*", "correctly_rounded": true}, {"op": "aten::div.*", "correctly_rounded": true}]})",
                         "emulated_contract");
}

// Runs one call.
inline std::vector<Tensor> emulate(const OpCall& call, const std::vector<Tensor>& inputs, uint64_t seed) {
  const auto found = device_detail::rules().find(call.op());
  const bool narrow = std::all_of(call.outputs().begin(), call.outputs().end(),
                                  [](const TensorMeta& meta) { return meta.dtype != DType::f64; });
  if (found != device_detail::rules().end() && narrow && is_float(call.output(0).dtype)) {
    std::vector<Tensor> outputs = found->second(call, inputs, seed);
    if (!outputs.empty()) return outputs;
  }
  return device_detail::from_reference(call, inputs);
}

// Both passes of eager mode. `chain` is Judge::chain().
inline RunResult run_emulated(const Graph& graph, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& chain, const DeviceOptions& options = {}) {
  RunResult run;
  std::vector<Tensor> free(graph.values.size());
  std::size_t next = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0) free[device_detail::index(input.value)] = inputs.at(next++);
  }
  const std::vector<int> wanted = free_nodes(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const OpCall call(graph, node);
    const bool planted = !options.mutant.empty() && !device_detail::is_view(node.op) &&
                         (options.mutant_node.empty() || options.mutant_node == node.name);
    const auto run_node = [&](const std::vector<Tensor>& values) {
      std::vector<Tensor> operands;
      for (const ValueId id : call.input_values()) operands.push_back(values.at(device_detail::index(id)));
      std::vector<Tensor> outputs = emulate(call, operands, options.seed * 1000 + i);
      if (planted) plant_mutant(options.mutant, call, operands, outputs);
      return outputs;
    };
    NodeOutcome outcome;
    outcome.placement = device_detail::is_view(node.op) ? Placement::metadata : Placement::device;
    if (options.fallback_all) outcome.placement = Placement::fallback;
    if (options.local_pass && !options.fallback_all) outcome.local = run_node(chain);
    const std::vector<Tensor> outputs = run_node(free);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (node.outputs[o] >= 0) free[device_detail::index(node.outputs[o])] = outputs[o];
    }
    if (options.local_pass && std::find(wanted.begin(), wanted.end(), static_cast<int>(i)) != wanted.end()) {
      outcome.free = outputs;
    }
    run.nodes.push_back(std::move(outcome));
  }
  if (!options.local_pass) run.nodes.clear();
  if (options.fallback_all) run.fallbacks.push_back({"all", "operator", 1, 0, 0});
  for (const GraphOutput& output : graph.outputs) {
    run.outputs.push_back(output.value < 0 ? Tensor() : free.at(device_detail::index(output.value)));
  }
  run.repeatable = true;
  return run;
}

}  // namespace assay::emulation
