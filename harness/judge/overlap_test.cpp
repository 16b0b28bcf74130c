// Writes that meet (NUMERICS, "overlapping writes without accumulate: any-of"): each order passes, a third
// value does not, whether the reference or a file says what is expected.
#include <gtest/gtest.h>

#include <cmath>

#include "harness/judge/testing/cases.h"

namespace assay {
namespace {

using emulation::text_of;

// y = self with 1, 7 and 8 written to elements 0, 1 and again 1; z = 2 y if `doubled`.
struct Written {
  const char* op;
  DType dtype;
  bool doubled;
};

Tensor numbers(DType dtype, const std::vector<double>& values) {
  const Shape shape{static_cast<int64_t>(values.size())};
  if (!is_integral(dtype)) return Tensor::from_doubles(dtype, shape, values);
  return Tensor::from_ints(dtype, shape, std::vector<int64_t>(values.begin(), values.end()));
}

Verdict judge_kept(const Written& w, double kept, std::map<std::string, Tensor> expected = {}) {
  emulation::GraphBuilder b("written");
  const ValueId self = b.input("self", w.dtype, {3}), index = b.input("index", DType::i64, {3}),
                source = b.input("source", w.dtype, {3});
  const bool put = std::string(w.op) == "aten::index_put.default";
  ValueId y = put ? b.node(w.op, {emulation::arg("self", self),
                                  {"indices", ValueListArg{{index}}},
                                  emulation::arg("values", source)})
                  : b.node(w.op, {emulation::arg("self", self), emulation::int_arg("dim", 0),
                                  emulation::arg("index", index), emulation::arg("src", source)});
  if (w.doubled) y = b.node("aten::add.Tensor", {emulation::arg("self", y), emulation::arg("other", y)});
  b.output(y);
  const auto graph = b.build();

  JudgeRequest request;
  request.case_id = "test/written";
  request.graph = graph;
  request.inputs = {numbers(w.dtype, {5, 5, 5}), numbers(DType::i64, {0, 1, 1}), numbers(w.dtype, {1, 7, 8})};
  request.expected = std::move(expected);
  request.expected_source = request.expected.empty() ? "" : "expected_file";
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  const std::vector<Tensor> inputs = request.inputs;
  Judge judge(std::move(request));
  const std::vector<Tensor> chain = judge.chain();
  RunResult run = emulation::run_emulated(*graph, inputs, chain);
  const Tensor result = numbers(w.dtype, {1, kept, 5});
  run.nodes[0].local = {result};
  run.nodes[0].free = {result};
  run.outputs[0] = result;
  if (w.doubled) run.outputs[0] = numbers(w.dtype, {2, 2 * kept, 10});
  return judge.judge(run);
}

TEST(Overlap, EitherOrderPassesAndAThirdValueFails) {
  for (const char* op : {"aten::index_put.default", "aten::scatter.src"}) {
    for (const DType dtype : {DType::f32, DType::bf16, DType::i64}) {
      for (const bool doubled : {false, true}) {
        const Written w{op, dtype, doubled};
        SCOPED_TRACE(std::string(op) + " " + std::string(name_of(dtype)) + (doubled ? " doubled" : ""));
        for (const double kept : {7.0, 8.0}) {
          const Verdict verdict = judge_kept(w, kept);
          EXPECT_EQ(verdict.status, Status::pass) << kept << ": " << text_of(verdict);
        }
        for (const double kept : {5.0, 1.0, 7.5}) {
          if (kept == 7.5 && is_integral(dtype)) continue;
          const Verdict verdict = judge_kept(w, kept);
          EXPECT_EQ(verdict.status, Status::wrong) << kept << ": " << text_of(verdict);
        }
      }
    }
  }
}

TEST(Overlap, AFileMayHaveKeptAnotherValue) {
  const Written w{"aten::index_put.default", DType::f32, false};
  for (const double file : {7.0, 8.0}) {
    const std::map<std::string, Tensor> expected{{"0", numbers(DType::f32, {1, file, 5})}};
    for (const double kept : {7.0, 8.0}) {
      const Verdict verdict = judge_kept(w, kept, expected);
      EXPECT_EQ(verdict.status, Status::pass) << file << " " << kept << ": " << text_of(verdict);
    }
    const Verdict verdict = judge_kept(w, 6, expected);
    EXPECT_EQ(verdict.status, Status::wrong) << text_of(verdict);
  }
}

}  // namespace
}  // namespace assay
