// Packs: many small catalogue models in one file, each with the outputs that are expected of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/io/model.h"

namespace assay {

struct PackedModel {
  std::string id;                // "assay.id" of the document: printable ASCII, 200 characters at most
  std::optional<Error> problem;  // the line could not be understood beyond its id; the rest is empty
  Model model;                   // of plain sizes, with recipes for all user inputs
  std::map<std::string, Tensor> expected;  // checked against the graph (core/io/expected.h)
};

// One zstd frame around catalogue documents (core/io/catalogue_document.h), one a line: calls use(model) for
// each as it is unpacked. A line that holds no document with an id, a damaged frame, a line of more than 64
// MiB and more than 1 GiB in all end the pack with Error{malformed_file} naming `origin` and line; lines
// before it have been used.
void read_pack(std::string_view bytes, const std::string& origin,
               const std::function<void(PackedModel)>& use);

}  // namespace assay
