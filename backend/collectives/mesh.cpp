// Everything that goes directly to its target: mesh algorithms between and on chips, binomial trees, pairwise
// exchange. Sources: AWS Neuron SDK, intranode-collective-comm.rst; trees and pairwise exchange as in Thakur,
// Rabenseifner, Gropp 2005.
#include "backend/collectives/writer.h"

namespace assay::backend {
namespace {

int at(const std::vector<int>& members, int k) {
  return members[static_cast<std::size_t>(k) % members.size()];
}

// Contributions of all ranks of one chip.
std::vector<Place> contributions(const SplitRow& row, const std::vector<int>& members, int part) {
  std::vector<Place> out;
  for (const int rank : members) out.push_back(row.contribution(rank, part));
  return out;
}

}  // namespace

// Step 0: for every rank of another chip, one rank of this chip adds up what its ranks have for it, and
// writes that to it. Step 1: every rank adds up what came from the other chips and what its own chip's ranks
// have.
int mesh_scatter(ScheduleWriter& out, const SplitRow& row, int step) {
  const ChipGrid grid(out.group());
  for (int rank = 0; rank < out.ranks(); ++rank) {
    const int64_t count = row.count(rank);
    const int home = grid.chip_of[static_cast<std::size_t>(rank)];
    std::vector<Place> last;
    for (int c = 0; c < grid.chips(); ++c) {
      const std::vector<int>& members = grid.members[static_cast<std::size_t>(c)];
      const std::vector<Place> sources = contributions(row, members, rank);
      if (c == home) {
        last.insert(last.end(), sources.begin(), sources.end());
        continue;
      }
      const Place slot{rank, BufferKind::scratch, c * count};
      out.transfer(step, at(members, home), sources, {&slot, 1}, count);
      last.push_back(slot);
    }
    const Place result = row.result(rank);
    out.transfer(step + 1, rank, last, {&result, 1}, count, row.divisor);
  }
  return step + 2;
}

// Step 0: parts go to one rank of every other chip, the work shared by the ranks of the sending chip, and to
// the ranks of their own chip. Step 1: what came from other chips goes to the other ranks of the chip.
int mesh_gather(ScheduleWriter& out, const SplitRow& row, int step) {
  const ChipGrid grid(out.group());
  for (int s = 0; s < grid.chips(); ++s) {
    const std::vector<int>& from = grid.members[static_cast<std::size_t>(s)];
    for (const int part : from) {
      const int64_t count = row.count(part);
      for (const int holder : from) {
        if (holder == part && row.gathers_in_place) continue;
        out.copy(step, part, row.own(part), row.gathered(holder, part), count);
      }
      for (int d = 0; d < grid.chips(); ++d) {
        if (d == s) continue;
        const std::vector<int>& to = grid.members[static_cast<std::size_t>(d)];
        const int carrier = at(from, d), first = at(to, s);
        out.copy(step, carrier, row.own(part), row.gathered(first, part), count);
        for (const int holder : to) {
          if (holder == first) continue;
          out.copy(step + 1, first, row.gathered(first, part), row.gathered(holder, part), count);
        }
      }
    }
  }
  return step + 2;
}

// Every rank writes its row to all others, then reduces all rows in rank order.
void mesh_single_step(ScheduleWriter& out) {
  const int64_t n = out.collective().counts[0];
  for (int rank = 0; rank < out.ranks(); ++rank) {
    std::vector<Place> rows;
    for (int source = 0; source < out.ranks(); ++source) {
      const Place input{source, BufferKind::input, 0};
      if (source == rank) {
        rows.push_back(input);
        continue;
      }
      const Place slot{rank, BufferKind::scratch, source * n};
      out.copy(0, source, input, slot, n);
      rows.push_back(slot);
    }
    const Place output{rank, BufferKind::output, 0};
    const bool mean = out.collective().reduction == Reduction::avg;
    out.transfer(1, rank, rows, {&output, 1}, n, mean ? out.ranks() : 1);
  }
}

// To one rank of every other chip and all of the root's own; then on the chips.
void mesh_broadcast(ScheduleWriter& out) {
  const Collective& c = out.collective();
  const ChipGrid grid(out.group());
  const int64_t n = c.counts[0];
  const int home = grid.chip_of[static_cast<std::size_t>(c.root)];
  const Place input{c.root, BufferKind::input, 0};
  const auto output = [](int rank) { return Place{rank, BufferKind::output, 0}; };
  for (int d = 0; d < grid.chips(); ++d) {
    const std::vector<int>& members = grid.members[static_cast<std::size_t>(d)];
    const int first = d == home ? c.root : at(members, home);
    for (const int rank : members) {
      if (d == home || rank == first) {
        out.copy(0, c.root, input, output(rank), n);
      } else {
        out.copy(1, first, output(first), output(rank), n);
      }
    }
  }
}

// One rank of every other chip adds up its chip's rows and writes that to the root, which adds up the rest.
void mesh_reduce(ScheduleWriter& out) {
  const Collective& c = out.collective();
  const ChipGrid grid(out.group());
  SplitRow row = row_of({c.counts[0]});
  std::vector<Place> last;
  const int home = grid.chip_of[static_cast<std::size_t>(c.root)];
  for (int s = 0; s < grid.chips(); ++s) {
    const std::vector<int>& members = grid.members[static_cast<std::size_t>(s)];
    const std::vector<Place> sources = contributions(row, members, 0);
    if (s == home) {
      last.insert(last.end(), sources.begin(), sources.end());
      continue;
    }
    const Place slot{c.root, BufferKind::scratch, s * c.counts[0]};
    out.transfer(0, at(members, home), sources, {&slot, 1}, c.counts[0]);
    last.push_back(slot);
  }
  const Place output{c.root, BufferKind::output, 0};
  out.transfer(1, c.root, last, {&output, 1}, c.counts[0], c.reduction == Reduction::avg ? c.ranks : 1);
}

// In step s, the 2^s ranks that have the row, counted from the root, each send it 2^s ranks further.
void tree_broadcast(ScheduleWriter& out) {
  const Collective& c = out.collective();
  const auto output = [](int rank) { return Place{rank, BufferKind::output, 0}; };
  const Place input{c.root, BufferKind::input, 0};
  out.copy(0, c.root, input, output(c.root), c.counts[0]);
  for (int step = 0, have = 1; have < c.ranks; ++step, have *= 2) {
    for (int k = 0; k < have && k + have < c.ranks; ++k) {
      const int from = (c.root + k) % c.ranks, to = (c.root + k + have) % c.ranks;
      out.copy(step, from, k == 0 ? input : output(from), output(to), c.counts[0]);
    }
  }
}

// In step s, ranks whose distance from the root is a multiple of 2^(s+1) add the rank 2^s further to theirs.
void tree_reduce(ScheduleWriter& out) {
  const Collective& c = out.collective();
  const auto place = [&](int k, bool reduced) {
    return Place{(c.root + k) % c.ranks, reduced ? BufferKind::scratch : BufferKind::input, 0};
  };
  const Place output{c.root, BufferKind::output, 0};
  if (c.ranks == 1) out.copy(0, c.root, place(0, false), output, c.counts[0]);
  std::vector<bool> reduced(static_cast<std::size_t>(c.ranks));
  for (int step = 0, apart = 1; apart < c.ranks; ++step, apart *= 2) {
    for (int k = 0; k + apart < c.ranks; k += 2 * apart) {
      const auto near = static_cast<std::size_t>(k), far = static_cast<std::size_t>(k + apart);
      const Place sources[] = {place(k, reduced[near]), place(k + apart, reduced[far])};
      const bool last = apart * 2 >= c.ranks;
      const Place target = last ? output : place(k, true);
      out.transfer(step, (c.root + k) % c.ranks, sources, {&target, 1}, c.counts[0],
                   last && c.reduction == Reduction::avg ? c.ranks : 1);
      reduced[near] = true;
    }
  }
}

void direct(ScheduleWriter& out, bool pairwise) {
  const Collective& c = out.collective();
  const int n = c.ranks;
  const auto index = [&](int from, int to) {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(n) + static_cast<std::size_t>(to);
  };
  const auto count = [&](int from, int to) { return c.counts[index(from, to)]; };
  if (c.op == CollectiveOp::permute) {
    for (const auto& [from, to] : c.pairs) {
      out.copy(0, from, {from, BufferKind::input, 0}, {to, BufferKind::output, 0}, c.counts[0]);
    }
  } else if (c.op == CollectiveOp::all_to_all) {
    // Where the part of each sender lies in its target's output.
    std::vector<int64_t> at_target(c.counts.size());
    for (int to = 0; to < n; ++to) {
      int64_t sum = 0;
      for (int from = 0; from < n; ++from) {
        at_target[index(from, to)] = sum;
        sum += count(from, to);
      }
    }
    for (int from = 0; from < n; ++from) {
      int64_t sum = 0;
      for (int to = 0; to < n; ++to) {
        // Pairwise: in step s to the rank s + 1 further; the own part goes along with the first.
        const int distance = (to - from + n) % n;
        const int step = pairwise && distance > 0 ? distance - 1 : 0;
        out.copy(step, from, {from, BufferKind::input, sum},
                 {to, BufferKind::output, at_target[index(from, to)]}, count(from, to));
        sum += count(from, to);
      }
    }
  } else {
    const SplitRow row = row_of(c.counts);
    for (int rank = 0; rank < n; ++rank) {
      if (c.op == CollectiveOp::gather) {
        out.copy(0, rank, {rank, BufferKind::input, 0}, {c.root, BufferKind::output, row.offset(rank)},
                 row.count(rank));
      } else {
        out.copy(0, c.root, {c.root, BufferKind::input, row.offset(rank)}, {rank, BufferKind::output, 0},
                 row.count(rank));
      }
    }
  }
}

// After step s a rank has heard from the 2^(s+1) - 1 ranks before it.
void dissemination(ScheduleWriter& out) {
  for (int step = 0, apart = 1; apart < out.ranks(); ++step, apart *= 2) {
    for (int rank = 0; rank < out.ranks(); ++rank) {
      const Place from{rank, BufferKind::input, 0};
      const Place to{(rank + apart) % out.ranks(), BufferKind::output, 0};
      out.transfer(step, rank, {&from, 1}, {&to, 1}, 0, 1, true);
    }
  }
}

}  // namespace assay::backend
