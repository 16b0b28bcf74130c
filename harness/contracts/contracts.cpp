#include "harness/contracts/contracts.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// A Contract is a few kilobytes; a file of this size is something else.
constexpr std::uintmax_t kLargestFile = 16 << 20;

std::optional<std::string> read_if_there(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kLargestFile) {
    throw Error(ErrorCode::malformed_file,
                fmt::format("{}: not a Contract: unreadable or too large", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(ErrorCode::io, fmt::format("{}: cannot be read", path.string()));
  return text.str();
}

std::string file_name(std::string_view backend) {
  const bool plain = !backend.empty() && std::all_of(backend.begin(), backend.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == ':';
  });
  if (!plain) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("backend \"{}\": a default Contract's name has letters, digits, '_', '-' and ':' only",
                    backend));
  }
  std::string name(backend);
  std::replace(name.begin(), name.end(), ':', '_');
  return name + ".json";
}

}  // namespace

std::vector<std::string> contract_folders() {
  std::vector<std::string> folders;
  if (const char* share = std::getenv("ASSAY_SHARE_DIR"); share != nullptr && *share != '\0') {
    folders.push_back((fs::path(share) / "harness/contracts").string());
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return folders;
  folders.push_back((program.parent_path().parent_path() / "share/assay/harness/contracts").string());
  for (fs::path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    const fs::path candidate = folder / "harness/contracts";
    if (fs::is_directory(candidate, error)) folders.push_back(candidate.string());
  }
  return folders;
}

std::optional<Contract> default_contract(std::string_view backend, const std::vector<std::string>& folders) {
  std::vector<std::string> names{file_name(backend)};
  // "torch:cuda:1": the index says which device, not what kind.
  const std::size_t colon = backend.rfind(':');
  const bool indexed = colon != std::string_view::npos && colon + 1 < backend.size() &&
                       std::all_of(backend.begin() + static_cast<std::ptrdiff_t>(colon) + 1, backend.end(),
                                   [](char c) { return c >= '0' && c <= '9'; });
  if (indexed) names.push_back(file_name(backend.substr(0, colon)));
  for (const std::string& name : names) {
    for (const std::string& folder : folders) {
      const fs::path path = fs::path(folder) / name;
      if (const auto text = read_if_there(path)) return Contract::parse(*text, path.string());
    }
  }
  return std::nullopt;
}

std::optional<Contract> default_contract(std::string_view backend) {
  return default_contract(backend, contract_folders());
}

}  // namespace assay
