// Catalogue files: a zstd frame around the JSON of a graph and an object "assay" (sweeps/export/weights.md).
#include <nlohmann/json.hpp>
#include <string>

#include "core/io/catalogue_document.h"
#include "core/io/model.h"
#include "core/io/zstd_text.h"

namespace assay {
namespace {

constexpr uint64_t kMaxCatalogueText = uint64_t{64} << 20;

}  // namespace

Model parse_catalogue(std::string_view bytes, const std::string& origin) {
  std::string text;
  unpack_zstd(bytes, origin, kMaxCatalogueText, [&](std::string_view piece) { text += piece; });
  const nlohmann::json document = parse_json(text, origin);
  return CatalogueDocument(document, origin).model();
}

}  // namespace assay
