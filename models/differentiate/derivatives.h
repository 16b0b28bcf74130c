// Vector-Jacobian products: one rule an operator, in rules/*.cpp by family.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "models/emitter.h"

namespace assay::models {

// Gradients of complex values are d(loss)/d(re) + i d(loss)/d(im), as in PyTorch; the loss is real.
//
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
  // Of rules written for real numbers, while they stand for a holomorphic function: gradients are conjugated
  // when they are read and when they are given, so that slopes come out conjugated.
  void conjugate(bool on) { conjugated_ = on; }
  ValueId conj(ValueId x);   // `x` itself if it is real
  ValueId parts(ValueId x);  // [..., 2]: real and imaginary
  ValueId complex(ValueId re, ValueId im);

  // For rules, by the schema's argument names.
  bool wants(const OpCall& call, std::string_view argument) const;  // false for numbers and None
  void give(const OpCall& call, std::string_view argument, ValueId gradient);
  ValueId value(const OpCall& call, std::string_view argument) const;  // of a required tensor
  // An operand that may be a number: the tensor, or a 0-d constant of `dtype`.
  ValueId operand(const OpCall& call, std::string_view argument, DType dtype);
  // The gradient of result i; zeros if none arrived.
  ValueId grad(const OpCall& call, int i = 0);
  std::optional<ValueId> grad_opt(const OpCall& call, int i = 0);
  ValueId result(const OpCall& call, int i = 0) const;
  // g [..., out, ...] times matrix [out, in] along `dim`: [..., in, ...].
  ValueId along(ValueId g, ValueId matrix, int64_t dim);

 private:
  std::vector<bool> active_;
  bool conjugated_ = false;
  std::map<ValueId, ValueId> gradients_;
};

// Called when at least one result has a gradient and at least one argument wants one.
using DerivativeRule = std::function<void(Tape&, const OpCall&)>;

class DerivativeTable {
 public:
  // Of real numbers. Throws Error{internal} if already there.
  void add(const std::string& full_name, DerivativeRule rule);
  // Of an operator that is decomposed once its gradient is written.
  void add_composite(const std::string& full_name, DerivativeRule rule);
  // The derivative is zero wherever it exists (floor, sign), or the results depend on no values (full_like).
  void add_constant(const std::string& full_name);
  // Where an argument or a result is complex.
  void add_complex(const std::string& full_name, DerivativeRule rule);
  // The rule for real numbers is one for complex ones, too: of holomorphic functions.
  void add_holomorphic(const std::string& full_name);

  const DerivativeRule* find(const std::string& full_name, bool complex = false) const;  // nullptr: none
  bool is_composite(const std::string& full_name) const { return composites_.contains(full_name); }
  std::vector<std::string> names() const;          // of rules for real numbers
  std::vector<std::string> complex_names() const;  // and for complex ones

 private:
  std::map<std::string, DerivativeRule> rules_, complex_;
  std::set<std::string> composites_;
};

// Filled from rules/*.cpp (cmake assay_registry).
const DerivativeTable& derivatives();

}  // namespace assay::models
