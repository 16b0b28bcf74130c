// `assay profile`: bottlenecks that were planted are named, and the trace is one that viewers read.
#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "cli/testing/pt2_file.h"
#include "cli/testing/run_program.h"
#include "core/graph/builder.h"
#include "core/graph/json.h"
#include "harness/profile/trace_check.h"

namespace assay::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ProfileVerb : public ProgramTest {
 protected:
  // Profiles a graph of one input `x`; the folder of its results.
  json profile(const std::string& name, const Graph& graph, std::vector<std::string> flags) {
    write(name + ".pt2", pt2_of(graph_to_json(graph)));
    std::vector<std::string> line{"profile", path(name + ".pt2"), "--trace", path(name + ".json"), "--out",
                                  name};
    line.insert(line.end(), flags.begin(), flags.end());
    const ProgramResult r = assay(line);
    EXPECT_EQ(r.status, 0) << r;
    if (r.status != 0) return {};
    out_ = r.out;
    const json document = json::parse(read_file(path(name + ".json")));
    EXPECT_EQ(find_trace_fault(parse_trace_events(document["traceEvents"].dump(), name)), "") << name;
    return json::parse(read_file(path(name + "/profile.json")));
  }
  std::string out_;
};

using Chain = std::function<ValueId(GraphBuilder&, ValueId)>;

Graph chain(const std::string& id, DType dtype, const Shape& shape, int length, const Chain& link) {
  GraphBuilder b(id);
  ValueId x = b.input("x", dtype, shape);
  for (int k = 0; k < length; ++k) x = link(b, x);
  b.output(x);
  return b.build();
}

ValueId relu(GraphBuilder& b, ValueId x) {
  return b.call("aten::relu.default", {{"self", ValueArg{x}}}, {"net.py:7", ""});
}

TEST_F(ProfileVerb, PlantedBottlenecksAreNamed) {
  struct Plant {
    std::string bottleneck, limit;
    Graph graph;
    std::vector<std::string> flags;
  };
  const auto permuted = [](GraphBuilder& b, ValueId x) {
    return b.call("aten::permute.default", {{"self", ValueArg{x}}, {"dims", IntListArg{{1, 0}, {}}}});
  };
  const auto sliced = [](GraphBuilder& b, ValueId x) {
    return b.call("aten::slice.Tensor",
                  {{"self", ValueArg{x}}, {"dim", int64_t{1}}, {"start", int64_t{0}}, {"step", int64_t{2}}});
  };
  const auto product = [](GraphBuilder& b, ValueId x) {
    return b.call("aten::mm.default", {{"self", ValueArg{x}}, {"mat2", ValueArg{x}}});
  };
  const auto softmax = [](GraphBuilder& b, ValueId x) {
    return b.call("aten::_softmax.default",
                  {{"self", ValueArg{x}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  };
  const std::vector<std::string> compiled{"--mode", "compile"};
  const std::vector<Plant> plants{
      {"spills",
       "data_movement",
       chain("spills", DType::f32, {512, 4096}, 8, relu),
       {"--mode", "compile", "--option", "fuse=0"}},
      {"transposes", "data_movement", chain("transposes", DType::f32, {512, 1024}, 2, permuted), {}},
      {"tiny_dmas", "data_movement", chain("tiny_dmas", DType::f32, {1024, 512}, 2, sliced), {}},
      {"host_fallback", "host", chain("host_fallback", DType::f64, {160, 160}, 2, product), {}},
      {"launches", "host", chain("launches", DType::f32, {16, 16}, 10, relu), {}},
      {"load_imbalance", "compute", chain("load_imbalance", DType::f32, {4, 8192}, 8, softmax), compiled},
  };
  for (const Plant& plant : plants) {
    const json p = profile(plant.bottleneck, plant.graph, plant.flags);
    if (p.empty()) continue;
    EXPECT_EQ(p["bottleneck"], plant.bottleneck) << p["sentence"] << p["causes"];
    EXPECT_EQ(p["limit"], plant.limit) << p["limits"];
    EXPECT_THAT(out_, HasSubstr("most to gain: " + plant.bottleneck));
    // Every second has one limit and one cause.
    for (const char* member : {"limits", "causes"}) {
      double sum = 0;
      for (const auto& [name, seconds] : p[member].items()) sum += seconds.get<double>();
      EXPECT_NEAR(sum, p["total_time"].get<double>(), 1e-9) << plant.bottleneck << " " << member;
    }
  }
}

ValueId collective(GraphBuilder& b, const std::string& op, std::vector<NamedArgument> arguments) {
  arguments.push_back({"group_name", std::string("tp")});
  const ValueId out = b.call("_c10d_functional::" + op + ".default", std::move(arguments), {"net.py:9", ""});
  return b.call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{out}}});
}

TEST_F(ProfileVerb, CollectivesOfRanksAreNamed) {
  // A layer whose result is summed over ranks: little to compute, much to send.
  const Graph graph = chain("summed", DType::f32, {1024, 1024}, 1, [](GraphBuilder& b, ValueId x) {
    return collective(b, "all_reduce", {{"input", ValueArg{relu(b, x)}}, {"reduce_op", std::string("sum")}});
  });
  const json p = profile("summed", graph, {"--ranks", "32"});
  ASSERT_FALSE(p.empty());
  EXPECT_EQ(p["limit"], "communication") << p["limits"];
  EXPECT_EQ(p["bottleneck"], "communication") << p["causes"];
  double sum = 0;
  for (const auto& [name, seconds] : p["limits"].items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, p["total_time"].get<double>(), 1e-9);
  EXPECT_EQ(p["summary"]["cc_op_count"], 1);
  EXPECT_EQ(p["nodes"][0]["op"], "ranks::all_reduce.default");
  EXPECT_EQ(p["nodes"][0]["source"], "net.py:9");
  EXPECT_EQ(p["nodes"][0]["cause"], "communication");
  EXPECT_THAT(read_file(path("summed.json")), HasSubstr("\"collectives\""));

  const auto refused = [&](std::vector<std::string> flags, const char* message) {
    std::vector<std::string> line{"profile", path("summed.pt2"), "--trace", path("t.json")};
    line.insert(line.end(), flags.begin(), flags.end());
    const ProgramResult r = assay(line);
    EXPECT_NE(r.status, 0) << r;
    EXPECT_THAT(r.err, HasSubstr(message));
  };
  refused({}, "--ranks N");
  refused({"--ranks", "4", "--mode", "compile"}, "eager mode");
  const Graph of_eight = chain("gathered", DType::f32, {4}, 1, [](GraphBuilder& b, ValueId x) {
    return collective(b, "all_gather_into_tensor", {{"input", ValueArg{x}}, {"group_size", int64_t{8}}});
  });
  write("summed.pt2", pt2_of(graph_to_json(of_eight)));
  refused({"--ranks", "4"}, "group_size is 8; the group has 4 ranks");
}

TEST_F(ProfileVerb, TheTraceHasTracksFlowsWaitsAndSources) {
  const json p = profile("relus", chain("relus", DType::f32, {512, 1024}, 3, relu), {});
  ASSERT_FALSE(p.empty());
  const json document = json::parse(read_file(path("relus.json")));
  std::map<std::string, int> phases, categories, tracks;
  bool linked = false;
  double end = 0;
  for (const json& event : document["traceEvents"]) {
    ++phases[event["ph"].get<std::string>()];
    if (event["ph"] == "M" && event["name"] == "thread_name")
      ++tracks[event["args"]["name"].get<std::string>()];
    if (event["ph"] == "C") ++tracks[event["name"].get<std::string>()];
    if (event["ph"] != "X") continue;
    const std::string category = event["cat"].get<std::string>();
    ++categories[category];
    end = std::max(end, event["ts"].get<double>() + event["dur"].get<double>());
    if (category == "semaphore") {
      EXPECT_TRUE(event["args"].contains("semaphore"));
      EXPECT_THAT(event["name"].get<std::string>(), HasSubstr("wait for "));
    }
    linked = linked || (category == "instruction" && event["args"]["node"] == "relu_default_0" &&
                        event["args"]["source"] == "net.py:7");
  }
  EXPECT_TRUE(linked);
  EXPECT_GT(phases["s"], 0);
  EXPECT_EQ(phases["s"], phases["f"]);
  for (const char* name : {"instruction", "dma", "trigger", "semaphore", "launch"})
    EXPECT_GT(categories[name], 0) << name;
  for (const char* name : {"host thread", "tensor engine", "vector engine", "scalar engine", "gpsimd engine",
                           "sync engine", "DMA q0", "SBUF in use (a partition)", "HBM in use"}) {
    EXPECT_GT(tracks[name], 0) << name;
  }
  EXPECT_NEAR(end * 1e-6, p["total_time"].get<double>(), 1e-9);
  for (const char* field :
       {"tensor_engine_active_time_percent", "mfu_estimated_percent", "spill_save_bytes", "transpose_flops",
        "dma_active_time_percent", "hbm_read_bytes", "mbu_estimated_percent", "psum_write_bytes",
        "matmul_instruction_count", "neuroncore_cycle_count"}) {
    EXPECT_TRUE(p["summary"].contains(field)) << field;
  }
  EXPECT_EQ(p["summary"]["host_launch_count"], 3);
  EXPECT_EQ(p["summary"]["hbm_read_bytes"], 3 * 512 * 1024 * 4);
  EXPECT_EQ(p["nodes"][0]["op"], "aten::relu.default");
  for (const json& node : p["nodes"]) {
    EXPECT_LE(node["flops"].get<double>(),
              node["active_seconds"].get<double>() * p["summary"]["peak_flops"].get<double>());
    EXPECT_EQ(node["flops"] > 0, node["active_seconds"] > 0) << node;
  }
}

TEST_F(ProfileVerb, WhatCannotBeProfiledSaysWhy) {
  write("x.pt2", pt2_of(graph_to_json(chain("x", DType::f32, {4}, 1, relu))));
  ProgramResult r = assay({"profile", path("x.pt2"), "--trace", path("t.json"), "--backend", "reference"});
  EXPECT_EQ(r.status, 2) << r;
  EXPECT_THAT(r.err, HasSubstr("records no profiles"));
  r = assay({"profile", path("x.pt2"), "--trace", path("t.json"), "--mode", "eager,compile"});
  EXPECT_EQ(r.status, 2) << r;
  EXPECT_THAT(r.err, HasSubstr("one mode"));
  // Beyond the limit of events launches are shown as one slice each; the totals stay.
  const json p =
      profile("short", chain("short", DType::f32, {512, 1024}, 2, relu), {"--option", "profile_events=60"});
  ASSERT_FALSE(p.empty());
  EXPECT_EQ(p["summary"]["launches_not_shown"], 2);
  EXPECT_EQ(p["summary"]["hbm_read_bytes"], 2 * 512 * 1024 * 4);
}

}  // namespace
}  // namespace assay::cli
