// libFuzzer: any bytes end in tensors or an Error; tensors that were read are written and read again
// unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "core/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace assay;
  TensorFile file;
  try {
    file = parse_safetensors({reinterpret_cast<const char*>(data), size}, "fuzz.safetensors");
  } catch (const Error&) {
    return 0;
  }
  const TensorFile again = parse_safetensors(serialize_safetensors(file), "written");
  if (again.tensors.size() != file.tensors.size() || again.metadata != file.metadata) std::abort();
  for (const auto& [name, tensor] : file.tensors) {
    if (!again.tensors.at(name).bitwise_equal(tensor)) std::abort();
  }
  return 0;
}
