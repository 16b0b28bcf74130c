// What the number types need to know about the declared precision while a kernel runs.
//
// A kernel's arithmetic is written once, over a number type; how an operation rounds (or how much error it
// may have) is the Environment's business. It is set for the current thread by EnvironmentScope around one
// kernel call.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/contract/contract.h"
#include "reference/number/random.h"

namespace assay::reference {

// The elementary functions for which a Contract can declare an allowance.
enum class Function {
  div,
  sqrt,
  rsqrt,
  reciprocal,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  pow,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  atan2,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  sigmoid,
  silu,
  gelu,
  gelu_tanh,
  softplus,
  count
};
std::string_view name_of(Function function);

// An allowance in the form in which number types use it.
struct Allowance {
  double relative = 0;  // 2 * ulp * u: one ulp is at most 2u of the result
  double absolute = 0;
  double lo = 0, hi = 0;
  bool undefined_outside = false;  // beyond [lo, hi] any bits are right
  bool declared = false;           // the Contract names this function itself
};

// A format in the form in which stochastic rounding needs it.
struct Grid {
  int precision = 53;
  double smallest_normal = 0, quantum = 0, max = 0;  // quantum: the smallest subnormal
  bool has_infinity = true;
  Grid() = default;
  explicit Grid(const FloatFormat& format);
};

class Environment {
 public:
  // `graph_dtype` is the node's computation dtype. `replay`: operations round to `intermediate` but never
  // finer than the graph's dtype (NUMERICS §4); a Bound uses `intermediate` itself.
  Environment(const Precision& precision, DType graph_dtype, bool replay);

  const Precision& precision() const { return *precision_; }
  const FloatFormat& intermediate() const { return intermediate_; }
  const FloatFormat& accumulator() const { return accumulator_; }
  const Allowance& allowance(Function function) const {
    const auto i = static_cast<std::size_t>(function);
    if (!resolved_[i]) resolve(i);
    return allowances_[i];
  }

  // Of `intermediate`: unit roundoff, what underflow may cost, largest finite value.
  double u = 0, eta = 0, max = 0;
  double u_graph = 0;  // unit roundoff of the node's computation dtype
  // Of the accumulator.
  double u_acc = 0, eta_acc = 0;
  bool early_overflow = false;  // an intermediate beyond `max` may become infinity or NaN
  // Stochastic only.
  Grid grid;  // of `intermediate`
  RandomStream random;

 private:
  void resolve(std::size_t function) const;
  const Precision* precision_;
  FloatFormat intermediate_, accumulator_;
  static constexpr std::size_t kFunctions = static_cast<std::size_t>(Function::count);
  mutable std::array<Allowance, kFunctions> allowances_;
  mutable std::array<bool, kFunctions> resolved_{};
};

// The environment of the kernel that runs on this thread. Kernels over Bounded and Stochastic run only inside
// a scope.
extern constinit thread_local Environment* current_environment [[gnu::tls_model("initial-exec")]];

class EnvironmentScope {
 public:
  explicit EnvironmentScope(Environment* environment) : previous_(current_environment) {
    current_environment = environment;
  }
  ~EnvironmentScope() { current_environment = previous_; }
  EnvironmentScope(const EnvironmentScope&) = delete;
  EnvironmentScope& operator=(const EnvironmentScope&) = delete;

 private:
  Environment* previous_;
};

// gamma_n = n u / (1 - n u) (Higham, Accuracy and Stability, §3.1). NaN where it is void (n u >= 1): such a
// result has no Bound and is `unmodelled`.
double gamma(int64_t n, double u);

}  // namespace assay::reference
