// The precision that the simulated device declares.
#pragma once

namespace assay::backend {

// abi/contract.schema.json.
const char* contract_json();

}  // namespace assay::backend
