#include "harness/run/mutant_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/opset/classify.h"
#include "harness/judge/node_rules.h"
#include "harness/run/note.h"

namespace assay {
namespace {

// After so many cases that the backend does not pass without a defect, it is not asked for more: it lacks the
// operator, or the dtype.
constexpr int kUseless = 16;

// The judge found the values or the behaviour wrong: a worker that died or a call that was refused is
// neither.
bool is_finding(Status status) {
  return status == Status::wrong || status == Status::nan_mismatch || status == Status::meta_mismatch ||
         status == Status::nondeterministic || status == Status::vacuous;
}

std::string said(const Record& record) {
  return record.reason.empty() ? std::string(name_of(record.status))
                               : fmt::format("{}, {}", name_of(record.status), record.reason);
}

// "ftz_out of the rule for aten::exp.*", with the last rule that sets the field for the operator.
std::string rule_of(const Contract& contract, const std::string& field, const OpCall& call) {
  const std::string key = "\"" + field + "\"";
  const std::string_view dtype = name_of(computation_dtype(call));
  for (auto rule = contract.rules().rbegin(); rule != contract.rules().rend(); ++rule) {
    if (rule->json.find(key) == std::string::npos) continue;
    if (glob_match(rule->op, call.op()) && glob_match(rule->dtype, dtype)) {
      return fmt::format("{} of the Contract's rule for {}, {}", field, rule->op, rule->dtype);
    }
  }
  return field + " of the Contract";
}

// The bits of a result come from numbers that were rounded as coarsely before.
bool rounds_before_store(const OpCall& call, const Precision& precision) {
  if (precision.correctly_rounded || call.outputs().empty() || !is_float(call.output(0).dtype)) return false;
  return float_format(precision.intermediate).precision <= float_format(call.output(0).dtype).precision;
}

// What the operator's definition lets implementations store in the operands' dtype on the way: rounding it is
// more than the last bit of a result.
std::string excuse_of_stores(const OpCall& call, const Contract& contract, const Precision& precision) {
  const bool muon = call.op() == "assay::muon_orthogonalize.default";
  const bool filtered =
      call.op().starts_with("aten::_upsample_") && call.op().find("_aa.") != std::string::npos;
  if (!muon && !filtered) return "";
  const DType held = computation_dtype(call);
  if (float_format(held).precision >= float_format(precision.intermediate).precision) return "";
  return rule_of(contract, "intermediate", call) +
         (muon ? ": matrices between products are held in the operand's dtype"
               : ": the image between rows and columns is held in the operand's dtype");
}

std::string excuse_of_bits(const Mutant& mutant, const OpCall& call, const Contract& contract,
                           const Precision& precision) {
  if (precision.rounding != Rounding::nearest_even) return rule_of(contract, "rounding", call);
  if (is_exact_by_width(call, precision)) return "";
  if (call.schema().find("query") != nullptr) {
    // The weights between softmax and the second product are stored in the dtype of the operands.
    const DType weights = precision.input.value_or(call.input(call.tensor("query")).dtype);
    if (float_format(weights).precision < float_format(precision.intermediate).precision)
      return rule_of(contract, "input", call) + ": weights of attention are stored in the operands' dtype";
  }
  if (std::string stored = excuse_of_stores(call, contract, precision); !stored.empty()) return stored;
  const bool inexact = rounds_before_store(call, precision) ||
                       (mutant.allowance == Allowance::tie_break && !precision.correctly_rounded);
  return inexact ? rule_of(contract, "intermediate", call) : "";
}

}  // namespace

std::string excuse(const Mutant& mutant, const OpCall& call, const Contract& contract, std::string_view mode,
                   const std::map<std::string, std::string>& options) {
  const reference::ErrorModel& model = reference::error_model(call);
  if (model.name == "undefined_but_alive") return "the operator's results are undefined";
  if (is_random_op(call.op()) && !mutant.breaks_draws)
    return "random numbers are judged by their distribution";
  const Precision precision = precision_of(contract, call, mode, options);
  switch (mutant.allowance) {
    case Allowance::none:
      return "";
    case Allowance::last_bits:
    case Allowance::tie_break:
      return excuse_of_bits(mutant, call, contract, precision);
    case Allowance::zero_sign:
      return model.signed_zero ? "" : "the operator's definition leaves the sign of a zero open";
    case Allowance::subnormals:
      if (precision.ftz_out) return rule_of(contract, "ftz_out", call);
      if (precision.ftz_in) return rule_of(contract, "ftz_in", call);
      // A subnormal element of Muon's is far below what rounding the matrices moves it by.
      return call.op().starts_with("assay::muon") ? excuse_of_stores(call, contract, precision) : "";
    case Allowance::operands:
      return precision.input ? rule_of(contract, "input", call) : "";
    case Allowance::overflow:
      return precision.early_overflow ? rule_of(contract, "early_overflow", call) : "";
    case Allowance::choice:
      if (call.schema().find("stable") != nullptr && !call.is_none("stable") && call.boolean("stable"))
        return "";
      return "any of several equal elements may be chosen";
    case Allowance::order:
      return call.op() == "aten::mode.default" ? "any of several values that are as frequent may be chosen"
                                               : "";
  }
  return "";
}

bool may_change(const Mutant& mutant, const Trial& clean) {
  if (mutant.effect != Effect::result || !clean.graph || clean.graph->nodes.size() != 1) return true;
  const Graph& graph = *clean.graph;
  const OpCall call(graph, graph.nodes[0]);
  std::map<ValueId, const Tensor*> values;
  std::size_t next = 0;
  for (const GraphInput& input : graph.inputs) {
    if (input.value >= 0 && next < clean.given.size()) values[input.value] = &clean.given[next++];
  }
  for (std::size_t i = 0; i < graph.outputs.size() && i < clean.returned.size(); ++i) {
    if (graph.outputs[i].value >= 0) values[graph.outputs[i].value] = &clean.returned[i];
  }
  const auto collect = [&](const std::vector<ValueId>& ids, const std::vector<TensorMeta>& metas,
                           std::vector<Tensor>& tensors) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = values.find(ids[i]);
      if (found == values.end() || !found->second->defined()) return false;
      if (found->second->dtype() != metas[i].dtype || found->second->shape() != metas[i].shape) return false;
      tensors.push_back(*found->second);
    }
    return true;
  };
  std::vector<Tensor> inputs, right;
  if (!collect(call.input_values(), call.inputs(), inputs) ||
      !collect(call.output_values(), call.outputs(), right))
    return true;
  std::vector<Tensor> planted = right;
  const std::vector<Tensor> before;
  Execution execution{call, inputs, planted, before, 0};
  if (!plant_mutant(mutant, execution)) return false;
  for (std::size_t k = 0; k < right.size(); ++k) {
    // As in the worker, whose buffers have a dtype and a size: a kernel cannot return another.
    if (planted[k].dtype() != right[k].dtype() || planted[k].shape() != right[k].shape()) continue;
    if (!planted[k].bitwise_equal(right[k])) return true;
  }
  return false;
}

std::optional<Trial> MutantTrials::without_mutant(const Case& c, const Attempt& attempt) {
  if (const auto known = clean_.find(c.id); known != clean_.end()) return known->second;
  auto trial = attempt(c);
  if (trial) clean_.emplace(c.id, *trial);
  return trial;
}

std::optional<Record> MutantTrials::run(const Case& pair, Record record, const Attempt& attempt,
                                        const Excuse& excuse) {
  const Mutant* mutant = find_mutant(pair.mutant);
  if (mutant == nullptr) {
    conclude(record, Status::infrastructure_error, "internal", "no mutant is named " + pair.mutant);
    return record;
  }
  if (pair.subject != std::exchange(subject_, pair.subject)) clean_.clear();
  int eligible = 0, changed = 0, useless = 0;
  std::string survived, excuses, unexplained, ineligible;
  for (const auto& given : pair.trials) {
    if (eligible == 0 && useless == kUseless) break;
    const auto clean = without_mutant(*given, attempt);
    if (!clean) return std::nullopt;
    if (clean->record.status != Status::pass) {
      ++useless;
      if (ineligible.empty())
        ineligible = fmt::format("{} without the defect: {}", given->id, said(clean->record));
      continue;
    }
    if (!may_change(*mutant, *clean)) {
      ++eligible;
      continue;
    }
    Case planted = *given;
    planted.mutant = pair.mutant;
    const auto trial = attempt(planted);
    if (!trial) return std::nullopt;
    const Record& found = trial->record;
    if (found.status == Status::unsupported && !trial->mutant_changed) {
      if (ineligible.empty()) ineligible = fmt::format("{}: {}", given->id, found.detail);
      continue;
    }
    ++eligible;
    if (trial->mutant_changed.has_value() && !*trial->mutant_changed) continue;
    // What is done to an input may be what the kernel then refuses to run on again: that says nothing.
    if (mutant->effect == Effect::inputs && found.reason == "device_trap") continue;
    if (!trial->mutant_changed || (!is_finding(found.status) && !is_pass(found.status))) {
      conclude(
          record, Status::infrastructure_error, found.reason.empty() ? "internal" : found.reason,
          fmt::format("{} with the defect {}: {}: {}", given->id, pair.mutant, said(found), found.detail));
      return record;
    }
    if (is_finding(found.status)) {
      conclude(record, Status::pass, "", fmt::format("{} finds {}: {}", given->id, pair.mutant, said(found)));
      record.witness = found.witness;
      return record;
    }
    ++changed;
    const std::string why = excuse(*mutant, OpCall(*given->graph, given->graph->nodes.back()));
    if (why.empty()) {
      unexplained += (unexplained.empty() ? "" : ", ") + given->id;
    } else if (excuses.empty()) {
      excuses = why;
    }
    if (survived.empty()) survived = given->id;
  }
  if (eligible == 0) {
    conclude(record, Status::skip_eligibility, "not_selected", "no case can be used: " + ineligible);
  } else if (changed == 0) {
    conclude(record, Status::skip_policy, "mutant_not_applicable",
             fmt::format("{} changes no bit of {} cases", pair.mutant, eligible));
  } else if (unexplained.empty()) {
    conclude(record, Status::skip_policy, "contract_allows",
             fmt::format("{} changes {} of {} cases, all within bounds: {}", pair.mutant, changed, eligible,
                         excuses));
  } else {
    conclude(record, Status::wrong, "mutant_survived",
             fmt::format("{} ({}) changes {} of {} cases and none fails: {}", pair.mutant,
                         mutant->description, changed, eligible, unexplained));
  }
  return record;
}

}  // namespace assay
