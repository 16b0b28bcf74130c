#include "models/optimisers/optimisers.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace assay::models {

MuonOptions jordan_muon() { return {}; }

MuonOptions torch_muon() {
  MuonOptions options;
  options.lr = 1e-3;
  options.weight_decay = 0.1;
  options.clamp_norm = true;
  return options;
}

MuonOptions moonlight_muon() {
  MuonOptions options;
  options.lr = 1e-3;
  options.weight_decay = 0.1;
  options.form = Momentum::sum;
  options.scale = MuonScale::match_rms_adamw;
  return options;
}

MuonOptions dion_muon() {
  MuonOptions options;
  options.lr = 0.01;
  options.nesterov = false;
  options.weight_decay = 0.01;
  options.form = Momentum::sum;
  options.scale = MuonScale::spectral;
  options.eps = 1e-8;
  return options;
}

double muon_scale(MuonScale scale, int64_t rows, int64_t columns) {
  const auto m = static_cast<double>(rows), n = static_cast<double>(columns);
  switch (scale) {
    case MuonScale::none:
      return 1;
    case MuonScale::original:
      return std::sqrt(std::max(1.0, m / n));
    case MuonScale::match_rms_adamw:
      return 0.2 * std::sqrt(std::max(m, n));
    case MuonScale::spectral:
      return std::sqrt(m / n);
  }
  throw Error(ErrorCode::internal, "Muon: no such scale");
}

MuonMomentum muon_momentum(Emitter& e, ValueId gradient, ValueId buffer, const MuonOptions& o) {
  const double fresh = o.form == Momentum::average ? 1 - o.momentum : 1;
  const ValueId held = e.add(e.mul_number(buffer, o.momentum), e.mul_number(gradient, fresh));
  if (!o.nesterov) return {held, held};
  return {held, e.add(e.mul_number(held, o.momentum), e.mul_number(gradient, fresh))};
}

ValueId muon_orthogonalised(Emitter& e, ValueId direction, const MuonOptions& o) {
  const ValueId x = o.iterate_in ? e.cast(direction, *o.iterate_in) : direction;
  return e.call("assay::muon_orthogonalize.default", {{"self", ValueArg{x}},
                                                      {"steps", o.steps},
                                                      {"a", o.a},
                                                      {"b", o.b},
                                                      {"c", o.c},
                                                      {"eps", o.eps},
                                                      {"clamp_norm", o.clamp_norm}});
}

Updated muon_update(Emitter& e, ValueId parameter, ValueId gradient, ValueId buffer, const MuonOptions& o) {
  const Shape shape = e.shape(parameter);
  if (shape.size() != 2) {
    throw Error(ErrorCode::invalid_argument,
                "Muon: parameter '" + e.builder().value(parameter).name + "' has shape " + to_string(shape) +
                    "; it takes matrices: give this one to AdamW, or reshape it");
  }
  const MuonMomentum momentum = muon_momentum(e, gradient, buffer, o);
  const ValueId update = e.cast(muon_orthogonalised(e, momentum.direction, o), e.dtype(parameter));
  const ValueId kept = e.mul_number(parameter, 1 - o.lr * o.weight_decay);
  const double step = -o.lr * muon_scale(o.scale, shape[0], shape[1]);
  return {e.add(kept, e.mul_number(update, step)), {momentum.held}};
}

// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2; p -= lr (m / c1) / (sqrt(v / c2) + eps), c = 1 - b^step.
Updated adamw_update(Emitter& e, ValueId parameter, ValueId gradient, ValueId first, ValueId second,
                     ValueId step, const AdamWOptions& o) {
  const ValueId m = e.add(e.mul_number(first, o.beta1), e.mul_number(gradient, 1 - o.beta1));
  const ValueId v =
      e.add(e.mul_number(second, o.beta2), e.mul_number(e.mul(gradient, gradient), 1 - o.beta2));
  const auto correction = [&](double beta) {
    const ValueId power = e.call("aten::pow.Scalar", {{"self", beta}, {"exponent", ValueArg{step}}});
    return e.cast(e.add_number(e.unary("neg", power), 1), e.dtype(parameter));
  };
  const ValueId root = e.add_number(e.unary("sqrt", e.div(v, correction(o.beta2))), o.eps);
  const ValueId update = e.div(e.div(m, correction(o.beta1)), root);
  const ValueId kept = e.mul_number(parameter, 1 - o.lr * o.weight_decay);
  return {e.add(kept, e.mul_number(update, -o.lr)), {m, v}};
}

Updated sgd_update(Emitter& e, ValueId parameter, ValueId gradient, std::optional<ValueId> buffer,
                   const SgdOptions& o) {
  ValueId g = gradient;
  if (o.weight_decay != 0) g = e.add(g, e.mul_number(parameter, o.weight_decay));
  Updated updated;
  if (o.momentum != 0) {
    if (!buffer) throw Error(ErrorCode::invalid_argument, "SGD: momentum needs a buffer");
    const ValueId held = e.add(e.mul_number(*buffer, o.momentum), e.mul_number(g, 1 - o.dampening));
    g = o.nesterov ? e.add(g, e.mul_number(held, o.momentum)) : held;
    updated.state = {held};
  }
  updated.parameter = e.add(parameter, e.mul_number(g, -o.lr));
  return updated;
}

bool is_muon_parameter(const std::string& name, const Shape& shape) {
  const bool table = name.find("embed") != std::string::npos || name.find("lm_head") != std::string::npos;
  return shape.size() == 2 && !table;
}

TrainingStep training_step(const Graph& gradients, const TrainingOptions& options) {
  Graph graph = gradients;
  std::vector<std::pair<std::string, ValueId>> parameters;
  for (GraphInput& input : graph.inputs) {
    if (input.kind != InputKind::parameter) continue;
    parameters.emplace_back(input.target, input.value);
    input.kind = InputKind::user;
    input.target = graph.values.at(static_cast<std::size_t>(input.value)).name;
  }
  if (graph.outputs.size() < parameters.size() + 1) {
    throw Error(ErrorCode::invalid_argument,
                graph.id + ": a training step needs the loss and a gradient for each of the " +
                    std::to_string(parameters.size()) + " parameters among its outputs");
  }
  const ValueId loss = graph.outputs[0].value;
  std::vector<ValueId> grads;
  for (std::size_t i = graph.outputs.size() - parameters.size(); i < graph.outputs.size(); ++i) {
    grads.push_back(graph.outputs[i].value);
  }
  graph.outputs.clear();

  GraphBuilder builder(std::move(graph));
  Emitter e(builder);
  TrainingStep made;
  int number = 0;
  const auto output = [&](ValueId id, const std::string& next) {
    builder.output(id);
    if (!next.empty()) made.carry.emplace_back(number, next);
    ++number;
  };
  output(loss, "");
  const ValueId before = builder.input("step", DType::f32, {});
  const ValueId step = e.add_number(before, 1);
  output(step, "step");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& [name, parameter] = parameters[i];
    const TensorMeta meta{e.dtype(parameter), e.shape(parameter)};
    const std::string id = builder.value(parameter).name;
    std::vector<std::string> states{id + "_first", id + "_second"};
    const bool muon = is_muon_parameter(name, meta.shape);
    if (muon) states = {id + "_momentum"};
    std::vector<ValueId> held;
    for (const std::string& state : states) held.push_back(builder.input(state, meta.dtype, meta.shape));
    const Updated updated = muon
                                ? muon_update(e, parameter, grads[i], held[0], options.muon)
                                : adamw_update(e, parameter, grads[i], held[0], held[1], step, options.adamw);
    output(updated.parameter, id);
    for (std::size_t s = 0; s < held.size(); ++s) output(updated.state[s], states[s]);
  }
  made.graph = builder.build();
  return made;
}

}  // namespace assay::models
