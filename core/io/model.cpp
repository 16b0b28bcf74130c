#include "core/io/model.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/io/file.h"
#include "core/io/weights.h"

namespace assay {

void check_weights(const Model& model) {
  for (const GraphInput& input : model.graph.inputs) {
    if (input.kind == InputKind::user) continue;
    const auto found = model.weights.find(input.target);
    if (found == model.weights.end()) {
      throw Error(ErrorCode::malformed_file,
                  fmt::format("{}: no data for '{}', which the graph needs", model.origin, input.target));
    }
    const Value& declared = model.graph.values.at(static_cast<std::size_t>(input.value));
    const Tensor& tensor = found->second;
    if (tensor.dtype() != declared.dtype || tensor.shape() != declared.shape) {
      throw Error(ErrorCode::malformed_file,
                  fmt::format("{}: '{}' is {} {}, but the graph declares {} {}", model.origin, input.target,
                              name_of(tensor.dtype()), to_string(tensor.shape()), name_of(declared.dtype),
                              to_string(declared.shape)));
    }
  }
}

Model read_model(const std::string& path) {
  const std::string bytes = read_file(path);
  const std::string_view head = std::string_view(bytes).substr(0, 4);
  if (head == "PK\x03\x04" || head == "PK\x05\x06") return parse_pt2(bytes, path);
  if (head == "\x28\xb5\x2f\xfd") return parse_catalogue(bytes, path);
  throw Error(
      ErrorCode::malformed_file,
      fmt::format("{}: byte 0: neither a zip archive (a .pt2 file of torch.export.save) nor a zstd frame (a "
                  "catalogue file){}",
                  path,
                  bytes.empty() ? "; the file is empty"
                  : static_cast<unsigned char>(bytes[0]) == 0x80
                      ? "; it looks like a pickle, which is never read"
                      : ""));
}

}  // namespace assay
