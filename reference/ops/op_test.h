// Calls one operator in tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/opset/shapes.h"
#include "reference/evaluate.h"

namespace assay::reference {

struct OpUnderTest {
  // Tensors are the arguments of those names, in order; lists are not needed here.
  OpUnderTest(const std::string& op, std::vector<std::pair<std::string, Wide>> tensors,
              const std::vector<NamedArgument>& others = {})
      : tensors_(std::move(tensors)), call_(make(op, others)) {}

  const OpCall& call() const { return call_; }
  std::vector<const Wide*> inputs() const {
    std::vector<const Wide*> pointers;
    for (const auto& [name, wide] : tensors_) pointers.push_back(&wide);
    return pointers;
  }
  std::vector<Wide> value() const { return evaluate(call_, inputs()); }
  std::vector<BoundedWide> bounded(const Precision& precision) const {
    return evaluate_bounded(call_, inputs(), precision);
  }

 private:
  OpCall make(const std::string& op, const std::vector<NamedArgument>& others) const {
    std::vector<TensorMeta> metas;
    std::vector<NamedArgument> arguments;
    for (const auto& [name, wide] : tensors_) {
      arguments.push_back({name, ValueArg{static_cast<ValueId>(metas.size())}});
      metas.push_back(wide.meta);
    }
    arguments.insert(arguments.end(), others.begin(), others.end());
    const OpCall untyped(op, metas, arguments);
    return OpCall(op, metas, arguments, infer(untyped).value());
  }
  std::vector<std::pair<std::string, Wide>> tensors_;
  OpCall call_;
};

inline Wide reals(DType dtype, Shape shape, std::vector<double> values) {
  Wide wide;
  wide.meta = {dtype, std::move(shape)};
  wide.real = std::move(values);
  return wide;
}
inline Wide integers_of(DType dtype, Shape shape, std::vector<int64_t> values) {
  Wide wide;
  wide.meta = {dtype, std::move(shape)};
  wide.integer = std::move(values);
  return wide;
}
inline Wide singles(Shape shape, const std::vector<float>& values) {
  return reals(DType::f32, std::move(shape), std::vector<double>(values.begin(), values.end()));
}
// Of an f32 device that rounds its products.
inline Precision f32_precision() {
  Precision precision;
  precision.products_exact = false;
  return precision;
}
// Largest error as a share of the Bound.
inline double margin(const BoundedWide& bounded, const std::vector<float>& got) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(static_cast<double>(got[i]) - bounded.value.real[i]);
    worst = std::max(worst, error == 0 ? 0 : error / bounded.bound[i]);
  }
  return worst;
}
inline NamedArgument int_list(const std::string& name, std::vector<int64_t> ints) {
  return {name, IntListArg{std::move(ints), {}}};
}

}  // namespace assay::reference
