// Resampling of images. Upsampling is linear and goes dim by dim: a dim's matrix is what the operator makes
// of the unit vectors.
#include <string>

#include "core/decompose/decompose.h"
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

// d = 0 is the first spatial dim. Sizes and scales of the other dims are 1.
ValueId matrix_of(Tape& t, const OpCall& call, std::size_t d, DType dtype) {
  const Shape& input = call.input(0).shape;
  const std::size_t dims = input.size() - 2;
  const int64_t in = input[d + 2], out = call.output(0).shape[d + 2];
  const ValueId numbers = t.numbers(in);
  const ValueId units = t.cast(t.compare("eq", t.unsqueeze(numbers, 0), t.unsqueeze(numbers, 1)), dtype);
  Shape shape(dims + 2, 1);
  shape[1] = shape[d + 2] = in;
  std::vector<int64_t> size(dims, 1);
  size[d] = out;
  std::vector<NamedArgument> arguments{{"self", ValueArg{t.view(units, shape)}},
                                       {"output_size", IntListArg{size, {}}}};
  if (call.schema().find("align_corners") != nullptr)
    arguments.push_back({"align_corners", call.boolean("align_corners")});
  // The last `dims` of them.
  static constexpr const char* kScales[] = {"scales_d", "scales_h", "scales_w"};
  const char* scale = dims == 1 ? "scales" : kScales[3 - dims + d];
  if (call.schema().find("scale_factors") != nullptr) {
    if (const auto factors = call.floats_opt("scale_factors")) arguments.push_back({scale, factors->at(d)});
  } else if (!call.is_none(scale)) {
    arguments.push_back({scale, call.floating(scale)});
  }
  const ValueId columns = t.call(std::string(without_overload(call.op())) + ".default", std::move(arguments));
  return t.transpose(t.view(columns, {in, out}), 0, 1);
}

void upsample(Tape& t, const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  ValueId g = t.grad(call);
  for (std::size_t d = 0; d + 2 < call.input(0).shape.size(); ++d)
    g = t.along(g, matrix_of(t, call, d, dtype), static_cast<int64_t>(d) + 2);
  t.give(call, call.schema().find("input") != nullptr ? "input" : "self", g);
}

void grid_sampler(Tape& t, const OpCall& call) {
  const std::vector<ValueId> grads =
      t.call_all(std::string(without_overload(call.op())) + "_backward.default",
                 {{"grad_output", ValueArg{t.grad(call)}},
                  {"input", ValueArg{t.value(call, "input")}},
                  {"grid", ValueArg{t.value(call, "grid")}},
                  {"interpolation_mode", call.integer("interpolation_mode")},
                  {"padding_mode", call.integer("padding_mode")},
                  {"align_corners", call.boolean("align_corners")},
                  {"output_mask", std::vector<bool>{t.wants(call, "input"), t.wants(call, "grid")}}});
  if (t.wants(call, "input")) t.give(call, "input", grads[0]);
  if (t.wants(call, "grid")) t.give(call, "grid", grads[1]);
}

// The gradient of upsampling is linear: its transpose is upsampling.
void upsample_gradient(Tape& t, const OpCall& call) {
  std::string op(without_overload(call.op()));
  op.resize(op.size() - std::string_view("_backward").size());
  std::vector<NamedArgument> arguments;
  for (const NamedArgument& argument : passed_on(call)) {
    if (argument.name == "grad_output") {
      arguments.push_back({"self", ValueArg{t.grad(call)}});
    } else if (argument.name != "input_size") {
      arguments.push_back(argument);
    }
  }
  t.give(call, "grad_output", t.call(op + ".default", std::move(arguments)));
}

}  // namespace

void register_resampling(DerivativeTable& table) {
  for (const char* op :
       {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d", "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "upsample_trilinear3d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"}) {
    for (const char* overload : {".default", ".vec"})
      table.add("aten::" + std::string(op) + overload, upsample);
  }
  for (const char* op :
       {"nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d"})
    table.add("aten::upsample_" + std::string(op) + "_backward.default", upsample_gradient);
  table.add("aten::grid_sampler_2d.default", grid_sampler);
  table.add("aten::grid_sampler_3d.default", grid_sampler);
}

}  // namespace assay::models
