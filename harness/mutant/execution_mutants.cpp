// Defects of kernels as programs: buffers read before they are written, state kept from call to call, memory
// written that was not given.
#include <cmath>
#include <cstring>

#include "harness/mutant/families.h"

namespace assay {
namespace {

bool has_elements(const OpCall& call) {
  return !call.outputs().empty() && element_count(call.output(0).shape) >= 1;
}

// Flips the lowest bit of the last element that is not zero.
void flip_last_bit(Tensor& tensor) {
  std::vector<std::byte> bytes = packed(tensor);
  const std::size_t size = size_of(tensor.dtype());
  for (std::size_t end = bytes.size(); end >= size && size > 0; end -= size) {
    const std::size_t begin = end - size;
    bool zero = true;
    for (std::size_t i = begin; i < end; ++i) zero = zero && bytes[i] == std::byte{0};
    if (zero) continue;
    bytes[begin] ^= std::byte{1};  // little endian
    tensor = like(tensor, bytes);
    return;
  }
}

bool has_input(const OpCall& call) {
  return has_elements(call) && !call.inputs().empty() && element_count(call.input(0).shape) >= 1;
}

Mutant make(std::string name, std::string description, Effect effect,
            std::function<bool(const OpCall&)> applies, std::function<void(Execution&)> disturb) {
  Mutant mutant;
  mutant.name = std::move(name);
  mutant.description = std::move(description);
  mutant.applies = std::move(applies);
  mutant.effect = effect;
  mutant.disturb = std::move(disturb);
  return mutant;
}

}  // namespace

void add_execution_mutants(std::vector<Mutant>& table) {
  table.push_back(make("not_repeatable",
                       "the lowest bit of an element differs from one execution to the next",
                       Effect::execution, has_elements, [](Execution& e) {
                         if (e.number % 2 == 0) flip_last_bit(e.outputs[0]);
                       }));
  table.push_back(make("tail_not_written", "the last element keeps what was in the buffer", Effect::execution,
                       has_elements, [](Execution& e) {
                         if (e.before.empty() || !e.before[0].defined()) return;
                         std::vector<std::byte> bytes = packed(e.outputs[0]);
                         const std::vector<std::byte> old = packed(e.before[0]);
                         const std::size_t size = size_of(e.outputs[0].dtype());
                         if (bytes.size() < size || old.size() != bytes.size()) return;
                         std::memcpy(&bytes[bytes.size() - size], &old[old.size() - size], size);
                         e.outputs[0] = like(e.outputs[0], bytes);
                       }));
  table.push_back(make(
      "accumulator_not_cleared", "results are added to what the buffer of the output held", Effect::execution,
      [](const OpCall& call) { return has_elements(call) && first_output_is_float(call); },
      [](Execution& e) {
        if (e.before.empty() || !e.before[0].defined()) return;
        const std::vector<double> old = e.before[0].to_doubles();
        edit_floats(e.outputs, [&](std::vector<double>& values) {
          for (std::size_t i = 0; i < values.size() && i < old.size(); ++i) values[i] += old[i];
        });
      }));
  table.push_back(make(
      "state_kept_between_calls", "each execution adds to the result of the one before", Effect::execution,
      [](const OpCall& call) { return has_elements(call) && first_output_is_float(call); },
      [](Execution& e) {
        edit_floats(e.outputs, [&](std::vector<double>& values) {
          for (double& v : values) v *= 1 + static_cast<double>(e.number);
        });
      }));
  table.push_back(make("input_overwritten", "an element of the first input is overwritten", Effect::inputs,
                       has_input, [](Execution& e) {
                         std::vector<std::byte> bytes = packed(e.inputs[0]);
                         bytes[0] ^= std::byte{1};
                         e.inputs[0] = like(e.inputs[0], bytes);
                       }));
  table.push_back(make("written_outside", "bytes of a buffer that the kernel was not given are overwritten",
                       Effect::outside, has_elements, nullptr));
  table.push_back({"second_result_not_written", "the second result is not computed and stays 0",
                   [](const OpCall& call) {
                     return call.outputs().size() >= 2 && element_count(call.output(1).shape) >= 1;
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     if (outputs[1].defined()) outputs[1] = Tensor(outputs[1].dtype(), outputs[1].shape());
                   }});
}

}  // namespace assay
