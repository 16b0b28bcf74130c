// The Contract of the reference backend, as JSON (abi/contract.schema.json).
#pragma once

namespace assay::reference {

const char* contract_json();

}  // namespace assay::reference
