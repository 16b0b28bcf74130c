#include "reference/bounds/muon.h"

#include <algorithm>
#include <cmath>

#include "reference/ops/muon.h"

namespace assay::reference {
namespace {

constexpr int kReplays = 8;
constexpr double kSigmas = 8;

}  // namespace

MuonCall muon_call(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  MuonCall m;
  m.turned = shape.at(0) > shape.at(1);
  m.rows = std::min(shape[0], shape[1]);
  m.columns = std::max(shape[0], shape[1]);
  m.steps = call.integer("steps");
  m.clamp_norm = call.boolean("clamp_norm");
  m.a = call.floating("a");
  m.b = call.floating("b");
  m.c = call.floating("c");
  m.eps = call.floating("eps");
  m.dtype = call.input(0).dtype;
  return m;
}

std::vector<Bounded> newton_schulz(const MuonCall& m, std::vector<Bounded> x) {
  std::vector<double> values(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) values[i] = x[i].value;
  const std::vector<double> exact = newton_schulz(m, values);
  Environment replay(current_environment->precision(), m.dtype, true);
  const EnvironmentScope scope(&replay);
  std::vector<double> squares(x.size(), 0);
  double total = 0;
  for (uint32_t r = 0; r < kReplays; ++r) {
    replay.random = RandomStream(0x4d756f6e, r, 0);
    std::vector<Stochastic> drawn(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      // Operands that are auto-cast move within their Bound.
      drawn[i] = x[i].bound > 0 ? values[i] + x[i].bound * replay.random.symmetric() : values[i];
    }
    const std::vector<Stochastic> got = newton_schulz(m, std::move(drawn));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double d = got[i].value - exact[i];
      squares[i] = d * d + squares[i];
      total = d * d + total;
    }
  }
  const double typical = total / (kReplays * static_cast<double>(x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double variance = squares[i] / kReplays + typical;
    const double rounding = current_environment->u * std::fabs(exact[i]);
    // Zero rows and columns stay exactly zero in every replay.
    const bool untouched = exact[i] == 0 && squares[i] == 0;
    x[i] = {exact[i], untouched ? 0 : kSigmas * std::sqrt(variance) + rounding, untouched ? 0 : variance};
  }
  return x;
}

}  // namespace assay::reference
