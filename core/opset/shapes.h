// Shape rules: result dtypes and shapes from arguments, as PyTorch's meta functions give them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/opset/call.h"

namespace assay {

using ShapeRule = std::function<std::vector<TensorMeta>(const OpCall&)>;

class ShapeTable {
 public:
  void add(const std::string& full_name, ShapeRule rule);  // throws Error{internal} if already there
  const ShapeRule* find(const std::string& full_name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, ShapeRule> rules_;
};

// Filled from core/opset/rules/*.cpp (cmake assay_registry).
const ShapeTable& shape_rules();

// Result metas of a call, checked arguments included: throws Error{invalid_argument} naming operator,
// argument, what was expected and what was given (broadcast mismatch, dim out of range, K mismatch, index
// dtype, ...), which is the one answer to bad input that all backends share. nullopt if the shape depends on
// data (nonzero) or no rule exists.
std::optional<std::vector<TensorMeta>> infer(const OpCall& call);

Shape broadcast(const Shape& a, const Shape& b, const OpCall& call);
// PyTorch's result type of a mix of tensors (0-d tensors rank below) and Scalars.
DType result_type(const std::vector<TensorMeta>& tensors, const std::vector<Scalar>& scalars);

}  // namespace assay
