// A case is judged alike in both places.
#include "harness/worker/judge_client.h"

#include <gtest/gtest.h>

#include "core/graph/json.h"
#include "harness/judge/testing/cases.h"

namespace assay {
namespace {

JudgeRequest request_of(const emulation::JudgedCase& c) {
  JudgeRequest request;
  request.case_id = c.graph->id;
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.checks = c.checks;
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  return request;
}

// Header and tensors of what is sent as an answer.
std::string bytes_of(const Frame& frame) {
  std::string out = frame.header;
  for (const Tensor& tensor : frame.tensors) {
    out.append(reinterpret_cast<const char*>(tensor.data()), tensor.bytes());
  }
  return out;
}

TEST(JudgeClient, BothPlacesGiveOneVerdict) {
  JudgeClient client{ExchangeLimits()};
  int failed = 0;
  for (const emulation::JudgedCase& c : emulation::operator_cases(1)) {
    ASSERT_TRUE(JudgeClient::is_small(*c.graph)) << c.graph->id;
    const JudgeRequest request = request_of(c);
    const JudgeTexts texts{graph_to_json(*c.graph), request.contract.to_json()};
    Judge reference{JudgeRequest(request)};
    RunResult right = emulation::run_emulated(*c.graph, c.inputs, reference.chain(), {});
    RunResult wrong = right, silent = right, failure;
    for (Tensor& output : wrong.outputs) output = Tensor(output.dtype(), output.shape());
    silent.outputs.assign(silent.outputs.size(), Tensor());
    failure.failure = Status::crash;
    failure.reason = "exited";
    for (const RunResult* run : {&right, &wrong, &silent, &failure}) {
      std::string prepared[2], verdict[2];
      for (const bool here : {false, true}) {
        const auto p = client.prepare(request, texts, here);
        ASSERT_TRUE(p.has_value());
        prepared[here] = bytes_of(encode(*p));
        const auto v = client.judge(*run);
        ASSERT_TRUE(v.has_value());
        verdict[here] = bytes_of(encode(*v));
        failed += is_failure(v->status) ? 1 : 0;
      }
      EXPECT_EQ(prepared[0], prepared[1]) << c.graph->id;
      EXPECT_EQ(verdict[0], verdict[1]) << c.graph->id;
    }
  }
  EXPECT_GT(failed, 20);
}

TEST(JudgeClient, WhatMayTakeMuchIsNotSmall) {
  Graph graph;
  graph.values.push_back({"x", ValueKind::tensor, DType::f32, {1 << 10, 1 << 10}, -1, {}});
  EXPECT_TRUE(JudgeClient::is_small(graph));
  graph.values[0].shape = {1 << 10, 1 << 11};
  EXPECT_FALSE(JudgeClient::is_small(graph));
  graph.values[0].shape = {-1};  // depends on data
  EXPECT_FALSE(JudgeClient::is_small(graph));
  graph.values[0].shape = {};
  graph.nodes.resize(17);
  EXPECT_FALSE(JudgeClient::is_small(graph));
}

}  // namespace
}  // namespace assay
