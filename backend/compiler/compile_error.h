// Why a graph does not compile: everything that was found, each of a documented class (docs/compiler.md).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.h"
#include "backend/isa/error.h"

namespace assay::backend {

enum class CompileErrorClass : uint8_t {
  unsupported_operator,  // no kernel
  dynamic_shape,         // a size is known only from data or was left symbolic
  dtype,                 // float64, complex, or a dtype that the operator's kernel lacks
  unsupported_argument,  // shape or argument that the operator's kernel lacks
  instruction_limit,     // EBVF030, EVRF007
  sbuf_overflow,
  psum_overflow,
  hbm_overflow,  // EOOM001, EOOM002
  internal,      // a kernel wrote what the device would refuse: a defect
};
std::string_view name_of(CompileErrorClass error_class);

struct CompileError {
  CompileErrorClass error_class;
  std::string node, op;  // "" where the whole graph is meant
  std::string source;    // "file.py:12", or ""
  std::string message;
};
// "[dtype] aten::add.Tensor (node add_3, model.py:12): ..."
std::string to_string(const CompileError& error);

// Never empty; what() lists all of them, one a line after a first line that counts them.
class CompileFailure : public std::runtime_error {
 public:
  explicit CompileFailure(std::vector<CompileError> errors);
  const std::vector<CompileError>& errors() const noexcept { return errors_; }
  assay_reason reason() const noexcept;  // of the first

 private:
  std::vector<CompileError> errors_;
};

CompileErrorClass class_of(assay_reason reason);
CompileErrorClass class_of(ProgramErrorClass error_class);

}  // namespace assay::backend
