// Programs as bytes, for the compile cache.
#pragma once

#include <string>
#include <string_view>

#include "backend/isa/program.h"

namespace assay::backend {

// Little-endian, field by field: equal Programs give equal bytes on every machine. Holds no checksum of its
// own.
std::string write_program(const Program& program);

// The Program, or Error{malformed_file} naming `origin`, the byte and what was expected there. Reads within
// the bytes given and allocates no more than they can describe; whether the Program is one that a core would
// accept is validate()'s to say (validate.h).
Program read_program(std::string_view bytes, const std::string& origin);

}  // namespace assay::backend
