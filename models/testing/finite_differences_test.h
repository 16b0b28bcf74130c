// A joint graph and its forward graph, evaluated in float128 by the reference: for tests only.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/decompose/decompose.h"
#include "core/philox.h"
#include "models/differentiate/differentiate.h"
#include "reference/evaluate.h"

namespace assay::models {

// Uniform on [center - scale, center + scale), by name.
inline Tensor drawn(const std::string& name, const Shape& shape, double center = 0, double scale = 1,
                    DType dtype = DType::f64) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = center + scale * draw_symmetric(key_of_name(name), 0, i);
  }
  return Tensor::from_doubles(dtype, shape, values);
}

// Of the inputs of a model: those of `given` by name, all others drawn, weights of norms around 1.
inline std::vector<Tensor> inputs_of(const Graph& graph, const std::map<std::string, Tensor>& given) {
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs) {
    const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
    const auto there = given.find(input.target);
    if (there != given.end()) {
      EXPECT_EQ(there->second.shape(), value.shape) << input.target;
      inputs.push_back(there->second);
      continue;
    }
    EXPECT_EQ(value.dtype, DType::f64) << input.target;
    const bool norm = input.target.find("norm") != std::string::npos;
    inputs.push_back(drawn(input.target, value.shape, norm ? 1 : 0, norm ? 0.3 : 0.8));
  }
  return inputs;
}

inline std::vector<reference::Wide> in_float128(const Graph& graph,
                                                const std::vector<reference::Wide>& inputs) {
  std::vector<const reference::Wide*> pointers;
  for (const auto& input : inputs) pointers.push_back(&input);
  return reference::Walker(graph).run_witness(pointers).value();
}
inline std::vector<reference::Wide> in_float128(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<reference::Wide> wide;
  for (const Tensor& tensor : inputs) wide.push_back(reference::Wide::from(tensor));
  return in_float128(graph, wide);
}

class FiniteDifferences {
 public:
  // `inputs` in order of the graph's inputs.
  FiniteDifferences(Graph forward, const std::vector<Tensor>& inputs, const JointOptions& options = {})
      : forward_(std::move(forward)), joint_(joint_graph(forward_, options)) {
    decompose(forward_);
    for (const Tensor& input : inputs) inputs_.push_back(reference::Wide::from(input));
    all_ = inputs_;
    for (std::size_t i = inputs_.size(); i < joint_.inputs.size(); ++i) {
      const GraphInput& input = joint_.inputs[i];
      const Value& value = joint_.values.at(static_cast<std::size_t>(input.value));
      all_.push_back(reference::Wide::from(drawn(input.target, value.shape)));
    }
  }

  const Graph& joint() const { return joint_; }

  // Every gradient within `tolerance` of the central difference, relative to the largest of its tensor or 1.
  void expect_gradients(double tolerance) const {
    const std::vector<reference::Wide> results = in_float128(joint_, all_);
    std::size_t at = forward_.outputs.size();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].is_integral()) continue;
      ASSERT_LT(at, results.size());
      const reference::Wide& gradient = results[at++];
      ASSERT_EQ(gradient.meta.shape, inputs_[i].meta.shape);
      double largest = 1;
      for (const double g : gradient.real) largest = std::max(largest, std::fabs(g));
      for (std::size_t e = 0; e < inputs_[i].real.size(); ++e) {
        const double want = (loss(i, e, kStep) - loss(i, e, -kStep)) / (2 * kStep);
        EXPECT_NEAR(gradient.real[e], want, tolerance * largest)
            << "input '" << joint_.inputs[i].target << "' element " << e;
      }
    }
    EXPECT_EQ(at, results.size());
  }

 private:
  static constexpr double kStep = 0x1p-20;

  // Sum of seed * output, the seeds being the joint graph's inputs "grad_N".
  double loss(std::size_t input, std::size_t element, double step) const {
    std::vector<reference::Wide> moved = inputs_;
    moved[input].real[element] += step;
    const std::vector<reference::Wide> outputs = in_float128(forward_, moved);
    long double total = 0;
    bool seeded = false;
    for (std::size_t s = inputs_.size(); s < joint_.inputs.size(); ++s) {
      seeded = true;
      const auto n = static_cast<std::size_t>(std::stoi(joint_.inputs[s].target.substr(5)));
      for (std::size_t e = 0; e < all_[s].real.size(); ++e) {
        total += static_cast<long double>(all_[s].real[e]) * outputs.at(n).real[e];
      }
    }
    return static_cast<double>(seeded ? total : static_cast<long double>(outputs.at(0).real.at(0)));
  }

  Graph forward_, joint_;
  std::vector<reference::Wide> inputs_, all_;
};

}  // namespace assay::models
