// libFuzzer: any bytes end in a Model or an Error. A model that was read can be written, specialised and
// given inputs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/io/input_ranges.h"
#include "core/io/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const Model model = parse_pt2({reinterpret_cast<const char*>(data), size}, "fuzz.pt2");
    graph_from_json(graph_to_json(model.graph), "written");
    default_input_recipes(model);
  } catch (const Error&) {
  }
  return 0;
}
