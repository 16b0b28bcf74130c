// Why a Program is refused, in the classes that the Neuron compiler's documented error codes fall into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"

namespace assay::backend {

enum class ProgramErrorClass : uint8_t {
  sbuf_overflow,      // usable SBUF bytes of a partition exceeded
  psum_overflow,      // banks or bank bytes exceeded
  hbm_out_of_memory,  // EOOM001/EOOM002/EVRF009
  instruction_limit,  // EBVF030/EVRF007/EXTP004
  dtype,              // EVRF004/EVRF051/...
  partition_rule,     // partition range or start-partition rule
  access_pattern,     // rank, tile limits, extent outside of the tensor, broadcast destination
  shape,              // operands that do not fit each other
  engine,             // an engine that cannot execute the instruction or reach the memory
  argument,           // missing operand, illegal operator or immediate
  semaphore,          // waits that nothing satisfies
};
std::string_view name_of(ProgramErrorClass error_class);
// The public code of the class ("EVRF007"), "" where AWS documents none.
std::string_view code_of(ProgramErrorClass error_class);

// what() names the instruction, its graph node, what was expected and what was found.
class ProgramError : public Error {
 public:
  ProgramError(ProgramErrorClass error_class, const std::string& message)
      : Error(ErrorCode::unsupported, message), class_(error_class) {}
  ProgramErrorClass error_class() const noexcept { return class_; }

 private:
  ProgramErrorClass class_;
};

}  // namespace assay::backend
