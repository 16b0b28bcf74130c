// assay bench laplace, and the closed forms that its tables must agree with.
#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/laplace/laplace.h"
#include "cli/testing/run_program.h"
#include "core/graph/builder.h"
#include "models/emitter.h"

namespace assay::cli::laplace {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr const char* kShipped = ASSAY_SOURCE_DIR "/cli/laplace/laplace_assumptions.json";

const Candidate& named(const Assumptions& all, const std::string& id) {
  for (const Candidate& c : all.candidates) {
    if (c.id == id) return c;
  }
  throw std::out_of_range(id);
}

// Counted by hand from the layer's definition: q, k, v, g, o, two gate matrices and their bias, norms, MLP.
int64_t parameters_by_hand(int64_t d, int64_t layers, int64_t key, int64_t value, int64_t head_value,
                           int64_t mlp, int64_t vocab) {
  const int64_t attention = 2 * d * key + 3 * d * value + d * 16 + 16 * key + key + head_value;
  return layers * (attention + 2 * d + 3 * d * mlp) + 2 * vocab * d + d;
}

TEST(LaplaceCandidates, SizesAreThoseOfTheClosedForms) {
  const Assumptions all = read_assumptions(kShipped);
  EXPECT_EQ(named(all, "A").config.parameters(), 3'021'038'720);
  EXPECT_EQ(named(all, "B").config.parameters(), 3'002'313'600);
  EXPECT_EQ(named(all, "C").config.parameters(), 3'021'044'480);
  for (const Candidate& c : all.candidates) {
    const models::GlaConfig& g = c.config;
    EXPECT_EQ(c.state_bytes(), 29'491'200) << c.id;
    EXPECT_EQ(g.parameters(),
              parameters_by_hand(g.hidden_size, g.num_hidden_layers, g.num_heads * g.head_key(),
                                 g.num_heads * g.head_value(), g.head_value(), g.mlp_size(), g.vocab_size))
        << c.id;
  }
  // 6 * 2.9389e9 + 3 * 36 * 16 (4 * 80 * 160 + 2 * 128 * 240), and 2 * 2.9389e9 + 5 * 7,372,800.
  EXPECT_NEAR(training_flops(named(all, "A").config) / 1e9, 17.63 + 0.195, 0.006);
  EXPECT_NEAR(training_flops(named(all, "B").config) / 1e9, 17.64 + 0.354, 0.006);
  EXPECT_NEAR(decode_flops(named(all, "A").config) / 1e9, 5.878 + 0.0369, 0.001);
  // A rank has a share of the matrices; the gate's low-rank input and the norms are on every one.
  const models::GlaConfig& a = named(all, "A").config;
  const int64_t shared = 2560 * 16 + 160 + 2 * 2560;
  EXPECT_EQ((layer_parameters(a, 1) - shared) / 4 + shared, layer_parameters(a, 4));
}

TEST(LaplaceState, SequencesThatFit) {
  const Assumptions all = read_assumptions(kShipped);
  const ConcurrencyTable chip = concurrency(named(all, "A"), int64_t{96} << 30, 1, {2048, 1 << 20});
  EXPECT_EQ(chip.weight_bytes, 2 * int64_t{3'021'038'720});
  const int64_t free = (int64_t{96} << 30) - chip.weight_bytes;
  EXPECT_EQ(chip.rows[0].state, free / 29'491'200);
  EXPECT_EQ(chip.rows[1].state, chip.rows[0].state) << "no context length enters";
  EXPECT_EQ(kv_bytes_per_token(36, 1, 2560), 368'640);
  EXPECT_EQ(chip.rows[0].kv_cache, free / (368'640 * 2048));
  EXPECT_EQ(chip.rows[0].kv_cache_grouped, free / (147'456 * int64_t{2048}));
  EXPECT_EQ(chip.rows[1].kv_cache, 0);
  EXPECT_EQ(concurrency(named(all, "A"), 1 << 20, 1, {2048}).rows[0].state, 0)
      << "the weights alone do not fit";
}

Candidate tiny() {
  Candidate c;
  c.id = "tiny";
  c.config.hidden_size = 128;
  c.config.num_heads = 8;
  c.config.num_hidden_layers = 2;
  c.config.vocab_size = 256;
  return c;
}

// One decoded token of softmax attention with a cache of `length` keys and values: what is not constant.
Graph cached_attention(int64_t length) {
  GraphBuilder builder("cached");
  models::Emitter e(builder);
  const ValueId q = builder.input("q", DType::bf16, {4, 1, 64});
  const ValueId k = builder.input("k", DType::bf16, {4, 64, length});
  const ValueId v = builder.input("v", DType::bf16, {4, length, 64});
  const ValueId weights =
      e.call("aten::_softmax.default",
             {{"self", ValueArg{e.bmm(q, k)}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  builder.output(e.bmm(weights, v));
  return builder.build();
}

// O(T) in training and O(1) in decoding, by the clock, of whole Programs: no segment is repeated here.
TEST(LaplaceState, TrainingGrowsWithLengthDecodingDoesNot) {
  PartClock clock(backend::core(backend::Generation::trn2), 8, false);
  const std::vector<int64_t> lengths{512, 1024, 2048, 4096};
  std::vector<double> training, decode, instructions, cached;
  std::vector<Growth> whole = growth(clock, tiny(), lengths, 4096);
  for (const Growth& g : whole) {
    EXPECT_EQ(g.segments, 1);
    training.push_back(g.training_s);
    instructions.push_back(static_cast<double>(g.training_instructions));
    decode.push_back(g.decode_s);
    EXPECT_EQ(g.state_bytes, whole[0].state_bytes);
  }
  for (const int64_t length : lengths) cached.push_back(clock.cost(cached_attention(8 * length)).seconds);
  EXPECT_NEAR(growth_exponent(lengths, training), 1, 0.12);
  EXPECT_LT(growth_exponent(lengths, instructions), 1.02);
  EXPECT_NEAR(growth_exponent(lengths, decode), 0, 1e-9);
  EXPECT_GT(growth_exponent(lengths, cached), 0.3) << "a cache is seen to grow by the same measure";
  // Segments that carry the state cost what the whole does.
  const Growth cut = growth(clock, tiny(), {4096}, 1024)[0];
  EXPECT_EQ(cut.segments, 4);
  EXPECT_NEAR(cut.training_s / training[3], 1, 0.15);
}

TEST(LaplaceState, ExponentOfKnownSeries) {
  EXPECT_NEAR(growth_exponent({1, 2, 4, 8}, {3, 12, 48, 192}), 2, 1e-12);
  EXPECT_NEAR(growth_exponent({1, 2, 4}, {5, 5, 5}), 0, 1e-12);
  EXPECT_EQ(growth_exponent({1}, {5}), 0);
}

// Repeats are timed in full, and n of them take n times as long, which the tables use.
TEST(LaplaceParts, RepeatsAddUp) {
  PartClock clock(backend::core(backend::Generation::trn2), 8, false);
  const Graph graph = cached_attention(1024);
  const double once = clock.in_full_s(graph, 1);
  EXPECT_NEAR(clock.in_full_s(graph, 7), 7 * once, 1e-9 * once);
  EXPECT_NEAR(clock.cost(graph).seconds, once, 1e-12);
}

class BenchLaplace : public ProgramTest {
 protected:
  // One chip and a model that takes no time.
  static Json small() {
    std::ifstream file(kShipped);
    Json all = Json::parse(file);
    all["instance"]["value"] = "trn2.3xlarge";
    const Json one{{"id", "S"},         {"hidden_size", 128},       {"layers", 2},
                   {"heads", 4},        {"head_key", 16},           {"head_value", 32},
                   {"vocab_size", 256}, {"intermediate_size", 256}, {"state_dtype", "bf16"},
                   {"source", "a test"}};
    Json odd = one;
    odd["id"] = "T";
    odd["heads"] = 1;
    all["candidates"] = {one, odd};
    all["training"]["sequence_length"]["value"] = 256;
    all["training"]["chunk_candidates"]["value"] = {"S"};
    all["training"]["layouts"] = {{{"id", "grid"},
                                   {"lnc", 2},
                                   {"tp", 2},
                                   {"fsdp", 2},
                                   {"replicas", 1},
                                   {"sequences", 2},
                                   {"source", "a test"}},
                                  {{"id", "flat"},
                                   {"lnc", 1},
                                   {"tp", 1},
                                   {"fsdp", 4},
                                   {"replicas", 2},
                                   {"sequences", 1},
                                   {"source", "a test"}}};
    all["decode"]["layouts"] = {{{"id", "two"}, {"lnc", 1}, {"tp", 2}, {"source", "a test"}}};
    all["decode"]["sequences"]["value"] = 64;
    return all;
  }
  ProgramResult bench(const Json& assumptions, const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{
        "bench", "laplace", "--quiet", "--assumptions", write(out + ".json", assumptions.dump()),
        "--out", path(out)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return assay(arguments);
  }
};

TEST_F(BenchLaplace, TablesHoldTogether) {
  const ProgramResult r = bench(small(), "out", {"--json"});
  ASSERT_EQ(r.status, 0) << r;
  const Json report = Json::parse(r.out);
  EXPECT_EQ(Json::parse(read("out/laplace.json")), report);
  std::map<std::string, double> throughput;
  int refused = 0;
  for (const Json& row : report.at("training")) {
    const std::string at = row.at("candidate").get<std::string>() + " " + row.at("layout").get<std::string>();
    if (row.contains("not_possible")) {
      EXPECT_EQ(at, "T grid") << "one head does not divide by two ranks";
      ++refused;
      continue;
    }
    const double seconds = row.at("seconds");
    EXPECT_NEAR(seconds,
                row.at("compute_s").get<double>() + row.at("tensor_parallel_s").get<double>() +
                    row.at("fsdp_exposed_s").get<double>() + row.at("optimiser_s").get<double>() +
                    row.at("host_s").get<double>(),
                1e-9 * seconds);
    EXPECT_NEAR(row.at("tokens_per_s").get<double>() * seconds, row.at("tokens").get<double>(), 1e-6);
    EXPECT_GT(row.at("mfu"), 0);
    EXPECT_LT(row.at("mfu"), 1);
    // 4 ranks of 2 sequences behind 2 of tensor parallelism, or 8 of one, of 256 tokens.
    const int64_t ranks_times_sequences = row.at("layout") == "grid" ? 2 * 2 : 8;
    EXPECT_EQ(row.at("tokens"), ranks_times_sequences * 256 * row.at("accumulation").get<int64_t>());
    if (row.at("layout") == "flat") {
      EXPECT_EQ(row.at("tensor_parallel_s"), 0);
    }
    throughput[at + row.at("mode").get<std::string>() + row.at("muon").get<std::string>() +
               std::to_string(row.at("accumulation").get<int>())] = row.at("tokens_per_s");
  }
  EXPECT_EQ(refused, 1);
  EXPECT_GT(throughput.at("S gridcompileall_to_all1"), throughput.at("S grideagerall_to_all1"))
      << "launches cost time";
  EXPECT_GT(throughput.at("S gridcompileall_to_all4"), throughput.at("S gridcompileall_to_all1"))
      << "the optimiser is shared by more tokens";
  EXPECT_GT(throughput.at("S gridcompileall_to_all1"), throughput.at("S gridcompilegather_broadcast1"));
  // Only the layout of LNC 2, which one candidate can take: divided kernels gain something over one core.
  ASSERT_EQ(report.at("divided").size(), 1u);
  const Json& divided = report.at("divided")[0];
  EXPECT_EQ(divided.at("layout"), "grid");
  EXPECT_EQ(divided.at("work"), "training");
  EXPECT_EQ(divided.at("shared_tokens_per_s"), throughput.at("S gridcompileall_to_all1"));
  EXPECT_GT(divided.at("divided_tokens_per_s"), 0.5 * divided.at("shared_tokens_per_s").get<double>());
  for (const Json& range : report.at("ranges")) {
    EXPECT_LE(range.at("lowest"), range.at("highest")) << range;
    EXPECT_EQ(range.at("inside"),
              range.at("lowest") <= range.at("published") && range.at("published") <= range.at("highest"))
        << range;
  }
  for (const Json& unrolled : report.at("unrolled_backward")) EXPECT_EQ(unrolled.at("chunks"), 2) << unrolled;
}

TEST_F(BenchLaplace, TheAssumedChunkIsThatOfCandidates) {
  Json all = small();
  all["training"]["chunk_size"]["value"] = 64;
  for (const Candidate& c : read_assumptions(write("chunk.json", all.dump())).candidates) {
    EXPECT_EQ(c.config.chunk_size, 64) << c.id;
  }
}

TEST_F(BenchLaplace, SaysWhatIsWrongWithAssumptions) {
  const auto refused = [&](const std::function<void(Json&)>& spoil, const std::string& what) {
    Json all = small();
    spoil(all);
    const ProgramResult r = bench(all, "bad");
    EXPECT_EQ(r.status, 2) << r;
    EXPECT_THAT(r.err, HasSubstr(what));
    std::filesystem::remove_all(path("bad"));
  };
  refused([](Json& j) { j.erase("decode"); }, "field decode is missing");
  refused([](Json& j) { j["candidates"][0]["heads"] = 0; }, "field heads is no whole number");
  refused([](Json& j) { j["candidates"][0]["layers"] = "many"; }, "candidates[0]: field layers");
  refused([](Json& j) { j["candidates"] = Json::array(); }, "field candidates is no list");
  refused([](Json& j) { j["training"]["layouts"][0]["fsdp"] = 3; }, "do not fill");
  refused([](Json& j) { j["candidates"][0]["state_dtype"] = "f8"; }, "neither f32 nor bf16");
  refused([](Json& j) { j["instance"]["value"] = "p5"; }, "unknown instance");
  EXPECT_EQ(assay({"bench", "laplace", "--assumptions", write("text", "{"), "--out", path("o1")}).status, 2);
  EXPECT_EQ(bench(small(), "o2", {"--filter", "Z*"}).status, 2);
}

}  // namespace
}  // namespace assay::cli::laplace
