// How training runs start: what every model and backend shares.
#pragma once

#include "core/io/model.h"
#include "models/optimisers/optimisers.h"

namespace assay::suites {

// Muon iterates in f32: in bf16 two right implementations of its iterations differ by 1 %, and the band
// around a curve would hide more.
models::TrainingOptions training_options(double muon_lr, double adamw_lr);

// Of an input of a training step. Parameters as language models start: matrices of variance 1 / inputs, norms
// 1; optimisers at 0.
TensorRecipe initial_recipe(const Value& value);

}  // namespace assay::suites
