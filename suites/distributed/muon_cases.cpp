// Muon over ranks: the three schemes on few and many matrices, uneven rows, missing gradients, and resumed on
// another number of ranks.
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/parallel/muon_schemes.h"
#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

using models::MuonScheme;
using models::ShardedMuon;

struct TensorSet {
  std::string name;
  std::vector<Shape> matrices;
  std::vector<bool> has_gradient;
};

std::vector<TensorSet> layouts(int n) {
  const auto alike = [](int count) {
    return std::vector<Shape>(static_cast<std::size_t>(count), Shape{8, 6});
  };
  std::vector<TensorSet> all{{"one", {{6, 10}}, {}},
                             // Rows that do not divide, fewer rows than ranks, tall and wide ones.
                             {"uneven", {{7, 5}, {3, 8}, {2, 2}, {9, 4}}, {}},
                             {"permuted", {{2, 2}, {9, 4}, {7, 5}, {3, 8}}, {}},
                             {"no-gradient", {{8, 6}, {5, 5}, {8, 6}}, {true, false, true}},
                             {"no-gradients", {{8, 6}, {5, 5}}, {false, false}}};
  if (n <= 8) {
    all.push_back({"as-many-as-ranks", alike(n), {}});
    all.push_back({"one-more", alike(n + 1), {}});
  }
  return all;
}

ShardedMuon muon_of(int n, const models::MuonKind& kind, const TensorSet& layout) {
  ShardedMuon muon;
  muon.ranks = n;
  muon.matrices = layout.matrices;
  muon.has_gradient = layout.has_gradient;
  muon.scheme = kind.scheme;
  muon.ownership = kind.ownership;
  muon.options.iterate_in = std::nullopt;
  muon.options.weight_decay = 0.1;
  return muon;
}
std::string kind_name(const models::MuonKind& kind) {
  std::string name(models::name_of(kind.scheme));
  if (kind.scheme == MuonScheme::all_to_all) name += fmt::format("-{}", models::name_of(kind.ownership));
  return name;
}

RankCase step_of(int n, const std::string& name, const ShardedMuon& muon) {
  RankCase c(n, name);
  for (int r = 0; r < n; ++r) c.program(r, models::muon_rank_program(muon, r));
  return c;
}

// Of the joined programs: each rank's outputs are parameter and momentum of one matrix after the other.
std::vector<std::pair<int, std::string>> carried_of(const ShardedMuon& muon) {
  std::vector<std::pair<int, std::string>> carry;
  for (int r = 0; r < muon.ranks; ++r) {
    for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
      for (const char* name : {"p", "m"}) {
        carry.emplace_back(static_cast<int>(carry.size()), name_at_rank(r, fmt::format("{}{}", name, i)));
      }
    }
  }
  return carry;
}
// A step that a resumed run goes on with.
std::shared_ptr<const Case> goes_on(const std::string& name, const ShardedMuon& muon) {
  Case c = step_of(muon.ranks, name, muon).build();
  c.carry = carried_of(muon);
  return std::make_shared<const Case>(std::move(c));
}

const TensorSet kResumed{"uneven", {{7, 5}, {3, 8}, {2, 2}, {9, 4}}, {}};

void resumed(int n, const CaseSink& sink) {
  std::set<int> others{n - 1};
  if (n <= 8) others.insert({1, n + 1, 2 * n});
  others.erase(0);
  others.erase(n);
  for (const models::MuonKind& kind : models::kMuonKinds) {
    const ShardedMuon muon = muon_of(n, kind, kResumed);
    for (const int other : others) {
      const std::string name = fmt::format("muon-resumed/{}/on-{}", kind_name(kind), other);
      ShardedMuon on_other = muon;
      on_other.ranks = other;
      Case c = step_of(n, name, muon).build();
      c.carry = carried_of(muon);
      c.trials = {goes_on(name, muon), goes_on(name, on_other)};
      sink(std::move(c));
    }
  }
}

// Checkpoints of other matrices than those that the programs are made for.
void not_resumed(int n, const CaseSink& sink) {
  const ShardedMuon muon = muon_of(n, models::kMuonKinds[2], kResumed);
  const auto one = [&](const std::string& what, const std::string& mention, auto&& change) {
    const std::string name = "bad/muon-resumed-" + what;
    ShardedMuon other = muon;
    other.ranks = n + 1;
    change(other);
    Case c = step_of(n, name, muon).build();
    c.carry = carried_of(muon);
    c.trials = {goes_on(name, other)};
    c.checks.negative = true;
    c.checks.expect_error = mention;
    sink(std::move(c));
  };
  one("more-rows", fmt::format("has 7 rows; the programs of {} ranks take 8", n + 1), [](ShardedMuon& other) {
    other.matrices[0] = {8, 5};
  });
  // Each rank has as many rows as before, of more columns.
  one("more-columns", "'p1' is f32[3, 8]; rank 0 takes f32", [](ShardedMuon& other) {
    other.matrices[1] = {3, 9};
  });
  one("a-matrix-missing", "it has no 'p4', which the programs take", [](ShardedMuon& other) {
    other.matrices.push_back({4, 4});
  });
  one("a-matrix-left", "it has 'g3', which no program takes",
      [](ShardedMuon& other) { other.matrices.pop_back(); });
  one("other-dtype", "rank 0 takes bf16", [](ShardedMuon& other) { other.dtype = DType::bf16; });
}

// The last rank has the shards of another number of ranks, or of another checkpoint.
void with_old_shards(int n, const CaseSink& sink) {
  if (n < 2) return;
  const std::string who = fmt::format("rank {}", n - 1);
  for (const MuonScheme scheme : {MuonScheme::all_gather, MuonScheme::all_to_all}) {
    const ShardedMuon muon = muon_of(n, {scheme, models::MuonOwnership::round_robin}, kResumed);
    const std::string op(models::name_of(scheme));
    const auto one = [&](const std::string& what, const std::string& mention, const ShardedMuon& last) {
      RankCase c(n, fmt::format("faults/muon-resumed-{}/{}", what, op));
      for (int r = 0; r < n; ++r) c.program(r, models::muon_rank_program(r == n - 1 ? last : muon, r));
      sink(c.refused({who, op, mention}));
    };
    ShardedMuon last = muon;
    last.ranks = n + 1;
    one("with-shards-of-more-ranks", "it must have one for each of the group's", last);
    last = muon;
    last.matrices[0][0] = 8 * n;  // of which the last rank has eight, where it had fewer
    one("with-other-rows", "differ in", last);
  }
}

}  // namespace

void make_muon(int n, const CaseSink& sink) {
  for (const TensorSet& layout : layouts(n)) {
    for (const models::MuonKind& kind : models::kMuonKinds) {
      sink(step_of(n, fmt::format("muon/{}/{}", kind_name(kind), layout.name), muon_of(n, kind, layout))
               .build());
    }
  }
  resumed(n, sink);
  if (n <= 8) not_resumed(n, sink);
  with_old_shards(n, sink);
}

}  // namespace assay::suites
