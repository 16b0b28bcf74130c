// What the flags of a run do.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/testing/pt2_file.h"
#include "cli/testing/run_program.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"

namespace assay::cli {
namespace {

using testing::HasSubstr;

class Flags : public ProgramTest {
 protected:
  std::map<std::string, Record> run(std::vector<std::string> arguments, const std::string& out,
                                    int status = 0) const {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--out", out});
    const ProgramResult r = assay(arguments);
    EXPECT_EQ(r.status, status) << testing::PrintToString(arguments) << "\n" << r;
    return records(out);
  }
};

TEST_F(Flags, FilterIsAGlobOnIds) {
  for (const auto& [key, record] : run({"--backend", "reference", "--filter", "ops/exp/f32/*"}, "a"))
    EXPECT_THAT(record.id, testing::StartsWith("ops/exp/f32/"));
  EXPECT_GT(records("a").size(), 3U);
  EXPECT_EQ(run({"--backend", "reference", "--filter", "ops/exp/f32/drawn"}, "b").size(), 1U);
  EXPECT_EQ(run({"--backend", "reference", "--filter", "ops/exp/f3?/drawn"}, "c").size(), 1U);
  EXPECT_EQ(run({"--backend", "reference", "--filter", "exp"}, "d", 3).size(), 0U);  // the whole id
}

TEST_F(Flags, ShardsAreDisjointAndTogetherAll) {
  const std::vector<std::string> base{"--backend", "reference", "--filter", "ops/e*/drawn"};
  const auto all = run(base, "all");
  std::map<std::string, Record> together;
  for (int i = 1; i <= 3; ++i) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), {"--shard", std::to_string(i) + "/3"});
    const auto part = run(arguments, "shard" + std::to_string(i));
    EXPECT_LT(part.size(), all.size());
    EXPECT_GT(part.size(), 0U);
    for (const auto& [key, record] : part) EXPECT_TRUE(together.emplace(key, record).second) << key;
  }
  expect_equal_but_for_times(together, all);
}

TEST_F(Flags, JobsDoNotChangeRecords) {
  for (const char* backend : {"reference", "trainium"}) {
    const std::vector<std::string> base{"--backend", backend, "--filter", "ops/*a*/bf16/drawn", "--jobs"};
    std::vector<std::string> one = base, four = base;
    one.push_back("1");
    four.push_back("4");
    const auto want = run(one, std::string(backend) + "1");
    EXPECT_GT(want.size(), 10U);
    expect_equal_but_for_times(run(four, std::string(backend) + "4"), want);
  }
}

TEST_F(Flags, SeedDrawsOtherInputs) {
  const std::vector<std::string> base{"--backend", "trainium", "--filter", "ops/exp/f32/drawn", "--seed"};
  std::vector<std::string> zero = base, other = base;
  zero.push_back("0");
  other.push_back("18446744073709551615");
  const Record a = run(zero, "a").begin()->second, b = run(zero, "b").begin()->second,
               c = run(other, "c").begin()->second;
  EXPECT_EQ(without_times(a), without_times(b));
  EXPECT_NE(a.worst->want, c.worst->want);
  EXPECT_EQ(c.seed, 18446744073709551615U);
  EXPECT_THAT(c.repro, HasSubstr("--seed 18446744073709551615"));
}

TEST_F(Flags, ModesGiveARecordEach) {
  const auto both =
      run({"--backend", "reference", "--filter", "ops/exp/*/drawn", "--mode", "eager,compile"}, "a");
  const auto eager = run({"--backend", "reference", "--filter", "ops/exp/*/drawn"}, "b");
  EXPECT_EQ(both.size(), 2 * eager.size());
  for (const auto& [key, record] : eager) {
    EXPECT_EQ(without_times(both.at(key)), without_times(record));
    EXPECT_TRUE(both.contains(record.id + " compile")) << key;
  }
}

TEST_F(Flags, NodesAllKeepsEveryNode) {
  const std::string model = ASSAY_SOURCE_DIR "/core/io/testdata/kinds.pt2";
  ASSERT_EQ(assay({"check", model, "--backend", "reference", "--out", "few"}).status, 0);
  ASSERT_EQ(assay({"check", model, "--backend", "reference", "--nodes", "all", "--out", "all"}).status, 0);
  EXPECT_EQ(read("few/nodes.jsonl"), "");
  const auto nodes = read_nodes(path("all/nodes.jsonl"));
  EXPECT_GT(nodes.size(), 1U);
  for (const NodeRecord& node : nodes) EXPECT_EQ(node.case_id, "kinds");
}

TEST_F(Flags, WithoutFallbackTheDeviceMustDoItAll) {
  // f64 is not for the simulated Trainium; relu of f32 is.
  GraphBuilder builder("mixed");
  const ValueId x = builder.input("x", DType::f32, {8, 8});
  const ValueId relu = builder.call("aten::relu.default", {{"self", ValueArg{x}}});
  const ValueId wide =
      builder.call("aten::_to_copy.default", {{"self", ValueArg{relu}}, {"dtype", DTypeArg{DType::f64}}});
  builder.output(builder.call("aten::exp.default", {{"self", ValueArg{wide}}}));
  write("mixed.pt2", pt2_of(graph_to_json(builder.build())));

  ProgramResult r = assay({"check", "mixed.pt2", "--out", "with"});
  EXPECT_EQ(r.status, 0) << r;
  const Record with = records("with").at("mixed eager");
  EXPECT_EQ(name_of(with.status), "pass_with_fallback") << with.detail;
  std::set<std::string> ops;
  int64_t bytes = 0;
  for (const Fallback& fallback : with.fallbacks) {
    ops.insert(fallback.op);
    EXPECT_EQ(fallback.count, 1);
    EXPECT_FALSE(fallback.reason.empty());
    bytes += fallback.bytes;
  }
  EXPECT_EQ(bytes, 8 * 8 * 4);  // the f32 input; what follows stays on the host
  EXPECT_TRUE(ops.contains("aten::exp.default"));
  EXPECT_FALSE(ops.contains("aten::relu.default"));
  EXPECT_LT(with.residency->nodes, 1);
  EXPECT_GT(with.residency->nodes, 0);

  r = assay({"check", "mixed.pt2", "--no-fallback", "--out", "without"});
  EXPECT_EQ(r.status, 1) << r;
  const Record without = records("without").at("mixed eager");
  EXPECT_EQ(name_of(without.status), "unsupported");
  EXPECT_THAT(without.detail, HasSubstr("aten::exp.default"));

  // All of it is f64: the device did nothing, so nothing passed.
  GraphBuilder foreign("foreign");
  const ValueId y = foreign.input("y", DType::f64, {8});
  foreign.output(foreign.call("aten::exp.default", {{"self", ValueArg{y}}}));
  write("foreign.pt2", pt2_of(graph_to_json(foreign.build())));
  EXPECT_EQ(assay({"check", "foreign.pt2", "--out", "foreign"}).status, 1);
  EXPECT_EQ(records("foreign").at("foreign eager").reason, "nothing_ran_on_device");
}

TEST_F(Flags, AContractOverridesTheBackends) {
  // A Contract as the backend declares it, from run.json; then with a stricter exp.
  run({"--backend", "trainium", "--filter", "ops/exp/*/drawn"}, "own");
  auto contract = nlohmann::json::parse(read("own/run.json")).at("contract");
  write("same.json", contract.dump());
  const auto same =
      run({"--backend", "trainium", "--filter", "ops/exp/*/drawn", "--contract", "same.json"}, "same");
  for (const auto& [key, record] : records("own")) EXPECT_EQ(record.margin, same.at(key).margin) << key;
  EXPECT_EQ(nlohmann::json::parse(read("same/run.json")).at("contract_hash"),
            nlohmann::json::parse(read("own/run.json")).at("contract_hash"));

  contract["frob"] = 1;
  write("unknown.json", contract.dump());
  const ProgramResult r =
      assay({"run", "--backend", "trainium", "--filter", "ops/exp/*/drawn", "--contract", "unknown.json"});
  EXPECT_EQ(r.status, 2) << r;
  EXPECT_THAT(r.err, testing::AllOf(HasSubstr("unknown.json"), HasSubstr("frob")));
}

TEST_F(Flags, ATinyTimeoutCostsCasesNotTheRun) {
  const auto timed_out =
      run({"--backend", "reference", "--filter", "ops/relu/*/drawn", "--timeout", "0.000001"}, "a", 1);
  EXPECT_EQ(timed_out.size(), 5U);
  for (const auto& [key, record] : timed_out) {
    EXPECT_EQ(name_of(record.status), "run_timeout") << key << " " << record.detail;
    EXPECT_EQ(record.reason, "time_limit");
  }
}

// The line as it stands in the record, in a shell, with `assay` on the path.
TEST_F(Flags, AReproLineReproducesTheFailure) {
  const auto failed = run({"--backend", "trainium", "--option", "quirk_matmul_truncates=1", "--filter",
                           "ops/mm/f32/*", "--seed", "5", "--mode", "eager,compile"},
                          "a", 1);
  int tried = 0;
  for (const auto& [key, record] : failed) {
    if (!is_failure(record.status) || ++tried > 3) continue;
    const std::string out = "again" + std::to_string(tried);
    const ProgramResult r =
        shell("PATH=" + std::string(binary_folder()) + ":$PATH; " + record.repro + " --out " + out);
    EXPECT_EQ(r.status, 1) << record.repro << "\n" << r;
    const auto again = records(out);
    ASSERT_EQ(again.size(), 1U) << record.repro;
    EXPECT_EQ(without_times(again.begin()->second), without_times(record));
  }
  EXPECT_GE(tried, 1) << "the defect was not found";
}

TEST_F(Flags, AReproLineOfAModelWithAHostileName) {
  const std::string name = "it's; $(touch owned) `touch owned` \"x\" [1]";
  std::filesystem::create_directories(folder_ / "models");
  std::filesystem::copy_file(ASSAY_SOURCE_DIR "/core/io/testdata/kinds.pt2",
                             folder_ / "models" / (name + ".pt2"));
  ASSERT_EQ(assay({"check", "models", "--backend", "null", "--out", "a"}).status, 1);
  const Record record = records("a").begin()->second;
  EXPECT_EQ(record.id, name);
  const ProgramResult r =
      shell("PATH=" + std::string(binary_folder()) + ":$PATH; " + record.repro + " --out b");
  EXPECT_EQ(r.status, 1) << record.repro << "\n" << r;
  EXPECT_EQ(without_times(records("b").begin()->second), without_times(record));
  EXPECT_FALSE(std::filesystem::exists(path("owned")));
}

TEST_F(Flags, TheNullBackendNeverPasses) {
  const ProgramResult all = assay({"run", "ops", "--backend", "null", "--mode", "eager,compile", "--filter",
                                   "ops/*/f32/*edge-inf", "--out", "all"});
  EXPECT_EQ(all.status, 1) << all;
  for (const auto& [key, record] : records("all")) {
    EXPECT_FALSE(is_pass(record.status)) << key << " " << name_of(record.status);
    EXPECT_NE(record.status, Status::infrastructure_error) << key << " " << record.detail;
  }
  EXPECT_GT(records("all").size(), 1000U);
}

TEST_F(Flags, ListsAreReadable) {
  const auto json_of = [&](const char* what) {
    const ProgramResult r = assay({"list", what, "--json"});
    EXPECT_EQ(r.status, 0) << r;
    return nlohmann::json::parse(r.out);
  };
  const auto ops = json_of("ops");
  EXPECT_GT(ops.size(), 100U);
  for (const auto& op : ops) {
    EXPECT_THAT(op.at("name").get<std::string>(), HasSubstr("."));  // the overload is spelled
    EXPECT_NE(op.at("error_model"), "") << op;
    EXPECT_TRUE(op.at("required").is_boolean()) << op;
    EXPECT_TRUE(op.at("backends").contains("reference") && op.at("backends").contains("trainium")) << op;
    const bool is_aten = op.at("name").get<std::string>().starts_with("aten::");
    if (is_aten && op.at("required") &&
        op.at("reason").get<std::string>().find("for the host") == std::string::npos &&
        op.at("name") != "aten::_assert_scalar.default") {
      EXPECT_FALSE(op.at("backends").at("reference").empty()) << op;
      EXPECT_NE(op.at("error_model"), "unmodelled") << op;
    }
    for (const auto& [backend, dtypes] : op.at("backends").items()) {
      for (const auto& [dtype, answer] : dtypes.items()) {
        EXPECT_TRUE(answer == "native" || answer == "native_gpsimd" || answer == "unsupported") << op;
      }
    }
  }
  EXPECT_EQ(json_of("models").size(), 24U);
  EXPECT_EQ(json_of("backends").size(), 9U);
  EXPECT_EQ(json_of("suites").at(0).at("name"), "ops");
  std::set<std::string> ids;
  for (const auto& c : json_of("cases")) EXPECT_TRUE(ids.insert(c.at("id")).second) << c;
  EXPECT_GT(ids.size(), 500U);
}

}  // namespace
}  // namespace assay::cli
