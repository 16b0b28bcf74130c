// The judge of a run of several steps (training, decoding): the curves of what every step returns, against
// the reference's own run of as many steps and replays of it (NUMERICS, "Models", end to end).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/judge/judge.h"

namespace assay {

// Replays of a long run; they are as many times dearer than its steps.
constexpr int kStepReplays = 4;
// The spread of a step's numbers is floored by that of its neighbours, this many steps to either side.
constexpr int kStepWindow = 8;

struct StepsRequest {
  JudgeRequest request;  // inputs are those of the first step; `expected` is not read
  int steps = 2;
  std::vector<std::pair<int, std::string>> carry;  // as in Case
  // What each step returned beside the carried outputs, joined: [steps, ...], in the order of
  // observed_outputs.
  std::vector<Tensor> observed;
  // Where the reference's trajectories are kept for the next judgement of this case (trajectories_cache.h);
  // "": nowhere.
  std::string cache_dir;
};

// Numbers of the graph's outputs that are tensors and no carried ones.
std::vector<std::size_t> observed_outputs(const Graph& graph,
                                          const std::vector<std::pair<int, std::string>>& carry);
// Position of a user input among graph.inputs that have a value. Throws Error{invalid_argument} for a name
// that is none.
std::size_t input_number(const Graph& graph, const std::string& name);

// Every trajectory (the fp64 centre and kStepReplays replays) walks all steps with what it carries itself. A
// number of step t is right if it is within 8 sigma of the centre: sigma^2 = (sum_r d^2 + R m^2) / R with m
// the median deviation of the tensor's numbers in the steps around t. Where the reference itself is judged,
// the centre is the decomposed graph's, in float128 for the first two steps. Checks::descends is held against
// the first observed output. Integers must be equal.
Verdict judge_steps(const StepsRequest& request);

}  // namespace assay
