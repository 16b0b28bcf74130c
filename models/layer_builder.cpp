#include "models/layer_builder.h"

#include <algorithm>

namespace assay::models {

ValueId LayerBuilder::parameter(const std::string& name, const Shape& shape) {
  std::string id = "p_" + name;
  std::replace(id.begin(), id.end(), '.', '_');
  return e_.cast(e_.builder().input(id, held_in_, shape, InputKind::parameter, name), dtype_);
}

ValueId LayerBuilder::linear(ValueId x, const std::string& name, int64_t out, bool bias) {
  const ValueId weight = parameter(name + ".weight", {out, e_.size(x, -1)});
  std::vector<NamedArgument> arguments{{"input", ValueArg{x}}, {"weight", ValueArg{weight}}};
  if (bias) arguments.push_back({"bias", ValueArg{parameter(name + ".bias", {out})}});
  return e_.call("aten::linear.default", arguments);
}

ValueId LayerBuilder::norm(ValueId x, const std::string& weight, bool affine) {
  const int64_t size = e_.size(x, -1);
  std::vector<NamedArgument> arguments{
      {"input", ValueArg{x}}, {"normalized_shape", IntListArg{{size}, {}}}, {"eps", norm_eps_}};
  if (affine) arguments.push_back({"weight", ValueArg{parameter(weight, {size})}});
  return e_.call("aten::rms_norm.default", arguments);
}

ValueId LayerBuilder::gated_mlp(ValueId x, const std::string& prefix, int64_t inner) {
  const int64_t outer = e_.size(x, -1);
  const ValueId gate = linear(x, prefix + "gate_proj", inner);
  const ValueId up = linear(x, prefix + "up_proj", inner);
  return linear(e_.mul(e_.unary("silu", gate), up), prefix + "down_proj", outer);
}

}  // namespace assay::models
