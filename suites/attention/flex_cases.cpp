// FlexAttention: score functions x mask functions x dtypes x shapes. The higher-order operator is evaluated
// through its decomposition, node by node, on every backend alike.
#include <memory>

#include "core/decompose/decompose.h"
#include "core/graph/builder.h"
#include "suites/attention/attention_case.h"
#include "suites/attention/flex_functions.h"

namespace assay::suites {
namespace {

struct FlexSpec {
  std::string id;  // after "attention/flex/"
  DType dtype = DType::f32;
  Shape query, key, value;
  std::string score = "identity", mask;  // names; no mask function: ""
  std::vector<int64_t> block{128, 128};
  bool statistics = false;  // logsumexp and largest score are outputs too
};

Case flex_case(const FlexSpec& spec) {
  Case c;
  c.id = "attention/flex/" + spec.id;
  c.suite = "attention";
  c.subject = "higher_order::flex_attention.default";
  GraphBuilder builder(c.id);
  const auto input = [&](const std::string& name, const TensorRecipe& recipe) {
    c.inputs[name] = recipe;
    return builder.input(name, recipe.dtype, recipe.shape);
  };
  const ValueId query = input("query", {spec.dtype, spec.query, UniformDraw{0, 1.5}});
  const ValueId key = input("key", {spec.dtype, spec.key, UniformDraw{0, 1.5}});
  const ValueId value = input("value", {spec.dtype, spec.value, UniformDraw{0, 1}});
  const std::map<std::string, int64_t> sizes{
      {"B", spec.query[0]}, {"H", spec.query[1]}, {"M", spec.query[2]}, {"N", spec.key[2]}};
  const auto buffers = [&](const char* prefix, const FlexFunction& function) {
    ValueListArg list;
    for (std::size_t i = 0; i < function.buffers.size(); ++i) {
      list.ids.push_back(input(prefix + std::to_string(i), function.buffers[i].recipe(sizes)));
    }
    return list;
  };
  const FlexFunction& score = score_function(spec.score);
  std::vector<NamedArgument> arguments{{"query", ValueArg{query}},
                                       {"key", ValueArg{key}},
                                       {"value", ValueArg{value}},
                                       {"score_mod", GraphArg{"score_mod", score.graph}}};
  ValueListArg of_mask;
  if (!spec.mask.empty()) {
    arguments.push_back({"mask_mod", GraphArg{"mask_mod", mask_function(spec.mask).graph}});
    of_mask = buffers("mask_buffer", mask_function(spec.mask));
  }
  arguments.push_back({"block_size", IntListArg{spec.block, {}}});
  arguments.push_back({"score_mod_other_buffers", buffers("score_buffer", score)});
  arguments.push_back({"mask_mod_other_buffers", of_mask});
  const std::vector<ValueId> results =
      builder.node("higher_order::flex_attention.default", std::move(arguments));
  for (std::size_t i = 0; i < (spec.statistics ? results.size() : 1); ++i) builder.output(results[i]);
  Graph graph = builder.build();
  if (!spec.statistics) graph.nodes[0].outputs = {results[0], -1, -1};
  decompose(graph);
  validate(graph);
  c.graph = std::make_shared<const Graph>(std::move(graph));
  return c;
}

// Shapes as [B, H, L, E], with the lengths and heads of keys apart.
FlexSpec shaped(const std::string& id, DType dtype, Shape query, int64_t kv_heads, int64_t keys,
                int64_t width = -1) {
  FlexSpec spec;
  spec.id = id + "/" + dtype_tag(dtype);
  spec.dtype = dtype;
  spec.key = spec.value = {query[0], kv_heads, keys, query[3]};
  if (width >= 0) spec.value[3] = width;
  spec.query = std::move(query);
  return spec;
}

const char* const kBuiltIn[] = {"identity",       "times_two", "squared",    "causal",
                                "inverse_causal", "rel_bias",  "rel_causal", "alibi"};

// test_builtin_score_mods_different_block_size of PyTorch: 8 score functions, 3 dtypes, 4 block sizes.
void block_sizes(const CaseSink& sink) {
  const std::vector<int64_t> blocks[] = {{128, 128}, {256, 256}, {128, 256}, {256, 128}};
  for (const char* score : kBuiltIn) {
    for (const DType dtype : compute_floats()) {
      for (const std::vector<int64_t>& block : blocks) {
        FlexSpec spec = shaped("block-size/" + std::string(score) + "/" + std::to_string(block[0]) + "x" +
                                   std::to_string(block[1]),
                               dtype, {1, 2, 256, 64}, 2, 256);
        spec.score = score;
        spec.mask = "noop";
        spec.block = block;
        sink(flex_case(spec));
      }
    }
  }
}

void score_functions_by_shape(const CaseSink& sink) {
  for (const FlexFunction& function : score_functions()) {
    for (const DType dtype : compute_floats()) {
      FlexSpec spec = shaped("score/" + function.name, dtype, {2, 4, 24, 8}, 4, 24);
      spec.score = function.name;
      spec.statistics = dtype == DType::f32;
      sink(flex_case(spec));
    }
    FlexSpec lengths = shaped("lengths/" + function.name, DType::f32, {2, 2, 9, 8}, 2, 17);
    lengths.score = function.name;
    sink(flex_case(lengths));
    FlexSpec grouped = shaped("groups/" + function.name, DType::bf16, {2, 4, 10, 8}, 2, 12);
    grouped.score = function.name;
    sink(flex_case(grouped));
  }
}

void mask_functions_by_score(const CaseSink& sink) {
  for (const FlexFunction& function : mask_functions()) {
    for (const DType dtype : compute_floats()) {
      for (const char* score : {"identity", "rel_bias", "head_offset"}) {
        FlexSpec spec = shaped("mask/" + function.name + "/" + score, dtype, {2, 4, 20, 8}, 2, 30);
        spec.score = score;
        spec.mask = function.name;
        spec.statistics = true;
        sink(flex_case(spec));
      }
    }
  }
}

void head_sizes_and_batches(const CaseSink& sink) {
  for (const char* score : kBuiltIn) {
    for (const auto& [depth, width] :
         std::initializer_list<std::pair<int64_t, int64_t>>{{64, 128}, {128, 64}}) {
      FlexSpec spec =
          shaped("head-sizes/" + std::to_string(depth) + "-" + std::to_string(width) + "/" + score,
                 DType::f32, {1, 2, 40, depth}, 2, 50, width);
      spec.score = score;
      sink(flex_case(spec));
    }
    for (const int64_t batch : {3, 4, 5}) {
      for (const int64_t heads : {4, 2}) {
        FlexSpec spec =
            shaped("kv-batch/" + std::to_string(batch) + "-" + std::to_string(heads) + "/" + score,
                   DType::f32, {batch, 4, 12, 8}, heads == 4 ? 2 : 1, 20);
        spec.key[0] = spec.value[0] = 1;
        spec.score = score;
        spec.mask = "causal";
        sink(flex_case(spec));
      }
    }
  }
  FlexSpec tiles = shaped("tiles/causal-and-window", DType::bf16, {1, 1, 513, 16}, 1, 129);
  tiles.mask = "causal_and_window";
  sink(flex_case(tiles));
}

}  // namespace

void make_flex_cases(const CaseSink& sink) {
  block_sizes(sink);
  score_functions_by_shape(sink);
  mask_functions_by_score(sink);
  head_sizes_and_batches(sink);
}

}  // namespace assay::suites
