#include "suites/training/start.h"

#include <cmath>

namespace assay::suites {

models::TrainingOptions training_options(double muon_lr, double adamw_lr) {
  models::TrainingOptions options;
  options.muon.lr = muon_lr;
  options.muon.iterate_in.reset();
  options.adamw.lr = adamw_lr;
  options.adamw.weight_decay = 0;
  return options;
}

TensorRecipe initial_recipe(const Value& value) {
  const std::string& name = value.name;
  UniformDraw draw{0, 0};
  const bool state = name.ends_with("_momentum") || name.ends_with("_first") || name.ends_with("_second");
  if (name.starts_with("p_") && !state) {
    if (name.find("norm") != std::string::npos) {
      draw = {1, 0};
    } else if (value.shape.size() == 2) {
      draw = {0, std::sqrt(3 / static_cast<double>(value.shape[1]))};
    }
  }
  return {value.dtype, value.shape, draw};
}

}  // namespace assay::suites
