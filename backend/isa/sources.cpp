#include "backend/isa/sources.h"

#include <algorithm>
#include <numeric>

#include "backend/isa/access_log.h"
#include "backend/isa/last_writers.h"
#include "backend/isa/rules.h"

namespace assay::backend {
namespace {

void sort_unique(std::vector<uint32_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

std::vector<std::vector<uint32_t>> sources_of(const Program& program) {
  const std::size_t n = program.instructions.size();
  std::vector<std::vector<uint32_t>> out(n);
  AccessLog log;  // of HBM
  LastWriters sbuf, psum;
  std::vector<AccessRegion> regions;
  for (std::size_t index = 0; index < n; ++index) {
    const Instruction& i = program.instructions[index];
    const auto number = static_cast<uint32_t>(index);
    regions.clear();
    append_regions(program, i, regions);
    std::vector<uint32_t>& sources = out[index];
    const auto visit = [&](bool writes, const auto& on_chip_operand, const auto& in_hbm) {
      std::size_t r = 0;
      for (std::size_t k = 0; k < i.operand_count; ++k) {
        const AccessPattern& a = operand(program, i, k);
        if (!a.defined()) continue;
        const AccessRegion& region = regions[r++];
        const bool written = region.write, read = !written || i.accumulate || writes_partly(i);
        if (writes ? !written : !read) continue;
        if (on_chip(a)) {
          on_chip_operand(a.space == Space::sbuf ? sbuf : psum, a);
        } else if (!never_written(program, region)) {
          in_hbm(region, bucket_bytes(program, region), a);
        }
      }
    };
    const auto found = [&](uint32_t j) { sources.push_back(j); };
    visit(
        false, [&](const LastWriters& memory, const AccessPattern& a) { memory.find(a, found); },
        [&](const AccessRegion& region, int64_t bytes, const AccessPattern&) {
          log.find_writes(region, bytes, [&](std::size_t j) { found(static_cast<uint32_t>(j)); });
        });
    sort_unique(sources);
    visit(
        true, [&](LastWriters& memory, const AccessPattern& a) { memory.write(a, number); },
        [&](const AccessRegion& region, int64_t bytes, const AccessPattern& a) {
          log.add_write(region, bytes, index, i.opcode == Opcode::dma_scatter ? nullptr : &a);
        });
  }
  return out;
}

std::vector<std::vector<uint32_t>> earlier_in_outputs(const Program& program) {
  const std::size_t n = program.instructions.size();
  std::vector<std::vector<uint32_t>> out(n);
  std::vector<std::size_t> streams(n);  // one each: a later read does not stand for an earlier one
  std::iota(streams.begin(), streams.end(), 0);
  AccessLog log;
  std::vector<AccessRegion> regions;
  for (std::size_t index = 0; index < n; ++index) {
    if (!is_dma(program.instructions[index].opcode)) continue;
    regions.clear();
    append_regions(program, program.instructions[index], regions);
    for (const AccessRegion& region : regions) {
      if (region.space != Space::hbm ||
          program.tensors[static_cast<std::size_t>(region.tensor)].kind != HbmKind::output) {
        continue;
      }
      log.access(region, bucket_bytes(program, region), index, index, streams, [&](std::size_t j) {
        if (j != index) out[index].push_back(static_cast<uint32_t>(j));
      });
    }
    sort_unique(out[index]);
  }
  return out;
}

}  // namespace assay::backend
