// Muon over ranks: whatever the scheme, the ownership and the number of ranks, the step is the one of a
// single rank, bit for bit, and its traffic is the formula's.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/distributed/traffic.h"
#include "models/parallel/muon_schemes.h"
#include "reference/evaluate.h"

namespace assay::models {
namespace {

Tensor rows_of(const Tensor& whole, int64_t begin, int64_t rows) {
  const std::vector<double> all = whole.to_doubles();
  const int64_t columns = whole.size(1);
  const std::vector<double> part(all.begin() + begin * columns, all.begin() + (begin + rows) * columns);
  return Tensor::from_doubles(whole.dtype(), {rows, columns}, part);
}

Tensor pattern(const Shape& shape, DType dtype, uint64_t seed) {
  std::vector<double> values;
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < element_count(shape); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(static_cast<double>(state >> 40) / (1 << 23) - 1);
  }
  return Tensor::from_doubles(dtype, shape, values);
}

// State of all matrices: "p0", "g0", "m0", ...
using State = std::map<std::string, Tensor>;
State state_of(const ShardedMuon& muon) {
  State state;
  for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
    for (const char* name : {"p", "g", "m"}) {
      state[name + std::to_string(i)] =
          pattern(muon.matrices[i], muon.dtype, 3 * i + static_cast<uint64_t>(*name));
    }
  }
  return state;
}

std::vector<Tensor> outputs_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> values = reference::local_chain(graph, inputs);
  std::vector<Tensor> out;
  for (const GraphOutput& output : graph.outputs)
    out.push_back(values.at(static_cast<std::size_t>(output.value)));
  return out;
}

// New parameters and momenta as whole matrices.
State stepped(const ShardedMuon& muon, const State& state) {
  RankPrograms programs;
  programs.groups.world_size = muon.ranks;
  std::vector<Tensor> inputs;
  for (int r = 0; r < muon.ranks; ++r) {
    programs.graphs.push_back(std::make_shared<const Graph>(muon_rank_program(muon, r)));
    for (const GraphInput& input : programs.graphs.back()->inputs) {
      const Tensor& whole = state.at(input.target);
      const auto i = static_cast<std::size_t>(std::stoi(input.target.substr(1)));
      const std::vector<int64_t> rows = shard_rows(muon.matrices[i][0], muon.ranks);
      int64_t begin = 0;
      for (int before = 0; before < r; ++before) begin += rows[static_cast<std::size_t>(before)];
      inputs.push_back(rows_of(whole, begin, rows[static_cast<std::size_t>(r)]));
    }
  }
  const JoinedGraph joined = join(programs, "muon");
  EXPECT_TRUE(joined.fits()) << joined.errors.front();
  validate(joined.graph);
  EXPECT_EQ(formula_bytes(joined), muon_traffic_bytes(muon))
      << name_of(muon.scheme) << " " << name_of(muon.ownership) << " on " << muon.ranks;
  const std::vector<Tensor> out = outputs_of(joined.graph, inputs);
  State result;
  for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
    for (int k = 0; k < 2; ++k) {
      std::vector<double> all;
      for (int r = 0; r < muon.ranks; ++r) {
        const std::vector<double> part =
            out.at((static_cast<std::size_t>(r) * muon.matrices.size() + i) * 2 + static_cast<std::size_t>(k))
                .to_doubles();
        all.insert(all.end(), part.begin(), part.end());
      }
      result[(k == 0 ? "p" : "m") + std::to_string(i)] =
          Tensor::from_doubles(muon.dtype, muon.matrices[i], all);
    }
  }
  return result;
}

State stepped_whole(const ShardedMuon& muon, const State& state) {
  const Graph graph = muon_whole_program(muon);
  std::vector<Tensor> inputs;
  for (const GraphInput& input : graph.inputs) inputs.push_back(state.at(input.target));
  const std::vector<Tensor> out = outputs_of(graph, inputs);
  State result;
  for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
    result["p" + std::to_string(i)] = out.at(2 * i);
    result["m" + std::to_string(i)] = out.at(2 * i + 1);
  }
  return result;
}

void expect_equal(const State& got, const State& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (const auto& [name, tensor] : want)
    EXPECT_TRUE(got.at(name).bitwise_equal(tensor)) << what << " " << name;
}

TEST(MuonSchemes, EverySchemeIsTheStepOfOneRank) {
  struct Layout {
    std::vector<Shape> matrices;
    std::vector<bool> has_gradient;
  };
  const Layout layouts[] = {
      {{}, {}},                                          // none
      {{{6, 10}}, {}},                                   // fewer matrices than ranks
      {{{8, 6}, {8, 6}, {8, 6}, {8, 6}}, {}},            // as many as four ranks
      {{{8, 6}, {8, 6}, {8, 6}, {8, 6}, {8, 6}}, {}},    // one more
      {{{7, 5}, {3, 8}, {2, 2}, {9, 4}}, {}},            // rows that do not divide, fewer rows than ranks
      {{{8, 6}, {5, 5}, {8, 6}}, {true, false, true}}};  // a gradient is missing
  for (const Layout& layout : layouts) {
    for (const DType communicated : {DType::f32, DType::bf16}) {
      for (const int ranks : {1, 3, 4}) {
        for (const auto& [scheme, ownership] : kMuonKinds) {
          ShardedMuon muon;
          muon.ranks = ranks;
          muon.matrices = layout.matrices;
          muon.has_gradient = layout.has_gradient;
          muon.communicated = communicated;
          muon.scheme = scheme;
          muon.ownership = ownership;
          muon.options.weight_decay = 0.1;
          muon.options.iterate_in = DType::bf16;
          const State state = state_of(muon);
          expect_equal(stepped(muon, state), stepped_whole(muon, state),
                       std::string(name_of(scheme)) + " " + std::string(name_of(ownership)) + " on " +
                           std::to_string(ranks));
        }
      }
    }
  }
}

// Another order of the matrices changes who owns what, and nothing else.
TEST(MuonSchemes, OrderAndNumberOfRanksDoNotMatter) {
  ShardedMuon muon;
  muon.matrices = {{8, 6}, {5, 7}, {4, 4}};
  muon.options.iterate_in = std::nullopt;
  const State state = state_of(muon);
  const State want = stepped_whole(muon, state);
  ShardedMuon turned = muon;
  turned.matrices = {muon.matrices[2], muon.matrices[0], muon.matrices[1]};
  const std::map<std::string, std::string> place{{"0", "1"}, {"1", "2"}, {"2", "0"}};
  State moved;
  for (const auto& [name, tensor] : state) moved[name.substr(0, 1) + place.at(name.substr(1))] = tensor;
  // Two steps, the second on another number of ranks: what a resumed checkpoint does.
  for (const auto& [scheme, ownership] : kMuonKinds) {
    for (ShardedMuon* m : {&muon, &turned}) m->scheme = scheme, m->ownership = ownership;
    turned.ranks = 4;
    State got;
    for (const auto& [name, tensor] : stepped(turned, moved)) {
      for (const auto& [from, to] : place) {
        if (to == name.substr(1)) got[name.substr(0, 1) + from] = tensor;
      }
    }
    expect_equal(got, want, std::string(name_of(scheme)));
    State second = want, whole = want;
    for (std::size_t i = 0; i < muon.matrices.size(); ++i) {
      const std::string g = "g" + std::to_string(i);
      second[g] = whole[g] = state.at(g);
    }
    muon.ranks = 3;
    expect_equal(stepped(muon, second), stepped_whole(muon, whole), "resumed");
  }
}

// The table of docs/distributed.md, "Muon's traffic": bytes a rank receives over all of a step's matrices.
TEST(MuonSchemes, RatiosOfTheDocumentedTable) {
  const auto bytes = [](MuonScheme scheme, MuonOwnership ownership, int ranks, int matrices) {
    ShardedMuon muon;
    muon.ranks = ranks;
    // Rows that divide by every number of ranks here.
    muon.matrices.assign(static_cast<std::size_t>(matrices), Shape{int64_t{ranks} * 2, 4});
    muon.scheme = scheme;
    muon.ownership = ownership;
    return static_cast<double>(muon_traffic_bytes(muon));
  };
  const auto rr = MuonOwnership::round_robin;
  for (const int n : {8, 32, 47, 48, 64, 128}) {
    const double direct = bytes(MuonScheme::all_to_all, rr, n, n);
    EXPECT_DOUBLE_EQ(bytes(MuonScheme::all_gather, rr, n, n) / direct, n / 2.0);
    EXPECT_DOUBLE_EQ(bytes(MuonScheme::gather_broadcast, rr, n, n) / direct, (n + 1) / 2.0);
  }
  EXPECT_DOUBLE_EQ(bytes(MuonScheme::all_gather, rr, 48, 48) / bytes(MuonScheme::all_to_all, rr, 48, 48), 24);
  EXPECT_DOUBLE_EQ(
      bytes(MuonScheme::gather_broadcast, rr, 47, 47) / bytes(MuonScheme::all_to_all, rr, 47, 47), 24);
  // Padding: M same-shape matrices on N ranks give M / (2 ceil(M / N)).
  EXPECT_DOUBLE_EQ(bytes(MuonScheme::all_gather, rr, 64, 48) /
                       bytes(MuonScheme::all_to_all, MuonOwnership::padded, 64, 48),
                   24);
  EXPECT_DOUBLE_EQ(bytes(MuonScheme::all_gather, rr, 32, 40) /
                       bytes(MuonScheme::all_to_all, MuonOwnership::padded, 32, 40),
                   10);
  // 1.63 times the throughput from 23/24 of a share of the time: Amdahl.
  EXPECT_NEAR((1 - 1 / 1.63) / (1 - 1 / 24.0), 0.403, 0.001);
}

}  // namespace
}  // namespace assay::models
