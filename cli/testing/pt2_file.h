// .pt2 archives, made or taken apart. For tests.
#pragma once

#include <map>
#include <string>

#include "core/io/file.h"
#include "core/io/test_archive.h"
#include "core/io/zip.h"

namespace assay::cli {

using Archive = std::map<std::string, ArchiveEntry>;

// A model without weights around the JSON of its graph.
inline Archive archive_of(const std::string& model_json) {
  return {{"m/models/model.json", {model_json}},
          {"m/data/weights/model_weights_config.json", {R"({"config": {}})"}},
          {"m/data/constants/model_constants_config.json", {R"({"config": {}})"}},
          {"m/archive_format", {"pt2"}},
          {"m/archive_version", {"0"}},
          {"m/byteorder", {"little"}}};
}
inline std::string pt2_of(const std::string& model_json) { return make_archive(archive_of(model_json)); }

inline std::string testdata(const std::string& name) {
  return std::string(ASSAY_SOURCE_DIR "/core/io/testdata/") + name + ".pt2";
}

// Entries of one of core's test archives, as torch.export.save wrote them.
inline Archive entries_of(const std::string& name) {
  const std::string bytes = read_file(testdata(name));
  const ZipArchive archive(bytes, name);
  Archive entries;
  for (const auto& [entry, size] : archive.entries()) entries[entry] = {archive.read(entry)};
  return entries;
}

}  // namespace assay::cli
