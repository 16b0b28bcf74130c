// Muon over ranks: the three schemes on few and many matrices, uneven rows, missing gradients.
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

}  // namespace

void make_muon(int n, const CaseSink& sink) {
  for (const TensorSet& layout : layouts(n)) {
    for (const auto& [scheme, ownership] : models::kMuonKinds) {
      ShardedMuon muon;
      muon.ranks = n;
      muon.matrices = layout.matrices;
      muon.has_gradient = layout.has_gradient;
      muon.scheme = scheme;
      muon.ownership = ownership;
      muon.options.iterate_in = std::nullopt;
      muon.options.weight_decay = 0.1;
      std::string name = fmt::format("muon/{}", models::name_of(scheme));
      if (scheme == MuonScheme::all_to_all) name += fmt::format("-{}", models::name_of(ownership));
      RankCase c(n, name + "/" + layout.name);
      for (int r = 0; r < n; ++r) c.program(r, models::muon_rank_program(muon, r));
      sink(c.build());
    }
  }
}

}  // namespace assay::suites
