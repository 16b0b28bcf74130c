// Ring and KangaRing (AWS Neuron SDK, intranode-collective-comm.rst): several cycles at once over different
// links, each with its share of the data. KangaRing joins two ranks of a chip: only the first moves data
// round the cycle, and gives the second its share; which is first alternates from cycle to cycle.
#include <algorithm>

#include "backend/collectives/writer.h"

namespace assay::backend {
namespace {

// Two Hamiltonian cycles of the 4 x 4 torus that share no cable (found by search; a test checks them).
constexpr int kCycles[2][16] = {{0, 1, 2, 3, 7, 4, 5, 6, 10, 11, 8, 9, 13, 14, 15, 12},
                                {0, 3, 15, 11, 7, 6, 2, 14, 10, 9, 5, 1, 13, 12, 8, 4}};

// Chips in an order in which most are neighbours of the next: row by row, every other one backwards.
int snake(int chip, const std::vector<int>& torus) {
  if (torus.empty()) return chip;
  int place = 0, stride = 1;
  std::vector<int> coordinates;
  for (const int size : torus) {
    coordinates.push_back(chip % size);
    chip /= size;
    stride *= size;
  }
  bool backwards = false;
  for (std::size_t d = torus.size(); d-- > 0;) {
    stride /= torus[d];
    const int at = backwards ? torus[d] - 1 - coordinates[d] : coordinates[d];
    place += at * stride;
    backwards = place / stride % 2 == 1;
  }
  return place;
}

struct Cycle {
  std::vector<std::vector<int>> units;  // of one rank or two, the one that moves data first
  int size() const { return static_cast<int>(units.size()); }
  const std::vector<int>& unit(int u) const {
    return units[static_cast<std::size_t>((u % size() + size()) % size())];
  }
  int first(int u) const { return unit(u)[0]; }
};

struct Cycles {
  std::vector<Cycle> cycles;
  bool pairs = false;

  explicit Cycles(const Group& group) {
    const ChipGrid grid(group);
    pairs = grid.regular && grid.per_chip() % 2 == 0;
    for (const std::vector<int>& chips : orders(grid, *group.topology)) {
      const std::size_t second = cycles.size() % 2;
      Cycle cycle;
      for (const int c : chips) {
        const std::vector<int>& members = grid.members[static_cast<std::size_t>(c)];
        for (std::size_t m = 0; m < members.size(); m += pairs ? 2 : 1) {
          if (pairs) {
            cycle.units.push_back({members[m + second], members[m + 1 - second]});
          } else {
            cycle.units.push_back({members[m]});
          }
        }
      }
      // Against the direction, the ranks of a chip are passed in the other order as well.
      if (second == 1) std::reverse(cycle.units.begin(), cycle.units.end());
      cycles.push_back(std::move(cycle));
    }
  }
  int size() const { return static_cast<int>(cycles.size()); }
  std::string text() const {
    return (pairs ? "kangaring, " : "ring, ") + std::to_string(size()) + " cycles of " +
           std::to_string(cycles[0].size());
  }

 private:
  // Orders of the grid's chips; the second of each two is the first one, to be gone through backwards.
  static std::vector<std::vector<int>> orders(const ChipGrid& grid, const Topology& topology) {
    std::vector<std::vector<int>> out;
    if (topology.torus() == std::vector<int>{4, 4} && grid.chips() == 16) {
      for (const auto& cycle : kCycles) {
        out.insert(out.end(), 2, std::vector<int>(std::begin(cycle), std::end(cycle)));
      }
      return out;
    }
    std::vector<int> order;
    for (int c = 0; c < grid.chips(); ++c) order.push_back(c);
    const auto place = [&](int c) {
      return snake(grid.numbers[static_cast<std::size_t>(c)], topology.torus());
    };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return place(a) < place(b); });
    return {order, order};
  }
};

}  // namespace

// The part of a unit starts at the next one and goes once round; every unit adds its ranks' contributions.
int ring_scatter(ScheduleWriter& out, const SplitRow& row, int step) {
  const Cycles cycles(out.group());
  out.set_variant(cycles.text());
  const int n = cycles.cycles[0].size();
  for (int c = 0; c < cycles.size(); ++c) {
    const Cycle& cycle = cycles.cycles[static_cast<std::size_t>(c)];
    for (int s = 0; s < n; ++s) {
      const bool last = s == n - 1;
      for (int u = 0; u < n; ++u) {
        for (const int part : cycle.unit(u - 1 - s)) {
          const auto [at, count] = row.slice(part, c, cycles.size());
          std::vector<Place> sources;
          if (s > 0) sources.push_back(row.partial(cycle.first(u), part, at));
          for (const int rank : cycle.unit(u)) sources.push_back(row.contribution(rank, part, at));
          const Place target = last ? row.result(part, at) : row.partial(cycle.first(u + 1), part, at);
          out.transfer(step + s, cycle.first(u), sources, {&target, 1}, count, last ? row.divisor : 1);
        }
      }
    }
  }
  return step + n;
}

// Every unit's parts go once round; a pair's second rank gets its copy with the same read.
int ring_gather(ScheduleWriter& out, const SplitRow& row, int step) {
  const Cycles cycles(out.group());
  out.set_variant(cycles.text());
  const int n = cycles.cycles[0].size();
  int steps = 0;
  for (int c = 0; c < cycles.size(); ++c) {
    const Cycle& cycle = cycles.cycles[static_cast<std::size_t>(c)];
    for (int s = 0; s < n; ++s) {
      for (int u = 0; u < n; ++u) {
        for (const int part : cycle.unit(u - s)) {
          const auto [at, count] = row.slice(part, c, cycles.size());
          const Place source = s == 0 ? row.own(part, at) : row.gathered(cycle.first(u), part, at);
          if (s == 0 && !row.gathers_in_place) {
            out.copy(step, part, source, row.gathered(part, part, at), count);
            steps = std::max(steps, 1);
          }
          std::vector<Place> targets;
          if (s < n - 1) targets.push_back(row.gathered(cycle.first(u + 1), part, at));
          for (const int rank : cycle.unit(u)) {
            const bool has = rank == (s == 0 ? part : cycle.first(u));
            if (!has) targets.push_back(row.gathered(rank, part, at));
          }
          if (targets.empty()) continue;
          out.transfer(step + s, cycle.first(u), {&source, 1}, targets, count);
          steps = std::max(steps, s + 1);
        }
      }
    }
  }
  return step + steps;
}

}  // namespace assay::backend
