// Gated linear attention: its backward pass is an operator of its own.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

void gla_chunk(Tape& t, const OpCall& call) {
  std::vector<NamedArgument> arguments{{"grad_output", ValueArg{t.grad(call, 0)}}};
  const auto of_state = call.output_used(1) ? t.grad_opt(call, 1) : std::nullopt;
  arguments.push_back({"grad_final_state", of_state ? Argument{ValueArg{*of_state}} : Argument{NoneArg{}}});
  const char* operands[] = {"q", "k", "v", "g"};
  for (const char* name : operands) arguments.push_back({name, ValueArg{t.value(call, name)}});
  const bool has_state = !call.is_none("initial_state");
  if (has_state) arguments.push_back({"initial_state", ValueArg{t.value(call, "initial_state")}});
  if (const auto offsets = call.integers_opt("cu_seqlens")) {
    arguments.push_back({"cu_seqlens", IntListArg{*offsets, {}}});
  }
  if (!call.is_none("scale")) arguments.push_back({"scale", call.floating("scale")});
  arguments.push_back({"chunk_size", call.integer("chunk_size")});
  const std::vector<ValueId> grads = t.call_all("assay::gla_chunk_backward.default", std::move(arguments));
  for (std::size_t i = 0; i < 4; ++i) t.give(call, operands[i], grads[i]);
  if (has_state) t.give(call, "initial_state", grads[4]);
}

}  // namespace

void register_gla(DerivativeTable& table) { table.add("assay::gla_chunk.default", gla_chunk); }

}  // namespace assay::models
