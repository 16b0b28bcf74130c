// safetensors (https://github.com/huggingface/safetensors format): 8-byte header length, JSON header, raw
// data.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/tensor.h"

namespace assay {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// Throws Error{malformed_file} naming file, tensor and place: header length, JSON (core/graph/json.h checks),
// unknown dtype, size that does not match shape, offsets that overlap, leave holes or pass the end. Error{io}
// if unreadable.
TensorFile read_safetensors(const std::string& path);
TensorFile parse_safetensors(std::string_view bytes, const std::string& origin);
std::string serialize_safetensors(const TensorFile& file);
void write_safetensors(const std::string& path,
                       const TensorFile& file);  // atomic: temporary file, then rename

}  // namespace assay
