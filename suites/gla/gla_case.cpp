#include "suites/gla/gla_case.h"

namespace assay::suites {

std::string dtype_name(DType dtype) { return std::string(name_of(dtype)); }

std::vector<NamedArgument> gla_arguments(GraphCase& c, const GlaSpec& s, bool backward) {
  const Shape keys{s.batch, s.length, s.heads, s.key}, values{s.batch, s.length, s.heads, s.value};
  const int64_t sequences = s.offsets ? static_cast<int64_t>(s.offsets->size()) - 1 : s.batch;
  const Shape states{sequences, s.heads, s.key, s.value};
  const DType wide = s.dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto operand = [&](const char* name, DType dtype, const Shape& shape) {
    return s.probe ? c.integers(name, dtype, shape, -2, 3) : c.draw(name, dtype, shape, s.center);
  };
  std::vector<NamedArgument> arguments;
  const auto give = [&](const char* name, ValueId id) { arguments.push_back({name, ValueArg{id}}); };
  if (backward) {
    give("grad_output", operand("grad_output", s.dtype, values));
    if (s.state_grad) {
      give("grad_final_state", operand("grad_final_state", wide, states));
    } else {
      arguments.push_back({"grad_final_state", NoneArg{}});
    }
  }
  give("q", operand("q", s.dtype, keys));
  give("k", operand("k", s.dtype, keys));
  give("v", operand("v", s.dtype, values));
  give("g", s.probe ? c.integers("g", s.gate_dtype, keys, 0, 1)
                    : c.draw("g", s.gate_dtype, keys, -s.gate, s.gate));
  if (s.state) give("initial_state", operand("initial_state", wide, states));
  if (s.offsets) arguments.push_back({"cu_seqlens", IntListArg{*s.offsets, {}}});
  if (s.scale) arguments.push_back({"scale", *s.scale});
  arguments.push_back({"chunk_size", s.chunk});
  return arguments;
}

std::vector<ValueId> append_gla(GraphCase& c, const GlaSpec& spec, bool backward) {
  return c.emit().call_all(backward ? "assay::gla_chunk_backward.default" : "assay::gla_chunk.default",
                           gla_arguments(c, spec, backward));
}

Case gla_case(const GlaSpec& spec, models::GlaForm form, bool backward) {
  const bool fused = form == models::GlaForm::fused;
  const std::string kind = std::string(backward ? "backward" : "chunk") + (fused ? "" : "-parts");
  GraphCase c("gla/" + kind + "/" + dtype_name(spec.dtype) + "/" + spec.variant,
              backward ? "assay::gla_chunk_backward.default" : "assay::gla_chunk.default");
  for (const ValueId id : append_gla(c, spec, backward)) c.output(id);
  // Numbers between the parts of a decomposition are no exchangeable draws.
  c.checks().suite_drawn = fused && !spec.probe && spec.length >= 32;
  c.checks().exact_probe = fused && spec.probe;
  return c.build(!fused);
}

}  // namespace assay::suites
