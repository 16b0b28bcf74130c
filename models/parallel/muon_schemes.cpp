#include "models/parallel/muon_schemes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"

namespace assay::models {
namespace {

const std::string kWorld = "world";

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}
bool has_gradient(const ShardedMuon& muon, std::size_t matrix) {
  return muon.has_gradient.empty() || muon.has_gradient.at(matrix);
}

// Matrices that are exchanged, in padded groups of one shape where the ownership says so: which ones each
// rank owns, in order; -1 is a matrix of zeros.
struct Slot {
  int matrix = -1;
  Shape shape;                // as it is exchanged
  std::vector<int64_t> rows;  // of each rank's shard, as it is exchanged
};
std::vector<std::vector<Slot>> slots_of(const ShardedMuon& muon) {
  std::vector<std::vector<Slot>> slots(static_cast<std::size_t>(muon.ranks));
  if (muon.ownership != MuonOwnership::padded) {
    const std::vector<int> owner = owners(muon);
    for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
      if (!has_gradient(muon, i)) continue;
      slots[static_cast<std::size_t>(owner[i])].push_back(
          {static_cast<int>(i), muon.matrices[i], shard_rows(muon.matrices[i][0], muon.ranks)});
    }
    return slots;
  }
  std::map<Shape, std::vector<int>> by_shape;
  for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
    if (has_gradient(muon, i)) by_shape[muon.matrices[i]].push_back(static_cast<int>(i));
  }
  for (auto& [shape, members] : by_shape) {
    while (members.size() % static_cast<std::size_t>(muon.ranks) != 0) members.push_back(-1);
    const int64_t rows = (shape[0] + muon.ranks - 1) / muon.ranks;
    for (std::size_t k = 0; k < members.size(); ++k) {
      slots[k % static_cast<std::size_t>(muon.ranks)].push_back(
          {members[k], shape, std::vector<int64_t>(static_cast<std::size_t>(muon.ranks), rows)});
    }
  }
  return slots;
}

class Step {
 public:
  Step(const ShardedMuon& muon, Emitter& e) : muon_(muon), e_(e) {}

  // Inputs and momenta of the given shapes; fills directions.
  void begin(const std::vector<Shape>& shapes) {
    const MuonOptions& o = muon_.options;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto input = [&](const char* name) {
        return e_.builder().input(fmt::format("{}{}", name, i), muon_.dtype, shapes[i]);
      };
      parameters_.push_back(input("p"));
      ValueId gradient = -1;
      if (has_gradient(muon_, i)) gradient = input("g");
      const ValueId buffer = input("m");
      if (gradient < 0) {
        momenta_.push_back(e_.mul_number(buffer, o.momentum));
        directions_.push_back(-1);
        continue;
      }
      const MuonMomentum momentum = muon_momentum(e_, gradient, buffer, o);
      momenta_.push_back(momentum.held);
      directions_.push_back(e_.cast(momentum.direction, muon_.communicated));
    }
    updates_.assign(shapes.size(), -1);
  }

  ValueId orthogonalised(ValueId whole) {
    return e_.cast(muon_orthogonalised(e_, whole, muon_.options), muon_.communicated);
  }

  void end() {
    const MuonOptions& o = muon_.options;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      ValueId p = e_.mul_number(parameters_[i], 1 - o.lr * o.weight_decay);
      if (updates_[i] >= 0) {
        const Shape& shape = muon_.matrices[i];
        const double step = -o.lr * muon_scale(o.scale, shape[0], shape[1]);
        p = e_.add(p, e_.mul_number(e_.cast(updates_[i], muon_.dtype), step));
      }
      e_.builder().output(p);
      e_.builder().output(momenta_[i]);
    }
  }

  std::vector<ValueId> parameters_, momenta_, directions_, updates_;

 protected:
  const ShardedMuon& muon_;
  Emitter& e_;
};

class RankStep : public Step {
 public:
  RankStep(const ShardedMuon& muon, Emitter& e, int rank)
      : Step(muon, e), rank_(static_cast<std::size_t>(rank)) {}

  void exchange() {
    switch (muon_.scheme) {
      case MuonScheme::all_gather:
        for (std::size_t i = 0; i < directions_.size(); ++i) {
          if (directions_[i] >= 0) updates_[i] = own_rows(i, orthogonalised(gathered(i)));
        }
        break;
      case MuonScheme::gather_broadcast:
        for (std::size_t i = 0; i < directions_.size(); ++i) {
          if (directions_[i] >= 0) updates_[i] = own_rows(i, through_owner(i));
        }
        break;
      case MuonScheme::all_to_all:
        through_owners();
        break;
    }
  }

 private:
  std::vector<int64_t> rows(std::size_t i) const { return shard_rows(muon_.matrices[i][0], muon_.ranks); }
  ValueId waited(ValueId id) {
    return e_.call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{id}}});
  }

  ValueId own_rows(std::size_t i, ValueId whole) {
    const std::vector<int64_t> sizes = rows(i);
    const int64_t begin =
        std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank_), int64_t{0});
    return e_.slice(whole, 0, begin, begin + sizes[rank_]);
  }

  ValueId gathered(std::size_t i) {
    return waited(e_.call(
        "assay::all_gather_v.default",
        {{"input", ValueArg{directions_[i]}}, {"sizes", IntListArg{rows(i), {}}}, {"group_name", kWorld}}));
  }

  ValueId through_owner(std::size_t i) {
    const auto owner = static_cast<int64_t>(i) % muon_.ranks;
    const ValueId whole = waited(e_.call("assay::gather.default", {{"input", ValueArg{directions_[i]}},
                                                                   {"dst", owner},
                                                                   {"sizes", IntListArg{rows(i), {}}},
                                                                   {"rank", static_cast<int64_t>(rank_)},
                                                                   {"group_name", kWorld}}));
    const bool owns = static_cast<std::size_t>(owner) == rank_;
    const ValueId given = owns ? orthogonalised(whole) : e_.full(muon_.matrices[i], 0, muon_.communicated);
    return waited(e_.call("_c10d_functional::broadcast.default",
                          {{"input", ValueArg{given}}, {"src", owner}, {"group_name", kWorld}}));
  }

  // A shard as it is exchanged, flat: filled up with zero rows; zeros for a matrix that is none.
  ValueId packed(const Slot& slot) {
    const int64_t wanted = slot.rows[rank_], columns = slot.shape[1];
    ValueId shard = -1;
    int64_t have = 0;
    if (slot.matrix >= 0) {
      shard = directions_[static_cast<std::size_t>(slot.matrix)];
      have = e_.size(shard, 0);
    }
    if (have < wanted) {
      const ValueId zeros = e_.full({wanted - have, columns}, 0, muon_.communicated);
      shard = have == 0 ? zeros : e_.cat({shard, zeros}, 0);
    }
    return e_.view(shard, {wanted * columns});
  }

  ValueId exchanged(ValueId buffer, const std::vector<int64_t>& sent, const std::vector<int64_t>& received) {
    return waited(e_.call("_c10d_functional::all_to_all_single.default",
                          {{"input", ValueArg{buffer}},
                           {"output_split_sizes", IntListArg{received, {}}},
                           {"input_split_sizes", IntListArg{sent, {}}},
                           {"group_name", kWorld}}));
  }

  ValueId joined(const std::vector<ValueId>& parts) {
    if (parts.empty()) return e_.full({0}, 0, muon_.communicated);
    return parts.size() == 1 ? parts.front() : e_.cat(parts, 0);
  }

  void through_owners() {
    const std::vector<std::vector<Slot>> slots = slots_of(muon_);
    const auto ranks = static_cast<std::size_t>(muon_.ranks);
    // sizes[from][owner], elements, of the first exchange; the second is the other way round.
    std::vector<std::vector<int64_t>> sizes(ranks, std::vector<int64_t>(ranks, 0));
    for (std::size_t owner = 0; owner < ranks; ++owner) {
      for (const Slot& slot : slots[owner]) {
        for (std::size_t from = 0; from < ranks; ++from)
          sizes[from][owner] += slot.rows[from] * slot.shape[1];
      }
    }
    std::vector<int64_t> from_each;
    for (std::size_t from = 0; from < ranks; ++from) from_each.push_back(sizes[from][rank_]);

    std::vector<ValueId> parts;
    for (const auto& of_owner : slots) {
      for (const Slot& slot : of_owner) parts.push_back(packed(slot));
    }
    const ValueId shards = exchanged(joined(parts), sizes[rank_], from_each);

    // Behind one another lie the shards of rank 0 of all matrices owned here, then those of rank 1.
    std::vector<std::vector<ValueId>> pieces(ranks);
    std::vector<int64_t> at(ranks, 0);
    for (std::size_t from = 1; from < ranks; ++from) at[from] = at[from - 1] + from_each[from - 1];
    for (const Slot& slot : slots[rank_]) {
      const int64_t columns = slot.shape[1];
      std::vector<ValueId> shard_parts;
      for (std::size_t from = 0; from < ranks; ++from) {
        const int64_t count = slot.rows[from] * columns;
        shard_parts.push_back(e_.slice(shards, 0, at[from], at[from] + count));
        at[from] += count;
      }
      const int64_t all_rows = sum(slot.rows);
      ValueId whole = e_.view(joined(shard_parts), {all_rows, columns});
      if (slot.matrix >= 0) {
        // Zero rows were at the ends of shards: what is orthogonalised is the matrix itself.
        whole = orthogonalised(unpadded(slot, whole));
        whole = padded(slot, whole);
      }
      const ValueId flat = e_.view(whole, {all_rows * columns});
      int64_t begin = 0;
      for (std::size_t to = 0; to < ranks; ++to) {
        const int64_t count = slot.rows[to] * columns;
        pieces[to].push_back(e_.slice(flat, 0, begin, begin + count));
        begin += count;
      }
    }
    std::vector<ValueId> out;
    for (const auto& of_rank : pieces) out.insert(out.end(), of_rank.begin(), of_rank.end());
    const ValueId updates = exchanged(joined(out), from_each, sizes[rank_]);

    int64_t begin = 0;
    for (const auto& of_owner : slots) {
      for (const Slot& slot : of_owner) {
        const int64_t count = slot.rows[rank_] * slot.shape[1];
        if (slot.matrix >= 0) {
          const auto i = static_cast<std::size_t>(slot.matrix);
          const ValueId shard =
              e_.view(e_.slice(updates, 0, begin, begin + count), {slot.rows[rank_], slot.shape[1]});
          const int64_t own = rows(i)[rank_];
          updates_[i] = own == slot.rows[rank_] ? shard : e_.slice(shard, 0, 0, own);
        }
        begin += count;
      }
    }
  }

  ValueId unpadded(const Slot& slot, ValueId whole) {
    return relaid(slot, whole, slot.rows, shard_rows(slot.shape[0], muon_.ranks));
  }
  ValueId padded(const Slot& slot, ValueId whole) {
    return relaid(slot, whole, shard_rows(slot.shape[0], muon_.ranks), slot.rows);
  }
  // The shards of a matrix, each with as many rows of each rank as `to` says instead of `from`: cut, or
  // filled with zeros.
  ValueId relaid(const Slot& slot, ValueId whole, const std::vector<int64_t>& from,
                 const std::vector<int64_t>& to) {
    if (from == to) return whole;
    std::vector<ValueId> parts;
    int64_t begin = 0;
    for (std::size_t r = 0; r < from.size(); ++r) {
      const int64_t kept = std::min(from[r], to[r]);
      if (kept > 0) parts.push_back(e_.slice(whole, 0, begin, begin + kept));
      if (to[r] > from[r]) parts.push_back(e_.full({to[r] - from[r], slot.shape[1]}, 0, muon_.communicated));
      begin += from[r];
    }
    return joined(parts);
  }

  std::size_t rank_;
};

void check(const ShardedMuon& muon) {
  if (muon.ranks < 1) throw Error(ErrorCode::invalid_argument, "Muon over ranks: there must be at least one");
  for (const Shape& shape : muon.matrices) {
    if (shape.size() == 2) continue;
    throw Error(ErrorCode::invalid_argument, "Muon takes matrices, not " + to_string(shape));
  }
  if (!muon.has_gradient.empty() && muon.has_gradient.size() != muon.matrices.size()) {
    throw Error(ErrorCode::invalid_argument, "Muon over ranks: has_gradient needs one entry for each matrix");
  }
}

}  // namespace

std::string_view name_of(MuonScheme scheme) {
  static constexpr std::string_view names[] = {"all_gather", "gather_broadcast", "all_to_all"};
  return names[static_cast<std::size_t>(scheme)];
}
std::string_view name_of(MuonOwnership ownership) {
  static constexpr std::string_view names[] = {"round_robin", "balanced", "padded"};
  return names[static_cast<std::size_t>(ownership)];
}

std::vector<int64_t> shard_rows(int64_t rows, int ranks) {
  const int64_t chunk = (rows + ranks - 1) / ranks;
  std::vector<int64_t> out;
  for (int64_t r = 0; r < ranks; ++r) out.push_back(std::clamp<int64_t>(rows - r * chunk, 0, chunk));
  return out;
}

std::vector<int> owners(const ShardedMuon& muon) {
  std::vector<int> owner(muon.matrices.size());
  for (std::size_t i = 0; i < owner.size(); ++i) owner[i] = static_cast<int>(i) % muon.ranks;
  if (muon.scheme != MuonScheme::all_to_all || muon.ownership != MuonOwnership::balanced) return owner;
  std::vector<std::size_t> order(owner.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto size = [&](std::size_t i) {
    return has_gradient(muon, i) ? element_count(muon.matrices[i]) : 0;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  std::vector<int64_t> load(static_cast<std::size_t>(muon.ranks), 0);
  for (const std::size_t i : order) {
    const auto least = std::min_element(load.begin(), load.end());
    owner[i] = static_cast<int>(least - load.begin());
    *least += size(i);
  }
  return owner;
}

Graph muon_rank_program(const ShardedMuon& muon, int rank) {
  check(muon);
  GraphBuilder builder(fmt::format("muon-{}-{}", name_of(muon.scheme), rank));
  Emitter e(builder);
  RankStep step(muon, e, rank);
  std::vector<Shape> shapes;
  for (const Shape& shape : muon.matrices) {
    shapes.push_back({shard_rows(shape[0], muon.ranks).at(static_cast<std::size_t>(rank)), shape[1]});
  }
  step.begin(shapes);
  step.exchange();
  step.end();
  return builder.build();
}

Graph muon_whole_program(const ShardedMuon& muon) {
  check(muon);
  GraphBuilder builder("muon-whole");
  Emitter e(builder);
  Step step(muon, e);
  step.begin(muon.matrices);
  for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
    if (step.directions_[i] >= 0) step.updates_[i] = step.orthogonalised(step.directions_[i]);
  }
  step.end();
  return builder.build();
}

int64_t muon_traffic_bytes(const ShardedMuon& muon) {
  check(muon);
  const int64_t n = muon.ranks;
  const auto item = static_cast<int64_t>(size_of(muon.communicated));
  if (muon.scheme == MuonScheme::all_to_all && muon.ownership == MuonOwnership::padded) {
    std::map<Shape, int64_t> groups;
    for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
      if (has_gradient(muon, i)) ++groups[muon.matrices[i]];
    }
    int64_t padded = 0;
    for (const auto& [shape, count] : groups) {
      const int64_t rows = (shape[0] + n - 1) / n * n;
      padded += (count + n - 1) / n * n * rows * shape[1] * item;
    }
    return 2 * (n - 1) * padded / n;
  }
  const std::vector<int> owner = owners(muon);
  int64_t whole = 0, of_owners = 0;
  for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
    if (!has_gradient(muon, i)) continue;
    const Shape& shape = muon.matrices[i];
    whole += element_count(shape) * item;
    of_owners += shard_rows(shape[0], muon.ranks)[static_cast<std::size_t>(owner[i])] * shape[1] * item;
  }
  switch (muon.scheme) {
    case MuonScheme::all_gather:
      return (n - 1) * whole;
    case MuonScheme::gather_broadcast:
      return whole - of_owners + (n - 1) * whole;
    case MuonScheme::all_to_all:
      return 2 * (whole - of_owners);
  }
  throw Error(ErrorCode::internal, "no such scheme");
}

}  // namespace assay::models
