// A Case: everything that is ever run on a backend.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/distributed/join.h"
#include "core/error.h"
#include "core/graph/graph.h"
#include "core/io/model.h"

namespace assay {

// What a Case is judged by beside the Bound.
struct Checks {
  bool suite_drawn = false;  // inputs are exchangeable draws of the suite: RMS and bias gates apply
  bool exact_probe = false;  // every order is exact: equal bit for bit
  // NaN is a right answer by the definition that the operator's error model names (the mean of nothing):
  // results that are NaN everywhere are compared, not vacuous.
  bool nan_policy = false;
  bool negative = false;     // must be refused with a clear error (rejected_bad_input)
  std::string expect_error;  // negative: what the message must mention
  // Negative, distributed: every rank must end with an error that mentions all of these; 0 ranks: not
  // distributed.
  int ranks = 0;
  std::vector<std::string> rank_mentions;
  // Several steps: the mean of the first observed output over the last tenth of the steps is at most this
  // share of what it was in the first step; 0: not asked for.
  double descends = 0;
  bool resumes = false;     // several steps: a new worker goes on from a checkpoint, bit for bit
  bool unobserved = false;  // several steps: bits stay when a step returns nothing but what is carried
};

struct Case {
  std::string id;       // "ops/add.Tensor/f32/broadcast-3", "models/llama": no backend, no mode
  std::string suite;    // "ops", "models", "check"
  std::string subject;  // operator or architecture, for grouping in reports
  std::shared_ptr<const Graph> graph;
  std::string
      graph_error;  // set instead of `graph`: the file could not be read (status malformed_file or skip_*)
  bool unsupported_file = false;   // graph_error is a refusal (symbolic sizes, ...), not a malformed file
  std::string graph_error_reason;  // reason of the record (harness/record/reasons.cpp); "" means "malformed"

  // Recipes by user-input name; expanded by materialise_inputs with the run's seed.
  std::map<std::string, TensorRecipe> inputs;
  // Weights by FQN, loaded when the case is run, not when it is planned.
  std::function<std::map<std::string, Tensor>()> load_weights;
  // Where the weights come from, for finding duplicates: cases with equal keys and equal graphs have equal
  // weights
  // ("drawn": by FQN, as catalogue models do). "": unknown, so a case with weights is nobody's duplicate.
  std::string weights_key;
  // Expected outputs keyed as INTERFACE §4 says ("0", "buffer:NAME", "input:NAME"); empty: judged by the
  // reference.
  std::function<std::map<std::string, Tensor>()> load_expected;
  // "expected_file" or "golden:FILE"; what a golden file holds is for the inputs of seed 0.
  std::string expected_source;
  std::string golden;  // golden file of a catalogue model (seed 0), "" if none

  Checks checks;
  std::string mutant;  // defect that the worker plants, "" for none
  // Suite `selftest`: cases of one operator in which the defect is planted, until one shows it. Of ranks: how
  // a step goes on (harness/run/rank_resume.h). The record is about all; `graph` is the first one's.
  std::vector<std::shared_ptr<const Case>> trials;
  int world_size = 1;
  // Distributed cases: the programs of the ranks, of which `graph` is the joined one
  // (core/distributed/join.h), or their inputs alone where they do not fit. Null otherwise.
  std::shared_ptr<const RankPrograms> ranks;
  int steps = 1;
  std::vector<std::pair<int, std::string>> carry;  // user output number -> user input name of the next step
  int64_t weight = 1;                              // rows that this case stands for
  std::string file;  // file to name in the repro line, "" if the suite makes the case
};

// A model of a catalogue that could not be exported (not_exported.csv): counted as skip_environment in
// totals, without a Record.
struct NotExported {
  std::string id, kind, model, attention, reason;
};

// Called by suites and sweeps: a suite only makes cases.
using CaseSink = std::function<void(Case)>;

class Suite {
 public:
  virtual ~Suite() = default;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  virtual void make_cases(uint64_t seed, const CaseSink& sink) const = 0;
};

// Marks a case whose file cannot be run: graph_error, its reason and whether it is a refusal.
void set_graph_error(Case& c, const Error& error);

// Draws all user inputs of the case for a run's seed, independent of order, shards and jobs:
// materialise(recipe, "input:" + name, draw_seed). In order of graph.inputs (those with a value), weights
// included, contiguous. Throws Error naming case and input if one is missing or is not what the graph
// declares.
std::vector<Tensor> materialise_inputs(const Case& c, uint64_t seed);

// Some user input depends on the run's seed.
bool has_drawn_inputs(const Case& c);

// The seed that the case's inputs are drawn with: the run's own for models (weights, a golden or a file), so
// that seed 0 reproduces golden files; for cases of a suite a hash of id and run's seed.
uint64_t draw_seed(const Case& c, uint64_t seed);

// 64-bit stable hash of the id: shards (hash % n) and per-case seeds.
uint64_t case_hash(const std::string& id);

}  // namespace assay
