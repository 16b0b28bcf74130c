// Cases from packs.
#include <filesystem>
#include <utility>

#include "core/io/file.h"
#include "core/io/pack.h"
#include "harness/case/packed_case.h"
#include "sweeps/sources.h"

namespace assay::sweeps {
namespace {

constexpr uint64_t kMaxFile = uint64_t{1} << 30;

}  // namespace

bool is_pack(const std::string& path) { return path.ends_with(".jsonl.zst"); }

std::vector<Case> read_pack_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  std::vector<Case> cases;
  read_pack(read_file(path, kMaxFile), path, [&](PackedModel packed) {
    Case& c = cases.emplace_back(case_of(std::move(packed), name));
    c.suite = "check";
    c.file = path;
  });
  return cases;
}

}  // namespace assay::sweeps
