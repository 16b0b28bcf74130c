// Calls that must be refused, by every backend with the same sentence.
#include "suites/attention/attention_case.h"

namespace assay::suites {
namespace {

struct Refused {
  const char* name;
  Shape query, key, value;
  std::vector<NamedArgument> arguments;
  const char* mention;
  std::optional<TensorSpec> mask = std::nullopt;
  DType key_dtype = DType::f32, value_dtype = DType::f32;
};

std::vector<Refused> refused() {
  const NamedArgument grouped{"enable_gqa", true};
  const Shape q{1, 4, 3, 8}, k{1, 4, 5, 8};
  return {
      {"groups-that-do-not-divide", {1, 3, 2, 4}, {1, 2, 2, 4}, {1, 2, 2, 4}, {grouped}, "heads"},
      {"more-key-heads-than-query-heads", {1, 2, 2, 4}, {1, 4, 2, 4}, {1, 4, 2, 4}, {grouped}, "heads"},
      {"groups-not-enabled", {1, 4, 2, 4}, {1, 2, 2, 4}, {1, 2, 2, 4}, {}, "size"},
      {"head-size", q, {1, 4, 5, 6}, {1, 4, 5, 8}, {}, "size"},
      {"value-length", q, k, {1, 4, 6, 8}, {}, "size"},
      {"batch", {2, 4, 3, 8}, {3, 4, 5, 8}, {3, 4, 5, 8}, {}, "size"},
      {"one-dim", {8}, {8}, {8}, {}, "2 dim"},
      {"mask-shape", q, k, k, {}, "size", integers(DType::boolean, {3, 4}, 0, 2)},
      {"mask-with-more-heads", q, k, k, {}, "size", integers(DType::boolean, {1, 8, 3, 5}, 0, 2)},
      {"mask-dtype", q, k, k, {}, "dtype", integers(DType::i64, {3, 5}, 0, 2)},
      {"mask-and-causal",
       q,
       k,
       k,
       {{"is_causal", true}},
       "is_causal",
       integers(DType::boolean, {3, 5}, 0, 2)},
      {"key-dtype", q, k, k, {}, "dtype", std::nullopt, DType::bf16, DType::f32},
      {"value-dtype", q, k, k, {}, "dtype", std::nullopt, DType::f32, DType::f16},
      {"dropout-range", q, k, k, {{"dropout_p", 1.5}}, "dropout"},
  };
}

}  // namespace

void make_refused_cases(const CaseSink& sink) {
  for (const Refused& r : refused()) {
    OpCase made("aten::scaled_dot_product_attention.default", r.name);
    made.tensor("query", uniform(DType::f32, r.query))
        .tensor("key", uniform(r.key_dtype, r.key))
        .tensor("value", uniform(r.value_dtype, r.value));
    if (r.mask) made.tensor("attn_mask", *r.mask);
    for (const NamedArgument& argument : r.arguments) made.arg(argument.name, argument.value);
    sink(in_attention(made.negative(r.mention).build(), std::string("sdpa/bad/") + r.name));
  }
  OpCase integers_only("aten::scaled_dot_product_attention.default", "integers");
  for (const char* name : {"query", "key", "value"})
    integers_only.tensor(name, integers(DType::i64, {2, 3}, 0, 4));
  sink(in_attention(integers_only.negative("dtype").build(), "sdpa/bad/integers"));
  OpCase aligned("assay::scaled_dot_product_attention.default", "causal-word");
  for (const char* name : {"query", "key", "value"}) aligned.tensor(name, uniform(DType::f32, {2, 3}));
  aligned.arg("causal", std::string("lower_right"));
  sink(in_attention(aligned.negative("causal").build(), "aligned/bad/causal-word"));
}

}  // namespace assay::suites
