// Whether the cases of an operator find a planted defect: what a record of the suite `selftest` says.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "harness/case/case.h"
#include "harness/mutant/mutant.h"
#include "harness/record/record.h"
#include "reference/evaluate.h"

namespace assay {

// What in the Contract or in the operator's definition covers a defect of this kind, so that results that it
// changed are still right: "ftz_out of aten::exp.*", "the sign of a zero is open". "" if nothing does.
std::string excuse(const Mutant& mutant, const OpCall& call, const Contract& contract, std::string_view mode,
                   const std::map<std::string, std::string>& options);

// One case run once.
struct Trial {
  Record record;
  std::optional<bool> mutant_changed;  // as RunResult says
  // What was run, tensors of its inputs that have values and of its outputs. Null and empty if it was not
  // run.
  std::shared_ptr<const Graph> graph = nullptr;
  std::vector<Tensor> given = {}, returned = {};
};

// Whether the defect, planted in the graph's only node, would change a bit of what it returned without it.
// True where that cannot be said without the worker: several nodes, or results that the graph does not
// return.
bool may_change(const Mutant& mutant, const Trial& clean);

class MutantTrials {
 public:
  // Runs and judges a case, with the defect that it names; nullopt if the run was stopped.
  using Attempt = std::function<std::optional<Trial>(const Case& c)>;
  // What covers a survivor (see excuse).
  using Excuse = std::function<std::string(const Mutant& mutant, const OpCall& call)>;

  // The verdict about `pair.mutant` over `pair.trials`, written into `record`, which has its ids:
  //   pass                          a case that passes without the defect fails with it
  //   skip_policy                   mutant_not_applicable: no case's bits change; contract_allows: some do,
  //                                 all of them within what an excuse names
  //   skip_eligibility              no case passes without the defect, or the worker cannot plant it
  //   wrong, mutant_survived        bits change, nothing fails, and nothing explains it
  //   infrastructure_error          what came of it is no verdict (a worker that died)
  std::optional<Record> run(const Case& pair, Record record, const Attempt& attempt, const Excuse& excuse);

 private:
  std::optional<Trial> without_mutant(const Case& c, const Attempt& attempt);

  std::string subject_;                 // operator of the pair before
  std::map<std::string, Trial> clean_;  // by id: what its cases come to without a defect
};

}  // namespace assay
