// `.pt2` archives as torch.export.save writes them (torch/export/pt2_archive/_package.py, PyTorch 2.8 and
// newer).
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/graph/json_cursor.h"
#include "core/io/file.h"
#include "core/io/model.h"
#include "core/io/weights.h"
#include "core/io/zip.h"

namespace assay {
namespace {

constexpr uint64_t kMaxJson = uint64_t{256} << 20;
constexpr const char* kReexport =
    "Load it with the PyTorch that wrote it and save it again with torch.export.save of PyTorch 2.8 or "
    "newer; pickles "
    "are never read";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// What the archive is instead, if it is no exported program of a layout that is read here.
[[noreturn]] void refuse_layout(const ZipArchive& archive, const std::string& origin) {
  for (const auto& [name, size] : archive.entries()) {
    if (ends_with(name, "serialized_exported_program.json") || ends_with(name, "serialized_state_dict.pt")) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: entry '{}' is of an older layout, with weights in a pickle. {}", origin,
                              name, kReexport));
    }
    if (ends_with(name, "/data.pkl") || name == "data.pkl") {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: entry '{}': a torch.save or TorchScript file, not an exported program. Export the "
                      "model with torch.export.export and torch.export.save",
                      origin, name));
    }
    if (name.find("/data/aotinductor/") != std::string::npos) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: entry '{}': a package compiled by AOTInductor, which holds no graph. Save the "
                      "exported program itself with torch.export.save",
                      origin, name));
    }
  }
  throw Error(ErrorCode::malformed_file,
              fmt::format("{}: no entry */models/*.json: not an archive of torch.export.save", origin));
}

struct Layout {
  std::string root;   // with a slash at its end
  std::string model;  // "model"
};

// PyTorchFileWriter names the root folder after the file, so it may be anything.
Layout find_model(const ZipArchive& archive, const std::string& origin) {
  constexpr std::string_view kFolder = "/models/";
  constexpr std::string_view kSuffix = ".json";
  std::vector<Layout> found;
  for (const auto& [name, size] : archive.entries()) {
    const auto at = name.find(kFolder);
    if (at == std::string::npos || name.find('/') != at || !ends_with(name, kSuffix)) continue;
    const std::string model =
        name.substr(at + kFolder.size(), name.size() - at - kFolder.size() - kSuffix.size());
    if (!model.empty() && model.find('/') == std::string::npos)
      found.push_back({name.substr(0, at + 1), model});
  }
  if (found.empty()) refuse_layout(archive, origin);
  if (found.size() > 1) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: holds {} models ('{}', '{}', ...); save each in a file of its own", origin,
                            found.size(), found[0].model, found[1].model));
  }
  return found[0];
}

void check_marker(const ZipArchive& archive, const std::string& origin, const std::string& name,
                  std::string_view expected) {
  if (!archive.contains(name)) return;
  std::string text = archive.read(name, 4096);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  if (text != expected) {
    throw Error(ErrorCode::unsupported, fmt::format("{}: entry '{}' says '{}', only '{}' is supported",
                                                    origin, name, text, expected));
  }
}

int64_t plain_int(const JsonCursor& size) {
  const auto [kind, value] = size.alternative();
  if (kind != "as_int") size.fail("a stored tensor cannot have symbolic sizes");
  return value.integer();
}

Shape plain_ints(const JsonCursor& list) {
  Shape shape;
  for (std::size_t i = 0; i < list.size(); ++i) shape.push_back(plain_int(list.at(i)));
  return shape;
}

// Payloads of one folder (weights or constants) and the configuration that names them.
class Payloads {
 public:
  Payloads(const ZipArchive& archive, const std::string& origin, std::string folder,
           const std::string& config_name)
      : archive_(archive),
        folder_(std::move(folder)),
        place_(fmt::format("{}: {}", origin, folder_ + config_name)) {
    if (!archive.contains(folder_ + config_name)) return;
    document_ = parse_json(archive.read(folder_ + config_name, kMaxJson), place_);
    const JsonCursor config = JsonCursor(document_, place_).at("config");
    for (auto& [name, meta] : config.members()) payloads_.emplace(name, meta);
  }

  bool contains(const std::string& name) const { return payloads_.count(name) != 0; }
  const std::string& place() const { return place_; }

  Tensor load(const std::string& name) {
    const JsonCursor& payload = payloads_.at(name);
    if (payload.at("use_pickle").boolean()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: is stored as a pickle (a tensor subclass or an object), and "
                              "pickles are never read. Replace it by a plain tensor and export "
                              "again",
                              payload.place()));
    }
    const JsonCursor meta = payload.at("tensor_meta");
    const JsonCursor code = meta.at("dtype");
    const auto dtype = dtype_from_export_code(code.integer());
    if (!dtype) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: dtype code {} is not supported", code.place(), code.integer()));
    }
    if (const auto layout = meta.find("layout"); layout && layout->integer() != 7) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: only strided tensors are supported", layout->place()));
    }
    const Shape shape = plain_ints(meta.at("sizes"));
    const Shape strides = plain_ints(meta.at("strides"));
    const int64_t offset = plain_int(meta.at("storage_offset"));
    const std::string path = folder_ + payload.at("path_name").string();
    const auto size = archive_.entries().find(path);
    if (size == archive_.entries().end()) payload.fail(fmt::format("zip entry '{}' is missing", path));
    check_view(meta, *dtype, shape, strides, offset, size->second);
    return Tensor(*dtype, shape, strides, offset, storage(path, size->second));
  }

 private:
  // Every element of the view lies in a storage of `bytes` bytes.
  static void check_view(const JsonCursor& meta, DType dtype, const Shape& shape, const Shape& strides,
                         int64_t offset, uint64_t bytes) {
    __extension__ using Wide = __int128;
    if (shape.size() != strides.size())
      meta.fail(fmt::format("{} sizes, {} strides", shape.size(), strides.size()));
    if (!checked_bytes(shape, dtype)) meta.fail(fmt::format("shape {} is not possible", to_string(shape)));
    if (offset < 0) meta.fail(fmt::format("negative storage_offset {}", offset));
    Wide last = offset;
    bool empty = false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (strides[i] < 0) meta.fail(fmt::format("negative stride {}", strides[i]));
      if (shape[i] == 0)
        empty = true;
      else
        last += Wide{shape[i] - 1} * strides[i];
    }
    const Wide elements = static_cast<Wide>(bytes / size_of(dtype));
    if (empty ? Wide{offset} > elements : last >= elements) {
      meta.fail(fmt::format(
          "sizes {}, strides {} and offset {} pass the end of the stored data ({} bytes, {} of {})",
          to_string(shape), to_string(strides), offset, bytes, static_cast<uint64_t>(bytes / size_of(dtype)),
          name_of(dtype)));
    }
  }

  // Tied weights and views name the same entry: they share one storage, as they did in PyTorch.
  std::shared_ptr<Storage> storage(const std::string& path, uint64_t size) {
    auto& storage = storages_[path];
    if (!storage) {
      storage = std::make_shared<Storage>(static_cast<std::size_t>(size));
      archive_.read_into(path, reinterpret_cast<char*>(storage->data()), size);
    }
    return storage;
  }

  const ZipArchive& archive_;
  std::string folder_;
  std::string place_;
  nlohmann::json document_;
  std::map<std::string, JsonCursor> payloads_;
  std::map<std::string, std::shared_ptr<Storage>> storages_;
};

}  // namespace

Model parse_pt2(std::string_view bytes, const std::string& origin) {
  const ZipArchive archive(bytes, origin);
  const Layout layout = find_model(archive, origin);
  check_marker(archive, origin, layout.root + "archive_format", "pt2");
  check_marker(archive, origin, layout.root + "byteorder", "little");

  Model model;
  model.origin = origin;
  const std::string json_name = fmt::format("{}models/{}.json", layout.root, layout.model);
  model.graph = graph_from_document(
      parse_json(archive.read(json_name, kMaxJson), fmt::format("{}: {}", origin, json_name)),
      fmt::format("{}: {}", origin, json_name));
  model.graph.id = origin;

  Payloads weights(archive, origin, layout.root + "data/weights/", layout.model + "_weights_config.json");
  Payloads constants(archive, origin, layout.root + "data/constants/",
                     layout.model + "_constants_config.json");
  for (const GraphInput& input : model.graph.inputs) {
    if (input.kind == InputKind::user) continue;
    Payloads& payloads = weights.contains(input.target) ? weights : constants;
    if (!payloads.contains(input.target)) {
      for (const char* folder : {"data/weights/", "data/constants/"}) {
        const std::string pickle = fmt::format("{}{}{}.pt", layout.root, folder, layout.model);
        if (archive.contains(pickle)) {
          throw Error(ErrorCode::unsupported, fmt::format("{}: entry '{}' keeps the weights in a pickle. {}",
                                                          origin, pickle, kReexport));
        }
      }
      throw Error(ErrorCode::malformed_file, fmt::format("{}: has no data for '{}', which the graph needs",
                                                         weights.place(), input.target));
    }
    model.weights.emplace(input.target, payloads.load(input.target));
  }
  check_weights(model);
  return model;
}

}  // namespace assay
