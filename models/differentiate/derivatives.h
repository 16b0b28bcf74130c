// Vector-Jacobian products: one rule an operator, in rules/*.cpp by family.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "models/emitter.h"

namespace assay::models {

// What a rule reads and writes: the node whose gradients of results are known, and where the gradients of its
// arguments go.
class Tape : public Emitter {
 public:
  // `active[id]`: a gradient of the value is asked for; grown as nodes are added.
  Tape(GraphBuilder& builder, std::vector<bool> active);

  // The gradient that reached a value so far; -1: none.
  ValueId gradient_of(ValueId id) const;
  // Adds to the gradient of `to`: sums what broadcasting repeated and rounds to `to`'s dtype. Values whose
  // gradient nobody asks for are left alone.
  void give(ValueId to, ValueId gradient);
  bool active(ValueId id) const;

  // For rules, by the schema's argument names.
  bool wants(const OpCall& call, std::string_view argument) const;  // false for numbers and None
  void give(const OpCall& call, std::string_view argument, ValueId gradient);
  ValueId value(const OpCall& call, std::string_view argument) const;  // of a required tensor
  // An operand that may be a number: the tensor, or a 0-d constant of `dtype`.
  ValueId operand(const OpCall& call, std::string_view argument, DType dtype);
  // The gradient of result i; zeros if none arrived.
  ValueId grad(const OpCall& call, int i = 0);
  std::optional<ValueId> grad_opt(const OpCall& call, int i = 0) const;
  ValueId result(const OpCall& call, int i = 0) const;
  // g [..., out, ...] times matrix [out, in] along `dim`: [..., in, ...].
  ValueId along(ValueId g, ValueId matrix, int64_t dim);

 private:
  std::vector<bool> active_;
  std::map<ValueId, ValueId> gradients_;
};

// Called when at least one result has a gradient and at least one argument wants one.
using DerivativeRule = std::function<void(Tape&, const OpCall&)>;

class DerivativeTable {
 public:
  void add(const std::string& full_name, DerivativeRule rule);  // throws Error{internal} if already there
  // The derivative is zero wherever it exists (floor, sign), or the results depend on no values (full_like).
  void add_constant(const std::string& full_name);
  const DerivativeRule* find(const std::string& full_name) const;  // nullptr: not differentiable here
  std::vector<std::string> names() const;

 private:
  std::map<std::string, DerivativeRule> rules_;
};

// Filled from rules/*.cpp (cmake assay_registry).
const DerivativeTable& derivatives();

}  // namespace assay::models
