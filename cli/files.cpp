#include "cli/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace assay::cli {

void write_file(const std::string& path, std::string_view text) {
  std::filesystem::path target(path);
  std::error_code problem;
  // A device or pipe (/dev/stdout, a shell's >(...)) is written to, never replaced by a file of its name.
  const auto status = std::filesystem::status(target, problem);
  const bool special = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                       !std::filesystem::is_directory(status);
  if (special || path.starts_with("/dev/") || path.starts_with("/proc/")) {
    std::ofstream stream(path, std::ios::binary);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.flush();
    if (!stream) throw Error(ErrorCode::io, path + ": cannot be written: " + std::strerror(errno));
    return;
  }
  if (std::filesystem::is_symlink(target, problem) && std::filesystem::exists(status))
    target = std::filesystem::canonical(target);
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), problem);
  const std::string temporary = target.string() + ".part";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.flush();
    if (!file) {
      const std::string why = std::strerror(errno);
      std::filesystem::remove(temporary, problem);
      throw Error(ErrorCode::io, path + ": cannot be written: " + why);
    }
  }
  std::filesystem::rename(temporary, target, problem);
  if (problem) throw Error(ErrorCode::io, path + ": cannot be written: " + problem.message());
}

void require_input(const std::string& path, const std::string& expected) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::io, path + ": does not exist; expected " + expected);
  }
  if (!std::filesystem::is_directory(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_fifo(status)) {
    throw Error(ErrorCode::io, path + ": is a device or socket; expected " + expected);
  }
}

}  // namespace assay::cli
