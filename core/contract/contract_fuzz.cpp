// Any bytes are a Contract that survives a round trip, or an Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/contract/contract.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  try {
    const assay::Contract contract =
        assay::Contract::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string text = contract.to_json();
    if (assay::Contract::parse(text, "again").to_json() != text) std::abort();
    contract.precision("aten::mm.default", assay::DType::bf16, "eager", {{"key", "value"}});
    assay::looser_than_floor(contract, R"({"name":"floor"})");
  } catch (const assay::Error&) {
  }
  return 0;
}
