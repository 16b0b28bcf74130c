// assay::muon_orthogonalize: Newton-Schulz iterations towards the nearest semi-orthogonal matrix (Jordan et
// al., "Muon", 2024), the odd quintic p(x) = a x + b x^3 + c x^5 applied `steps` times to the singular values
// of self / (|self|_F + eps), or of self / max(|self|_F, eps) with clamp_norm.
#include <cmath>

#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

constexpr int64_t kMaxSteps = 99;  // torch.optim.Muon refuses 100

Metas muon_orthogonalize(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (rank(self) != 2) {
    fail(call,
         "self has shape {}; Muon takes matrices: give parameters of other ranks to AdamW, or reshape them",
         to_string(self.shape));
  }
  if (self.dtype != DType::f64 && self.dtype != DType::f32 && self.dtype != DType::bf16 &&
      self.dtype != DType::f16) {
    fail(call, "self has dtype {}; it must be f64, f32, bf16 or f16", name_of(self.dtype));
  }
  const int64_t steps = call.integer("steps");
  if (steps < 0 || steps > kMaxSteps) fail(call, "steps is {}; it must be from 0 to {}", steps, kMaxSteps);
  for (const std::string_view name : {"a", "b", "c"}) {
    if (!std::isfinite(call.floating(name)))
      fail(call, "{} is {}; it must be finite", name, call.floating(name));
  }
  const double eps = call.floating("eps");
  if (!(eps > 0) || !std::isfinite(eps)) fail(call, "eps is {}; it must be positive", eps);
  return {self};
}

}  // namespace

void register_muon(ShapeTable& table) { table.add("assay::muon_orthogonalize.default", muon_orthogonalize); }

}  // namespace assay
