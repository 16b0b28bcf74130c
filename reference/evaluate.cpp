#include "reference/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/distinct.h"
#include "reference/number/bounded.h"
#include "reference/number/stochastic.h"
#include "reference/pieces.h"
#include "reference/table.h"

namespace assay::reference {
namespace {

using Entry = KernelTable<double>::Entry;

const Entry& find_entry(const OpCall& call) {
  const Entry* entry = kernel_table<double>().find(call.op(), reads_or_gives_complex(call));
  if (entry == nullptr) {
    throw Error(ErrorCode::unsupported, "the reference has no kernel for " + call.op());
  }
  return *entry;
}

void check_complex(const OpCall& call, const Traits& traits) {
  if (traits.complex) return;
  if (reads_or_gives_complex(call)) {
    throw Error(ErrorCode::unsupported, "the reference has no complex kernel for " + call.op());
  }
}

// What rounds to infinity in the dtype is infinite from here on; what an integer dtype cannot hold wraps.
void keep_range(Wide& array) {
  if (array.is_integral() || array.meta.dtype == DType::f64 || array.meta.dtype == DType::c128) return;
  const FloatFormat& format = float_format(real_part(array.meta.dtype));
  for (double& v : array.real) {
    if (!(std::fabs(v) > format.max) || !std::isfinite(v)) continue;
    const double rounded = round_to(format, v);
    if (!std::isfinite(rounded)) v = rounded;
  }
}

// The dtype in which the node computes: its first float output's, else its first float input's.
DType graph_dtype(const OpCall& call) {
  for (const auto& metas : {std::cref(call.outputs()), std::cref(call.inputs())}) {
    for (const TensorMeta& meta : metas.get()) {
      if (!is_integral(meta.dtype)) return real_part(meta.dtype);
    }
  }
  return DType::f32;
}

// Operands as the device reads them: auto-cast to `input`, subnormals flushed where declared.
Array<Bounded> bounded_input(const Wide& in, const Precision& precision) {
  Array<Bounded> out;
  out.meta = in.meta;
  out.integer = in.integer;
  out.real.assign(in.real.begin(), in.real.end());
  if (in.is_integral()) return out;
  const FloatFormat& own = float_format(real_part(in.meta.dtype));
  const FloatFormat* cast = precision.input && float_format(*precision.input).precision < own.precision
                                ? &float_format(*precision.input)
                                : nullptr;
  if (cast == nullptr && !precision.ftz_in) return out;
  const double ulps = precision.rounding == Rounding::nearest_even ? 1 : 2;
  const double smallest_normal = own.smallest_normal();
  for (Bounded& x : out.real) {
    const double magnitude = std::fabs(x.value);
    if (!std::isfinite(magnitude)) continue;
    if (cast != nullptr) {
      // Around a representable value nothing moves; elsewhere the nearest one may be taken, or left.
      const double moved = std::fabs(round_to(*cast, x.value) - x.value);
      x.bound = moved == 0 || std::isinf(moved) ? 0
                : ulps == 1                     ? moved
                                                : 2 * cast->unit_roundoff() * magnitude;
      x.variance = moved * moved;
    }
    if (precision.ftz_in && magnitude < smallest_normal) x.bound = std::max(x.bound, magnitude);
  }
  return out;
}

Array<Stochastic> stochastic_input(const Wide& in, const Precision& precision, RandomStream& random) {
  Array<Stochastic> out;
  out.meta = in.meta;
  out.integer = in.integer;
  out.real.assign(in.real.begin(), in.real.end());
  if (!in.is_integral() && precision.input &&
      float_format(*precision.input).precision < float_format(real_part(in.meta.dtype)).precision) {
    const Grid grid(float_format(*precision.input));
    for (Stochastic& x : out.real) x = stochastic_round(grid, x.value, random);
  }
  return out;
}

template <class T>
Inputs<T> pointers(const std::vector<Array<T>>& arrays) {
  Inputs<T> result;
  for (const auto& array : arrays) result.push_back(&array);
  return result;
}

void mark(BoundedWide& out, std::size_t i, Special special) {
  if (out.special.empty()) out.special.assign(std::max(out.value.real.size(), out.value.integer.size()), 0);
  out.special[i] = static_cast<uint8_t>(out.special[i] | special);
}

// A result without rounding errors of its own: right bit for bit, unless the store rounds otherwise.
BoundedWide exact_result(Wide value, const Precision& precision) {
  BoundedWide out;
  const bool any = std::any_of(value.undefined.begin(), value.undefined.end(), [](auto u) { return u != 0; });
  out.value = std::move(value);
  if (any) {
    out.special.assign(out.value.undefined.begin(), out.value.undefined.end());
  }
  if (out.value.is_integral()) return out;
  out.bound.assign(out.value.real.size(), 0);
  const FloatFormat& format = float_format(real_part(out.value.meta.dtype));
  const bool plain = precision.rounding == Rounding::nearest_even && !precision.ftz_in && !precision.ftz_out;
  if (plain) {
    if (format.precision < 53) out.value.real = out.value.rounded().to_doubles();
    return out;
  }
  for (std::size_t i = 0; i < out.bound.size(); ++i) {
    double& v = out.value.real[i];
    const double rounded = round_to(format, v);
    if (precision.rounding != Rounding::nearest_even && rounded != v && std::isfinite(rounded)) {
      out.bound[i] = 2 * format.unit_roundoff() * std::fabs(v) + format.smallest_subnormal();
    } else {
      v = rounded;
    }
    if ((precision.ftz_in || precision.ftz_out) && v != 0 && std::fabs(v) < format.smallest_normal()) {
      out.bound[i] += std::fabs(v);
    }
  }
  return out;
}

// The value, or a number within its Bound, is beyond the largest finite one.
void mark_overflow(BoundedWide& out, std::size_t i, const FloatFormat& format, double& v, double& b) {
  const bool overflows = !std::isfinite(round_to(format, v));
  const double other = overflows ? std::fabs(v) - b : std::fabs(v) + b;
  if (std::isfinite(round_to(format, other)) == overflows && b > 0) mark(out, i, special_overflow);
  if (overflows) {
    v = round_to(format, v);
    b = 0;
  }
}

// Rounding to `store` and to the graph's dtype; the last arithmetic rounding already counts where neither is
// coarser.
BoundedWide rounded_result(const Array<Bounded>& in, const Traits& traits, const Precision& precision,
                           const Environment& environment) {
  BoundedWide out;
  out.value.meta = in.meta;
  out.value.integer = in.integer;
  if (in.is_integral()) {
    if (!in.undefined.empty()) out.special = in.undefined;
    return out;
  }
  const FloatFormat& format = float_format(real_part(in.meta.dtype));
  const FloatFormat& last = traits.ends_in_sum ? environment.accumulator() : environment.intermediate();
  const double ulps = precision.rounding == Rounding::nearest_even ? 1 : 2;
  double u_out = 0;
  int digits = last.precision;
  if (precision.store && float_format(*precision.store).precision < digits) {
    digits = float_format(*precision.store).precision;
    u_out += ulps * float_format(*precision.store).unit_roundoff();
  }
  const bool narrower = format.precision < digits || format.min_exponent > last.min_exponent;
  if (format.precision < digits) u_out += ulps * format.unit_roundoff();
  const double eta = precision.ftz_out ? format.smallest_normal()
                     : narrower        ? format.smallest_subnormal()
                                       : 0;

  // Calls of ldexp, made once.
  const double smallest_normal = format.smallest_normal();
  const double step = std::max(eta, format.smallest_subnormal());
  const std::size_t count = in.real.size();
  out.value.real.resize(count);
  out.bound.resize(count);
  if (traits.rms) out.sigma.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Bounded& x = in.real[i];
    double v = x.value, b = x.bound;
    if (is_complex(in.meta.dtype) && std::isinf(b)) {
      mark(out, i, special_undefined);
    } else if (std::isnan(v) || (std::isinf(v) && std::isfinite(b))) {
      b = 0;
    } else if (b == 0 && std::isfinite(v) && precision.rounding == Rounding::nearest_even &&
               !precision.store && !precision.ftz_out) {
      // Nothing was rounded on the way (a copy, an exact step): the result is the exact value rounded once.
      v = round_to(format, v);
    } else if (std::isnan(b)) {
      out.unmodelled = true;
    } else if (std::isinf(b)) {
      mark(out, i, special_undefined);
    } else {
      // Underflow costs only where the result is small.
      const double magnitude = std::fabs(v) + b;
      const double small = magnitude < smallest_normal && magnitude > 0 ? eta : 0;
      if (u_out > 0) b += u_out * magnitude;  // of an f64 the magnitude may be infinite
      b += small;
      if (!(std::fabs(v) + b <= format.max)) mark_overflow(out, i, format, v, b);
    }
    if (x.overflow && !std::isnan(v)) mark(out, i, special_early_overflow);
    if (!in.undefined.empty() && in.undefined[i] != 0) mark(out, i, special_undefined);
    out.value.real[i] = v;
    out.bound[i] = b;
    if (traits.rms) {
      const double rounding = u_out * v;
      // Below the normal range results lie on a fixed grid, whatever rounded them to it.
      const double grid = v != 0 && std::fabs(v) < smallest_normal ? step : 0;
      out.sigma[i] = std::isfinite(v) ? std::sqrt(x.variance + (rounding * rounding + grid * grid) / 3) : 0;
    }
  }
  return out;
}

// All elements at once.
std::vector<BoundedWide> bounded_whole(const OpCall& call, const std::vector<const Wide*>& inputs,
                                       const Precision& precision) {
  const Entry& entry = find_entry(call);
  std::vector<BoundedWide> result;
  if (entry.traits.exact) {
    for (Wide& output : evaluate(call, inputs)) result.push_back(exact_result(std::move(output), precision));
    return result;
  }
  check_complex(call, entry.traits);
  const auto* bounded = kernel_table<Bounded>().find(call.op(), reads_or_gives_complex(call));
  Environment environment(precision, graph_dtype(call), false);
  const EnvironmentScope scope(&environment);
  std::vector<Array<Bounded>> operands;
  operands.reserve(inputs.size());
  for (const Wide* input : inputs) operands.push_back(bounded_input(*input, precision));
  for (const auto& output : bounded->kernel(call, pointers(operands))) {
    result.push_back(rounded_result(output, entry.traits, precision, environment));
  }
  return result;
}

std::vector<BoundedWide> bounded(const OpCall& call, const std::vector<const Wide*>& inputs,
                                 const Precision& precision) {
  const auto whole = [&](const OpCall& of, const std::vector<const Wide*>& operands) {
    return bounded_whole(of, operands, precision);
  };
  const auto piecewise = PiecewiseCall::of(call, inputs);
  return piecewise ? piecewise->join(inputs, whole) : whole(call, inputs);
}

}  // namespace

bool has_operator(std::string_view full_name) { return kernel_table<double>().find(full_name) != nullptr; }

bool supports_complex(std::string_view full_name) {
  const Entry* entry = kernel_table<double>().find(full_name, true);
  return entry != nullptr && entry->traits.complex;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, entry] : kernel_table<double>().entries()) names.push_back(name);
  return names;
}

const ErrorModel& error_model(std::string_view full_name) {
  static const ErrorModel unmodelled;
  const Entry* entry = kernel_table<double>().find(full_name);
  return entry == nullptr ? unmodelled : entry->traits.model;
}

const ErrorModel& error_model(const OpCall& call) {
  static const ErrorModel unmodelled;
  const Entry* entry = kernel_table<double>().find(call.op(), reads_or_gives_complex(call));
  return entry == nullptr ? unmodelled : entry->traits.model;
}

std::vector<Wide> evaluate(const OpCall& call, const std::vector<const Wide*>& inputs) {
  const Entry& entry = find_entry(call);
  check_complex(call, entry.traits);
  if (const auto distinct = distinct_call(call, inputs)) {
    std::vector<Wide> outputs = evaluate(distinct->call, {&distinct->values});
    outputs[0].meta = distinct->output;
    outputs[0].real = distinct->spread(outputs[0].real);
    outputs[0].undefined = distinct->spread(outputs[0].undefined);
    return outputs;
  }
  auto outputs = entry.kernel(call, inputs);
  for (Wide& output : outputs) keep_range(output);
  return outputs;
}

std::vector<BoundedWide> evaluate_bounded(const OpCall& call, const std::vector<const Wide*>& inputs,
                                          const Precision& precision) {
  if (const auto distinct = distinct_call(call, inputs)) {
    std::vector<BoundedWide> outputs = bounded(distinct->call, {&distinct->values}, precision);
    BoundedWide& out = outputs[0];
    out.value.meta = distinct->output;
    out.value.real = distinct->spread(out.value.real);
    out.bound = distinct->spread(out.bound);
    out.sigma = distinct->spread(out.sigma);
    out.special = distinct->spread(out.special);
    return outputs;
  }
  return bounded(call, inputs, precision);
}

std::vector<Wide> evaluate_stochastic(const OpCall& call, const std::vector<const Wide*>& inputs,
                                      const Precision& precision, const ReplayKey& key) {
  const Entry& entry = find_entry(call);
  Environment environment(precision, graph_dtype(call), true);
  environment.random = RandomStream(key.seed, key.replay, key.node);
  const EnvironmentScope scope(&environment);
  std::vector<Wide> result;
  if (entry.traits.exact) {
    result = evaluate(call, inputs);
    if (!entry.traits.cast) return result;
  } else {
    check_complex(call, entry.traits);
    std::vector<Array<Stochastic>> operands;
    operands.reserve(inputs.size());
    for (const Wide* input : inputs)
      operands.push_back(stochastic_input(*input, precision, environment.random));
    for (auto& output : kernel_table<Stochastic>()
                            .find(call.op(), reads_or_gives_complex(call))
                            ->kernel(call, pointers(operands))) {
      Wide wide;
      wide.meta = std::move(output.meta);
      wide.integer = std::move(output.integer);
      wide.real.resize(output.real.size());
      for (std::size_t i = 0; i < wide.real.size(); ++i) wide.real[i] = output.real[i].value;
      result.push_back(std::move(wide));
    }
  }
  for (Wide& output : result) {
    if (output.is_integral()) continue;
    const FloatFormat& format = float_format(real_part(output.meta.dtype));
    int digits = entry.traits.exact         ? 53
                 : entry.traits.ends_in_sum ? environment.accumulator().precision
                                            : environment.intermediate().precision;
    for (const FloatFormat* target : {precision.store ? &float_format(*precision.store) : nullptr, &format}) {
      if (target == nullptr) continue;
      const Grid grid(*target);
      // Of as many digits, but with the range of `intermediate`: only what is subnormal here is rounded
      // again.
      if (target->precision >= digits && grid.quantum <= environment.grid.quantum) continue;
      const double limit = target->precision < digits ? HUGE_VAL : grid.smallest_normal;
      digits = std::min(digits, target->precision);
      for (double& v : output.real) {
        if (!(std::fabs(v) >= limit)) v = stochastic_round(grid, v, environment.random);
      }
    }
    keep_range(output);
  }
  return result;
}

}  // namespace assay::reference
