#include "core/io/pack.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/io/catalogue_document.h"
#include "core/io/zstd_text.h"

namespace assay {
namespace {

constexpr uint64_t kMaxPackText = uint64_t{1} << 30;
constexpr std::size_t kMaxLine = std::size_t{64} << 20;

PackedModel read_line(std::string_view line, const std::string& place) {
  const nlohmann::json json = parse_json(line, place);
  CatalogueDocument document(json, place);
  PackedModel packed;
  packed.id = document.id();
  try {
    Model model = document.model();
    if (model.graph.has_symbols()) {
      throw Error(ErrorCode::unsupported, place + ": the graph has symbolic sizes; a pack holds plain ones");
    }
    packed.expected = document.expected(model.graph);
    packed.model = std::move(model);
  } catch (const Error& error) {
    packed.problem = error;
  }
  return packed;
}

}  // namespace

void read_pack(std::string_view bytes, const std::string& origin,
               const std::function<void(PackedModel)>& use) {
  std::string line;
  int64_t number = 1;
  const auto place = [&] { return fmt::format("{}, line {}", origin, number); };
  const auto extend = [&](std::string_view piece) {
    if (piece.size() > kMaxLine - line.size()) {
      throw Error(ErrorCode::malformed_file,
                  fmt::format("{}: longer than {} bytes, the limit for a line", place(), kMaxLine));
    }
    line += piece;
  };
  unpack_zstd(bytes, origin, kMaxPackText, [&](std::string_view piece) {
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      extend(piece.substr(0, end));
      use(read_line(line, place()));
      line.clear();
      ++number;
    }
    extend(piece);
  });
  if (!line.empty()) use(read_line(line, place()));
}

}  // namespace assay
