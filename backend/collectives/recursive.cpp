// Recursive halving and doubling between the chips of a group, seen as a hypercube, and an exchange on each
// chip. Source: AWS Neuron SDK, intranode-collective-comm.rst ("RDH"). Ranks of a chip take the axes in
// different order, so that all of its links work at once: invented, with one link at a time the measured
// times could not be reached at the documented link rate. Numbers of chips that are no power of two fold
// their last chips onto the first ones (Rabenseifner); groups with an uneven number of ranks a chip take
// every rank for a chip of its own.
#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "backend/collectives/writer.h"

namespace assay::backend {
namespace {

int gray(int x) { return x ^ (x >> 1); }

// units[u][j]: rank j of unit u, by the units' places in the hypercube.
struct Hypercube {
  std::vector<std::vector<int>> units;
  int whole = 1, axes = 0;  // the largest power of two of units, and its logarithm

  explicit Hypercube(const Group& group) {
    const ChipGrid grid(group);
    const std::vector<int>& torus = group.topology->torus();
    // A ring of four chips is a square; neighbours in it differ in one bit of the Gray code.
    const auto corner = [&](int chip) {
      int id = 0, shift = 0;
      for (const int size : torus) {
        id |= gray(chip % size) << shift;
        shift += std::bit_width(static_cast<unsigned>(size - 1));
        chip /= size;
      }
      return torus.empty() ? chip : id;
    };
    std::vector<std::pair<int, std::vector<int>>> ordered;
    for (int c = 0; c < grid.chips(); ++c) {
      const auto k = static_cast<std::size_t>(c);
      if (grid.regular) {
        ordered.emplace_back(corner(grid.numbers[k]), grid.members[k]);
      } else {
        for (const int rank : grid.members[k]) ordered.push_back({corner(grid.numbers[k]), {rank}});
      }
    }
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [id, members] : ordered) units.push_back(std::move(members));
    whole = static_cast<int>(std::bit_floor(units.size()));
    axes = std::bit_width(static_cast<unsigned>(whole)) - 1;
  }
  int size() const { return static_cast<int>(units.size()); }
  int per_unit() const { return static_cast<int>(units[0].size()); }
  int rank(int unit, int j) const {
    return units[static_cast<std::size_t>(unit)][static_cast<std::size_t>(j)];
  }
  int folded() const { return size() - whole; }
  int base(int unit) const { return unit < whole ? unit : unit - whole; }
  std::string text() const {
    return std::to_string(size()) +
           (per_unit() > 1 ? " chips of " + std::to_string(per_unit()) + " ranks" : std::string(" ranks"));
  }
};

}  // namespace

std::vector<int> folded_ranks(const Group& group) {
  const Hypercube cube(group);
  std::vector<int> ranks;
  for (int u = cube.whole; u < cube.size(); ++u) {
    for (int j = 0; j < cube.per_unit(); ++j) ranks.push_back(cube.rank(u, j));
  }
  return ranks;
}

int recursive_scatter(ScheduleWriter& out, const SplitRow& row, int step) {
  const Hypercube cube(out.group());
  out.set_variant(cube.text());
  const int k = cube.per_unit();
  const auto whole_row = [&](int holder, int part) { return row.contribution(holder, part); };
  // On the chip: rank j adds up the parts of all ranks j.
  const bool adds_on_chip = k > 1;
  if (adds_on_chip) {
    for (int u = 0; u < cube.size(); ++u) {
      for (int j = 0; j < k; ++j) {
        for (int b = 0; b < cube.size(); ++b) {
          const int part = cube.rank(b, j);
          std::vector<Place> sources;
          for (int q = 0; q < k; ++q) sources.push_back(whole_row(cube.rank(u, q), part));
          const bool last = cube.size() == 1;
          const Place target = last ? row.result(part) : row.partial(cube.rank(u, j), part);
          out.transfer(step, cube.rank(u, j), sources, {&target, 1}, row.count(part), last ? row.divisor : 1);
        }
      }
    }
    ++step;
  } else if (cube.size() == 1) {
    out.copy(step, cube.rank(0, 0), whole_row(cube.rank(0, 0), 0), row.result(0), row.count(0));
    return step + 1;
  }
  // reduced[rank][unit]: whether the rank's partial result for the unit's part lies in scratch.
  const auto size = static_cast<std::size_t>(cube.size());
  std::vector<std::vector<bool>> reduced(static_cast<std::size_t>(out.ranks()),
                                         std::vector<bool>(size, adds_on_chip));
  const auto merge = [&](int into, int from, int j, int b, bool last) {
    const int part = cube.rank(b, j), holder = cube.rank(into, j), other = cube.rank(from, j);
    const auto place = [&](int rank) {
      return reduced[static_cast<std::size_t>(rank)][static_cast<std::size_t>(b)] ? row.partial(rank, part)
                                                                                  : whole_row(rank, part);
    };
    const Place sources[] = {place(holder), place(other)};
    const Place target = last ? row.result(part) : row.partial(holder, part);
    out.transfer(step, holder, sources, {&target, 1}, row.count(part), last ? row.divisor : 1);
  };
  const auto settle = [&](int into, int j, int b) {
    reduced[static_cast<std::size_t>(cube.rank(into, j))][static_cast<std::size_t>(b)] = true;
  };
  if (cube.folded() > 0) {
    for (int u = 0; u < cube.folded(); ++u) {
      for (int j = 0; j < k; ++j) {
        for (int b = 0; b < cube.size(); ++b) {
          merge(u, cube.whole + u, j, b, false);
          settle(u, j, b);
        }
      }
    }
    ++step;
  }
  for (int a = 0; a < cube.axes; ++a, ++step) {
    std::vector<std::array<int, 3>> done;
    for (int u = 0; u < cube.whole; ++u) {
      for (int j = 0; j < k; ++j) {
        // Axes from the highest down, starting at another one for each rank of a chip.
        const auto axis = [&](int n) { return (2 * cube.axes - 1 - n - j % cube.axes) % cube.axes; };
        int settled = 0;  // bits in which the unit's parts agree with the unit already
        for (int n = 0; n < a; ++n) settled |= 1 << axis(n);
        const int bit = 1 << axis(a);
        for (int b = 0; b < cube.size(); ++b) {
          const int differs = cube.base(b) ^ u;
          if ((differs & (settled | bit)) != 0) continue;
          merge(u, u ^ bit, j, b, a == cube.axes - 1);
          done.push_back({u, j, b});
        }
      }
    }
    for (const auto& [u, j, b] : done) settle(u, j, b);
  }
  return step;
}

int recursive_gather(ScheduleWriter& out, const SplitRow& row, int step) {
  const Hypercube cube(out.group());
  out.set_variant(cube.text());
  const int k = cube.per_unit();
  const auto place = [&](int holder, int part) {
    return holder == part ? row.own(part) : row.gathered(holder, part);
  };
  const auto send = [&](int from, int to, int j, int b) {
    const int part = cube.rank(b, j), source = cube.rank(from, j), target = cube.rank(to, j);
    out.copy(step, source, place(source, part), row.gathered(target, part), row.count(part));
  };
  if (!row.gathers_in_place) {
    for (int r = 0; r < out.ranks(); ++r) out.copy(step, r, row.own(r), row.gathered(r, r), row.count(r));
  }
  if (cube.folded() > 0) {
    for (int u = 0; u < cube.folded(); ++u) {
      for (int j = 0; j < k; ++j) send(cube.whole + u, u, j, cube.whole + u);
    }
    ++step;
  }
  for (int a = 0; a < cube.axes; ++a, ++step) {
    for (int u = 0; u < cube.whole; ++u) {
      for (int j = 0; j < k; ++j) {
        const auto axis = [&](int n) { return (n + j) % cube.axes; };
        int spread = 0;  // bits over which the unit has the parts already
        for (int n = 0; n < a; ++n) spread |= 1 << axis(n);
        for (int b = 0; b < cube.size(); ++b) {
          if (((cube.base(b) ^ u) & ~spread) == 0) send(u, u ^ (1 << axis(a)), j, b);
        }
      }
    }
  }
  if (cube.folded() > 0) {
    for (int u = 0; u < cube.folded(); ++u) {
      for (int j = 0; j < k; ++j) {
        for (int b = 0; b < cube.size(); ++b) {
          if (b != cube.whole + u) send(u, cube.whole + u, j, b);
        }
      }
    }
    ++step;
  }
  if (k > 1) {
    for (int u = 0; u < cube.size(); ++u) {
      for (int j = 0; j < k; ++j) {
        for (int b = 0; b < cube.size(); ++b) {
          const int part = cube.rank(b, j), source = cube.rank(u, j);
          for (int q = 0; q < k; ++q) {
            if (q == j) continue;
            out.copy(step, source, place(source, part), row.gathered(cube.rank(u, q), part), row.count(part));
          }
        }
      }
    }
    ++step;
  }
  return step;
}

}  // namespace assay::backend
