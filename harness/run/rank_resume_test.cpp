#include "harness/run/rank_resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/graph/builder.h"
#include "harness/run/note.h"

namespace assay {
namespace {

using testing::HasSubstr;

// Every rank passes its rows of a matrix of two columns through relu, and carries them on.
Case case_of(const std::vector<int64_t>& rows, DType dtype = DType::f32) {
  RankPrograms programs;
  programs.groups.world_size = static_cast<int>(rows.size());
  Case c;
  c.id = "distributed/resume";
  c.world_size = programs.groups.world_size;
  for (int r = 0; r < c.world_size; ++r) {
    GraphBuilder builder("rank");
    const Shape shape{rows[static_cast<std::size_t>(r)], 2};
    const ValueId x = builder.input("x", dtype, shape);
    builder.output(builder.call("aten::relu.default", {{"self", ValueArg{x}}}));
    programs.graphs.push_back(std::make_shared<const Graph>(builder.build()));
    c.inputs[name_at_rank(r, "x")] = {dtype, shape, UniformDraw{0, 1}};
    c.carry.emplace_back(r, name_at_rank(r, "x"));
  }
  c.graph = std::make_shared<const Graph>(join(programs, c.id).graph);
  c.ranks = std::make_shared<const RankPrograms>(std::move(programs));
  return c;
}

// Rows [begin, begin + count) of the matrix 0, 1; 2, 3; ...
Tensor rows_from(int64_t begin, int64_t count) {
  std::vector<double> values;
  for (int64_t i = 2 * begin; i < 2 * (begin + count); ++i) values.push_back(static_cast<double>(i));
  return Tensor::from_doubles(DType::f32, {count, 2}, values);
}

std::string why_not(const Case& next, const RankCheckpoint& checkpoint) {
  try {
    resumed_case(next, checkpoint);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RankResume, ACheckpointIsSharedOutAnew) {
  const Case c = case_of({3, 2, 0});
  // What was given is not what is carried.
  const std::vector<Tensor> given{rows_from(9, 3), rows_from(9, 2), rows_from(9, 0)};
  const std::vector<Tensor> returned{rows_from(0, 3), rows_from(3, 2), rows_from(5, 0)};
  const RankCheckpoint checkpoint = rank_checkpoint(c, given, returned);
  ASSERT_EQ(checkpoint.size(), 1u);
  EXPECT_TRUE(checkpoint.at("x").bitwise_equal(rows_from(0, 5)));
  const Case next = resumed_case(case_of({1, 4}), checkpoint);
  EXPECT_TRUE(std::get<Tensor>(next.inputs.at("r0_x").source).bitwise_equal(rows_from(0, 1)));
  EXPECT_TRUE(std::get<Tensor>(next.inputs.at("r1_x").source).bitwise_equal(rows_from(1, 4)));
}

TEST(RankResume, WhatDoesNotFitIsNamed) {
  const RankCheckpoint checkpoint{{"x", rows_from(0, 5)}};
  EXPECT_EQ(why_not(case_of({5}), checkpoint), "");
  EXPECT_THAT(why_not(case_of({2, 2}), checkpoint),
              HasSubstr("'x' has 5 rows; the programs of 2 ranks take 4"));
  EXPECT_THAT(why_not(case_of({5}, DType::bf16), checkpoint),
              HasSubstr("'x' is f32[5, 2]; rank 0 takes bf16[5, 2]"));
  EXPECT_THAT(why_not(case_of({5}), {}), HasSubstr("it has no 'x', which the programs take"));
  EXPECT_THAT(why_not(case_of({5}), {{"x", rows_from(0, 5)}, {"y", rows_from(0, 1)}}),
              HasSubstr("it has 'y', which no program takes"));
}

// A backend that gives other bits on `odd` ranks.
std::optional<CaseOutcome> run_with(const Case& c, int odd) {
  return run_resumed(c, Record(), [&](const Case& one) {
    CaseOutcome outcome{Record(), {}, {}, {}};
    outcome.record.status = Status::pass;
    int64_t begin = 0;
    for (const GraphInput& input : one.graph->inputs) {
      const Shape& shape = one.inputs.at(input.target).shape;
      outcome.given.push_back(rows_from(begin, shape[0]));
      outcome.returned.push_back(rows_from(one.world_size == odd ? begin + 1 : begin, shape[0]));
      begin += shape[0];
    }
    return std::optional(std::move(outcome));
  });
}

TEST(RankResume, OtherBitsAreFound) {
  Case c = case_of({3, 2});
  c.trials = {std::make_shared<const Case>(case_of({3, 2})),
              std::make_shared<const Case>(case_of({2, 2, 1}))};
  EXPECT_EQ(run_with(c, 0)->record.status, Status::pass);
  const auto other = run_with(c, 3);
  EXPECT_EQ(other->record.status, Status::nondeterministic);
  EXPECT_EQ(other->record.reason, "resume_differs");
  EXPECT_THAT(other->record.detail, HasSubstr("second step on 3 ranks: 'x' has other bits"));
}

}  // namespace
}  // namespace assay
