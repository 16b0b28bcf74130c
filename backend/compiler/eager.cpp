#include "backend/compiler/eager.h"

#include <algorithm>

#include "backend/compiler/core_split.h"
#include "backend/isa/validate.h"
#include "core/error.h"
#include "core/opset/shapes.h"

namespace assay::backend {
namespace {

void check_dtype(const OpCall& call, const TensorMeta& meta) {
  if (meta.dtype == DType::f64) {
    throw Unsupported(ASSAY_REASON_FLOAT64, call.op() + ": the device has no float64");
  }
  if (is_complex(meta.dtype)) {
    throw Unsupported(ASSAY_REASON_COMPLEX, call.op() + ": the device has no complex numbers");
  }
}

std::string described(const TensorMeta& meta) {
  return std::string(name_of(meta.dtype)) + " " + assay::to_string(meta.shape);
}

void check_outputs(const OpCall& call) {
  const auto inferred = infer(call);
  for (const TensorMeta& meta : call.outputs()) {
    if (std::any_of(meta.shape.begin(), meta.shape.end(), [](int64_t s) { return s < 0; })) {
      throw Unsupported(ASSAY_REASON_DYNAMIC_SHAPE, call.op() + ": the result's shape depends on data");
    }
  }
  if (!inferred) return;
  if (inferred->size() != call.outputs().size()) {
    throw Error(ErrorCode::invalid_argument,
                call.op() + ": the node declares " + std::to_string(call.outputs().size()) +
                    " results, the operator gives " + std::to_string(inferred->size()));
  }
  for (std::size_t i = 0; i < inferred->size(); ++i) {
    if (!((*inferred)[i] == call.outputs()[i])) {
      throw Error(ErrorCode::invalid_argument, call.op() + ": result " + std::to_string(i) + " is declared " +
                                                   described(call.outputs()[i]) + ", the operator gives " +
                                                   described((*inferred)[i]));
    }
  }
}

}  // namespace

Native native_of(const Program& program) {
  const bool gpsimd =
      std::any_of(program.instructions.begin(), program.instructions.end(), [](const Instruction& i) {
        return i.engine == Engine::gpsimd && !is_dma(i.opcode) && i.opcode != Opcode::semaphore_wait;
      });
  return gpsimd ? Native::gpsimd : Native::engines;
}

const Kernel& check_call(const OpCall& call) {
  check_outputs(call);
  // Of dtypes that no operator has, before operators that are not there yet.
  for (const TensorMeta& meta : call.inputs()) check_dtype(call, meta);
  for (const TensorMeta& meta : call.outputs()) check_dtype(call, meta);
  const Kernel* kernel = kernels().find(call.op());
  if (kernel == nullptr) {
    throw Unsupported(ASSAY_REASON_OPERATOR, call.op() + ": the device has no kernel for this operator");
  }
  return *kernel;
}

void write_call(const OpCall& call, const Kernel& kernel, ProgramBuilder& builder,
                const CompileOptions& options, uint64_t turned) {
  builder.set_node(call.node_name().empty() ? call.op() : call.node_name());
  KernelContext context{call, builder, options, {}, {}};
  context.turned = turned;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    const TensorMeta& meta = call.inputs()[i];
    context.inputs.push_back(
        builder.input("input" + std::to_string(i), meta.dtype, element_count(meta.shape)));
  }
  for (std::size_t i = 0; i < call.outputs().size(); ++i) {
    const TensorMeta& meta = call.outputs()[i];
    context.outputs.push_back(
        builder.output("output" + std::to_string(i), meta.dtype, element_count(meta.shape)));
  }
  kernel(context);
}

CompiledCall compile_call(const OpCall& call, const CoreDescription& core, const CompileOptions& options) {
  const Kernel& kernel = check_call(call);
  const auto written = [&](const CompileOptions& of) {
    ProgramBuilder builder(core);
    write_call(call, kernel, builder, of);
    return builder;
  };
  CompiledCall out;
  if (options.lnc == 1) {
    out.program = written(options).finish();
  } else {
    out.program =
        fastest_on_two_cores(options, core, [&](const CompileOptions& of) { return written(of).program(); });
    validate(out.program, core);
  }
  out.native = native_of(out.program);
  return out;
}

}  // namespace assay::backend
