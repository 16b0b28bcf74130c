// Optimisers as graphs: one step of Muon, AdamW or SGD for a parameter, and a training step for a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/builder.h"
#include "models/emitter.h"

namespace assay::models {

// What a momentum buffer holds. The update differs by the factor 1 - momentum, which orthogonalisation takes
// out again, save for eps and rounding.
enum class Momentum {
  average,  // m = momentum m + (1 - momentum) g (Jordan's repository, torch.optim.Muon)
  sum,      // m = momentum m + g (Jordan's article, Moonlight, dion)
};

// What an orthogonal update of a matrix [rows, columns] is multiplied by.
enum class MuonScale {
  none,
  original,         // sqrt(max(1, rows / columns))
  match_rms_adamw,  // 0.2 sqrt(max(rows, columns))
  spectral,         // sqrt(rows / columns)
};

struct MuonOptions {
  double lr = 0.02, momentum = 0.95, weight_decay = 0;
  bool nesterov = true;
  Momentum form = Momentum::average;
  MuonScale scale = MuonScale::original;
  int64_t steps = 5;
  double a = 3.4445, b = -4.775, c = 2.0315;
  double eps = 1e-7;
  bool clamp_norm = false;                        // divide by max(norm, eps) instead of norm + eps
  std::optional<DType> iterate_in = DType::bf16;  // the iterations' dtype; none: the gradient's
};
MuonOptions jordan_muon();     // KellerJordan/Muon
MuonOptions torch_muon();      // torch.optim.Muon 2.13
MuonOptions moonlight_muon();  // MoonshotAI/Moonlight
MuonOptions dion_muon();       // microsoft/dion, with Jordan's polynomial

struct AdamWOptions {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
};
struct SgdOptions {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;  // decay is added to the gradient
  bool nesterov = false;
};

struct Updated {
  ValueId parameter;
  std::vector<ValueId> state;  // in the order in which it was given
};

// parameter and buffer [rows, columns]. Decay is decoupled, comes first and uses lr unscaled:
// p = p (1 - lr weight_decay) - lr scale O. Throws Error{invalid_argument} for other ranks.
Updated muon_update(Emitter& e, ValueId parameter, ValueId gradient, ValueId buffer,
                    const MuonOptions& options);
// first and second moment as the parameter; `step` 0-d f32, the number of this step (from 1). Decoupled
// decay.
Updated adamw_update(Emitter& e, ValueId parameter, ValueId gradient, ValueId first, ValueId second,
                     ValueId step, const AdamWOptions& options);
// `buffer` only with momentum; the first step starts it as 0 + g (1 - dampening), where PyTorch takes g.
Updated sgd_update(Emitter& e, ValueId parameter, ValueId gradient, std::optional<ValueId> buffer,
                   const SgdOptions& options);

double muon_scale(MuonScale scale, int64_t rows, int64_t columns);

// The parts of muon_update, for those who put them together otherwise (models/parallel).
struct MuonMomentum {
  ValueId held;       // the buffer's next contents
  ValueId direction;  // what is orthogonalised
};
MuonMomentum muon_momentum(Emitter& e, ValueId gradient, ValueId buffer, const MuonOptions& options);
// In options.iterate_in, if given.
ValueId muon_orthogonalised(Emitter& e, ValueId direction, const MuonOptions& options);

// Matrices of the hidden layers are Muon's; embeddings, the head, norms and biases are AdamW's.
bool is_muon_parameter(const std::string& name, const Shape& shape);

struct TrainingOptions {
  MuonOptions muon;
  AdamWOptions adamw;
};

// One step: user inputs are the batch, the parameters and the optimisers' state ("NAME_momentum",
// "NAME_first", "NAME_second", "step"); outputs the loss, then everything that changed.
struct TrainingStep {
  Graph graph;
  std::vector<std::pair<int, std::string>> carry;  // user output -> user input of the next step
};

// `gradients`: a graph whose first output is the loss and whose last outputs are the gradients of its
// parameters, in order (joint_graph, gla_gradient_graph). Outputs between them are left out.
TrainingStep training_step(const Graph& gradients, const TrainingOptions& options);

}  // namespace assay::models
