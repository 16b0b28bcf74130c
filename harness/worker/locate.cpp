#include "harness/worker/locate.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "core/error.h"

#ifndef ASSAY_SOURCE_DIR
#define ASSAY_SOURCE_DIR ""
#endif

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path program_dir() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : program.parent_path();
}

void add_environment(std::vector<fs::path>& places, const char* variable) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') places.emplace_back(value);
}

std::string find(const std::string& what, const std::string& file, const std::vector<fs::path>& places) {
  std::string looked;
  for (const fs::path& place : places) {
    const fs::path path = place / file;
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path.lexically_normal().string();
    looked += (looked.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("{} {} was not found in {}", what, file, looked));
}

}  // namespace

std::string find_program(const std::string& name) {
  const fs::path here = program_dir();
  return find("program", name, {here, here / "../libexec/assay", here / "../bin"});
}

std::string find_plugin(const std::string& name) {
  const fs::path here = program_dir();
  std::vector<fs::path> places;
  add_environment(places, "ASSAY_PLUGIN_DIR");
  for (const char* place : {"../lib/assay", "../lib", "."}) places.push_back(here / place);
  return find("plug-in", "assay_" + name + ".so", places);
}

std::string find_data(const std::string& relative) {
  std::vector<fs::path> places;
  add_environment(places, "ASSAY_SHARE_DIR");
  places.push_back(program_dir() / "../share/assay");
  places.emplace_back(ASSAY_SOURCE_DIR);
  return find("data file", relative, places);
}

const char* const* shipped_backends() {
  static const char* const names[] = {"reference", "trainium", "null", nullptr};
  return names;
}

BackendSpec parse_backend(const std::string& text) {
  BackendSpec spec;
  spec.text = text;
  const auto colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string target = colon == std::string::npos ? "" : text.substr(colon + 1);
  for (const char* const* shipped = shipped_backends(); *shipped != nullptr; ++shipped) {
    if (name != *shipped) continue;
    spec.path = find_plugin(name);
    spec.target = target;
    spec.is_reference = name == "reference";
    spec.is_null = name == "null";
    spec.is_ours = !spec.is_null;
    return spec;
  }
  if (name == "torch") {
    spec.kind = target == "gloo" ? BackendSpec::Kind::ranks : BackendSpec::Kind::torch;
    spec.target = target.empty() ? "cpu" : target;
    return spec;
  }
  if (text == "mpi") {
    spec.kind = BackendSpec::Kind::ranks;
    spec.target = "mpi";
    spec.is_ours = true;
    return spec;
  }
  if (text.find('/') == std::string::npos && !text.ends_with(".so")) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("--backend {}: expected reference, trainium[:trn1|trn2|trn3], null, torch:DEVICE, "
                    "mpi, torch:gloo or the path of a plug-in (.so)",
                    text));
  }
  std::error_code error;
  if (!fs::is_regular_file(text, error)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("--backend {}: no such file", text));
  }
  spec.path = fs::absolute(text).lexically_normal().string();
  return spec;
}

}  // namespace assay
