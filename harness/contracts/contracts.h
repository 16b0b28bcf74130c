// Contracts for backends that cannot supply one of their own: PyTorch's devices.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/contract/contract.h"

namespace assay {

// Folders in which contracts are looked for, in this order: $ASSAY_SHARE_DIR/harness/contracts;
// share/assay/... beside the folder of the running program (an installed Assay); harness/contracts in one of
// the folders above it (a build tree inside the sources).
std::vector<std::string> contract_folders();

// NAME_TARGET.json for "NAME:TARGET" ("torch:cpu" -> "torch_cpu.json"). A target with an index ("cuda:1") is
// looked up without it where no file names it. nullopt if no folder has the file; throws
// Error{malformed_file} if it is not a Contract and Error{invalid_argument} for a name with other characters
// than letters, digits, '_', '-' and ':'.
std::optional<Contract> default_contract(std::string_view backend);
std::optional<Contract> default_contract(std::string_view backend, const std::vector<std::string>& folders);

}  // namespace assay
