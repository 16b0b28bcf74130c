// What must be refused, by every backend, with a sentence that says why.
#include <cmath>

#include "suites/gla/gla_case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {
namespace {

struct Bad {
  const char* name;
  const char* mention;
  Shape q{1, 16, 2, 4}, k{1, 16, 2, 4}, v{1, 16, 2, 6}, g{1, 16, 2, 4};
  std::optional<Shape> state = {};
  std::vector<NamedArgument> arguments = {};
  DType gate = DType::f32, state_dtype = DType::f32;
};

NamedArgument offsets(std::vector<int64_t> list) { return {"cu_seqlens", IntListArg{std::move(list), {}}}; }

Case case_of(const Bad& bad) {
  GraphCase c(std::string("gla/bad-input/") + bad.name, "assay::gla_chunk.default");
  std::vector<NamedArgument> arguments{{"q", ValueArg{c.draw("q", DType::f32, bad.q)}},
                                       {"k", ValueArg{c.draw("k", DType::f32, bad.k)}},
                                       {"v", ValueArg{c.draw("v", DType::f32, bad.v)}},
                                       {"g", ValueArg{c.draw("g", bad.gate, bad.g, -1, 1)}}};
  if (bad.state) {
    arguments.push_back({"initial_state", ValueArg{c.draw("initial_state", bad.state_dtype, *bad.state)}});
  }
  arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
  for (const ValueId id : c.builder().declared_node("assay::gla_chunk.default", arguments,
                                                    {{DType::f32, bad.v}, {DType::f32, {1, 2, 4, 6}}})) {
    c.output(id);
  }
  return c.refused(bad.mention);
}

std::vector<Bad> bad_calls() {
  std::vector<Bad> all;
  const auto with = [&](const char* name, const char* mention, NamedArgument argument) {
    Bad bad{name, mention};
    bad.arguments = {std::move(argument)};
    all.push_back(std::move(bad));
  };
  with("chunk-0", "chunk_size is 0", {"chunk_size", int64_t{0}});
  with("chunk-negative", "chunk_size is -128", {"chunk_size", int64_t{-128}});
  with("offsets-go-back", "goes back from 12 to 8", offsets({0, 12, 8, 16}));
  with("offsets-start-late", "must start at 0", offsets({2, 16}));
  with("offsets-beyond-the-end", "has only 16 rows", offsets({0, 8, 17}));
  with("offsets-of-one-entry", "one more than there are sequences", offsets({0}));
  with("scale-infinite", "must be finite", {"scale", HUGE_VAL});
  Bad bad{"heads-differ", "k has shape"};
  bad.k = {1, 16, 3, 4};
  all.push_back(bad);
  bad = {"value-heads-differ", "v has shape"};
  bad.v = {1, 16, 1, 6};
  all.push_back(bad);
  bad = {"gate-shape", "g has shape"};
  bad.g = {1, 16, 2, 1};
  all.push_back(bad);
  bad = {"gate-dtype", "g has dtype"};
  bad.gate = DType::f16;
  all.push_back(bad);
  bad = {"rank-3", "q"};
  bad.q = bad.k = bad.g = {16, 2, 4};
  all.push_back(bad);
  bad = {"state-shape", "initial_state has shape"};
  bad.state = Shape{2, 2, 4, 6};
  all.push_back(bad);
  bad = {"state-in-bf16", "initial_state has dtype bf16"};
  bad.state = Shape{1, 2, 4, 6};
  bad.state_dtype = DType::bf16;
  all.push_back(bad);
  bad = {"packed-batch-of-2", "must be 1"};
  bad.q = bad.k = bad.g = {2, 16, 2, 4};
  bad.v = {2, 16, 2, 6};
  bad.arguments = {offsets({0, 16})};
  all.push_back(bad);
  bad = {"packed-states-missing", "initial_state has shape"};
  bad.state = Shape{1, 2, 4, 6};
  bad.arguments = {offsets({0, 8, 16})};
  all.push_back(bad);
  bad = {"head-size-0", "at least 1"};
  bad.q = bad.k = bad.g = {1, 16, 2, 0};
  all.push_back(bad);
  return all;
}

// A projection whose size the heads do not divide.
Case uneven_heads() {
  GraphCase c("gla/bad-input/heads-do-not-divide", "aten::view.default");
  const ValueId x = c.draw("x", DType::f32, {1, 16, 10});
  const std::vector<NamedArgument> arguments{{"self", ValueArg{x}}, {"size", IntListArg{{1, 16, 4, 2}, {}}}};
  for (const ValueId id :
       c.builder().declared_node("aten::view.default", arguments, {{DType::f32, {1, 16, 4, 2}}})) {
    c.output(id);
  }
  return c.refused("cannot be viewed");
}

// Only data shows it. By kernels, by their decomposition (chunks of 1024 rows), in rows of the second
// sequence.
Case nan_gate(const char* name, const std::string& op, int64_t chunk) {
  GraphCase c(std::string("gla/bad-input/nan-gate-") + name, op);
  const bool step = op.find("step") != std::string::npos, backward = op.find("backward") != std::string::npos;
  const Shape keys = step ? Shape{2, 2, 4} : Shape{1, 40, 2, 4},
              values = step ? Shape{2, 2, 6} : Shape{1, 40, 2, 6};
  std::vector<double> gates(static_cast<std::size_t>(element_count(keys)), -0.25);
  gates[gates.size() * 3 / 4] = std::nan("");
  std::vector<NamedArgument> arguments;
  std::vector<TensorMeta> results{{DType::f32, values}, {DType::f32, {2, 2, 4, 6}}};
  if (backward) {
    arguments.push_back({"grad_output", ValueArg{c.draw("grad_output", DType::f32, values)}});
    arguments.push_back({"grad_final_state", NoneArg{}});
    results = {{DType::f32, keys}, {DType::f32, keys}, {DType::f32, values}, {DType::f32, keys}, results[1]};
  }
  arguments.push_back({"q", ValueArg{c.draw("q", DType::f32, keys)}});
  arguments.push_back({"k", ValueArg{c.draw("k", DType::f32, keys)}});
  arguments.push_back({"v", ValueArg{c.draw("v", DType::f32, values)}});
  arguments.push_back({"g", ValueArg{c.fixed("g", Tensor::from_doubles(DType::f32, keys, gates))}});
  if (step) {
    arguments.push_back({"state", ValueArg{c.draw("state", DType::f32, {2, 2, 4, 6})}});
  } else {
    arguments.push_back(offsets({0, 24, 40}));
    arguments.push_back({"chunk_size", chunk});
  }
  for (const ValueId id : c.builder().declared_node(op, arguments, results)) c.output(id);
  return c.refused("NaN");
}

}  // namespace

void register_gla_bad_input(OpFamilies& table) {
  table.add([](const CaseSink& sink) {
    for (const Bad& bad : bad_calls()) sink(case_of(bad));
    sink(uneven_heads());
    sink(nan_gate("chunk", "assay::gla_chunk.default", 128));
    sink(nan_gate("chunk-1024", "assay::gla_chunk.default", 1024));
    sink(nan_gate("backward", "assay::gla_chunk_backward.default", 16));
    sink(nan_gate("step", "assay::gla_recurrent_step.default", 0));
  });
}

}  // namespace assay::suites
