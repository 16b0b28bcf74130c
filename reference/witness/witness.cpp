// float128 evaluation of single operators and whole graphs: the witness where the reference itself, or an f64
// graph, is judged.
#include <cmath>

#include "core/error.h"
#include "reference/evaluate.h"
#include "reference/table.h"
#include "reference/walker_state.h"
#include "reference/witness/quad.h"

namespace assay::reference {
namespace {

Array<Quad> widened(const Wide& array) {
  Array<Quad> out;
  out.meta = array.meta;
  out.integer = array.integer;
  out.real.assign(array.real.begin(), array.real.end());
  return out;
}

Wide narrowed(Array<Quad>&& array) {
  Wide out;
  out.meta = std::move(array.meta);
  out.integer = std::move(array.integer);
  out.undefined = std::move(array.undefined);
  out.real.resize(array.real.size());
  for (std::size_t i = 0; i < out.real.size(); ++i) out.real[i] = static_cast<double>(array.real[i]);
  return out;
}

// Range of the node's dtype, as in the fp64 evaluation.
void keep_range(Array<Quad>& array) {
  if (array.is_integral()) return;
  const FloatFormat& format = float_format(real_part(array.meta.dtype));
  for (Quad& v : array.real) {
    const double near = static_cast<double>(v);
    if (!(std::fabs(near) > format.max)) continue;
    const double rounded = round_to(format, near);
    if (!std::isfinite(rounded)) v = Quad(rounded);
  }
}

std::vector<Array<Quad>> evaluate_quad(const OpCall& call, const Inputs<Quad>& inputs) {
  const auto* entry = kernel_table<Quad>().find(call.op(), reads_or_gives_complex(call));
  if (entry == nullptr) throw Error(ErrorCode::unsupported, "no float128 kernel for " + call.op());
  auto outputs = entry->kernel(call, inputs);
  for (auto& output : outputs) keep_range(output);
  return outputs;
}

}  // namespace

std::optional<std::vector<Wide>> evaluate_witness(const OpCall& call,
                                                  const std::vector<const Wide*>& inputs) {
  const bool complex = reads_or_gives_complex(call);
  const auto* entry = kernel_table<Quad>().find(call.op(), complex);
  if (entry == nullptr || (complex && !entry->traits.complex)) return std::nullopt;
  std::vector<Array<Quad>> operands;
  operands.reserve(inputs.size());
  Inputs<Quad> pointers;
  for (const Wide* input : inputs) {
    operands.push_back(widened(*input));
    pointers.push_back(&operands.back());
  }
  std::vector<Wide> result;
  for (auto& output : evaluate_quad(call, pointers)) result.push_back(narrowed(std::move(output)));
  return result;
}

std::optional<std::vector<Wide>> Walker::run_witness(const std::vector<const Wide*>& inputs) const {
  const WalkPlan& plan = state_->plan;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].host == HostScalar::none &&
        kernel_table<Quad>().find(plan.graph->nodes[i].op) == nullptr) {
      return std::nullopt;
    }
  }
  std::vector<Array<Quad>> operands;
  operands.reserve(inputs.size());
  Inputs<Quad> pointers;
  for (const Wide* input : inputs) {
    operands.push_back(widened(*input));
    pointers.push_back(&operands.back());
  }
  std::vector<Wide> result;
  auto outputs = walk_plan<Quad>(
      plan, pointers, [](int, const OpCall& call, const Inputs<Quad>& in) { return evaluate_quad(call, in); },
      [](ValueId, const Scalar&) {});
  for (auto& output : outputs) result.push_back(narrowed(std::move(output)));
  return result;
}

}  // namespace assay::reference
