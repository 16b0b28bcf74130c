// What a kernel is: a function that writes a Program for one operator call of given shapes, as an NKI kernel
// does. Kernels of one family share a file in families/; its register_NAME adds them to the table.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend.h"
#include "backend/compiler/options.h"
#include "backend/isa/builder.h"
#include "backend/kernels/view.h"
#include "core/opset/call.h"

namespace assay::backend {

// A call that the device does not do, and why; what() is a sentence that names operator and argument.
class Unsupported : public std::runtime_error {
 public:
  Unsupported(assay_reason reason, const std::string& message)
      : std::runtime_error(message), reason_(reason) {}
  assay_reason reason() const noexcept { return reason_; }

 private:
  assay_reason reason_;
};

class Region;

// What kernels read and write. `inputs` and `outputs` are the Program's tensor numbers.
struct KernelContext {
  const OpCall& call;
  ProgramBuilder& b;
  const CompileOptions& options;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  Region* region = nullptr;  // only part of the call (region.h); null: all of it
  // Bit i: the last two dimensions of input i are swapped in HBM. Products alone are given such inputs.
  uint64_t turned = 0;

  View input(int i) const;
  View input(std::string_view argument) const { return input(call.tensor(argument)); }
  View output(int i = 0) const;
  [[noreturn]] void unsupported(assay_reason reason, const std::string& sentence) const;
};

// Throws Unsupported, ProgramError (the call does not fit the device) or Error (bad arguments).
using Kernel = std::function<void(KernelContext&)>;

class KernelTable {
 public:
  void add(const std::string& full_name, Kernel kernel);  // throws Error{internal} if already there
  const Kernel* find(std::string_view full_name) const;   // nullptr if there is none
  std::vector<std::string> names() const;

 private:
  std::map<std::string, Kernel, std::less<>> kernels_;
};

// Filled from families/*.cpp (cmake assay_registry).
const KernelTable& kernels();

}  // namespace assay::backend
