#include "harness/judge/node_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "harness/judge/node_rules.h"
#include "harness/judge/readings.h"
#include "harness/judge/selection.h"
#include "harness/judge/statistics.h"
#include "harness/judge/vacuous.h"

namespace assay {
namespace {

// Graver findings have larger numbers: a verdict names the gravest.
int gravity(const NodeVerdict& verdict) {
  switch (verdict.status) {
    case Status::pass:
      return 0;
    case Status::vacuous:
      return verdict.reason == "no_witness" ? 1 : 5;
    case Status::unmodelled:
      return 2;
    case Status::wrong:
      return 3;
    case Status::nan_mismatch:
      return 4;
    case Status::meta_mismatch:
      return 6;
    default:
      return 7;
  }
}

void set_finding(NodeVerdict& verdict, Status status, std::string reason, std::string detail) {
  NodeVerdict other;
  other.status = status;
  other.reason = std::move(reason);
  other.detail = std::move(detail);
  if (gravity(other) <= gravity(verdict)) return;
  verdict.status = other.status;
  verdict.reason = std::move(other.reason);
  verdict.detail = std::move(other.detail);
}

// An integer that the device holds in a float is exact up to 2^bits only.
bool passes_declared_width(const NodeQuestion& question, const reference::Wide& want) {
  const int bits = *question.precision.int_exact_bits;
  if (bits >= 63) return false;
  const int64_t limit = int64_t{1} << bits;
  const auto beyond = [limit](int64_t v) { return v > limit || v < -limit; };
  if (std::any_of(want.integer.begin(), want.integer.end(), beyond)) return true;
  return std::any_of(question.inputs.begin(), question.inputs.end(), [&](const reference::Wide* input) {
    return std::any_of(input->integer.begin(), input->integer.end(), beyond);
  });
}

Gate counted(const Comparison& comparison) {
  const auto wrong = static_cast<double>(comparison.beyond + comparison.nan + comparison.special);
  return {wrong == 0 ? GateStatus::pass : GateStatus::fail, wrong, 0};
}

void keep_worse(std::map<std::string, Gate>& gates, const std::string& name, const Gate& gate) {
  if (gate.status == GateStatus::not_applicable) return;
  const auto found = gates.find(name);
  const bool replace = found == gates.end() || found->second.status == GateStatus::not_applicable ||
                       (gate.status == GateStatus::fail && found->second.status != GateStatus::fail) ||
                       (gate.status == found->second.status && gate.value > found->second.value);
  if (replace) gates[name] = gate;
}

// Where an f64 operator overflows on the way in fp64 itself, no Bound can be formed of the value that only
// the witness has: any bits are right.
void mark_lost(reference::BoundedWide& output, const reference::Wide& witness) {
  const std::vector<double>& own = output.value.real;
  for (std::size_t k = 0; k < own.size() && k < witness.real.size(); ++k) {
    if (std::isfinite(own[k]) || std::isnan(witness.real[k]) || own[k] == witness.real[k]) continue;
    output.special.resize(own.size());
    output.special[k] = static_cast<uint8_t>(output.special[k] | reference::special_undefined);
    if (k < output.bound.size()) output.bound[k] = HUGE_VAL;
  }
}

}  // namespace

void raise(NodeVerdict& into, const NodeVerdict& other) {
  const bool worse_margin = other.margin && (!into.margin || *other.margin > *into.margin);
  const bool graver = gravity(other) > gravity(into);
  if (graver || (worse_margin && gravity(other) == gravity(into))) {
    if (other.worst) into.worst = other.worst;
  }
  if (graver) {
    into.status = other.status;
    into.reason = other.reason;
    into.detail = other.detail;
  }
  if (worse_margin) into.margin = other.margin;
  for (const auto& [name, gate] : other.gates) keep_worse(into.gates, name, gate);
}

NodeStandard::NodeStandard(NodeQuestion question)
    : question_(std::move(question)), model_(&reference::error_model(*question_.call)) {
  const OpCall& call = *question_.call;
  outputs_ = reference::evaluate_bounded(call, question_.inputs, question_.precision);
  if (question_.need_witness) {
    auto witness = reference::evaluate_witness(call, question_.inputs);
    has_witness_ = witness.has_value();
    for (std::size_t i = 0; witness && i < outputs_.size() && i < witness->size(); ++i) {
      mark_lost(outputs_[i], (*witness)[i]);
      outputs_[i].value = std::move((*witness)[i]);
      // Where nothing may differ, the answer is the value rounded once; where more than one rounding to f64
      // may be between, the witness's own is one more.
      reference::Wide& value = outputs_[i].value;
      const DType part = real_part(value.meta.dtype);
      for (std::size_t k = 0; k < value.real.size() && k < outputs_[i].bound.size(); ++k) {
        double& bound = outputs_[i].bound[k];
        const double rounding = 0x1p-53 * std::fabs(value.real[k]);
        if (bound == 0) value.real[k] = round_to(part, value.real[k]);
        if (part == DType::f64 && std::isfinite(rounding) && bound > rounding) bound += rounding;
      }
    }
  }
  contests_ = reference::contested_writes(call, question_.inputs);
  if (question_.precision.ftz_in && is_exact() && !question_.metadata) {
    if (auto other = evaluate_flushed(call, question_.inputs)) flushed_ = std::move(*other);
  }
}

bool NodeStandard::holds_number(const std::vector<std::string>& output_names) const {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (output_names.at(i).empty()) continue;
    const reference::Wide& value = outputs_[i].value;
    if (!value.integer.empty()) return true;
    if (value.real.empty()) continue;
    const double max = float_format(real_part(value.meta.dtype)).max;
    if (std::any_of(value.real.begin(), value.real.end(), [max](double v) { return std::fabs(v) <= max; }))
      return true;
  }
  return false;
}

bool NodeStandard::is_exact() const {
  return question_.metadata || question_.exact_probe || model_->name == "exact" ||
         is_exact_by_width(*question_.call, question_.precision);
}

// Comparisons and selections of subnormal inputs, where the Contract says that inputs are flushed: f(x) or
// f(+-0).
bool NodeStandard::flushed_alternative(std::size_t i, const Tensor& got, const CompareRule& rule) const {
  if (flushed_.empty()) return false;
  const Tensor one = outputs_[i].value.rounded(), other = flushed_[i].rounded();
  if (is_integral(got.dtype())) {
    const std::vector<int64_t> a = one.to_ints(), b = other.to_ints(), values = got.to_ints();
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] != a[k] && values[k] != b[k]) return false;
    }
    return true;
  }
  const std::vector<double> a = one.to_doubles(), b = other.to_doubles(), values = got.to_doubles();
  const double smallest = float_format(got.dtype()).smallest_normal();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto equal = [&](double v) {
      if (std::isnan(v) || std::isnan(values[k])) return std::isnan(v) == std::isnan(values[k]);
      return v == values[k] || (rule.flush && values[k] == 0 && std::fabs(v) < smallest);
    };
    if (!equal(a[k]) && !equal(b[k])) return false;
  }
  return true;
}

void NodeStandard::compare_output(std::size_t i, const Tensor& got, const std::string& name,
                                  Comparison& total, NodeVerdict& verdict) const {
  const reference::BoundedWide& output = outputs_[i];
  CompareRule rule;
  rule.output = name;
  rule.zero_sign = question_.metadata || model_->signed_zero;
  rule.special = &output.special;
  rule.flush =
      (question_.precision.ftz_out || (question_.precision.ftz_in && is_exact())) && !question_.metadata;
  // A cast that the Contract lets round to either neighbour has a Bound.
  const bool either_neighbour = question_.precision.rounding != Rounding::nearest_even &&
                                !output.bound.empty() && !question_.exact_probe &&
                                is_rounding_point(*question_.call, *model_);
  const bool exact = is_exact() && !either_neighbour;
  // Of several values written to one element, the one that the device kept.
  reference::Wide followed;
  if (i == 0 && !contests_.empty()) {
    followed = output.value;
    reference::follow_writes(contests_, got, followed);
  }
  const reference::Wide& value = i == 0 && !contests_.empty() ? followed : output.value;
  Comparison comparison =
      exact ? compare_exact(got, value.rounded(), rule) : compare_bounded(got, value, output.bound, rule);
  if (!comparison.ok() && exact && flushed_alternative(i, got, rule)) comparison = Comparison{};
  const bool probed = exact && !question_.metadata && (question_.exact_probe || model_->name != "exact");
  if (probed) keep_worse(verdict.gates, "probe", counted(comparison));

  const Finding finding = finding_of(comparison);
  if (finding.status != Status::pass) {
    std::string reason = finding.reason;
    std::string detail = describe(comparison);
    Status status = finding.status;
    if (is_integral(got.dtype()) && question_.precision.int_exact_bits &&
        passes_declared_width(question_, value)) {
      reason = "declared_int_width";
      detail += fmt::format("; the Contract declares integers exact to {} bits",
                            *question_.precision.int_exact_bits);
    } else if (probed && status == Status::wrong) {
      reason = "probe";
    }
    if (const int64_t filled = count_filled_elements(got); filled > 0) {
      detail += fmt::format("; {} elements have equal bytes, as memory that was not written", filled);
    }
    set_finding(verdict, status, std::move(reason), std::move(detail));
  }
  if (is_all_zero_unlike(got, value, output.bound, output.special)) {
    set_finding(verdict, Status::vacuous, "all_zero",
                fmt::format("output {} is all zeros, the reference is not", name));
  }
  // A probe is equal in every order: it needs no Bound.
  if (output.unmodelled && !question_.exact_probe) {
    set_finding(verdict, Status::unmodelled, "no_error_model",
                question_.call->op() +
                    " has no Bound under this Contract (a narrow accumulator of undeclared order)");
  } else if (comparison.unmodelled > 0) {
    set_finding(verdict, Status::unmodelled, "no_error_model",
                fmt::format("output {}: {} of {} elements have no Bound under this Contract", name,
                            comparison.unmodelled, comparison.compared));
  }
  merge(total, comparison);
}

void NodeStandard::apply_statistics(std::size_t i, const Tensor& got, NodeVerdict& verdict) const {
  const reference::BoundedWide& output = outputs_[i];
  if (!question_.suite_drawn || question_.exact_probe || output.sigma.empty() || is_integral(got.dtype()))
    return;
  const StandardErrors errors = standard_errors(got.to_doubles(), output.value.real, output.sigma);
  const Gate rms = rms_gate(errors);
  keep_worse(verdict.gates, "rms", rms);
  if (rms.status == GateStatus::fail) {
    set_finding(verdict, Status::wrong, "rms",
                fmt::format("errors are {:.3g} times what the declared precision explains (limit {})",
                            *rms.value, kRmsLimit));
  }
  if (!question_.precision.correctly_rounded || !model_->correctly_rounded_class) return;
  const Gate bias = bias_gate(errors);
  keep_worse(verdict.gates, "bias", bias);
  if (bias.status == GateStatus::fail) {
    set_finding(
        verdict, Status::wrong, "bias",
        fmt::format("the mean error is {:.3g} standard errors from 0 (limit {}): not rounded to nearest",
                    *bias.value, kBiasLimit));
  }
}

NodeVerdict NodeStandard::judge(const std::vector<Tensor>& got,
                                const std::vector<std::string>& output_names) const {
  const OpCall& call = *question_.call;
  NodeVerdict verdict;
  verdict.exact = is_exact();
  bool complete = true;
  for (std::size_t i = 0; i < call.outputs().size(); ++i) {
    if (output_names.at(i).empty()) continue;
    const TensorMeta& meta = outputs_.at(i).value.meta;
    if (const auto mismatch =
            compare_meta(i < got.size() ? got[i] : Tensor(), meta.dtype, meta.shape, output_names[i])) {
      set_finding(verdict, Status::meta_mismatch, mismatch->reason, mismatch->detail);
      complete = false;
    }
  }
  if (!complete) return verdict;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (output_names.at(i).empty()) continue;
    const bool open = model_->name == "undefined_but_alive" || is_undefined(outputs_[i]);
    if (!open && is_unwritten(got[i], outputs_[i].value)) {
      set_finding(verdict, Status::vacuous, "stale_output",
                  fmt::format("output {} was not written: all its bytes are equal", output_names[i]));
      return verdict;
    }
  }
  if (model_->name.empty() && !question_.metadata) {
    set_finding(verdict, Status::unmodelled, "no_error_model", call.op() + " has no error model");
    return verdict;
  }
  if (model_->name == "undefined_but_alive") return verdict;
  if (model_->name == "distribution") {
    verdict.exact = true;
    const std::string wrong = judge_draw(call, question_.inputs, got, question_.precision, question_.draws);
    keep_worse(verdict.gates, "probe",
               {wrong.empty() ? GateStatus::pass : GateStatus::fail, wrong.empty() ? 0.0 : 1.0, 0});
    if (!wrong.empty()) set_finding(verdict, Status::wrong, "distribution", wrong);
    return verdict;
  }
  if (!has_witness_) {
    set_finding(verdict, Status::vacuous, "no_witness",
                call.op() + " has no float128 kernel to be judged by");
    return verdict;
  }

  Comparison total;
  if (is_selection(call.op())) {
    CompareRule rule;
    for (const std::string& name : output_names) {
      if (!name.empty()) rule.output = name;
    }
    std::vector<reference::Wide> want;
    for (const reference::BoundedWide& output : outputs_) want.push_back(output.value);
    const reference::Wide& input = *question_.inputs.at(static_cast<std::size_t>(call.tensor("self")));
    const SelectionVerdict selection = judge_selection(call, input, want, got, {}, rule);
    verdict.margin = selection.ok ? 0 : kInfinity;
    verdict.worst = selection.worst ? selection.worst : selection.values.worst;
    if (!selection.ok) {
      const Finding finding = finding_of(selection.values);
      const bool values = finding.status != Status::pass;
      set_finding(verdict, values ? finding.status : Status::wrong, values ? finding.reason : "selection",
                  selection.detail);
    }
    keep_worse(verdict.gates, "bound",
               {selection.ok ? GateStatus::pass : GateStatus::fail, *verdict.margin, 1});
    return verdict;
  }
  // Other choices that are as good (ties, the last of equal extrema).
  if (const auto problem = reference::check_choice(call, question_.inputs, got);
      problem && problem->empty() && std::all_of(got.begin(), got.end(), holds_values)) {
    verdict.margin = 0;
    keep_worse(verdict.gates, "bound", {GateStatus::pass, 0, 1});
    return verdict;
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (output_names.at(i).empty()) continue;
    compare_output(i, got[i], output_names[i], total, verdict);
    apply_statistics(i, got[i], verdict);
  }
  verdict.margin = total.margin;
  verdict.worst = total.worst;
  keep_worse(verdict.gates, "bound", {total.ok() ? GateStatus::pass : GateStatus::fail, total.margin, 1});
  return verdict;
}

// Other indices than the file's that point at equal elements are as right.
bool NodeStandard::is_equal_choice(int output, const Tensor& got, const reference::Wide& expected,
                                   const CompareRule& rule) const {
  const OpCall& call = *question_.call;
  if (!is_selection(call.op())) {
    std::vector<Tensor> alone(outputs_.size());
    alone.at(static_cast<std::size_t>(output)) = got;
    return reference::check_choice(call, question_.inputs, alone) == std::string();
  }
  if (output != index_output(call)) return false;
  const reference::Wide& input = *question_.inputs.at(static_cast<std::size_t>(call.tensor("self")));
  const auto at = static_cast<std::size_t>(output);
  const auto count = static_cast<int64_t>(input.real.size() + input.integer.size());
  for (const int64_t index : expected.integer) {
    if (index < 0) return false;
  }
  for (const int64_t position : selected_positions(call, input.meta.shape, expected)) {
    if (position >= count) return false;
  }
  std::vector<reference::Wide> want(outputs_.size());
  std::vector<Tensor> returned(outputs_.size());
  want[at] = expected;
  returned[at] = got;
  return judge_selection(call, input, want, returned, {}, rule, false).ok;
}

NodeVerdict NodeStandard::judge_expected(int output, const Tensor& got, const reference::Wide& expected,
                                         double file_roundoff, const std::string& output_name) const {
  NodeVerdict verdict;
  const reference::BoundedWide& standard = outputs_.at(static_cast<std::size_t>(output));
  const TensorMeta& meta = standard.value.meta;
  if (const auto mismatch = compare_meta(got, meta.dtype, meta.shape, output_name)) {
    set_finding(verdict, Status::meta_mismatch, mismatch->reason, mismatch->detail);
    return verdict;
  }
  CompareRule rule;
  rule.output = output_name;
  rule.special = &standard.special;
  rule.zero_sign = false;  // files of another width may have lost it
  reference::Wide wanted = expected;
  if (output == 0) reference::follow_writes(contests_, got, wanted);
  std::vector<double> bound = standard.bound;
  const bool integers = is_integral(meta.dtype);
  const auto compare = [&] {
    return integers ? compare_exact(got, wanted.rounded(), rule) : compare_bounded(got, wanted, bound, rule);
  };
  if (!integers) {
    bound.resize(wanted.real.size());
    const std::vector<double> once = wanted.rounded().to_doubles();
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const double rounding = std::isfinite(once[i]) ? std::fabs(once[i] - wanted.real[i]) : 0;
      bound[i] = std::max(bound[i], is_exact() ? rounding : 0.0);
      if (std::isfinite(wanted.real[i])) bound[i] += file_roundoff * std::fabs(wanted.real[i]);
    }
  }
  Comparison comparison = compare();
  if (integers && !comparison.ok() && is_equal_choice(output, got, expected, rule)) comparison = Comparison{};
  if (!comparison.ok()) {
    if (const auto wide = evaluate_widened(*question_.call, question_.inputs)) {
      const reference::Wide& other = wide->at(static_cast<std::size_t>(output));
      if (integers) {
        prefer_held(standard.value, other, wanted);
      } else {
        for (std::size_t i = 0; i < bound.size() && i < other.real.size(); ++i)
          bound[i] += moved(standard.value, other, i);
      }
      comparison = compare();
    }
  }
  verdict.margin = comparison.margin;
  verdict.worst = comparison.worst;
  keep_worse(verdict.gates, "bound",
             {comparison.ok() ? GateStatus::pass : GateStatus::fail, comparison.margin, 1});
  if (const Finding finding = finding_of(comparison); finding.status != Status::pass) {
    set_finding(verdict, finding.status, finding.reason,
                "against the expected file: " + describe(comparison));
  }
  return verdict;
}

}  // namespace assay
