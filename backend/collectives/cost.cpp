#include "backend/collectives/cost.h"

#include <algorithm>

#include "backend/collectives/writer.h"
#include "core/error.h"

namespace assay::backend {
namespace {

// Bytes of one step, or of all.
class Traffic {
 public:
  explicit Traffic(const Group& group)
      : group_(group),
        ranks_(group.cores.size()),
        streams(ranks_ * ranks_, 0),
        links(static_cast<std::size_t>(group.topology->links()), 0),
        hbm_read(static_cast<std::size_t>(group.topology->chips()), 0),
        hbm_written(hbm_read) {}

  void add(const Schedule& schedule, const ScheduledTransfer& t) {
    const int64_t bytes = t.count * static_cast<int64_t>(size_of(schedule.collective.dtype));
    for (const Place& source : schedule.sources(t)) {
      send(source.rank, t.mover, bytes);
      hbm_read[chip(source.rank)] += bytes;
    }
    for (const Place& target : schedule.targets(t)) {
      send(t.mover, target.rank, bytes);
      hbm_written[chip(target.rank)] += bytes;
    }
  }
  std::size_t chip(int rank) const {
    return static_cast<std::size_t>(group_.topology->chip_of(group_.cores[static_cast<std::size_t>(rank)]));
  }
  void clear() {
    for (std::vector<int64_t>* v : {&streams, &links, &hbm_read, &hbm_written}) {
      std::fill(v->begin(), v->end(), 0);
    }
  }

 private:
  void send(int from, int to, int64_t bytes) {
    if (from == to) return;
    streams[static_cast<std::size_t>(from) * ranks_ + static_cast<std::size_t>(to)] += bytes;
    const int a = static_cast<int>(chip(from)), b = static_cast<int>(chip(to));
    if (a == b) return;
    for (const int link : group_.topology->route(a, b)) links[static_cast<std::size_t>(link)] += bytes;
  }
  const Group& group_;
  std::size_t ranks_;

 public:
  std::vector<int64_t> streams;  // [from * ranks + to]
  std::vector<int64_t> links, hbm_read, hbm_written;
};

// Calls use(traffic) with the bytes of each step.
template <typename F>
void each_step(const Schedule& schedule, const Group& group, F use) {
  Traffic traffic(group);
  for (std::size_t k = 0; k < schedule.transfers.size(); ++k) {
    traffic.add(schedule, schedule.transfers[k]);
    if (k + 1 < schedule.transfers.size() && schedule.transfers[k + 1].step == schedule.transfers[k].step) {
      continue;
    }
    use(traffic);
    traffic.clear();
  }
}

void add(std::vector<int64_t>& sum, const std::vector<int64_t>& more) {
  for (std::size_t k = 0; k < more.size(); ++k) sum[k] += more[k];
}

// The mesh shares the sending of a chip among its ranks, each of which first reads its neighbours'
// parts.
int64_t staged_by_mesh(const ChipGrid& grid, const SplitRow& row) {
  int64_t elements = 0;
  for (int chip = 0; chip < grid.chips(); ++chip) {
    const std::vector<int>& members = grid.members[static_cast<std::size_t>(chip)];
    for (int other = 0; other < grid.chips(); ++other) {
      if (other == chip) continue;
      const int carrier = members[static_cast<std::size_t>(other) % members.size()];
      for (const int part : members) elements += part == carrier ? 0 : row.count(part);
    }
  }
  return elements;
}
// The ring's last sum of a part is made by the first rank of the part's pair, in one half of the cycles its
// neighbour, and goes to the part's own rank or to `root`.
int64_t staged_by_ring(const ChipGrid& grid, const Topology& topology, const SplitRow& row, int root) {
  const bool pairs = grid.regular && grid.per_chip() % 2 == 0;
  const int cycles = topology.torus() == std::vector<int>{4, 4} && grid.chips() == 16 ? 4 : 2;
  int64_t elements = 0;
  for (const std::vector<int>& members : grid.members) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(cycles); ++c) {
        const int adds = pairs && m % 2 != c % 2 ? members[m ^ 1] : members[m];
        if (adds != (root < 0 ? members[m] : root))
          elements += row.slice(members[m], static_cast<int>(c), cycles).count;
      }
    }
  }
  return elements;
}

}  // namespace

int64_t staged_bytes(const Schedule& schedule, const Group& group) {
  const Collective& c = schedule.collective;
  const bool reduces = c.op == CollectiveOp::all_reduce || c.op == CollectiveOp::reduce_scatter;
  const bool own_parts = c.op == CollectiveOp::all_gather || c.op == CollectiveOp::reduce_scatter;
  if (c.op == CollectiveOp::barrier || c.op == CollectiveOp::all_to_all) return 0;
  const SplitRow row = own_parts ? row_of(c.counts) : even_row(c.ranks, c.counts[0]);
  const ChipGrid grid(group);
  int64_t elements = 0;
  if (schedule.algorithm == Algorithm::mesh) {
    const bool gathers = c.op == CollectiveOp::all_gather || c.op == CollectiveOp::all_reduce;
    elements = gathers ? staged_by_mesh(grid, row) : 0;
  } else if (schedule.algorithm == Algorithm::recursive && reduces) {
    // Parts of folded chips are added up elsewhere.
    for (const int rank : folded_ranks(group)) elements += row.count(rank);
  } else if (schedule.algorithm == Algorithm::ring && (reduces || c.op == CollectiveOp::reduce)) {
    elements = staged_by_ring(grid, *group.topology, row, reduces ? -1 : c.root);
  } else if (schedule.algorithm == Algorithm::ring && c.op == CollectiveOp::broadcast) {
    elements = c.counts[0] - row.count(c.root);  // everybody's part first goes to its rank
  }
  return elements * static_cast<int64_t>(size_of(c.dtype));
}

CollectiveLedger collective_ledger(const Schedule& schedule, const Group& group) {
  const std::size_t ranks = group.cores.size();
  CollectiveLedger out;
  out.sent.assign(ranks, 0);
  out.received.assign(ranks, 0);
  out.links.assign(static_cast<std::size_t>(group.topology->links()), 0);
  out.hbm_read.assign(static_cast<std::size_t>(group.topology->chips()), 0);
  out.hbm_written = out.hbm_read;
  each_step(schedule, group, [&](const Traffic& step) {
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        const int64_t bytes = step.streams[from * ranks + to];
        if (bytes == 0) continue;
        out.sent[from] += bytes;
        out.received[to] += bytes;
        ++out.messages;
        const bool same = step.chip(static_cast<int>(from)) == step.chip(static_cast<int>(to));
        (same ? out.on_chip : out.off_chip) += bytes;
      }
    }
    add(out.links, step.links);
    add(out.hbm_read, step.hbm_read);
    add(out.hbm_written, step.hbm_written);
  });
  return out;
}

std::vector<StepLoad> step_loads(std::span<const Schedule> schedules, std::span<const Group> groups) {
  const Topology& topology = *groups.front().topology;
  struct Shared {
    int64_t stream = 0;
    std::vector<int64_t> links, hbm;
  };
  std::vector<Shared> steps;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::size_t k = 0;
    each_step(schedules[g], groups[g], [&](const Traffic& step) {
      if (k == steps.size()) {
        steps.push_back(
            {0, std::vector<int64_t>(step.links.size(), 0), std::vector<int64_t>(step.hbm_read.size(), 0)});
      }
      Shared& shared = steps[k++];
      for (const int64_t bytes : step.streams) shared.stream = std::max(shared.stream, bytes);
      add(shared.links, step.links);
      add(shared.hbm, step.hbm_read);
      add(shared.hbm, step.hbm_written);
    });
  }
  std::vector<StepLoad> out;
  for (const Shared& step : steps) {
    StepLoad load{0, step.stream, *std::max_element(step.hbm.begin(), step.hbm.end())};
    for (int l = 0; l < topology.links(); ++l) {
      const auto bytes = static_cast<double>(step.links[static_cast<std::size_t>(l)]);
      load.link_ns = std::max(load.link_ns, bytes / topology.link_bytes_per_ns(l));
    }
    out.push_back(load);
  }
  return out;
}

std::vector<StepLoad> step_loads(const Schedule& schedule, const Group& group) {
  return step_loads({&schedule, 1}, {&group, 1});
}

CollectiveTime collective_time(const std::vector<StepLoad>& steps, const Collective& collective,
                               const Topology& topology, const NeuronLinkDescription& link) {
  const double stream_rate = link.stream_bytes_per_ns * topology.lnc();
  const double hbm_rate = chip(topology.generation()).hbm_bytes_per_ns * link.hbm_efficiency;
  CollectiveTime out;
  out.steps = static_cast<int>(steps.size());
  out.launch_s = link.collective_launch_us * 1e-6;
  out.latency_s = out.steps * link.step_us * 1e-6;
  for (const StepLoad& load : steps) {
    const double stream_ns = static_cast<double>(load.stream_bytes) / stream_rate;
    const double hbm_ns = static_cast<double>(load.hbm_bytes) / hbm_rate;
    // What takes longest is what the step waits for.
    if (load.link_ns >= std::max(stream_ns, hbm_ns)) {
      out.link_s += load.link_ns * 1e-9;
    } else if (stream_ns >= hbm_ns) {
      out.stream_s += stream_ns * 1e-9;
    } else {
      out.hbm_s += hbm_ns * 1e-9;
    }
  }
  out.seconds = out.launch_s + out.latency_s + out.link_s + out.stream_s + out.hbm_s;
  out.algbw = static_cast<double>(collective.size_bytes()) / out.seconds;
  out.busbw = out.algbw * collective.bus_factor();
  return out;
}

CollectiveTime collective_time(const Schedule& schedule, const Group& group) {
  return collective_time(step_loads(schedule, group), schedule.collective, *group.topology,
                         neuron_link(group.topology->generation()));
}

CollectiveTime concurrent_time(const Collective& collective, std::span<const Group> groups) {
  std::vector<Schedule> schedules;
  for (const Group& group : groups) {
    if (group.topology != groups.front().topology || group.size() != groups.front().size()) {
      throw Error(ErrorCode::invalid_argument,
                  "groups that run a collective together are of one topology and of one size");
    }
    schedules.push_back(make_schedule(collective, group, choose_algorithm(collective, group)));
  }
  if (groups.empty()) throw Error(ErrorCode::invalid_argument, "a collective of no group");
  const Topology& topology = *groups.front().topology;
  return collective_time(step_loads(schedules, groups), collective, topology,
                         neuron_link(topology.generation()));
}

}  // namespace assay::backend
