// assay::gla_chunk and its kin: kernel, decomposition, gradients, Bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/decompose/decompose.h"
#include "core/error.h"
#include "core/opset/shapes.h"
#include "models/emitter.h"
#include "models/testing/finite_differences_test.h"

namespace assay::models {
namespace {

using reference::Wide;
using ::testing::HasSubstr;

struct Sizes {
  int64_t batch = 1, length = 1, heads = 1, key = 2, value = 3;
  std::vector<int64_t> offsets = {};
  int64_t chunk = 128;
  bool state = true;
  int64_t sequences() const { return offsets.empty() ? batch : static_cast<int64_t>(offsets.size()) - 1; }
};

struct Problem {
  Graph graph;
  std::vector<Tensor> inputs;
};

Tensor gates(const Shape& shape, double strength, DType dtype) {
  std::vector<double> values = drawn("g", shape).to_doubles();
  for (double& g : values) g = -strength * std::log1p(std::exp(-3 * g));  // log-sigmoid
  return Tensor::from_doubles(dtype, shape, values);
}

// The operator alone; `backward` is gla_chunk_backward.
Problem problem(const Sizes& s, DType dtype, double strength, bool backward = false) {
  const Shape keys{s.batch, s.length, s.heads, s.key}, values{s.batch, s.length, s.heads, s.value},
      states{s.sequences(), s.heads, s.key, s.value};
  const DType state = dtype == DType::f64 ? DType::f64 : DType::f32;
  Problem p;
  GraphBuilder builder("gla");
  std::vector<NamedArgument> arguments;
  const auto give = [&](const char* name, Tensor tensor) {
    arguments.push_back({name, ValueArg{builder.input(name, tensor.dtype(), tensor.shape())}});
    p.inputs.push_back(std::move(tensor));
  };
  if (backward) {
    give("grad_output", drawn("do", values, 0, 1, dtype));
    give("grad_final_state", drawn("ds", states, 0, 1, state));
  }
  give("q", drawn("q", keys, 0, 1, dtype));
  give("k", drawn("k", keys, 0, 1, dtype));
  give("v", drawn("v", values, 0, 1, dtype));
  give("g", gates(keys, strength, dtype));
  if (s.state) give("initial_state", drawn("s", states, 0, 1, state));
  if (!s.offsets.empty()) arguments.push_back({"cu_seqlens", IntListArg{s.offsets, {}}});
  arguments.push_back({"chunk_size", s.chunk});
  const char* op = backward ? "assay::gla_chunk_backward.default" : "assay::gla_chunk.default";
  for (const ValueId id : builder.node(op, arguments)) builder.output(id);
  p.graph = builder.build();
  return p;
}

std::vector<const Wide*> pointers(const std::vector<Wide>& wide) {
  std::vector<const Wide*> out;
  for (const Wide& w : wide) out.push_back(&w);
  return out;
}
std::vector<Wide> widened(const std::vector<Tensor>& tensors) {
  std::vector<Wide> wide;
  for (const Tensor& t : tensors) wide.push_back(Wide::from(t));
  return wide;
}

const std::vector<Sizes>& shapes() {
  static const std::vector<Sizes> all{
      {1, 1, 1, 2, 3, {}, 128, true},
      {2, 7, 2, 3, 2, {}, 3, true},
      {1, 35, 1, 2, 3, {}, 34, false},  // three sub-chunks, a ragged tail
      {1, 33, 1, 2, 2, {}, 16, true},
      {1, 20, 1, 3, 4, {0, 0, 5, 5, 18, 18}, 4, true},  // empty sequences, slack rows
      {2, 0, 1, 2, 2, {}, 8, true},
      {0, 4, 1, 2, 2, {}, 8, true},
  };
  return all;
}

TEST(GlaChunk, DecompositionAndKernelAgree) {
  for (const Sizes& s : shapes()) {
    for (const double strength : {0.0625, 20.0}) {
      for (const bool backward : {false, true}) {
        SCOPED_TRACE("T=" + std::to_string(s.length) + " chunk=" + std::to_string(s.chunk) +
                     " strength=" + std::to_string(strength) + (backward ? " backward" : ""));
        const Problem p = problem(s, DType::f64, strength, backward);
        Graph parts = p.graph;
        decompose(parts);
        for (const Node& node : parts.nodes) ASSERT_FALSE(node.op.starts_with("assay::"));
        validate(parts);
        const auto inputs = widened(p.inputs);
        const auto want = in_float128(p.graph, inputs), got = in_float128(parts, inputs);
        ASSERT_EQ(want.size(), got.size());
        for (std::size_t o = 0; o < want.size(); ++o) {
          ASSERT_EQ(want[o].meta, got[o].meta);
          for (std::size_t i = 0; i < want[o].real.size(); ++i) {
            EXPECT_NEAR(got[o].real[i], want[o].real[i], 1e-14 * (1 + std::fabs(want[o].real[i])))
                << "output " << o << " element " << i;
          }
        }
      }
    }
  }
}

TEST(GlaChunk, GradientsMatchFiniteDifferences) {
  for (const Sizes& s : shapes()) {
    if (s.batch == 0 || s.length > 20) continue;
    for (const double strength : {1.0}) {
      SCOPED_TRACE("T=" + std::to_string(s.length));
      const Problem p = problem(s, DType::f64, strength);
      FiniteDifferences(p.graph, p.inputs).expect_gradients(1e-8);
    }
  }
}

TEST(GlaRecurrentStep, GradientsMatchFiniteDifferences) {
  GraphBuilder builder("step");
  std::vector<NamedArgument> arguments;
  std::vector<Tensor> inputs;
  for (const char* name : {"q", "k", "v", "g", "state"}) {
    const Shape shape = name[0] == 'v' ? Shape{2, 1, 3} : name[0] == 's' ? Shape{2, 1, 4, 3} : Shape{2, 1, 4};
    arguments.push_back({name, ValueArg{builder.input(name, DType::f64, shape)}});
    inputs.push_back(name[0] == 'g' ? gates(shape, 1, DType::f64) : drawn(name, shape));
  }
  for (const ValueId id : builder.node("assay::gla_recurrent_step.default", arguments)) builder.output(id);
  FiniteDifferences(builder.build(), inputs).expect_gradients(1e-8);
}

// A gate of -inf, or one beyond exp's range, empties the state and passes no gradient on.
TEST(GlaChunk, ClosedGatesResetTheState) {
  for (const double closed : {-HUGE_VAL, -1e4, -200.0}) {
    const Sizes s{1, 20, 1, 2, 2, {}, 32, true};
    for (const bool backward : {false, true}) {
      Problem p = problem(s, DType::f32, 1, backward);
      std::vector<double> g = p.inputs[backward ? 5 : 3].to_doubles();
      g[2 * 9] = g[2 * 9 + 1] = closed;
      p.inputs[backward ? 5 : 3] = Tensor::from_doubles(DType::f32, {1, 20, 1, 2}, g);
      Graph parts = p.graph;
      decompose(parts);
      const auto inputs = widened(p.inputs);
      const auto want = in_float128(p.graph, inputs), got = in_float128(parts, inputs);
      for (std::size_t o = 0; o < want.size(); ++o) {
        for (std::size_t i = 0; i < want[o].real.size(); ++i) {
          ASSERT_TRUE(std::isfinite(want[o].real[i]));
          EXPECT_NEAR(got[o].real[i], want[o].real[i], 1e-14 * (1 + std::fabs(want[o].real[i])));
        }
      }
    }
  }
}

// Worst error over Bound, and root mean square of error over standard error.
struct Judged {
  double margin = 0, rms = 0;
};
Judged judged(const Problem& p, const Graph& device, const Precision& precision) {
  const OpCall call(p.graph, p.graph.nodes.at(0));
  const auto inputs = widened(p.inputs);
  const auto bounded = reference::evaluate_bounded(call, pointers(inputs), precision);
  const auto chain = reference::local_chain(device, p.inputs);
  Judged worst;
  for (std::size_t o = 0; o < bounded.size(); ++o) {
    const auto got = chain.at(static_cast<std::size_t>(device.outputs.at(o).value)).to_doubles();
    double squares = 0;
    int64_t counted = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double error = std::fabs(got[i] - bounded[o].value.real[i]);
      EXPECT_TRUE(std::isfinite(bounded[o].bound[i]));
      if (error > 0) worst.margin = std::max(worst.margin, error / bounded[o].bound[i]);
      if (bounded[o].sigma[i] == 0) continue;
      squares = squares + (error / bounded[o].sigma[i]) * (error / bounded[o].sigma[i]);
      ++counted;
    }
    if (counted > 0) worst.rms = std::max(worst.rms, std::sqrt(squares / static_cast<double>(counted)));
  }
  return worst;
}

Precision f32_precision() {
  Precision precision;
  precision.products_exact = false;
  return precision;
}

// Each operator of the decomposition rounded once to f32: a correct chunked kernel.
TEST(GlaBound, ChunkedKernelsFit) {
  for (const double strength : {0.0625, 1.0, 10.0}) {
    for (const bool backward : {false, true}) {
      const Problem p = problem({1, 300, 1, 16, 16, {}, 128, true}, DType::f32, strength, backward);
      Graph parts = p.graph;
      decompose(parts);
      const Judged j = judged(p, parts, f32_precision());
      EXPECT_LE(j.margin, 1) << strength << backward;
      EXPECT_GE(j.margin, 1e-3) << strength << backward << ": a bound that sees nothing";
      EXPECT_LE(j.rms, 2) << strength << backward;
      EXPECT_GE(j.rms, 0.05) << strength << backward;
    }
  }
}

// Defects on the way: values of one kind of node are changed after the decomposition.
Graph with_bf16_after(const Graph& graph, const std::string& op) {
  Graph changed = graph;
  std::vector<Node> nodes;
  std::vector<ValueId> now(graph.values.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = static_cast<ValueId>(i);
  for (Node node : graph.nodes) {
    for (NamedArgument& argument : node.arguments) {
      if (auto* one = std::get_if<ValueArg>(&argument.value))
        one->id = now.at(static_cast<std::size_t>(one->id));
      if (auto* list = std::get_if<ValueListArg>(&argument.value)) {
        for (ValueId& id : list->ids) id = now.at(static_cast<std::size_t>(id));
      }
    }
    const bool hit = node.op == op;
    const ValueId out = node.outputs.at(0);
    nodes.push_back(node);
    if (!hit) continue;
    ValueId last = out;
    for (const DType dtype : {DType::bf16, DType::f32}) {
      Node cast;
      cast.name = node.name + std::string(name_of(dtype));
      cast.op = "aten::_to_copy.default";
      cast.arguments = {{"self", ValueArg{last}}, {"dtype", DTypeArg{dtype}}};
      Value value = changed.values.at(static_cast<std::size_t>(out));
      value.name = cast.name;
      value.dtype = dtype;
      last = static_cast<ValueId>(changed.values.size());
      changed.values.push_back(value);
      cast.outputs = {last};
      nodes.push_back(cast);
    }
    now.at(static_cast<std::size_t>(out)) = last;
  }
  changed.nodes = nodes;
  for (GraphOutput& output : changed.outputs) {
    output.value = now.at(static_cast<std::size_t>(output.value));
  }
  for (std::size_t n = 0; n < changed.nodes.size(); ++n) {
    for (const ValueId id : changed.nodes[n].outputs) {
      changed.values.at(static_cast<std::size_t>(id)).producer = static_cast<int32_t>(n);
    }
  }
  return changed;
}

TEST(GlaBound, NarrowRunningSumsAndProductsDoNotFit) {
  for (const double strength : {0.0625, 1.0}) {
    const Problem p = problem({1, 300, 1, 16, 16, {}, 128, true}, DType::f32, strength);
    Graph parts = p.graph;
    decompose(parts);
    for (const char* op : {"aten::cumsum.default", "aten::exp.default", "aten::bmm.default"}) {
      const Judged j = judged(p, with_bf16_after(parts, op), f32_precision());
      EXPECT_GT(j.margin, 1) << op;
      EXPECT_GT(j.rms, 2) << op;
    }
  }
}

std::string refusal(const std::string& op, std::vector<TensorMeta> inputs, std::vector<std::string> names,
                    std::vector<NamedArgument> others) {
  std::vector<NamedArgument> arguments = std::move(others);
  for (std::size_t i = 0; i < names.size(); ++i) {
    arguments.push_back({names[i], ValueArg{static_cast<ValueId>(i)}});
  }
  try {
    infer(OpCall(op, std::move(inputs), arguments));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(GlaShapes, RefuseWhatDoesNotFit) {
  const TensorMeta keys{DType::f32, {1, 16, 2, 4}}, values{DType::f32, {1, 16, 2, 6}};
  const std::vector<std::string> names{"q", "k", "v", "g"};
  const auto chunk = [&](std::vector<TensorMeta> inputs, std::vector<NamedArgument> others) {
    return refusal("assay::gla_chunk.default", std::move(inputs), names, std::move(others));
  };
  const auto offsets = [](std::vector<int64_t> list) {
    return NamedArgument{"cu_seqlens", IntListArg{std::move(list), {}}};
  };
  EXPECT_THAT(chunk({keys, keys, values, keys}, {{"chunk_size", int64_t{0}}}), HasSubstr("chunk_size is 0"));
  EXPECT_THAT(chunk({keys, keys, values, keys}, {offsets({0, 12, 8, 16})}),
              HasSubstr("goes back from 12 to 8"));
  EXPECT_THAT(chunk({keys, keys, values, keys}, {offsets({1, 16})}), HasSubstr("must start at 0"));
  EXPECT_THAT(chunk({keys, keys, values, keys}, {offsets({0, 17})}), HasSubstr("only 16 rows"));
  EXPECT_THAT(chunk({keys, keys, values, keys}, {offsets({0})}), HasSubstr("one more than there are"));
  EXPECT_THAT(chunk({keys, keys, values, keys}, {{"scale", HUGE_VAL}}), HasSubstr("must be finite"));
  EXPECT_THAT(chunk({keys, {DType::f32, {1, 16, 1, 4}}, values, keys}, {}),
              HasSubstr("k has shape [1, 16, 1, 4]"));
  EXPECT_THAT(chunk({keys, keys, {DType::f32, {1, 16, 3, 6}}, keys}, {}), HasSubstr("v has shape"));
  EXPECT_THAT(chunk({keys, keys, values, {DType::bf16, keys.shape}}, {}), HasSubstr("g has dtype bf16"));
  EXPECT_EQ(chunk({keys, keys, values, keys}, {offsets({0, 0, 9, 16, 16})}), "accepted");
}

}  // namespace
}  // namespace assay::models
