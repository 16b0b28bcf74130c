#include "reference/number/environment.h"

#include <limits>

namespace assay::reference {
namespace {

constexpr std::string_view kNames[] = {"div",  "sqrt",  "rsqrt",     "reciprocal", "exp",   "exp2", "expm1",
                                       "log",  "log2",  "log10",     "log1p",      "pow",   "sin",  "cos",
                                       "tan",  "asin",  "acos",      "atan",       "atan2", "sinh", "cosh",
                                       "tanh", "asinh", "acosh",     "atanh",      "erf",   "erfc", "sigmoid",
                                       "silu", "gelu",  "gelu_tanh", "softplus"};
static_assert(std::size(kNames) == static_cast<std::size_t>(Function::count));

}  // namespace

constinit thread_local Environment* current_environment [[gnu::tls_model("initial-exec")]] = nullptr;

std::string_view name_of(Function function) { return kNames[static_cast<std::size_t>(function)]; }

Grid::Grid(const FloatFormat& format)
    : precision(format.precision),
      smallest_normal(format.smallest_normal()),
      quantum(format.smallest_subnormal()),
      max(format.max),
      has_infinity(format.has_infinity) {}

Environment::Environment(const Precision& precision, DType graph_dtype, bool replay)
    : precision_(&precision),
      intermediate_(float_format(precision.intermediate)),
      accumulator_(float_format(precision.accumulator)) {
  if (replay && !is_integral(graph_dtype) && float_format(graph_dtype).precision < intermediate_.precision) {
    // The precision of the graph's dtype with the intermediate's range.
    intermediate_.precision = float_format(graph_dtype).precision;
  }
  const bool flushes = precision.ftz_out;
  u = intermediate_.unit_roundoff();
  eta = flushes ? intermediate_.smallest_normal() : intermediate_.smallest_subnormal();
  max = intermediate_.max;
  u_graph = is_integral(graph_dtype) ? u : float_format(graph_dtype).unit_roundoff();
  // Directed or stochastic rounding may miss by a whole ulp; it concerns the last rounding, which is
  // `intermediate`'s own only where no coarser dtype follows.
  if (precision.rounding != Rounding::nearest_even && !is_integral(graph_dtype) &&
      intermediate_.precision <= float_format(graph_dtype).precision) {
    u *= 2;
  }
  u_acc = accumulator_.unit_roundoff();
  eta_acc = flushes ? accumulator_.smallest_normal() : accumulator_.smallest_subnormal();
  early_overflow = precision.early_overflow;
  grid = Grid(intermediate_);
}

void Environment::resolve(std::size_t function) const {
  const std::string_view name = kNames[function];
  Allowance& allowance = allowances_[function];
  allowance.declared = precision_->functions.find(name) != precision_->functions.end();
  const auto which = static_cast<Function>(function);
  const bool ieee = which == Function::div || which == Function::sqrt;
  if (ieee && !allowance.declared) {
    // IEEE 754 operations are correctly rounded unless the Contract says otherwise; "*" is about functions.
    allowance.relative = u;
    allowance.lo = -std::numeric_limits<double>::infinity();
    allowance.hi = std::numeric_limits<double>::infinity();
  } else {
    const FunctionAllowance& entry = precision_->function(name);
    allowance.relative = 2 * entry.ulp * u;
    allowance.absolute = entry.abs;
    allowance.lo = entry.lo;
    allowance.hi = entry.hi;
    allowance.undefined_outside = entry.outside == "undefined_but_alive";
  }
  resolved_[function] = true;
}

double gamma(int64_t n, double u) {
  const double nu = static_cast<double>(n) * u;
  return nu < 1 ? nu / (1 - nu) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace assay::reference
