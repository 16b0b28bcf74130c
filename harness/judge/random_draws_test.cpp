// Random operators: numbers that follow their distribution pass at every seed, planted defects are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "harness/case/lift_draws.h"
#include "harness/judge/distribution.h"
#include "harness/judge/random_draws.h"
#include "harness/judge/testing/cases.h"
#include "reference/draws.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

using emulation::arg;
using reference::Wide;
using ::testing::HasSubstr;

struct Subject {
  const char* name;
  std::string op;
  std::vector<std::pair<std::string, Wide>> tensors;
  std::vector<NamedArgument> others;
  std::vector<TensorMeta> outputs;
};

Wide reals(DType dtype, Shape shape, std::vector<double> values) {
  Wide wide;
  wide.meta = {dtype, std::move(shape)};
  wide.real = std::move(values);
  return wide;
}
Wide constant(DType dtype, const Shape& shape, double value) {
  return reals(dtype, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), value));
}

OpCall call_of(const Subject& subject) {
  std::vector<TensorMeta> metas;
  std::vector<NamedArgument> arguments;
  for (const auto& [name, wide] : subject.tensors) {
    arguments.push_back({name, ValueArg{static_cast<ValueId>(metas.size())}});
    metas.push_back(wide.meta);
  }
  arguments.insert(arguments.end(), subject.others.begin(), subject.others.end());
  return OpCall(subject.op, metas, arguments, subject.outputs);
}

const Shape kShape{64, 65};

std::vector<Subject> subjects(DType dtype) {
  const TensorMeta out{dtype, kShape}, indices{DType::i64, kShape};
  const NamedArgument size{"size", IntListArg{kShape, {}}}, as{"dtype", DTypeArg{dtype}};
  const Wide like = constant(dtype, kShape, 0), halves = constant(dtype, kShape, 0.5);
  return {
      {"rand", "aten::rand.default", {}, {size, as}, {out}},
      {"randn", "aten::randn.default", {}, {size, as}, {out}},
      {"uniform", "aten::uniform.default", {{"self", like}}, {{"from", -3.0}, {"to", 5.0}}, {out}},
      {"normal", "aten::normal_functional.default", {{"self", like}}, {{"mean", 2.0}, {"std", 0.5}}, {out}},
      {"normal_tensors",
       "aten::normal.Tensor_Tensor",
       {{"mean", constant(dtype, {65}, 1)}, {"std", halves}},
       {},
       {out}},
      {"exponential", "aten::exponential.default", {{"self", like}}, {{"lambd", 2.0}}, {out}},
      {"cauchy", "aten::cauchy.default", {{"self", like}}, {{"median", 1.0}, {"sigma", 0.5}}, {out}},
      {"log_normal", "aten::log_normal.default", {{"self", like}}, {{"mean", 0.0}, {"std", 0.5}}, {out}},
      {"geometric", "aten::geometric.default", {{"self", like}}, {{"p", 0.25}}, {out}},
      {"randint", "aten::randint.low", {}, {{"low", int64_t{-3}}, {"high", int64_t{14}}, size}, {indices}},
      {"bernoulli", "aten::bernoulli.p", {{"self", like}}, {{"p", 0.3}}, {out}},
      {"bernoulli_own", "aten::bernoulli.default", {{"self", halves}}, {}, {out}},
      {"dropout",
       "aten::native_dropout.default",
       {{"input", constant(dtype, kShape, 1)}},
       {{"p", 0.3}, {"train", true}},
       {out, {DType::boolean, kShape}}},
      {"randperm", "aten::randperm.default", {}, {{"n", int64_t{1000}}}, {{DType::i64, {1000}}}},
      {"multinomial",
       "aten::multinomial.default",
       {{"self", reals(dtype, {4}, {1, 2, 0, 5})}},
       {{"num_samples", int64_t{3000}}, {"replacement", true}},
       {{DType::i64, {3000}}}},
      {"multinomial_distinct",
       "aten::multinomial.default",
       {{"self", constant(dtype, {200, 8}, 1)}},
       {{"num_samples", int64_t{4}}},
       {{DType::i64, {200, 4}}}},
  };
}

using Defect = std::function<void(std::vector<Tensor>&)>;

std::string judged(const Subject& subject, uint64_t seed, const Defect& defect = {}) {
  const OpCall call = call_of(subject);
  std::vector<const Wide*> inputs;
  for (const auto& [name, wide] : subject.tensors) inputs.push_back(&wide);
  const reference::DrawSeed draws(seed);
  std::vector<Tensor> got;
  for (const Wide& output : reference::evaluate(call, inputs)) got.push_back(output.rounded());
  if (defect) defect(got);
  return judge_draw(call, inputs, got, Precision{}, nullptr);
}

TEST(RandomDraws, WhatFollowsTheDistributionPasses) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    for (const Subject& subject : subjects(dtype)) {
      for (uint64_t seed = 0; seed < 4; ++seed) {
        EXPECT_EQ(judged(subject, seed), "") << subject.name << " " << name_of(dtype) << " " << seed;
      }
    }
  }
}

Tensor changed(const Tensor& tensor,
               const std::function<double(std::size_t, const std::vector<double>&)>& f) {
  std::vector<double> values;
  if (is_integral(tensor.dtype())) {
    for (const int64_t v : tensor.to_ints()) values.push_back(static_cast<double>(v));
  } else {
    values = tensor.to_doubles();
  }
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(i, values);
  if (!is_integral(tensor.dtype())) return Tensor::from_doubles(tensor.dtype(), tensor.shape(), out);
  Wide wide;
  wide.meta = {tensor.dtype(), tensor.shape()};
  wide.integer.assign(out.begin(), out.end());
  return wide.rounded();
}

TEST(RandomDraws, DefectsAreFound) {
  struct Planted {
    const char* what;
    std::function<double(std::size_t, const std::vector<double>&)> change;
    std::vector<std::string> not_in;  // subjects to which it makes no difference
  };
  const std::vector<Planted> defects = {
      {"all equal", [](std::size_t, const auto& x) { return x[0]; }, {}},
      {"every number twice", [](std::size_t i, const auto& x) { return x[i / 2 * 2]; }, {"multinomial"}},
      {"the first row everywhere",
       [](std::size_t i, const auto& x) { return x[i % 65]; },
       {"multinomial", "multinomial_distinct"}},
      {"the second half repeats the first",
       [](std::size_t i, const auto& x) { return x[i % (x.size() / 2)]; },
       {"multinomial", "multinomial_distinct"}},
      {"half as wide",
       [](std::size_t i, const auto& x) { return std::trunc(x[i]) == x[i] ? 1 - x[i] : x[i] / 2; },
       {"bernoulli_own"}},
      {"NaN",
       [](std::size_t i, const auto& x) { return i == 7 ? std::nan("") : x[i]; },
       {"randint", "randperm", "multinomial", "multinomial_distinct"}},
  };
  for (const Subject& subject : subjects(DType::f32)) {
    for (const Planted& planted : defects) {
      if (std::count(planted.not_in.begin(), planted.not_in.end(), subject.name) != 0) continue;
      EXPECT_NE(judged(subject, 1, [&](auto& got) { got.back() = changed(got.back(), planted.change); }), "")
          << subject.name << ": " << planted.what;
    }
  }
}

TEST(RandomDraws, OneNumberAgainAndAgainIsFoundAmongFew) {
  Subject few{
      "randn", "aten::randn.default", {}, {{"size", IntListArg{{3, 1, 7}, {}}}}, {{DType::f32, {3, 1, 7}}}};
  EXPECT_EQ(judged(few, 1), "");
  const std::string found = judged(few, 1, [](auto& got) { got[0] = Tensor(DType::f32, {3, 1, 7}); });
  EXPECT_THAT(found, HasSubstr("all 21 numbers are equal"));
}

TEST(RandomDraws, TailsAndEnds) {
  const Subject normal = subjects(DType::f32)[1], uniform = subjects(DType::f32)[0],
                drop = subjects(DType::f32)[12];
  const auto with = [](auto f) {
    return [f](auto& got) {
      got[0] = changed(got[0], [&](std::size_t i, const auto& x) { return f(i, x[i]); });
    };
  };
  EXPECT_THAT(judged(normal, 0, with([](std::size_t, double x) { return std::clamp(x, -2.2, 2.2); })),
              HasSubstr("tail"));
  EXPECT_THAT(judged(normal, 0, with([](std::size_t i, double x) { return i < 3 ? 7.5 : x; })),
              HasSubstr("tail"));
  EXPECT_THAT(judged(uniform, 0, with([](std::size_t i, double x) { return i == 5 ? 1.0 : x; })),
              HasSubstr("outside of [0, 1)"));
  EXPECT_NE(judged(uniform, 0, with([](std::size_t i, double x) { return i == 5 ? -1e-9 : x; })), "");
  EXPECT_THAT(judged(drop, 0, with([](std::size_t, double x) { return x * 0.7; })), HasSubstr("got"));
  EXPECT_NE(judged(drop, 0, with([](std::size_t i, double x) { return i == 9 ? x + 1 : x; })), "");
}

// p = 0 keeps all, p = 1 drops all without a NaN; evaluation keeps all whatever p is.
TEST(RandomDraws, DropoutOfNothingAndOfEverything) {
  const Wide x = reals(DType::f32, {6}, {1, -2, 3, 4, -5, 6});
  const auto dropout = [&](double p, bool train) {
    return Subject{"",
                   "aten::native_dropout.default",
                   {{"input", x}},
                   {{"p", p}, {"train", train}},
                   {{DType::f32, {6}}, {DType::boolean, {6}}}};
  };
  const Defect nothing_dropped = [&](auto& got) { got[0] = x.rounded(); };
  for (const auto& [p, train, kept] : {std::tuple(0.0, true, true), {1.0, true, false}, {0.5, false, true}}) {
    EXPECT_EQ(judged(dropout(p, train), 3), "") << p;
    EXPECT_EQ(judged(dropout(p, train), 3, nothing_dropped) == "", kept) << p;
  }
  EXPECT_NE(judged(dropout(1, true), 3,
                   [](auto& got) { got[0] = changed(got[0], [](auto, auto&) { return NAN; }); }),
            "");
  EXPECT_NE(judged(dropout(0, true), 3,
                   [](auto& got) { got[1] = changed(got[1], [](std::size_t i, auto&) { return i != 2; }); }),
            "");
}

TEST(RandomDraws, PermutationsThatAreNone) {
  const std::size_t n = 64;
  std::vector<int64_t> identity(n), reversed(n), twice(n, 1), rotated(n);
  for (std::size_t i = 0; i < n; ++i) {
    identity[i] = static_cast<int64_t>(i);
    reversed[i] = static_cast<int64_t>(n - 1 - i);
    rotated[i] = static_cast<int64_t>((i + 1) % n);
  }
  EXPECT_THAT(test_permutation(identity), HasSubstr("stay in place"));
  EXPECT_THAT(test_permutation(reversed), HasSubstr("descend"));
  EXPECT_THAT(test_permutation(rotated), HasSubstr("descend"));
  EXPECT_THAT(test_permutation(twice), HasSubstr("not a permutation"));
  EXPECT_EQ(test_permutation({}), "");
  EXPECT_EQ(test_permutation({0}), "");
}

// Two nodes of a model that draw the same numbers.
TEST(RandomDraws, NodesAreIndependent) {
  emulation::GraphBuilder b("two_draws");
  const ValueId x = b.input("x", DType::f32, {32, 33});
  const ValueId first = b.node("aten::randn_like.default", {arg("self", x)});
  const ValueId second = b.node("aten::randn_like.default", {arg("self", x)});
  b.output(b.node("aten::add.Tensor", {arg("self", first), arg("other", second)}));
  emulation::JudgedCase c;
  c.graph = b.build();
  c.inputs = emulation::draw_inputs(*c.graph, 0, 1);
  JudgeRequest request;
  request.graph = c.graph;
  request.inputs = c.inputs;
  request.contract = emulation::emulated_contract();
  request.mode = "eager";
  Judge judge(std::move(request));
  const std::vector<Tensor> chain = judge.chain();
  RunResult run = emulation::run_emulated(*c.graph, c.inputs, chain);
  // The emulated device draws nothing of its own.
  for (const ValueId id : {first, second}) {
    NodeOutcome& node = run.nodes.at(id == first ? 0 : 1);
    node.placement = Placement::device;
    node.local = {chain.at(static_cast<std::size_t>(id))};
  }
  const Verdict right = judge.judge(run);
  EXPECT_TRUE(is_pass(right.status)) << emulation::text_of(right);
  run.nodes.at(1).local = run.nodes.at(0).local;
  const Verdict same = judge.judge(run);
  EXPECT_EQ(same.reason, "distribution") << emulation::text_of(same);
  EXPECT_THAT(same.detail, HasSubstr("depend on those of node"));
}

// Compiled models read lifted draws; of dropout the mask alone, so that what is before it stays in sight.
TEST(LiftDraws, DropoutBecomesAProduct) {
  emulation::GraphBuilder b("dropout");
  const ValueId x = b.input("x", DType::f32, {8, 16});
  const std::vector<ValueId> y =
      b.nodes("aten::native_dropout.default", {arg("input", x), {"p", 0.25}, {"train", true}});
  b.output(b.node("aten::relu.default", {arg("self", y[0])}));
  const std::shared_ptr<const Graph> graph = b.build();
  const std::vector<Tensor> inputs = emulation::draw_inputs(*graph, 0, 1);
  const reference::DrawSeed draws(9);
  const std::vector<Tensor> chain = reference::local_chain(*graph, inputs);
  std::vector<std::string> names;
  std::vector<Tensor> values;
  for (const ValueId id : draws_to_lift(*graph)) {
    names.push_back(graph->values[static_cast<std::size_t>(id)].name);
    values.push_back(chain[static_cast<std::size_t>(id)]);
  }
  for (const char* mode : {"eager", "compile"}) {
    const auto lifted = lift_draws(*graph, mode, names, values, 9);
    ASSERT_TRUE(lifted) << mode;
    ASSERT_NO_THROW(validate(lifted->graph)) << mode;
    EXPECT_EQ(lifted->graph.nodes.size(), mode == std::string("eager") ? 2u : 3u);
    std::vector<Tensor> all = inputs;
    all.insert(all.end(), lifted->inputs.begin(), lifted->inputs.end());
    const std::vector<Tensor> now = reference::local_chain(lifted->graph, all);
    EXPECT_EQ(now[static_cast<std::size_t>(lifted->graph.outputs[0].value)].to_doubles(),
              chain[static_cast<std::size_t>(graph->outputs[0].value)].to_doubles())
        << mode;
  }
}

}  // namespace
}  // namespace assay
