#include "core/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/graph/json.h"
#include "core/graph/json_cursor.h"
#include "core/io/file.h"

namespace assay {
namespace {

constexpr std::size_t kPrefix = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t kMostDimensions = 64;

struct Entry {
  std::string name;
  DType dtype;
  Shape shape;
  uint64_t begin;
  uint64_t end;
};

[[noreturn]] void malformed(const std::string& origin, const std::string& what) {
  throw Error(ErrorCode::malformed_file, fmt::format("{}: not a valid safetensors file: {}", origin, what));
}

Entry read_entry(const std::string& name, const JsonCursor& info) {
  Entry entry{name, DType::f32, {}, 0, 0};
  const std::string dtype_text = info.at("dtype").string();
  const auto dtype = parse_dtype(dtype_text);
  if (!dtype || *dtype == DType::f8e4m3 || safetensors_name(*dtype) != dtype_text) {
    info.at("dtype").fail(fmt::format("unknown dtype '{}'", dtype_text));
  }
  entry.dtype = *dtype;
  const JsonCursor shape = info.at("shape");
  if (shape.size() > kMostDimensions)
    shape.fail(fmt::format("rank {} is beyond {}, the limit", shape.size(), kMostDimensions));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape.at(i).integer();
    if (size < 0) shape.at(i).fail(fmt::format("negative size {}", size));
    entry.shape.push_back(size);
  }
  const JsonCursor offsets = info.at("data_offsets");
  if (offsets.size() != 2) offsets.fail("expected two offsets, [begin, end]");
  const int64_t begin = offsets.at(0).integer();
  const int64_t end = offsets.at(1).integer();
  if (begin < 0 || end < begin) offsets.fail(fmt::format("[{}, {}] is not a range", begin, end));
  entry.begin = static_cast<uint64_t>(begin);
  entry.end = static_cast<uint64_t>(end);
  const auto count = checked_bytes(entry.shape, entry.dtype);
  if (!count || *count != entry.end - entry.begin) {
    offsets.fail(fmt::format("{} bytes are declared, but shape {} of {} needs {}", entry.end - entry.begin,
                             to_string(entry.shape), dtype_text,
                             count ? std::to_string(*count) : std::string("more than 2^62")));
  }
  return entry;
}

// Entries must cover [0, size) without holes or overlap, as the reference implementation demands.
void check_coverage(const std::string& origin, std::vector<const Entry*> entries, uint64_t size) {
  std::sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  uint64_t position = 0;
  for (const Entry* entry : entries) {
    if (entry->end > size) {
      malformed(origin, fmt::format("tensor '{}': data_offsets [{}, {}] pass the end of the data ({} bytes)",
                                    entry->name, entry->begin, entry->end, size));
    }
    if (entry->begin != position) {
      malformed(origin,
                fmt::format("tensor '{}': data_offsets begin at {}, but the data before it end at {} ({})",
                            entry->name, entry->begin, position,
                            entry->begin < position ? "tensors overlap" : "a hole"));
    }
    position = entry->end;
  }
  if (position != size) {
    malformed(origin, fmt::format("{} bytes of data follow the last tensor", size - position));
  }
}

}  // namespace

TensorFile parse_safetensors(std::string_view bytes, const std::string& origin) {
  if (bytes.size() < kPrefix) {
    malformed(origin, fmt::format("{} bytes, but the header length alone takes 8", bytes.size()));
  }
  uint64_t length = 0;
  for (std::size_t i = 0; i < kPrefix; ++i) {
    length |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  if (length > kMaxHeader || length > bytes.size() - kPrefix) {
    malformed(origin, fmt::format("the header claims {} bytes, but the file has {} (limit {})", length,
                                  bytes.size() - kPrefix, kMaxHeader));
  }
  const std::string_view header = bytes.substr(kPrefix, static_cast<std::size_t>(length));
  const std::string_view data = bytes.substr(kPrefix + static_cast<std::size_t>(length));
  const nlohmann::json document = parse_json(header, origin);

  TensorFile file;
  std::vector<Entry> entries;
  const JsonCursor root(document, origin);
  for (const auto& [name, info] : root.members()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : info.members()) file.metadata.emplace(key, value.string());
    } else {
      entries.push_back(read_entry(name, info));
    }
  }
  std::vector<const Entry*> pointers;
  for (const Entry& entry : entries) pointers.push_back(&entry);
  check_coverage(origin, pointers, data.size());
  for (const Entry& entry : entries) {
    const auto size = static_cast<std::size_t>(entry.end - entry.begin);
    file.tensors.emplace(entry.name,
                         Tensor::from_bytes(entry.dtype, entry.shape,
                                            data.data() + static_cast<std::size_t>(entry.begin), size));
  }
  return file;
}

TensorFile read_safetensors(const std::string& path) { return parse_safetensors(read_file(path), path); }

std::string serialize_safetensors(const TensorFile& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) {
    nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
    for (const auto& [key, value] : file.metadata) metadata[key] = value;
    header["__metadata__"] = std::move(metadata);
  }
  // Widest dtypes first, so that every tensor is aligned; by name within a width, so that equal files have
  // equal bytes.
  std::vector<const std::pair<const std::string, Tensor>*> order;
  for (const auto& item : file.tensors) {
    if (item.first == "__metadata__") {
      throw Error(ErrorCode::invalid_argument, "safetensors: '__metadata__' cannot be the name of a tensor");
    }
    if (!item.second.defined()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("safetensors: tensor '{}' is undefined", item.first));
    }
    if (item.second.dtype() == DType::f8e4m3) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "safetensors: tensor '{}' is Trainium's e4m3 (maximum 240), for which the format has no "
              "name; F8_E4M3 would be read as e4m3fn (maximum 448). Convert it to f16 first",
              item.first));
    }
    order.push_back(&item);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return size_of(a->second.dtype()) > size_of(b->second.dtype());
  });
  std::size_t offset = 0;
  for (const auto* item : order) {
    const std::size_t end = offset + item->second.bytes();
    header[item->first] = {{"dtype", safetensors_name(item->second.dtype())},
                           {"shape", item->second.shape()},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');

  std::string bytes;
  bytes.reserve(kPrefix + text.size() + offset);
  for (std::size_t i = 0; i < kPrefix; ++i) {
    bytes.push_back(static_cast<char>((static_cast<uint64_t>(text.size()) >> (8 * i)) & 0xff));
  }
  bytes += text;
  for (const auto* item : order) {
    const Tensor packed = item->second.contiguous();
    if (packed.bytes() > 0) bytes.append(reinterpret_cast<const char*>(packed.data()), packed.bytes());
  }
  return bytes;
}

void write_safetensors(const std::string& path, const TensorFile& file) {
  write_file_atomically(path, serialize_safetensors(file));
}

}  // namespace assay
