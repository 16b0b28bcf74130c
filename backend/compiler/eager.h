// Compiles one operator call: legality, shapes, then the operator's kernel writes the Program.
#pragma once

#include <string>

#include "backend/compiler/options.h"
#include "backend/isa/program.h"
#include "backend/kernels/kernel.h"

namespace assay::backend {

// Which engines a Program computes with.
enum class Native { engines = 1, gpsimd = 2 };  // numbers of assay_supports_args::native

struct CompiledCall {
  Program program;
  Native native = Native::engines;
};

// The Program's inputs are the call's inputs in their order, its outputs the call's. Throws
// Error{invalid_argument} with the sentence of the shape rules for bad arguments, Unsupported where the
// device does not do the call, ProgramError where it does not fit the device.
CompiledCall compile_call(const OpCall& call, const CoreDescription& core, const CompileOptions& options);

// The two halves of it. Is the call legal, and is there a kernel? Throws as above.
const Kernel& check_call(const OpCall& call);
// Lets the kernel of a checked call write into an empty builder: inputs, outputs, then its instructions.
void write_call(const OpCall& call, const Kernel& kernel, ProgramBuilder& builder,
                const CompileOptions& options, uint64_t turned = 0);
Native native_of(const Program& program);

}  // namespace assay::backend
