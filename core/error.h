// Errors that a user caused or can mend.
#pragma once

#include <stdexcept>
#include <string>

namespace assay {

enum class ErrorCode {
  invalid_argument,  // a value that the callee cannot accept
  malformed_file,    // a file that is not what it claims to be
  unknown_operator,  // an operator that no schema describes
  unsupported,  // understood, but not possible here (symbolic sizes without inputs, an old file layout, ...)
  io,           // the operating system refused
  internal,     // a defect of Assay itself
};

// Thrown with a sentence that names the file or node, the place in it, what was expected and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace assay
