// libFuzzer: any bytes end in a Model, a pack of Models or an Error, as a zstd frame (first byte even) or as
// the text inside one (odd), since mutations rarely leave a frame intact.
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/io/model.h"
#include "core/io/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace assay;
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    bytes = std::move(frame);
  }
  try {
    read_pack(bytes, "fuzz.jsonl.zst", [](const PackedModel&) {});
  } catch (const Error&) {
  }
  try {
    const Model model = parse_catalogue(bytes, "fuzz.json.zst");
    for (const auto& [name, recipe] : model.inputs) {
      if (element_count(recipe.shape) < 100'000) materialise(recipe, "input:" + name, 0);
    }
  } catch (const Error&) {
  }
  return 0;
}
