#include "backend/collectives/schedule.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "backend/collectives/writer.h"
#include "core/error.h"

namespace assay::backend {
namespace {

constexpr std::string_view kNames[] = {"mesh_single_step", "mesh", "recursive", "ring", "tree", "pairwise"};

constexpr Algorithm kAllReduce[] = {Algorithm::mesh_single_step, Algorithm::mesh, Algorithm::recursive,
                                    Algorithm::ring};
constexpr Algorithm kRows[] = {Algorithm::mesh, Algorithm::recursive, Algorithm::ring};
constexpr Algorithm kRooted[] = {Algorithm::mesh, Algorithm::tree, Algorithm::ring};
constexpr Algorithm kAllToAll[] = {Algorithm::mesh, Algorithm::pairwise};
constexpr Algorithm kDirect[] = {Algorithm::mesh};
constexpr Algorithm kBarrier[] = {Algorithm::recursive};

void check_group(const Collective& collective, const Group& group) {
  collective.validate();
  group.validate();
  if (group.size() != collective.ranks) {
    throw Error(ErrorCode::invalid_argument, std::string(name_of(collective.op)) + " of " +
                                                 std::to_string(collective.ranks) + " ranks on a group of " +
                                                 std::to_string(group.size()));
  }
}

int scatter_phase(ScheduleWriter& out, Algorithm algorithm, const SplitRow& row) {
  switch (algorithm) {
    case Algorithm::recursive:
      return recursive_scatter(out, row, 0);
    case Algorithm::ring:
      return ring_scatter(out, row, 0);
    default:
      return mesh_scatter(out, row, 0);
  }
}
int gather_phase(ScheduleWriter& out, Algorithm algorithm, const SplitRow& row, int step) {
  switch (algorithm) {
    case Algorithm::recursive:
      return recursive_gather(out, row, step);
    case Algorithm::ring:
      return ring_gather(out, row, step);
    default:
      return mesh_gather(out, row, step);
  }
}

void write_all_reduce(ScheduleWriter& out, Algorithm algorithm, int divisor) {
  if (algorithm == Algorithm::mesh_single_step) return mesh_single_step(out);
  SplitRow row = even_row(out.ranks(), out.collective().counts[0]);
  row.scatters_in_place = row.gathers_in_place = true;
  row.divisor = divisor;
  gather_phase(out, algorithm, row, scatter_phase(out, algorithm, row));
}

void write_reduce(ScheduleWriter& out, Algorithm algorithm, int divisor) {
  if (algorithm == Algorithm::mesh) return mesh_reduce(out);
  if (algorithm == Algorithm::tree) return tree_reduce(out);
  // The ring ends at the root instead of at the part's own rank.
  SplitRow row = even_row(out.ranks(), out.collective().counts[0]);
  row.scatters_in_place = true;
  row.scatters_to = out.collective().root;
  row.divisor = divisor;
  ring_scatter(out, row, 0);
}

void write_broadcast(ScheduleWriter& out, Algorithm algorithm) {
  if (algorithm == Algorithm::mesh) return mesh_broadcast(out);
  if (algorithm == Algorithm::tree) return tree_broadcast(out);
  SplitRow row = even_row(out.ranks(), out.collective().counts[0]);
  row.gathers_in_place = true;
  const int root = out.collective().root;
  for (int r = 0; r < out.ranks(); ++r) {
    out.copy(0, root, row.contribution(root, r), row.gathered(r, r), row.count(r));
  }
  ring_gather(out, row, 1);
}

}  // namespace

std::string_view name_of(Algorithm algorithm) { return kNames[static_cast<std::size_t>(algorithm)]; }

Algorithm parse_algorithm(std::string_view name) {
  std::string known;
  for (std::size_t k = 0; k < std::size(kNames); ++k) {
    if (name == kNames[k]) return static_cast<Algorithm>(k);
    known += (k == 0 ? "" : ", ") + std::string(kNames[k]);
  }
  throw Error(ErrorCode::invalid_argument,
              "unknown algorithm \"" + std::string(name) + "\"; use one of " + known);
}

void Group::validate() const {
  if (topology == nullptr || cores.empty()) {
    throw Error(ErrorCode::invalid_argument, "a group of ranks is empty");
  }
  std::set<int> seen;
  for (const int core : cores) {
    const bool inside = core >= 0 && core < topology->cores();
    if (inside && seen.insert(core).second) continue;
    throw Error(ErrorCode::invalid_argument,
                "a group of ranks has core " + std::to_string(core) +
                    (inside ? std::string(" twice")
                            : "; " + std::string(topology->instance().name) + " with LNC " +
                                  std::to_string(topology->lnc()) + " has cores 0 to " +
                                  std::to_string(topology->cores() - 1)));
  }
}

Group first_cores(const Topology& topology, int ranks) {
  Group group{&topology, std::vector<int>(static_cast<std::size_t>(std::max(ranks, 0)))};
  std::iota(group.cores.begin(), group.cores.end(), 0);
  group.validate();
  return group;
}

std::span<const Algorithm> algorithms_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return kAllReduce;
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
      return kRows;
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
      return kRooted;
    case CollectiveOp::all_to_all:
      return kAllToAll;
    case CollectiveOp::barrier:
      return kBarrier;
    case CollectiveOp::gather:
    case CollectiveOp::scatter:
    case CollectiveOp::permute:
      break;
  }
  return kDirect;
}

Algorithm choose_algorithm(const Collective& collective, const Group& group) {
  check_group(collective, group);
  const NeuronLinkDescription& link = neuron_link(group.topology->generation());
  const int64_t size = collective.size_bytes();
  const std::span<const Algorithm> known = algorithms_of(collective.op);
  switch (collective.op) {
    case CollectiveOp::all_reduce:
      if (size <= link.single_step_limit) return Algorithm::mesh_single_step;
      break;
    case CollectiveOp::all_to_all:
      return Algorithm::mesh;
    case CollectiveOp::broadcast:
    case CollectiveOp::reduce:
      return size < link.mesh_limit ? Algorithm::mesh : Algorithm::ring;
    default:
      if (known.size() == 1) return known[0];
      break;
  }
  if (size < link.mesh_limit) return Algorithm::mesh;
  return size <= link.recursive_limit ? known[known.size() - 2] : Algorithm::ring;
}

Schedule make_schedule(const Collective& collective, const Group& group, Algorithm algorithm) {
  check_group(collective, group);
  const std::span<const Algorithm> known = algorithms_of(collective.op);
  if (std::find(known.begin(), known.end(), algorithm) == known.end()) {
    std::string names;
    for (const Algorithm a : known) names += (names.empty() ? "" : ", ") + std::string(name_of(a));
    throw Error(ErrorCode::invalid_argument, std::string(name_of(collective.op)) + " has no algorithm " +
                                                 std::string(name_of(algorithm)) + "; it has " + names);
  }
  ScheduleWriter out(collective, group, algorithm);
  const int divisor = collective.reduces() && collective.reduction == Reduction::avg ? collective.ranks : 1;
  switch (collective.op) {
    case CollectiveOp::all_reduce:
      write_all_reduce(out, algorithm, divisor);
      break;
    case CollectiveOp::reduce_scatter: {
      SplitRow row = row_of(collective.counts);
      row.divisor = divisor;
      scatter_phase(out, algorithm, row);
      break;
    }
    case CollectiveOp::all_gather:
      gather_phase(out, algorithm, row_of(collective.counts), 0);
      break;
    case CollectiveOp::reduce:
      write_reduce(out, algorithm, divisor);
      break;
    case CollectiveOp::broadcast:
      write_broadcast(out, algorithm);
      break;
    case CollectiveOp::barrier:
      dissemination(out);
      break;
    case CollectiveOp::gather:
    case CollectiveOp::scatter:
    case CollectiveOp::all_to_all:
    case CollectiveOp::permute:
      direct(out, algorithm == Algorithm::pairwise);
      break;
  }
  return out.finish();
}

Collective emulated(const Collective& collective) {
  Collective out = collective;
  out.reduction = Reduction::sum;
  switch (collective.op) {
    case CollectiveOp::broadcast:
      out.op = CollectiveOp::all_reduce;
      break;
    case CollectiveOp::reduce:
      out.op = CollectiveOp::all_reduce;
      out.reduction = collective.reduction;
      break;
    case CollectiveOp::gather:
      out.op = CollectiveOp::all_gather;
      break;
    case CollectiveOp::scatter:
      out.op = CollectiveOp::reduce_scatter;
      break;
    default:
      return collective;
  }
  return out;
}

Plan make_plan(const Collective& collective, const Group& group, const PlanOptions& options) {
  collective.validate();
  const Collective done = options.emulate ? emulated(collective) : collective;
  const Algorithm algorithm = options.algorithm ? *options.algorithm : choose_algorithm(done, group);
  return {collective, done.op != collective.op, make_schedule(done, group, algorithm)};
}

ChipGrid::ChipGrid(const Group& group) : chip_of(group.cores.size()) {
  std::vector<int> ranks(group.cores.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto core = [&](int rank) { return group.cores[static_cast<std::size_t>(rank)]; };
  std::sort(ranks.begin(), ranks.end(), [&](int a, int b) { return core(a) < core(b); });
  for (const int rank : ranks) {
    const int number = group.topology->chip_of(core(rank));
    if (numbers.empty() || numbers.back() != number) {
      numbers.push_back(number);
      members.emplace_back();
    }
    members.back().push_back(rank);
    chip_of[static_cast<std::size_t>(rank)] = static_cast<int>(numbers.size()) - 1;
  }
  regular = std::all_of(members.begin(), members.end(),
                        [&](const auto& m) { return m.size() == members[0].size(); });
}

SplitRow::Slice SplitRow::slice(int part, int k, int of) const {
  const int64_t n = count(part), length = n / of, rest = n % of;
  return {k * length + std::min<int64_t>(k, rest), length + (k < rest ? 1 : 0)};
}

SplitRow even_row(int ranks, int64_t n) {
  std::vector<int64_t> counts(static_cast<std::size_t>(ranks), n / ranks);
  for (int64_t k = 0; k < n % ranks; ++k) ++counts[static_cast<std::size_t>(k)];
  return row_of(counts);
}

SplitRow row_of(const std::vector<int64_t>& counts) {
  SplitRow row;
  row.counts = counts;
  int64_t sum = 0;
  for (const int64_t count : counts) {
    row.offsets.push_back(sum);
    sum += count;
  }
  return row;
}

ScheduleWriter::ScheduleWriter(const Collective& collective, const Group& group, Algorithm algorithm)
    : group_(group) {
  schedule_.collective = collective;
  schedule_.algorithm = algorithm;
  schedule_.scratch.assign(group.cores.size(), 0);
}

void ScheduleWriter::transfer(int step, int mover, std::span<const Place> sources,
                              std::span<const Place> targets, int64_t count, int divisor, bool signal) {
  if (count == 0 && !signal) return;
  schedule_.transfers.push_back({step, mover, static_cast<uint32_t>(schedule_.places.size()),
                                 static_cast<uint16_t>(sources.size()), static_cast<uint16_t>(targets.size()),
                                 divisor, count});
  schedule_.places.insert(schedule_.places.end(), sources.begin(), sources.end());
  schedule_.places.insert(schedule_.places.end(), targets.begin(), targets.end());
  for (const Place& target : targets) {
    if (target.buffer != BufferKind::scratch) continue;
    int64_t& size = schedule_.scratch[static_cast<std::size_t>(target.rank)];
    size = std::max(size, target.offset + count);
  }
}

Schedule ScheduleWriter::finish() {
  std::stable_sort(schedule_.transfers.begin(), schedule_.transfers.end(),
                   [](const ScheduledTransfer& a, const ScheduledTransfer& b) { return a.step < b.step; });
  // Steps in which nobody has anything to do are none.
  int last = -1, steps = 0;
  for (ScheduledTransfer& t : schedule_.transfers) {
    steps += t.step != last ? 1 : 0;
    last = t.step;
    t.step = steps - 1;
  }
  schedule_.steps = steps;
  return std::move(schedule_);
}

}  // namespace assay::backend
