// Reports of wrong attention in other people's software, each by its source. The right answers were worked
// out by hand; their authorities are in the table.
#include <cmath>
#include <limits>
#include <memory>

#include "core/decompose/decompose.h"
#include "core/graph/builder.h"
#include "suites/attention/attention_case.h"

namespace assay::suites {
namespace {

constexpr const char* kPlain = "aten::scaled_dot_product_attention.default";
constexpr const char* kAlignedAttention = "assay::scaled_dot_product_attention.default";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The output is expected to be `expected`, exactly: small integers weighed by equal or single weights.
void expect(const CaseSink& sink, const OpCase& made, const std::string& id, DType dtype, const Shape& shape,
            const std::vector<double>& expected) {
  Case c = in_attention(made.build(), "regression/" + id);
  c.expected_source = "expected_file";
  c.load_expected = [=] {
    return std::map<std::string, Tensor>{{"0", Tensor::from_doubles(dtype, shape, expected)}};
  };
  sink(std::move(c));
}

// Every key masked for every query: a row of zeros (PyTorch since _safe_softmax, pull request 133882). Never
// NaN.
void fully_masked(const CaseSink& sink) {
  struct Report {
    const char* id;
    DType dtype;
    MaskKind kind;  // how it says "masked": bool, -infinity
    Shape query;
  };
  const Report reports[] = {
      {"pytorch-103749", DType::f32, MaskKind::boolean, {1, 1, 2, 4}},
      {"pytorch-103963", DType::f32, MaskKind::additive, {2, 2, 2, 8}},
      {"pytorch-109517", DType::bf16, MaskKind::boolean, {1, 2, 2, 16}},
      {"mlx-2395", DType::f16, MaskKind::additive, {1, 1, 2, 64}},
      {"mlx-2608", DType::f16, MaskKind::boolean, {1, 4, 2, 128}},
  };
  for (const Report& r : reports) {
    const bool is_bool = r.kind == MaskKind::boolean;
    OpCase made(kPlain, r.id);
    for (const char* name : {"query", "key", "value"}) made.tensor(name, uniform(r.dtype, r.query));
    made.tensor("attn_mask", values(is_bool ? DType::boolean : r.dtype, {2, 2},
                                    std::vector<double>(4, is_bool ? 0.0 : -kInfinity)));
    const auto count = static_cast<std::size_t>(element_count(r.query));
    expect(sink, made, std::string(r.id) + "/fully-masked", r.dtype, r.query, std::vector<double>(count, 0));
  }
}

// Two queries, three keys, equal scores, values 0, 1, 2. Top left (PyTorch's documentation of is_causal,
// JAX): 0, 0.5. Bottom right (FlashAttention's documentation since 2.1; decoding with a cache): 0.5, 1.
void causal_alignment(const CaseSink& sink) {
  struct Report {
    const char* id;
    const char* op;
    const char* causal;
    DType dtype;
  };
  const Report reports[] = {
      {"pytorch-103082", kPlain, "top_left", DType::f32},
      {"pytorch-108108", kAlignedAttention, "bottom_right", DType::f32},
      {"pytorch-115111", kAlignedAttention, "top_left", DType::bf16},
      {"mlx-2835", kAlignedAttention, "bottom_right", DType::f16},
      {"mlx-2967", kAlignedAttention, "bottom_right", DType::bf16},
      {"executorch-22426", kPlain, "top_left", DType::f16},
      {"flash-attention-1778", kAlignedAttention, "top_left", DType::f32},
  };
  for (const Report& r : reports) {
    OpCase made(r.op, r.id);
    made.tensor("query", values(r.dtype, {1, 1, 2, 2}, {0, 0, 0, 0}))
        .tensor("key", uniform(r.dtype, {1, 1, 3, 2}))
        .tensor("value", values(r.dtype, {1, 1, 3, 1}, {0, 1, 2}));
    const bool top = std::string(r.causal) == "top_left";
    if (r.op == kPlain) {
      made.arg("is_causal", true);
    } else {
      made.arg("causal", std::string(r.causal));
    }
    expect(sink, made, std::string(r.id) + "/causal-" + r.causal, r.dtype, {1, 1, 2, 1},
           top ? std::vector<double>{0, 0.5} : std::vector<double>{0.5, 1});
  }
  // A query that stands before all keys sees none under bottom-right alignment: zeros.
  OpCase early(kAlignedAttention, "early");
  early.tensor("query", uniform(DType::f32, {1, 1, 3, 2}))
      .tensor("key", uniform(DType::f32, {1, 1, 1, 2}))
      .tensor("value", values(DType::f32, {1, 1, 1, 1}, {7}))
      .arg("causal", std::string("bottom_right"));
  expect(sink, early, "flash-attention-1778/more-queries-than-keys", DType::f32, {1, 1, 3, 1}, {0, 0, 7});
}

// Heads of queries share heads of keys in blocks of neighbours (PyTorch's documentation of enable_gqa).
void grouped_heads(const CaseSink& sink) {
  struct Report {
    const char* id;
    DType dtype;
    int64_t heads, kv;
    std::vector<double> expected;
  };
  const Report reports[] = {
      {"hipkittens-22", DType::bf16, 4, 2, {0, 0, 1, 1}},
      {"jax-js-180", DType::f32, 4, 2, {0, 0, 1, 1}},
      {"fla-1029", DType::f16, 6, 2, {0, 0, 0, 1, 1, 1}},
      {"onnxim-34", DType::f32, 6, 3, {0, 0, 1, 1, 2, 2}},
  };
  for (const Report& r : reports) {
    std::vector<double> heads;
    for (int64_t h = 0; h < r.kv; ++h) heads.push_back(static_cast<double>(h));
    OpCase made(kPlain, r.id);
    made.tensor("query", uniform(r.dtype, {1, r.heads, 1, 4}))
        .tensor("key", uniform(r.dtype, {1, r.kv, 1, 4}))
        .tensor("value", values(r.dtype, {1, r.kv, 1, 1}, heads))
        .arg("enable_gqa", true);
    expect(sink, made, std::string(r.id) + "/head-map", r.dtype, {1, r.heads, 1, 1}, r.expected);
  }
}

// Heads that cannot be shared evenly are refused.
void uneven_heads(const CaseSink& sink) {
  OpCase made(kPlain, "hipkittens-22");
  made.tensor("query", uniform(DType::f32, {1, 3, 1, 4}))
      .tensor("key", uniform(DType::f32, {1, 2, 1, 4}))
      .tensor("value", uniform(DType::f32, {1, 2, 1, 4}))
      .arg("enable_gqa", true)
      .negative("heads");
  sink(in_attention(made.build(), "regression/hipkittens-22/three-heads-two-keys"));
}

// PyTorch's Core decomposition of this operator returns the weights where the kernel returns the logarithm of
// the sum, from which the backward pass starts: losses stay right, gradients do not.
void lost_gradients(const CaseSink& sink) {
  for (const DType dtype : compute_floats()) {
    SdpaSpec spec;
    spec.op = "aten::_scaled_dot_product_flash_attention_for_cpu.default";
    spec.dtype = dtype;
    spec.query = {2, 2, 6, 8};
    spec.key = spec.value = {2, 2, 9, 8};
    sink(in_attention(sdpa_call(spec).build(),
                      "regression/pytorch-core-decomposition/logsumexp-" + dtype_tag(dtype)));
  }
}

// The backward pass, which starts from the forward kernel's own logsumexp.
void gradients(const CaseSink& sink) {
  constexpr const char* kFlash = "aten::_scaled_dot_product_flash_attention_for_cpu.default";
  for (const DType dtype : compute_floats()) {
    for (const bool causal : {false, true}) {
      Case c;
      c.id = "attention/regression/pytorch-core-decomposition/gradients-" + dtype_tag(dtype) +
             (causal ? "-causal" : "");
      c.suite = "attention";
      c.subject = "aten::_scaled_dot_product_flash_attention_for_cpu_backward.default";
      GraphBuilder builder(c.id);
      std::vector<NamedArgument> tensors;
      const auto input = [&](const char* name, const Shape& shape) {
        c.inputs[name] = TensorRecipe{dtype, shape, UniformDraw{0, 1}};
        return NamedArgument{name, ValueArg{builder.input(name, dtype, shape)}};
      };
      const Shape queries{2, 2, 6, 8}, keys{2, 2, 9, 8};
      tensors = {input("query", queries), input("key", keys), input("value", keys)};
      tensors.push_back({"dropout_p", 0.0});
      tensors.push_back({"is_causal", causal});
      const std::vector<ValueId> forward = builder.node(kFlash, tensors);
      tensors.push_back(input("grad_out", queries));
      tensors.push_back({"out", ValueArg{forward[0]}});
      tensors.push_back({"logsumexp", ValueArg{forward[1]}});
      for (const ValueId id : builder.node(c.subject, tensors)) builder.output(id);
      Graph graph = builder.build();
      decompose(graph, [&](const std::string& op) { return op == kFlash; });
      validate(graph);
      c.graph = std::make_shared<const Graph>(std::move(graph));
      sink(std::move(c));
    }
  }
}

}  // namespace

void make_regression_cases(const CaseSink& sink) {
  fully_masked(sink);
  causal_alignment(sink);
  grouped_heads(sink);
  uneven_heads(sink);
  lost_gradients(sink);
  gradients(sink);
}

}  // namespace assay::suites
