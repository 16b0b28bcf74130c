#include "backend/compiler/compile_error.h"

#include <set>
#include <utility>

namespace assay::backend {
namespace {

// Equal calls in repeated blocks fail alike: one line each, with the first node and how many there are.
std::string listed(const std::vector<CompileError>& errors) {
  std::string out = "the graph does not compile:";
  std::set<std::string> seen;
  for (const CompileError& error : errors) {
    CompileError anonymous = error;
    anonymous.node = anonymous.source = "";
    const std::string same = to_string(anonymous);
    if (!seen.insert(same).second) continue;
    std::size_t count = 0;
    for (const CompileError& other : errors) {
      count +=
          other.error_class == error.error_class && other.op == error.op && other.message == error.message;
    }
    out += "\n" + to_string(error);
    if (count > 1) out += " [and " + std::to_string(count - 1) + " more]";
  }
  return out;
}

}  // namespace

std::string_view name_of(CompileErrorClass error_class) {
  switch (error_class) {
    case CompileErrorClass::unsupported_operator:
      return "unsupported_operator";
    case CompileErrorClass::dynamic_shape:
      return "dynamic_shape";
    case CompileErrorClass::dtype:
      return "dtype";
    case CompileErrorClass::unsupported_argument:
      return "unsupported_argument";
    case CompileErrorClass::instruction_limit:
      return "instruction_limit";
    case CompileErrorClass::sbuf_overflow:
      return "sbuf_overflow";
    case CompileErrorClass::psum_overflow:
      return "psum_overflow";
    case CompileErrorClass::hbm_overflow:
      return "hbm_overflow";
    case CompileErrorClass::internal:
      break;
  }
  return "internal";
}

std::string to_string(const CompileError& error) {
  std::string out = "[" + std::string(name_of(error.error_class)) + "] " + error.op;
  if (!error.node.empty() || !error.source.empty()) {
    out += " (" + (error.node.empty() ? std::string() : "node " + error.node);
    if (!error.source.empty()) out += (error.node.empty() ? "" : ", ") + error.source;
    out += ")";
  }
  // Kernels and shape rules begin their sentences with the operator.
  std::string_view message = error.message;
  if (!error.op.empty() && message.starts_with(error.op + ": ")) message.remove_prefix(error.op.size() + 2);
  return out + (out.back() == ' ' ? "" : ": ") + std::string(message);
}

CompileFailure::CompileFailure(std::vector<CompileError> errors)
    : std::runtime_error(listed(errors)), errors_(std::move(errors)) {}

assay_reason CompileFailure::reason() const noexcept {
  switch (errors_.front().error_class) {
    case CompileErrorClass::unsupported_operator:
      return ASSAY_REASON_OPERATOR;
    case CompileErrorClass::dynamic_shape:
      return ASSAY_REASON_DYNAMIC_SHAPE;
    case CompileErrorClass::dtype:
      return ASSAY_REASON_DTYPE;
    case CompileErrorClass::unsupported_argument:
      return ASSAY_REASON_ARGUMENT;
    case CompileErrorClass::instruction_limit:
      return ASSAY_REASON_SHAPE;
    case CompileErrorClass::sbuf_overflow:
    case CompileErrorClass::psum_overflow:
    case CompileErrorClass::hbm_overflow:
      return ASSAY_REASON_MEMORY;
    case CompileErrorClass::internal:
      break;
  }
  return ASSAY_REASON_NONE;
}

CompileErrorClass class_of(assay_reason reason) {
  switch (reason) {
    case ASSAY_REASON_OPERATOR:
      return CompileErrorClass::unsupported_operator;
    case ASSAY_REASON_DYNAMIC_SHAPE:
      return CompileErrorClass::dynamic_shape;
    case ASSAY_REASON_DTYPE:
    case ASSAY_REASON_COMPLEX:
    case ASSAY_REASON_FLOAT64:
      return CompileErrorClass::dtype;
    case ASSAY_REASON_MEMORY:
      return CompileErrorClass::hbm_overflow;
    default:
      return CompileErrorClass::unsupported_argument;
  }
}

CompileErrorClass class_of(ProgramErrorClass error_class) {
  switch (error_class) {
    case ProgramErrorClass::sbuf_overflow:
      return CompileErrorClass::sbuf_overflow;
    case ProgramErrorClass::psum_overflow:
      return CompileErrorClass::psum_overflow;
    case ProgramErrorClass::hbm_out_of_memory:
      return CompileErrorClass::hbm_overflow;
    case ProgramErrorClass::instruction_limit:
      return CompileErrorClass::instruction_limit;
    case ProgramErrorClass::dtype:
      return CompileErrorClass::dtype;
    // A shape that a kernel does not foresee shows as an instruction that the device would refuse.
    case ProgramErrorClass::partition_rule:
    case ProgramErrorClass::access_pattern:
    case ProgramErrorClass::shape:
    case ProgramErrorClass::argument:
      return CompileErrorClass::unsupported_argument;
    case ProgramErrorClass::engine:
    case ProgramErrorClass::semaphore:
      break;
  }
  return CompileErrorClass::internal;
}

}  // namespace assay::backend
