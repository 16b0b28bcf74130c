#include "models/optimisers/optimisers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/opset/shapes.h"
#include "models/gla/gla.h"
#include "models/testing/finite_differences_test.h"

namespace assay::models {
namespace {

using reference::Wide;
using ::testing::HasSubstr;
using Matrix = std::vector<double>;

struct MuonArguments {
  int64_t steps = 5;
  double eps = 1e-7;
  bool clamp_norm = false;
};

Graph orthogonalisation(const Shape& shape, DType dtype, const MuonArguments& a = {}) {
  GraphBuilder builder("muon");
  const ValueId x = builder.input("x", dtype, shape);
  builder.output(builder.call(
      "assay::muon_orthogonalize.default",
      {{"self", ValueArg{x}}, {"steps", a.steps}, {"eps", a.eps}, {"clamp_norm", a.clamp_norm}}));
  return builder.build();
}

Matrix orthogonalised(const Shape& shape, const Matrix& x, const MuonArguments& a = {}) {
  return in_float128(orthogonalisation(shape, DType::f64, a),
                     {Wide::from(Tensor::from_doubles(DType::f64, shape, x))})[0]
      .real;
}

// A product of reflections I - 2 u u^T / u^T u, applied to the rows of m [n, k].
Matrix reflected(Matrix m, int64_t n, int64_t k, const std::string& name) {
  for (int r = 0; r < 4; ++r) {
    const auto u = drawn(name + std::to_string(r), {n}).to_doubles();
    double squared = 0;
    for (const double v : u) squared = squared + v * v;
    for (int64_t j = 0; j < k; ++j) {
      double along = 0;
      for (int64_t i = 0; i < n; ++i)
        along = along + u[static_cast<std::size_t>(i)] * m[static_cast<std::size_t>(i * k + j)];
      for (int64_t i = 0; i < n; ++i) {
        double& entry = m[static_cast<std::size_t>(i * k + j)];
        entry = entry - 2 * u[static_cast<std::size_t>(i)] * along / squared;
      }
    }
  }
  return m;
}
Matrix turned(const Matrix& m, int64_t n, int64_t k) {
  Matrix t(m.size());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < k; ++j)
      t[static_cast<std::size_t>(j * n + i)] = m[static_cast<std::size_t>(i * k + j)];
  }
  return t;
}

// U diag(s) V^T with orthogonal U and V made of reflections.
Matrix with_singular_values(const Matrix& s, int64_t n, int64_t k) {
  Matrix m(static_cast<std::size_t>(n * k), 0.0);
  for (std::size_t i = 0; i < s.size(); ++i) m[i * static_cast<std::size_t>(k) + i] = s[i];
  m = reflected(m, n, k, "left");
  return turned(reflected(turned(m, n, k), k, n, "right"), k, n);
}

double composed(double x, int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) x = 3.4445 * x - 4.775 * x * x * x + 2.0315 * std::pow(x, 5);
  return x;
}

// The exact result: the composed polynomial of each singular value, in the same singular vectors.
TEST(Muon, IsThePolynomialOfTheSingularValues) {
  const Matrix s{1, 0.7, 0.2, 0.05, 1e-3, 1e-5};
  double squared = 0;
  for (const double v : s) squared = squared + v * v;
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{6, 9}, {9, 6}, {6, 6}}) {
    for (const int64_t steps : {0, 1, 5, 6}) {
      for (const bool clamp_norm : {false, true}) {
        const double norm = clamp_norm ? std::sqrt(squared) : std::sqrt(squared) + 1e-7;
        Matrix mapped = s;
        for (double& v : mapped) v = composed(v / norm, steps);
        const Matrix got = orthogonalised({n, k}, with_singular_values(s, n, k), {steps, 1e-7, clamp_norm});
        const Matrix want = with_singular_values(mapped, n, k);
        for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << n << "x" << k;
      }
    }
  }
}

TEST(Muon, DecompositionAgrees) {
  for (const Shape& shape : {Shape{5, 7}, Shape{7, 5}, Shape{4, 4}, Shape{1, 3}, Shape{3, 1}, Shape{0, 3}}) {
    for (const bool clamp_norm : {false, true}) {
      const Graph graph = orthogonalisation(shape, DType::f64, {5, 1e-7, clamp_norm});
      Graph parts = graph;
      decompose(parts);
      EXPECT_NE(parts.nodes.at(0).op, graph.nodes.at(0).op);
      const std::vector<Wide> x{Wide::from(drawn("x", shape))};
      const auto want = in_float128(graph, x)[0].real, got = in_float128(parts, x)[0].real;
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-13);
    }
  }
}

TEST(Muon, HasTheInvariantsOfItsDefinition) {
  const Matrix x = drawn("x", {4, 6}).to_doubles();
  const Matrix o = orthogonalised({4, 6}, x);
  const Matrix t = orthogonalised({6, 4}, turned(x, 4, 6));
  for (std::size_t i = 0; i < o.size(); ++i) EXPECT_NEAR(turned(t, 6, 4)[i], o[i], 1e-15);
  // Appended zero rows change nothing and stay zero: padding is allowed.
  Matrix longer = x;
  longer.resize(36, 0.0);
  const Matrix with_zeros = orthogonalised({6, 6}, longer);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_NEAR(with_zeros[i], i < 24 ? o[i] : 0, 1e-15);
  for (const double v : orthogonalised({4, 6}, Matrix(24, 0.0))) EXPECT_EQ(v, 0);
  Matrix broken = x;
  broken[5] = std::nan("");
  for (const double v : orthogonalised({4, 6}, broken)) EXPECT_TRUE(std::isnan(v));
}

struct WorstOf {
  double margin = 0, rms = 0;
};
// The decomposition with every node rounded once to its dtype: a correct kernel.
WorstOf worst_of(const Shape& shape, DType dtype, const Graph& device) {
  const Graph graph = orthogonalisation(shape, dtype);
  const Tensor x = drawn("x", shape, 0, 1, dtype);
  const OpCall call(graph, graph.nodes.at(0));
  const Wide wide = Wide::from(x);
  Precision precision;
  precision.products_exact = false;
  const auto bounded = reference::evaluate_bounded(call, {&wide}, precision)[0];
  const auto chain = reference::local_chain(device, {x});
  const auto got = chain.at(static_cast<std::size_t>(device.outputs.at(0).value)).to_doubles();
  WorstOf j;
  double squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - bounded.value.real[i]);
    j.margin = std::max(j.margin, error / bounded.bound[i]);
    squares = squares + std::pow(error / bounded.sigma[i], 2);
  }
  j.rms = std::sqrt(squares / static_cast<double>(got.size()));
  return j;
}

TEST(MuonBound, CorrectKernelsFitAndNarrowOnesDoNot) {
  for (const Shape& shape : {Shape{32, 48}, Shape{48, 32}, Shape{40, 40}}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Graph parts = orthogonalisation(shape, dtype);
      decompose(parts);
      const WorstOf j = worst_of(shape, dtype, parts);
      EXPECT_LE(j.margin, 1);
      EXPECT_GE(j.margin, 0.02) << "a bound that sees nothing";
      EXPECT_LE(j.rms, 2);
    }
    // bf16 iterations where f32 was asked for.
    GraphBuilder builder("narrow");
    Emitter e(builder);
    const ValueId x = e.cast(builder.input("x", DType::f32, shape), DType::bf16);
    const ValueId y = e.call("assay::muon_orthogonalize.default", {{"self", ValueArg{x}}});
    builder.output(e.cast(y, DType::f32));
    Graph narrow = builder.build();
    decompose(narrow);
    EXPECT_GT(worst_of(shape, DType::f32, narrow).rms, 100);
    // One step too few; another coefficient.
    Graph fewer = orthogonalisation(shape, DType::f32, {4, 1e-7, false});
    decompose(fewer);
    EXPECT_GT(worst_of(shape, DType::f32, fewer).margin, 100);
  }
}

std::string refusal(const TensorMeta& x, const NamedArgument& other) {
  try {
    infer(OpCall("assay::muon_orthogonalize.default", {x}, {{"self", ValueArg{0}}, other}));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Muon, RefusesWhatIsNoMatrix) {
  const NamedArgument plain{"steps", int64_t{5}};
  EXPECT_THAT(refusal({DType::f32, {4}}, plain), HasSubstr("Muon takes matrices"));
  EXPECT_THAT(refusal({DType::f32, {2, 3, 4}}, plain), HasSubstr("self has shape [2, 3, 4]"));
  EXPECT_THAT(refusal({DType::i64, {2, 3}}, plain), HasSubstr("self has dtype i64"));
  EXPECT_THAT(refusal({DType::f32, {2, 3}}, {"steps", int64_t{-1}}), HasSubstr("steps is -1"));
  EXPECT_THAT(refusal({DType::f32, {2, 3}}, {"steps", int64_t{100}}), HasSubstr("steps is 100"));
  EXPECT_THAT(refusal({DType::f32, {2, 3}}, {"eps", 0.0}), HasSubstr("eps is 0; it must be positive"));
  GraphBuilder builder("bias");
  Emitter e(builder);
  const ValueId p = builder.input("bias", DType::f32, {4});
  EXPECT_THROW(muon_update(e, p, p, p, {}), Error);
}

// One step written out by hand, in doubles.
struct Step {
  std::vector<Matrix> outputs;
};
template <class Emit>
Step stepped(const Shape& shape, int tensors, Emit&& emit) {
  GraphBuilder builder("step");
  Emitter e(builder);
  std::vector<ValueId> ids;
  std::vector<Wide> inputs;
  for (int i = 0; i < tensors; ++i) {
    const std::string name = "t" + std::to_string(i);
    ids.push_back(builder.input(name, DType::f64, shape));
    inputs.push_back(Wide::from(drawn(name, shape, i == 3 ? 1 : 0, i == 3 ? 0.5 : 1)));
  }
  const Updated updated = emit(e, ids);
  builder.output(updated.parameter);
  for (const ValueId state : updated.state) builder.output(state);
  Step step;
  for (const Wide& input : inputs) step.outputs.push_back(input.real);
  for (const Wide& output : in_float128(builder.build(), inputs)) step.outputs.push_back(output.real);
  return step;
}

TEST(MuonUpdate, FollowsThePublishedRules) {
  for (const MuonOptions& preset : {jordan_muon(), torch_muon(), moonlight_muon(), dion_muon()}) {
    MuonOptions o = preset;
    o.iterate_in.reset();
    for (const Shape& shape : {Shape{3, 5}, Shape{5, 3}}) {
      const Step step =
          stepped(shape, 3, [&](Emitter& e, const auto& t) { return muon_update(e, t[0], t[1], t[2], o); });
      const Matrix &p = step.outputs[0], &g = step.outputs[1], &m = step.outputs[2];
      Matrix held(15), update(15);
      const double fresh = o.form == Momentum::average ? 1 - o.momentum : 1;
      for (std::size_t i = 0; i < 15; ++i) {
        held[i] = o.momentum * m[i] + fresh * g[i];
        update[i] = o.nesterov ? fresh * g[i] + o.momentum * held[i] : held[i];
        EXPECT_NEAR(step.outputs[4][i], held[i], 1e-15);
      }
      const Matrix orthogonal = orthogonalised(shape, update, {o.steps, o.eps, o.clamp_norm});
      const double scale = muon_scale(o.scale, shape[0], shape[1]);
      for (std::size_t i = 0; i < 15; ++i) {
        EXPECT_NEAR(step.outputs[3][i], p[i] * (1 - o.lr * o.weight_decay) - o.lr * scale * orthogonal[i],
                    1e-14);
      }
    }
  }
}

TEST(MuonScaleRule, HasThePublishedValues) {
  EXPECT_DOUBLE_EQ(muon_scale(MuonScale::original, 8, 2), 2);
  EXPECT_DOUBLE_EQ(muon_scale(MuonScale::original, 2, 8), 1);
  EXPECT_DOUBLE_EQ(muon_scale(MuonScale::spectral, 2, 8), 0.5);
  EXPECT_DOUBLE_EQ(muon_scale(MuonScale::match_rms_adamw, 2, 100), 2);
}

// Average and sum differ by a factor that orthogonalisation takes out, save for eps.
TEST(MuonUpdate, BothMomentumConventionsAgree) {
  std::vector<Matrix> results;
  for (const Momentum form : {Momentum::average, Momentum::sum}) {
    MuonOptions o;
    o.form = form;
    o.iterate_in.reset();
    o.eps = 1e-30;
    const double factor = form == Momentum::sum ? 1 : 1 - o.momentum;
    const Step step = stepped({3, 4}, 3, [&](Emitter& e, const auto& t) {
      return muon_update(e, t[0], t[1], e.mul_number(t[2], factor), o);
    });
    results.push_back(step.outputs[3]);
  }
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(results[0][i], results[1][i], 1e-15);
}

TEST(AdamW, FollowsItsDefinition) {
  AdamWOptions o;
  o.lr = 0.1;
  GraphBuilder builder("adamw");
  Emitter e(builder);
  std::vector<ValueId> t;
  std::vector<Wide> inputs;
  for (const char* name : {"p", "g", "m", "v"}) {
    t.push_back(builder.input(name, DType::f64, {5}));
    inputs.push_back(Wide::from(drawn(name, {5}, name[0] == 'v' ? 1 : 0, 0.5)));
  }
  const ValueId step = builder.input("step", DType::f32, {});
  inputs.push_back(Wide::from(Tensor::scalar(DType::f32, 3)));
  const Updated updated = adamw_update(e, t[0], t[1], t[2], t[3], step, o);
  builder.output(updated.parameter);
  const auto got = in_float128(builder.build(), inputs)[0].real;
  for (std::size_t i = 0; i < 5; ++i) {
    const double g = inputs[1].real[i], m = 0.9 * inputs[2].real[i] + 0.1 * g,
                 v = 0.999 * inputs[3].real[i] + 0.001 * g * g;
    const double hat = std::sqrt(v / (1 - std::pow(0.999, 3))) + 1e-8;
    EXPECT_NEAR(got[i], inputs[0].real[i] * (1 - 0.1 * 0.01) - 0.1 * m / (1 - std::pow(0.9, 3)) / hat, 1e-12);
  }
}

TEST(Sgd, FollowsItsDefinition) {
  SgdOptions o{0.1, 0.9, 0, 0.01, true};
  const Step step =
      stepped({4}, 3, [&](Emitter& e, const auto& t) { return sgd_update(e, t[0], t[1], t[2], o); });
  for (std::size_t i = 0; i < 4; ++i) {
    const double g = step.outputs[1][i] + 0.01 * step.outputs[0][i], held = 0.9 * step.outputs[2][i] + g;
    EXPECT_NEAR(step.outputs[3][i], step.outputs[0][i] - 0.1 * (g + 0.9 * held), 1e-15);
    EXPECT_NEAR(step.outputs[4][i], held, 1e-15);
  }
}

TEST(ParameterGroups, MatricesOfHiddenLayersAreMuons) {
  EXPECT_TRUE(is_muon_parameter("model.layers.0.attn.q_proj.weight", {4, 8}));
  EXPECT_TRUE(is_muon_parameter("model.layers.0.attn.gk_proj.1.weight", {4, 8}));
  EXPECT_FALSE(is_muon_parameter("model.embeddings.weight", {4, 8}));
  EXPECT_FALSE(is_muon_parameter("lm_head.weight", {4, 8}));
  EXPECT_FALSE(is_muon_parameter("model.norm.weight", {4}));
  EXPECT_FALSE(is_muon_parameter("model.layers.0.attn.q_conv1d.weight", {4, 1, 4}));
}

TEST(TrainingStep, CarriesEveryParameterAndState) {
  GlaConfig config;
  config.hidden_size = 8;
  config.num_hidden_layers = 1;
  config.num_heads = 2;
  config.vocab_size = 5;
  config.intermediate_size = 6;
  GlaGraph graph;
  graph.length = 4;
  const TrainingStep step = training_step(gla_gradient_graph(config, graph), {});
  std::set<std::string> inputs;
  for (const GraphInput& input : step.graph.inputs) {
    EXPECT_EQ(input.kind, InputKind::user);
    inputs.insert(input.target);
  }
  EXPECT_EQ(step.carry.size() + 2, inputs.size()) << "all but input_ids and labels";
  EXPECT_EQ(step.carry.size() + 1, step.graph.outputs.size()) << "all but the loss";
  for (const auto& [output, input] : step.carry) {
    ASSERT_TRUE(inputs.contains(input));
    const ValueId from = step.graph.outputs.at(static_cast<std::size_t>(output)).value,
                  to = step.graph.find_value(input);
    EXPECT_EQ(step.graph.values.at(static_cast<std::size_t>(from)).shape,
              step.graph.values.at(static_cast<std::size_t>(to)).shape);
  }
  std::size_t muon = 0;
  for (const Node& node : step.graph.nodes) muon += node.op == "assay::muon_orthogonalize.default" ? 1 : 0;
  EXPECT_EQ(muon, 10u) << "q, k, v, g, o, both parts of the gate, gate, up, down";
}

}  // namespace
}  // namespace assay::models
