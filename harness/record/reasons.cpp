// The closed enum of reasons. docs/records.md shows this table; a test holds the two against each other.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/record.h"

namespace assay {

const std::vector<std::pair<std::string, std::string>>& all_reasons() {
  static const std::vector<std::pair<std::string, std::string>> reasons{
      // Why a node does not run on the device: assay_reason of backend.h.
      {"operator", "the device does not implement the operator"},
      {"dtype", "the device implements the operator, but not for this dtype"},
      {"shape", "the device implements the operator, but not for this rank, size or layout"},
      {"argument", "the device implements the operator, but not for this value of an argument"},
      {"dynamic_shape", "the shape of the result depends on data"},
      {"complex", "complex numbers"},
      {"float64", "64-bit floating point"},
      {"memory", "the operation does not fit the device's memory"},
      {"optional_operator", "the device does not implement an operator that it need not have"},
      {"policy", "the device could, but is configured not to"},
      // What was wrong with the values.
      {"element_bound", "an element is further from the expected value than its Bound"},
      {"rms", "the root mean square of the errors is larger than the declared precision explains"},
      {"bias", "the errors have a mean that correct rounding does not have"},
      {"probe", "a result that every order of evaluation gives exactly is not exact"},
      {"end_to_end",
       "an output of the model is further from the expected value than replays of the reference"},
      {"special_value", "an infinity or the sign of a zero is wrong"},
      {"nan", "NaN where a number is expected, or a number where NaN is expected"},
      {"distribution", "random numbers do not follow their distribution, repeat or depend on each other"},
      {"selection", "returned indices are not a valid selection (top-k, sort, argmax)"},
      {"shape_mismatch", "an output has another shape than the graph declares"},
      {"dtype_mismatch", "an output has another dtype than the graph declares"},
      {"missing_output", "an output that the graph declares was not returned"},
      {"declared_int_width", "an integer is wrong beyond the width that the Contract declares exact"},
      {"not_repeatable", "two executions with equal inputs gave different bits"},
      {"ranks_disagree", "ranks hold other bits of a result that is to be the same on all"},
      {"ledger", "the bytes that ranks sent or received are not what the collectives' formulas give"},
      {"resume_differs", "a run of several steps gave other bits after it was resumed from a checkpoint"},
      {"observation_differs", "a step gave other bits when it returned less"},
      {"no_descent", "the loss of a training run did not fall as far as the case asks"},
      {"input_modified", "an input buffer was modified"},
      {"guard_overwritten", "memory outside of the output was written"},
      // Vacuous: nothing was measured.
      {"stale_output", "an output holds what was in its buffer before"},
      {"all_zero", "an output is all zeros where the reference is not"},
      {"no_output", "there is no output to judge"},
      {"nothing_ran_on_device", "every node was run by the harness, none by the device"},
      {"no_witness", "there is no independent source of the right answer"},
      {"no_error_model", "an operator has no error model or the Contract declares no order to model"},
      {"reference_nan", "the reference is NaN and no policy says what is right"},
      // How a process ended.
      {"killed_by_signal", "the worker was killed by a signal"},
      {"exited", "the worker exited in the middle of a case"},
      {"rubbish_output", "the worker sent bytes that are not a frame of the protocol"},
      {"memory_limit", "the worker outgrew --memory"},
      {"device_memory", "the device or its host process could not allocate memory"},
      {"time_limit", "the case took longer than --timeout or --compile-timeout"},
      {"device_trap", "the device reported an error while it executed"},
      {"compiler_error", "the backend's compiler failed"},
      {"graph_break", "--fullgraph was given and the graph holds nodes that the device does not run"},
      {"no_compile_mode", "the backend has no compile mode"},
      {"miscounted", "the device's own count of executed nodes is not what was asked of it"},
      // The environment and the harness.
      {"mpi_missing", "Open MPI is not installed"},
      {"pytorch_missing", "PyTorch is not installed"},
      {"device_missing", "the device is not present on this machine"},
      {"not_exported", "the model could not be exported by torch.export"},
      {"not_selected", "the configuration excludes the case"},
      {"worker_failed_to_start", "the worker process could not be started or did not greet"},
      {"judge_failed", "the judge process crashed, hung or refused"},
      {"disk_full", "the file system is full or cannot be written"},
      {"internal", "a defect of Assay"},
      // Files.
      {"symbolic_sizes", "the graph has symbolic sizes and no inputs were given to specialise them"},
      {"unknown_operator", "the graph holds an operator that no schema describes"},
      {"malformed", "a file is not what it claims to be"},
      {"unsupported_layout", "a file has a layout that is understood but not read, such as a pickle"},
      {"wrong_error_message", "bad input was refused, but the message does not name what is wrong"},
      {"refused", "bad input was refused with a message that names what is wrong"},
      {"no_error", "bad input was accepted"},
      {"some_ranks", "bad input was refused by some ranks only"},
      {"known_failure", "a waiver covers the failure"},
      {"mutant_not_applicable", "a planted defect changes no bit of any case of the operator"},
      {"mutant_survived", "a planted defect changes results, and every case passes"},
      {"contract_allows", "a planted defect changes results within what the Contract or the operator allows"},
      {"not_implemented", "the backend's host or the harness does not implement what the case asks for"},
  };
  return reasons;
}

bool is_reason(std::string_view reason) {
  const auto& reasons = all_reasons();
  return reason.empty() || std::any_of(reasons.begin(), reasons.end(),
                                       [&](const auto& entry) { return entry.first == reason; });
}

}  // namespace assay
