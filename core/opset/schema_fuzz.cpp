// libFuzzer: any text either parses, and then prints back to something that parses to the same schema, or
// throws Error.
#include <cstdlib>

#include "core/error.h"
#include "core/opset/schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const assay::Schema schema =
        assay::parse_schema(std::string_view(reinterpret_cast<const char*>(data), size));
    const std::string printed = assay::to_string(schema);
    if (assay::to_string(assay::parse_schema(printed)) != printed) std::abort();
  } catch (const assay::Error&) {
  }
  return 0;
}
