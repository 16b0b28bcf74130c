// The profile of a logical core of two: tracks of both, and how long each had nothing to do.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>
#include <string>

#include "backend/isa/builder.h"
#include "backend/profile/recorder.h"

namespace assay::backend {
namespace {

Program uneven() {
  ProgramBuilder b(core(Generation::trn2), 2);
  b.set_node("n");
  const int32_t y = b.output("y", DType::f32, 2 * 128 * 512);
  for (int c = 0; c < 2; ++c) {
    b.set_core(c);
    const AccessPattern t = b.sbuf(DType::f32, 128, {512});
    b.memset(t, 1.0f);
    for (int i = 0; i < (c == 0 ? 40 : 10); ++i) b.activation(t, t, Activation::exp);
    b.dma_copy(hbm_tile(DType::f32, y, c * 128 * 512, 128, 512, {512}, {1}), t);
  }
  return b.finish();
}

TEST(TwoCoresProfile, TracksAndIdleTimeOfBoth) {
  const Program program = uneven();
  Recorder recorder(core(Generation::trn2), 2, 100'000);
  const std::string name = "n";
  recorder.launch(program, {{&name, 1}, {}}, 0);
  const nlohmann::json events = nlohmann::json::parse(recorder.finish());
  std::set<int> processes;
  std::set<std::string> names;
  std::set<std::string> counters;
  nlohmann::json fields;
  std::map<int, int> activations;
  for (const auto& event : events) {
    const std::string phase = event.at("ph");
    if (phase == "X") processes.insert(event.at("pid").get<int>());
    if (phase == "X" && event.at("name") == "activation exp") ++activations[event.at("pid").get<int>()];
    if (phase == "M" && event.at("name") == "process_name") names.insert(event.at("args").at("name"));
    if (phase == "C")
      counters.insert(std::to_string(event.at("pid").get<int>()) + event.at("name").get<std::string>());
    if (phase == "M" && event.at("name") == "summary") fields = event.at("args").at("fields");
  }
  EXPECT_EQ(processes, (std::set<int>{1, 2, 3}));
  EXPECT_EQ(activations, (std::map<int, int>{{2, 40}, {3, 10}}));
  EXPECT_TRUE(names.contains("NeuronCore-v3 core 1 (trn2, simulated)"));
  EXPECT_TRUE(counters.contains("3SBUF in use (a partition)"));
  ASSERT_TRUE(fields.is_object());
  EXPECT_EQ(fields.at("physical_core_count"), 2);
  EXPECT_GT(fields.at("core_1_idle_time"), fields.at("core_0_idle_time"));
  EXPECT_NEAR(fields.at("core_1_idle_time").get<double>() + fields.at("core_1_active_time").get<double>(),
              fields.at("total_exec_time").get<double>(), 1e-12);
}

}  // namespace
}  // namespace assay::backend
