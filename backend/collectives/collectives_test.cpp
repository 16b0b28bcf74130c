#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "backend/collectives/collectives_cases_test.h"
#include "backend/collectives/cost.h"
#include "backend/collectives/writer.h"
#include "core/error.h"

namespace assay::backend {
namespace {

using testing::HasSubstr;

constexpr CollectiveOp kOps[] = {
    CollectiveOp::all_reduce, CollectiveOp::reduce,         CollectiveOp::broadcast, CollectiveOp::all_gather,
    CollectiveOp::gather,     CollectiveOp::reduce_scatter, CollectiveOp::scatter,   CollectiveOp::all_to_all,
    CollectiveOp::permute,    CollectiveOp::barrier};

// One topology for all: groups keep references.
const Topology& trn2() {
  static const Topology topology = Topology::of("trn2.48xlarge");
  return topology;
}
const Topology& trn2_single_cores() {
  static const Topology topology = Topology::of("trn2.48xlarge", 1);
  return topology;
}

std::string message_of(const std::function<void()>& body, ErrorCode code = ErrorCode::invalid_argument) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

// runtime-performance-tips.rst of the Neuron SDK lists the neighbours of ND0 and ND5.
TEST(TopologyTest, NeighboursAreTheDocumentedOnes) {
  EXPECT_EQ(trn2().neighbours(0), (std::vector<int>{1, 3, 4, 12}));
  EXPECT_EQ(trn2().neighbours(5), (std::vector<int>{1, 4, 6, 9}));
  EXPECT_EQ(trn2().cores(), 64);
  EXPECT_EQ(trn2_single_cores().cores(), 128);
  EXPECT_EQ(trn2().links(), 64);
}

TEST(TopologyTest, RoutesAreShortAndLeadThere) {
  for (const char* name : {"trn1.2xlarge", "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge",
                           "trn2u.ultraserver", "trn3.gen1_ultraserver"}) {
    const Topology topology = Topology::of(name);
    const std::size_t longest = topology.torus().empty() ? 2 : 2 * topology.torus().size();
    for (int from = 0; from < topology.chips(); ++from) {
      for (int to = 0; to < topology.chips(); ++to) {
        std::string at = std::to_string(from);
        for (const int link : topology.route(from, to)) {
          const std::string& text = topology.link_name(link);
          const std::size_t arrow = text.find('>');
          ASSERT_EQ(text.substr(0, arrow), at) << name;
          at = text.substr(arrow + 1);
          EXPECT_GT(topology.link_bytes_per_ns(link), 0) << name;
        }
        EXPECT_EQ(at, std::to_string(to)) << name;
        EXPECT_LE(topology.route(from, to).size(), longest);
      }
    }
  }
  EXPECT_THAT(message_of([] { Topology::of("trn1.32xlarge", 2); }), HasSubstr("LNC 1 only"));
  EXPECT_THAT(message_of([] { Topology::of("trn9"); }), HasSubstr("trn2.48xlarge"));
}

TEST(TopologyTest, ConstantsHaveSources) {
  for (const Generation g : {Generation::trn1, Generation::trn2, Generation::trn3}) {
    for (const NamedConstant& constant : constants(neuron_link(g))) {
      EXPECT_GT(constant.source.size(), 3u) << constant.name;
      EXPECT_GE(constant.value, 0) << constant.name;
    }
  }
}

// All dtypes and reductions that the device has, on a few groups; the sweep over ranks is in the ci tests.
TEST(CollectiveTest, EveryDtypeAndReductionIsExactOnIntegers) {
  constexpr Reduction kReductions[] = {Reduction::sum, Reduction::avg, Reduction::min, Reduction::max,
                                       Reduction::product};
  for (const int ranks : {1, 3, 8, 12}) {
    const Group group = first_cores(trn2(), ranks);
    for (int d = 1; d <= 15; ++d) {
      const auto dtype = static_cast<DType>(d);
      for (const CollectiveOp op : kOps) {
        for (const Reduction reduction : kReductions) {
          Collective c = equal_parts(op, ranks, dtype, 5, reduction, ranks / 2);
          if (!c.reduces() && reduction != Reduction::sum) continue;
          if (c.reduces() && (dtype == DType::f64 || is_complex(dtype))) {
            EXPECT_THAT(message_of([&] { c.validate(); }, ErrorCode::unsupported), HasSubstr("no datapath"));
            continue;
          }
          if (reduction == Reduction::avg && is_integral(dtype)) {
            EXPECT_THAT(message_of([&] { c.validate(); }), HasSubstr("avg of"));
            continue;
          }
          // Means of integers are exact over powers of two only; sums of f8_e4m3fn up to 16.
          if (reduction == Reduction::avg && (ranks & (ranks - 1)) != 0) continue;
          if (size_of(dtype) == 1 && is_float(dtype) && reduction == Reduction::avg) continue;
          for (const Algorithm algorithm : algorithms_of(op)) {
            const Plan plan = make_plan(c, group, {.algorithm = algorithm});
            ASSERT_EQ(wrong(plan), "") << describe(plan);
          }
        }
      }
    }
  }
}

TEST(CollectiveTest, AnyGroupOfCoresWorks) {
  const std::vector<std::vector<int>> groups = {
      {5},                               // one core
      {0, 4, 8, 12, 16, 20, 24, 28},     // a core of each of eight chips
      {63, 1, 62, 2, 30},                // no two alike, in no order
      {0, 1, 2, 3, 4, 5, 8},             // chips with 4, 2 and 1
      {12, 13, 14, 15, 60, 61, 62, 63},  // two chips, no neighbours of a row
      {0, 1, 4, 5, 8, 9, 12, 13, 48, 49, 52, 53},
  };
  for (const std::vector<int>& cores : groups) {
    const Group group{&trn2(), cores};
    for (const CollectiveOp op : kOps) {
      for (const Algorithm algorithm : algorithms_of(op)) {
        for (const bool emulate : {false, true}) {
          if (emulate && emulated(equal_parts(op, 1, DType::f32, 1)).op != CollectiveOp::all_reduce &&
              op != CollectiveOp::gather && op != CollectiveOp::scatter) {
            continue;
          }
          const Collective c =
              equal_parts(op, group.size(), DType::bf16, 9, Reduction::sum, group.size() - 1);
          const std::optional<Algorithm> choice = emulate ? std::nullopt : std::optional(algorithm);
          const Plan plan = make_plan(c, group, {.emulate = emulate, .algorithm = choice});
          EXPECT_EQ(wrong(plan), "") << describe(plan);
        }
      }
    }
  }
}

// Bytes between ranks: what the textbook (Thakur et al. 2005) says, equal parts of n bytes a rank.
TEST(CollectiveTest, LedgerEqualsTheFormulas) {
  const auto total = [](CollectiveOp op, const Group& group, Algorithm algorithm, int64_t n) {
    const Collective c = equal_parts(op, group.size(), DType::u8, n, Reduction::sum, group.size() / 3);
    const Schedule schedule = make_schedule(c, group, algorithm);
    const CollectiveLedger ledger = collective_ledger(schedule, group);
    int64_t sent = 0, received = 0;
    for (const int64_t bytes : ledger.sent) sent += bytes;
    for (const int64_t bytes : ledger.received) received += bytes;
    EXPECT_EQ(sent, ledger.total());
    EXPECT_EQ(received, ledger.total());
    return ledger.total();
  };
  for (const int ranks : {1, 2, 3, 4, 6, 8, 13, 16, 32, 48, 64}) {
    for (const Topology* topology : {&trn2(), &trn2_single_cores()}) {
      const Group group = first_cores(*topology, ranks);
      const int64_t n = 24, N = ranks, all = n * N * (N - 1);
      // Mesh shares the work of sending among the ranks of a chip: a rank reads its neighbours' parts first,
      // for each other chip those of all but one.
      const ChipGrid grid(group);
      int64_t carried = 0;
      for (const std::vector<int>& members : grid.members) {
        carried += n * (grid.chips() - 1) * (static_cast<int64_t>(members.size()) - 1);
      }
      EXPECT_EQ(total(CollectiveOp::all_gather, group, Algorithm::mesh, n), all + carried) << ranks;
      for (const Algorithm a : {Algorithm::recursive, Algorithm::ring}) {
        EXPECT_EQ(total(CollectiveOp::all_gather, group, a, n), all) << name_of(a) << ranks;
      }
      EXPECT_EQ(total(CollectiveOp::reduce_scatter, group, Algorithm::mesh, n), all) << ranks;
      EXPECT_EQ(total(CollectiveOp::all_reduce, group, Algorithm::mesh, n * N), 2 * all + carried) << ranks;
      EXPECT_EQ(total(CollectiveOp::all_reduce, group, Algorithm::mesh_single_step, n), all) << ranks;
      EXPECT_EQ(total(CollectiveOp::all_to_all, group, Algorithm::mesh, n), all) << ranks;
      EXPECT_EQ(total(CollectiveOp::all_to_all, group, Algorithm::pairwise, n), all) << ranks;
      EXPECT_EQ(total(CollectiveOp::broadcast, group, Algorithm::mesh, n), n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::broadcast, group, Algorithm::tree, n), n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::broadcast, group, Algorithm::ring, n * N), all + n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::reduce, group, Algorithm::mesh, n), n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::reduce, group, Algorithm::tree, n), n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::gather, group, Algorithm::mesh, n), n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::scatter, group, Algorithm::mesh, n), n * (N - 1)) << ranks;
      EXPECT_EQ(total(CollectiveOp::permute, group, Algorithm::mesh, n), N == 1 ? 0 : n * N) << ranks;
    }
    // One rank a chip: plain ring and hypercube. KangaRing's pairs read the second rank's share for every
    // hop, and bring its result to it: N / 2 parts more.
    std::vector<int> cores;
    for (int k = 0; k < std::min(ranks, 16); ++k) cores.push_back(4 * k);
    const Group spread{&trn2(), cores};
    const int64_t n = 24, N = spread.size();
    EXPECT_EQ(total(CollectiveOp::reduce_scatter, spread, Algorithm::ring, n), n * N * (N - 1));
    if ((N & (N - 1)) == 0) {
      EXPECT_EQ(total(CollectiveOp::reduce_scatter, spread, Algorithm::recursive, n), n * N * (N - 1));
    }
    if (ranks % 4 == 0) {
      const Group whole = first_cores(trn2(), ranks);
      EXPECT_EQ(total(CollectiveOp::reduce_scatter, whole, Algorithm::ring, n),
                n * ranks * (ranks - 1) + n * ranks / 2);
    }
  }
}

// Whatever the group and the parts are, a ledger is the fewest bytes and those that are staged.
TEST(CollectiveTest, LedgerIsTheFewestBytesAndTheStagedOnes) {
  const std::vector<Group> groups{first_cores(trn2(), 1),
                                  first_cores(trn2(), 2),
                                  first_cores(trn2(), 3),
                                  first_cores(trn2(), 4),
                                  first_cores(trn2(), 7),
                                  first_cores(trn2(), 12),
                                  first_cores(trn2(), 24),
                                  first_cores(trn2(), 64),
                                  Group{&trn2(), {0, 1, 5, 4, 9, 17}},
                                  Group{&trn2(), {40, 41, 3, 2, 20, 21}},
                                  Group{&trn2(), {0, 4, 8, 12, 16}},
                                  first_cores(trn2_single_cores(), 24)};
  for (const Group& group : groups) {
    for (const CollectiveOp op :
         {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
          CollectiveOp::reduce, CollectiveOp::broadcast}) {
      for (const Algorithm algorithm : algorithms_of(op)) {
        const int n = group.size();
        Collective c = equal_parts(op, n, DType::u8, 29, Reduction::sum, n / 2);
        for (std::size_t r = 0; r < c.counts.size() && c.counts.size() > 1; ++r)
          c.counts[r] = static_cast<int64_t>(r * 7 % 11);
        int64_t row = 0;
        for (const int64_t count : c.counts) row += count;
        const int64_t fewest = (n - 1) * row *
                               (op != CollectiveOp::all_reduce             ? 1
                                : algorithm == Algorithm::mesh_single_step ? n
                                                                           : 2);
        const Schedule schedule = make_schedule(c, group, algorithm);
        EXPECT_EQ(collective_ledger(schedule, group).total(), fewest + staged_bytes(schedule, group))
            << name_of(op) << " " << name_of(algorithm) << " " << schedule.variant << " on " << n;
      }
    }
  }
}

TEST(CollectiveTest, EmulatedFormsCostWhatTheyAreEmulatedBy) {
  const Group group = first_cores(trn2(), 16);
  const auto bytes = [&](CollectiveOp op, bool emulate) {
    const Collective c = equal_parts(op, 16, DType::f32, 1 << 12);
    const Plan plan = make_plan(
        c, group, {.emulate = emulate, .algorithm = emulate ? Algorithm::recursive : Algorithm::mesh});
    EXPECT_EQ(plan.is_emulated, emulate);
    return collective_ledger(plan.schedule, group).total();
  };
  const int64_t n = 4 << 12;
  EXPECT_EQ(bytes(CollectiveOp::broadcast, false), 15 * n);
  EXPECT_EQ(bytes(CollectiveOp::broadcast, true), 2 * 15 * n);
  EXPECT_EQ(bytes(CollectiveOp::gather, false), 15 * n);
  EXPECT_EQ(bytes(CollectiveOp::gather, true), 16 * 15 * n);
  EXPECT_EQ(bytes(CollectiveOp::scatter, true), 16 * 15 * n);
  EXPECT_EQ(bytes(CollectiveOp::reduce, true), 2 * 15 * n);
}

// The traps of the emulation (trainium backend of PyTorch): -0 becomes +0, integers pass the reduction.
TEST(CollectiveTest, EmulatedBroadcastGoesThroughAddition) {
  const Group group = first_cores(trn2(), 4);
  const Collective c = equal_parts(CollectiveOp::broadcast, 4, DType::f32, 2, Reduction::sum, 2);
  std::vector<Tensor> inputs(4);
  inputs[2] = Tensor::from_doubles(DType::f32, {2}, {-0.0, std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(std::signbit(execute(make_plan(c, group), inputs)[0].to_doubles()[0]));
  const std::vector<Tensor> got = execute(make_plan(c, group, {.emulate = true, .algorithm = {}}), inputs);
  EXPECT_FALSE(std::signbit(got[0].to_doubles()[0]));
  EXPECT_EQ(got[3].to_doubles()[1], std::numeric_limits<double>::infinity());
  Collective large = c;
  large.dtype = DType::i32;
  inputs[2] = Tensor::from_ints(DType::i32, {2}, {(1 << 24) + 1, -7});
  const Plan plan = make_plan(large, group, {.emulate = true, .algorithm = {}});
  EXPECT_EQ(execute(plan, inputs)[1].to_ints()[0], (1 << 24) + 1);
  EXPECT_EQ(execute(plan, inputs, {.integers_through_f32 = true})[1].to_ints()[0], 1 << 24);
}

// Rounding once a transfer: 256 + 1 in bf16 stays 256 wherever it is rounded in between, and the order says
// where that is.
TEST(CollectiveTest, OrderOfReductionIsTheDeclaredOne) {
  const auto order = [&](int ranks, Algorithm algorithm, int64_t element) {
    const Collective c = equal_parts(CollectiveOp::all_reduce, ranks, DType::bf16, 8);
    return reduction_order(make_schedule(c, first_cores(trn2(), ranks), algorithm), 1, element);
  };
  EXPECT_EQ(order(4, Algorithm::mesh_single_step, 0), "(r0 + r1 + r2 + r3)'");
  EXPECT_EQ(order(4, Algorithm::mesh, 7), "(r0 + r1 + r2 + r3)'");
  EXPECT_EQ(order(8, Algorithm::mesh, 7), "((r0 + r1 + r2 + r3)' + r4 + r5 + r6 + r7)'");
  EXPECT_EQ(order(8, Algorithm::recursive, 7), "((r4 + r5 + r6 + r7)' + (r0 + r1 + r2 + r3)')'");
  EXPECT_EQ(order(4, Algorithm::ring, 0), "((r2 + r3)' + r0 + r1)'");
  EXPECT_EQ(order(4, Algorithm::ring, 7), "((r1 + r0)' + r3 + r2)'");
  Collective mean = equal_parts(CollectiveOp::all_reduce, 4, DType::f32, 8, Reduction::avg);
  EXPECT_EQ(reduction_order(make_schedule(mean, first_cores(trn2(), 4), Algorithm::mesh), 0, 0),
            "((r0 + r1 + r2 + r3) / 4)'");
  const auto sum = [&](Algorithm algorithm) {
    const Group group = first_cores(trn2(), 8);
    const Collective c = equal_parts(CollectiveOp::all_reduce, 8, DType::bf16, 1);
    std::vector<Tensor> inputs;
    for (int r = 0; r < 8; ++r)
      inputs.push_back(Tensor::from_doubles(DType::bf16, {1}, {r == 4 ? 256.0 : 1.0}));
    return execute(make_plan(c, group, {.algorithm = algorithm}), inputs)[0].to_doubles()[0];
  };
  EXPECT_EQ(sum(Algorithm::mesh_single_step), 264);  // 263 to the nearest multiple of 2, once
  EXPECT_EQ(sum(Algorithm::recursive), 264);         // 260 (259 is a tie) + 4
  EXPECT_EQ(sum(Algorithm::mesh), 264);
  const auto depth = [&](CollectiveOp op, int ranks, Algorithm algorithm) {
    const ReductionDepth d = reduction_depth(
        make_schedule(equal_parts(op, ranks, DType::bf16, 64), first_cores(trn2(), ranks), algorithm));
    return std::pair(d.roundings, d.operands);
  };
  EXPECT_EQ(depth(CollectiveOp::all_reduce, 64, Algorithm::mesh_single_step), std::pair(1, 64));
  EXPECT_EQ(depth(CollectiveOp::all_reduce, 64, Algorithm::mesh), std::pair(2, 64));
  EXPECT_EQ(depth(CollectiveOp::all_reduce, 64, Algorithm::recursive), std::pair(5, 64));
  EXPECT_EQ(depth(CollectiveOp::all_reduce, 64, Algorithm::ring), std::pair(32, 64));
  EXPECT_EQ(depth(CollectiveOp::reduce, 64, Algorithm::tree), std::pair(6, 64));
  EXPECT_EQ(depth(CollectiveOp::all_gather, 64, Algorithm::ring), std::pair(0, 1));
}

// All ranks agree bitwise, whatever the order: every element is reduced in one place, or everywhere in the
// same order.
TEST(CollectiveTest, RanksAgreeBitwise) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const int ranks : {3, 8, 24, 64}) {
      const Group group = first_cores(trn2(), ranks);
      const Collective c = equal_parts(CollectiveOp::all_reduce, ranks, dtype, 101);
      std::vector<Tensor> inputs;
      for (int r = 0; r < ranks; ++r) {
        std::vector<double> values;
        for (int k = 0; k < 101; ++k) values.push_back(std::sin(r * 131 + k) * std::exp2(r % 7));
        inputs.push_back(Tensor::from_doubles(dtype, {101}, values));
      }
      for (const Algorithm algorithm : algorithms_of(c.op)) {
        const Plan plan = make_plan(c, group, {.algorithm = algorithm});
        const std::vector<Tensor> outputs = execute(plan, inputs), again = execute(plan, inputs);
        for (const Tensor& output : outputs) EXPECT_TRUE(output.bitwise_equal(again[0])) << describe(plan);
      }
    }
  }
}

TEST(CollectiveTest, AlgorithmChangesAtTheLimits) {
  const Group group = first_cores(trn2(), 64);
  const NeuronLinkDescription& link = neuron_link(Generation::trn2);
  const auto chosen = [&](CollectiveOp op, int64_t bytes) {
    Collective c = equal_parts(op, 64, DType::u8, 0);
    c.counts[0] = bytes;
    return choose_algorithm(c, group);
  };
  using A = Algorithm;
  const int64_t mesh = link.mesh_limit, recursive = link.recursive_limit, single = link.single_step_limit;
  EXPECT_EQ(chosen(CollectiveOp::all_reduce, single), A::mesh_single_step);
  EXPECT_EQ(chosen(CollectiveOp::all_reduce, single + 1), A::mesh);
  for (const CollectiveOp op :
       {CollectiveOp::all_reduce, CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    EXPECT_EQ(chosen(op, mesh - 1), A::mesh);
    EXPECT_EQ(chosen(op, mesh), A::recursive);
    EXPECT_EQ(chosen(op, recursive), A::recursive);
    EXPECT_EQ(chosen(op, recursive + 1), A::ring);
  }
  for (const CollectiveOp op : {CollectiveOp::broadcast, CollectiveOp::reduce}) {
    EXPECT_EQ(chosen(op, mesh - 1), A::mesh);
    EXPECT_EQ(chosen(op, mesh), A::ring);
  }
  EXPECT_EQ(chosen(CollectiveOp::all_to_all, mesh), A::mesh);
  EXPECT_EQ(chosen(CollectiveOp::scatter, 1 << 30), A::mesh);
}

TEST(CollectiveTest, TimeGrowsWithBytesAndNeverBelowItsBounds) {
  for (const int ranks : {1, 2, 12, 64}) {
    const Group group = first_cores(trn2(), ranks);
    for (const CollectiveOp op : kOps) {
      for (const Algorithm algorithm : algorithms_of(op)) {
        double before = 0;
        for (int64_t n = 1; n <= int64_t{1} << 22; n = n * 29 + 1) {
          const Collective c = equal_parts(op, ranks, DType::bf16, n);
          const Schedule schedule = make_schedule(c, group, algorithm);
          const CollectiveTime t = collective_time(schedule, group);
          const CollectiveLedger bytes = collective_ledger(schedule, group);
          ASSERT_GE(t.seconds, before)
              << name_of(op) << " " << name_of(algorithm) << " " << ranks << " " << n;
          before = t.seconds;
          EXPECT_NEAR(t.seconds, t.launch_s + t.latency_s + t.link_s + t.stream_s + t.hbm_s, 1e-12);
          EXPECT_EQ(t.steps, schedule.steps);
          for (int l = 0; l < trn2().links(); ++l) {
            EXPECT_LE(
                static_cast<double>(bytes.links[static_cast<std::size_t>(l)]) / trn2().link_bytes_per_ns(l),
                t.seconds * 1e9 * (1 + 1e-9));
          }
          EXPECT_NEAR(t.algbw * t.seconds, static_cast<double>(c.size_bytes()), 1e-3);
          EXPECT_NEAR(t.busbw, t.algbw * c.bus_factor(), t.algbw * 1e-12);
        }
      }
    }
  }
}

// nccl-tests' definitions, spelled out for 8 ranks.
TEST(CollectiveTest, SizesAndBusFactorsAreThoseOfNcclTests) {
  const auto of = [](CollectiveOp op) {
    const Collective c = equal_parts(op, 8, DType::f32, 10);
    return std::pair(c.size_bytes(), c.bus_factor());
  };
  EXPECT_EQ(of(CollectiveOp::all_reduce), std::pair(int64_t{40}, 1.75));
  EXPECT_EQ(of(CollectiveOp::all_gather), std::pair(int64_t{320}, 0.875));
  EXPECT_EQ(of(CollectiveOp::reduce_scatter), std::pair(int64_t{320}, 0.875));
  EXPECT_EQ(of(CollectiveOp::all_to_all), std::pair(int64_t{320}, 0.875));
  EXPECT_EQ(of(CollectiveOp::gather), std::pair(int64_t{320}, 0.875));
  EXPECT_EQ(of(CollectiveOp::broadcast), std::pair(int64_t{40}, 1.0));
  EXPECT_EQ(of(CollectiveOp::permute), std::pair(int64_t{40}, 1.0));
}

TEST(CollectiveTest, RingsUseEveryLinkAlike) {
  const Group group = first_cores(trn2(), 64);
  const Collective c = equal_parts(CollectiveOp::all_gather, 64, DType::u8, 4000);
  const CollectiveLedger bytes = collective_ledger(make_schedule(c, group, Algorithm::ring), group);
  // Two cycles that share no cable, each both ways: all links carry the same.
  for (const int64_t link : bytes.links) EXPECT_EQ(link, bytes.links[0]);
  EXPECT_GT(bytes.links[0], 0);
}

TEST(CollectiveTest, BadInputIsRefusedByName) {
  const Group group = first_cores(trn2(), 4);
  const auto refused = [&](Collective c) { return message_of([&] { make_plan(c, group); }); };
  Collective c = equal_parts(CollectiveOp::broadcast, 4, DType::f32, 3, Reduction::sum, 4);
  EXPECT_THAT(refused(c), HasSubstr("root is 4; it must be 0 to 3"));
  c = equal_parts(CollectiveOp::all_gather, 3, DType::f32, 3);
  EXPECT_THAT(refused(c), HasSubstr("on a group of 4"));
  c = equal_parts(CollectiveOp::all_to_all, 4, DType::f32, 3);
  c.counts.pop_back();
  EXPECT_THAT(refused(c), HasSubstr("15 counts; it needs 16"));
  c = equal_parts(CollectiveOp::all_gather, 4, DType::f32, 3);
  c.counts[2] = -1;
  EXPECT_THAT(refused(c), HasSubstr("count 2 is -1"));
  c.counts[2] = int64_t{1} << 60;
  EXPECT_THAT(refused(c), HasSubstr("addressed"));
  c = equal_parts(CollectiveOp::permute, 4, DType::f32, 3);
  c.pairs = {{0, 1}, {2, 1}};
  EXPECT_THAT(refused(c), HasSubstr("twice"));
  c.pairs = {{0, 4}};
  EXPECT_THAT(refused(c), HasSubstr("no pair 0 to 4"));
  c = equal_parts(CollectiveOp::all_reduce, 4, DType::f32, 3);
  EXPECT_THAT(message_of([&] { make_plan(c, group, {.algorithm = Algorithm::tree}); }),
              HasSubstr("has no algorithm"));
  const Plan plan = make_plan(c, group);
  std::vector<Tensor> inputs(4, Tensor(DType::f32, {3}));
  inputs[2] = Tensor(DType::f32, {2});
  EXPECT_THAT(message_of([&] { execute(plan, inputs); }), HasSubstr("rank 2: its input has 2 elements"));
  inputs[2] = Tensor(DType::i32, {3});
  EXPECT_THAT(message_of([&] { execute(plan, inputs); }), HasSubstr("i32"));
  EXPECT_THAT(message_of([&] { first_cores(trn2(), 65); }), HasSubstr("cores 0 to 63"));
  EXPECT_THAT(message_of([&] { make_plan(c, Group{&trn2(), {1, 2, 3, 2}}); }), HasSubstr("twice"));
  EXPECT_THAT(message_of([] { parse_reduction("bor"); }, ErrorCode::unsupported), HasSubstr("bor"));
  EXPECT_THAT(message_of([] { parse_algorithm("best"); }), HasSubstr("recursive"));
}

}  // namespace
}  // namespace assay::backend
