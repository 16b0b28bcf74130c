// A step of ranks that is resumed from its checkpoint on another number of ranks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "harness/run/case_runner.h"

namespace assay {

// Tensors by name, each the rows that all ranks have of it, in order of the ranks.
using RankCheckpoint = std::map<std::string, Tensor>;

// Of the user inputs of the programs of `c` after its step: what `c.carry` says that outputs hold (numbers
// and names are those of the joined graph), else what was given. `given` and `returned` are those of the
// joined graph. Throws Error{invalid_argument} naming rank, tensor and what does not fit.
RankCheckpoint rank_checkpoint(const Case& c, const std::vector<Tensor>& given,
                               const std::vector<Tensor>& returned);

// `next` with each rank's rows of the checkpoint as inputs. Throws Error{invalid_argument} where the
// checkpoint is not one of its programs: a tensor that only one of them has, another dtype, other rows or
// columns.
Case resumed_case(const Case& next, const RankCheckpoint& checkpoint);

// Runs the step of `c`, and from its checkpoint all of `c.trials`: the first one on as many ranks as the
// step, which is the run that was not interrupted, the others on other numbers. Each is judged as any case;
// then what they return must be equal bit for bit, as whole tensors (`resume_differs`). With Checks::negative
// the last of them must be refused with Checks::expect_error before anything runs.
std::optional<CaseOutcome> run_resumed(
    const Case& c, Record record, const std::function<std::optional<CaseOutcome>(const Case& c)>& attempt);

}  // namespace assay
