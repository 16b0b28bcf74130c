#include "models/parallel/gla_parts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/error.h"
#include "core/opset/classify.h"
#include "models/differentiate/partition.h"
#include "models/testing/finite_differences_test.h"

namespace assay::models {
namespace {

using reference::Wide;
using Wides = std::map<std::string, Wide>;

GlaPart small_part(int64_t tp = 1) {
  GlaPart part;
  part.whole.hidden_size = 8;
  part.whole.num_heads = 2;
  part.whole.num_hidden_layers = 1;
  part.whole.vocab_size = 6;
  part.whole.intermediate_size = 12;
  part.whole.chunk_size = 4;
  part.tp = tp;
  part.graph.length = 5;
  part.graph.dtype = DType::f64;
  return part;
}

// Inputs that `given` lacks are drawn by name and remembered.
std::vector<Wide> run(const Graph& graph, Wides& given) {
  std::vector<Wide> inputs;
  for (const GraphInput& input : graph.inputs) {
    const Value& value = graph.values.at(static_cast<std::size_t>(input.value));
    const auto at = given.find(input.target);
    if (at == given.end()) {
      const Tensor tensor = is_float(value.dtype) ? drawn(input.target, value.shape)
                                                  : drawn(input.target, value.shape, 0, 0, value.dtype);
      given.emplace(input.target, Wide::from(tensor));
    }
    inputs.push_back(given.at(input.target));
  }
  return in_float128(graph, inputs);
}

TEST(Partition, HalvesGiveWhatTheJointGraphGives) {
  GlaPart stateful = small_part();
  stateful.graph.state = true;
  GlaPart head = small_part();
  head.graph.loss = true;
  for (const Graph& part :
       {gla_attention_part(small_part()), gla_attention_part(stateful), gla_mlp_part(small_part()),
        gla_embedding_part(small_part()), gla_head_part(head)}) {
    const Graph joint = gla_joint_part(part);
    const int outputs = static_cast<int>(part.outputs.size());
    const PartitionedGraph halves = partition(joint, outputs);
    Wides given;
    const std::vector<Wide> want = run(joint, given), there = run(halves.forward, given);
    const std::size_t saved = there.size() - part.outputs.size();
    for (std::size_t k = 0, seen = 0; k < halves.backward.inputs.size(); ++k) {
      const std::string& name = halves.backward.inputs[k].target;
      if (!name.starts_with("saved_")) continue;
      given[name] = there.at(part.outputs.size() + seen++);
      EXPECT_LE(seen, saved) << part.id;
    }
    const std::vector<Wide> back = run(halves.backward, given);
    ASSERT_EQ(part.outputs.size() + back.size(), want.size()) << part.id;
    for (std::size_t k = 0; k < want.size(); ++k) {
      const Wide& got = k < part.outputs.size() ? there[k] : back[k - part.outputs.size()];
      ASSERT_EQ(got.real.size(), want[k].real.size());
      for (std::size_t i = 0; i < got.real.size(); ++i) {  // saved values were rounded to fp64
        EXPECT_NEAR(got.real[i], want[k].real[i], 1e-13) << part.id << " output " << k;
      }
    }
    EXPECT_LT(halves.forward.nodes.size(), joint.nodes.size()) << part.id;
    EXPECT_GE(halves.forward.nodes.size() + halves.backward.nodes.size(), joint.nodes.size()) << part.id;
    for (std::size_t k = part.outputs.size(); k < halves.forward.outputs.size(); ++k) {
      const Value& value =
          halves.forward.values.at(static_cast<std::size_t>(halves.forward.outputs[k].value));
      EXPECT_FALSE(is_metadata_op(halves.forward.nodes.at(static_cast<std::size_t>(value.producer)).op))
          << part.id << ": a view is saved, " << value.name;
    }
  }
}

TEST(Partition, CountsSavedBytesOnce) {
  GraphBuilder builder("square");
  Emitter e(builder);
  const ValueId x = builder.input("x", DType::f32, {3});
  builder.output(e.mul(e.unary("exp", x), x));  // the backward pass reads x and exp(x)
  const PartitionedGraph halves = partition(joint_graph(builder.build()), 1);
  EXPECT_EQ(halves.saved_bytes, 2 * 3 * 4);
  EXPECT_THROW(partition(halves.forward, 9), Error);
}

TEST(Simplified, KeepsResultsAndLeavesOutWhatCancels) {
  GlaPart head = small_part();
  head.graph.loss = true;
  for (const Graph& part :
       {gla_attention_part(small_part()), gla_mlp_part(small_part()), gla_head_part(head)}) {
    JointOptions options;
    for (const GraphInput& input : part.inputs) {
      if (input.kind == InputKind::parameter || input.target == "x") options.wrt.push_back(input.target);
    }
    const Graph joint = joint_graph(part, options), less = partition(simplified(joint), 0).backward;
    Wides given;
    const std::vector<Wide> want = run(joint, given), got = run(less, given);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k].real, want[k].real) << part.id << " " << k;
    const auto count = [](const Graph& graph, const std::string& op) {
      return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; });
    };
    EXPECT_LT(count(less, "aten::permute.default"), count(joint, "aten::permute.default")) << part.id;
    EXPECT_LT(count(less, "aten::expand.default"), count(joint, "aten::expand.default")) << part.id;
    EXPECT_EQ(count(less, "aten::mm.default"), count(joint, "aten::mm.default")) << part.id;
  }
}

// Rows (dim 0) or columns (dim 1) [begin, end) of a matrix, or elements of a vector.
Wide cut(const Wide& x, int dim, int64_t begin, int64_t end) {
  const int64_t rows = x.meta.shape[0], columns = x.meta.shape.size() > 1 ? x.meta.shape[1] : 1;
  std::vector<double> values;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t at = dim == 0 ? r : c;
      if (at >= begin && at < end) values.push_back(x.real[static_cast<std::size_t>(r * columns + c)]);
    }
  }
  Shape shape = x.meta.shape;
  shape[static_cast<std::size_t>(dim)] = end - begin;
  return Wide::from(Tensor::from_doubles(DType::f64, shape, values));
}

// What ranks add up to is what one rank computes, each with its share of the weights.
TEST(GlaParts, PartialResultsOfRanksAddUpToTheWhole) {
  for (const bool attention : {true, false}) {
    const auto graph = [&](int64_t tp) {
      return attention ? gla_attention_part(small_part(tp)) : gla_mlp_part(small_part(tp));
    };
    Wides whole;
    const std::vector<Wide> want = run(graph(1), whole);
    std::vector<double> sum(want[1].real.size(), 0);
    for (int64_t rank = 0; rank < 2; ++rank) {
      Wides share;
      for (const auto& [name, value] : whole) {
        const bool by_rows =
            name.find("q_proj") != std::string::npos || name.find("k_proj.w") != std::string::npos ||
            name.find("v_proj") != std::string::npos || name.find("g_proj") != std::string::npos ||
            name.find("gk_proj.1") != std::string::npos || name.find("gate_proj") != std::string::npos ||
            name.find("up_proj") != std::string::npos;
        const bool by_columns =
            name.find("o_proj") != std::string::npos || name.find("down_proj") != std::string::npos;
        const int dim = by_columns ? 1 : 0;
        const int64_t half = value.meta.shape[static_cast<std::size_t>(dim)] / 2;
        share[name] = by_rows || by_columns ? cut(value, dim, rank * half, (rank + 1) * half) : value;
      }
      const std::vector<Wide> got = run(graph(2), share);
      EXPECT_EQ(got[0].real, want[0].real);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[1].real[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) {
      EXPECT_NEAR(sum[i], want[1].real[i], 1e-12) << (attention ? "attention" : "MLP");
    }
  }
}

TEST(GlaParts, StatesHaveTheConfiguredDtype) {
  GlaPart part = small_part();
  part.graph.dtype = DType::bf16;
  part.graph.length = 1;
  part.graph.state = true;
  part.whole.state_dtype = DType::bf16;
  const Graph graph = gla_attention_part(part);
  EXPECT_EQ(graph.values.at(static_cast<std::size_t>(graph.find_value("state"))).dtype, DType::bf16);
  EXPECT_EQ(graph.values.at(static_cast<std::size_t>(graph.outputs.back().value)).dtype, DType::bf16);
}

TEST(GlaParts, RefusesWhatRanksCannotShare) {
  EXPECT_THROW(rank_config(small_part().whole, 4), Error);
  EXPECT_THROW(rank_config(small_part().whole, 0), Error);
  EXPECT_EQ(rank_config(small_part().whole, 2).head_key(), small_part().whole.head_key());
}

}  // namespace
}  // namespace assay::models
