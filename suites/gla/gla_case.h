// Cases of assay::gla_chunk and its backward pass, by sizes and gates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/case/case.h"
#include "models/gla/gla.h"
#include "suites/graph_case.h"

namespace assay::suites {

struct GlaSpec {
  std::string variant;  // the id's last part
  int64_t length = 1;
  DType dtype = DType::f32;
  DType gate_dtype = DType::f32;  // or that of the operands
  int64_t batch = 1, heads = 1, key = 16, value = 24;
  // Gates are drawn from [-2 gate, 0): log-sigmoid of a logit around 0 is about -0.7, divided by the
  // normaliser 16 about -0.04.
  double gate = 0.04;
  double center = 0;  // of q, k and v, drawn from [center - 1, center + 1)
  std::optional<std::vector<int64_t>> offsets = {};
  std::optional<double> scale = {};
  int64_t chunk = 128;
  bool state = true;       // an initial state is given
  bool state_grad = true;  // backward: a gradient of the final state arrives
  bool probe = false;      // small integers, gates 0: exact in every order
};

// Appends inputs: the arguments of gla_chunk, or of gla_chunk_backward, which begins with two gradients.
std::vector<NamedArgument> gla_arguments(GraphCase& c, const GlaSpec& spec, bool backward);
// Appends inputs and the call; results of gla_chunk, or of gla_chunk_backward.
std::vector<ValueId> append_gla(GraphCase& c, const GlaSpec& spec, bool backward);

// What is run: the fused operator, its chunked decomposition, or the recurrence row by row.
Case gla_case(const GlaSpec& spec, models::GlaForm form, bool backward = false);

std::string dtype_name(DType dtype);

}  // namespace assay::suites
