// Planted defects: each is a way in which real kernels are wrong, applied to the right outputs of a node, so
// that the suite can show that it finds them. A Case names one (`mutant:NAME`); the worker applies it to
// every node that it is applicable to.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "core/tensor.h"

namespace assay {

// One execution of a node on a device, as a defect sees it.
struct Execution {
  const OpCall& call;
  std::vector<Tensor>& inputs;        // numbered as OpCall numbers them
  std::vector<Tensor>& outputs;       // parallel to call.outputs()
  const std::vector<Tensor>& before;  // what the buffers of the outputs held
  int64_t number = 0;                 // executions of nodes before this one
};

// What a defect depends on and what it changes.
enum class Effect {
  result,     // the outputs, by call and inputs alone
  execution,  // the outputs, also by what their buffers held or by how often the kernel ran
  inputs,     // an input buffer
  outside,    // memory that the kernel was not given
};

// What in a Contract or an operator's definition may cover a defect, so that a result that it changed is
// still right.
enum class Allowance {
  none,
  last_bits,   // how the last bits of a result come about: rounding, functions, accumulators
  tie_break,   // the same, where the exact result is halfway or next to it
  zero_sign,   // the sign of a zero result
  subnormals,  // flushing
  operands,    // operands rounded before use
  overflow,    // infinity before the result's own range ends
  choice,      // which of several equal elements is chosen
  order,       // which of several values that are as frequent is chosen
};

struct Mutant {
  std::string name;         // "bf16_accumulator"
  std::string description;  // what the kernel does wrong, one sentence
  // The defect can exist in a kernel for this call (operator, dtypes, shapes, arguments). It need not show on
  // every input: a kernel that ignores NaN is right where there is none.
  std::function<bool(const OpCall& call)> applies;
  // Turns right outputs (parallel to call.outputs()) into those of the defective kernel. `inputs` are
  // numbered as OpCall numbers them. Deterministic. Must not be called where `applies` is false.
  std::function<void(const OpCall& call, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs)>
      plant;
  Effect effect = Effect::result;
  // Instead of `plant` where `effect` is another than `result`. `outside` needs neither.
  std::function<void(Execution&)> disturb = nullptr;
  Allowance allowance = Allowance::none;
  bool breaks_draws = false;  // random numbers with it do not follow their distribution, or repeat
};

// Sorted by name.
const std::vector<Mutant>& all_mutants();
// nullptr if there is none of this name.
const Mutant* find_mutant(std::string_view name);

// Plants a defect of Effect::result if it applies; false if it does not, or if the wrong call that it makes
// of this one does not exist. Throws Error{invalid_argument} listing the names if there is no such mutant.
bool plant_mutant(std::string_view name, const OpCall& call, const std::vector<Tensor>& inputs,
                  std::vector<Tensor>& outputs);
bool plant_mutant(const Mutant& mutant, Execution& execution);

}  // namespace assay
