#include "suites/layers/bench_layers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "suites/graph_case.h"

namespace assay::suites {
namespace {

struct LayerSize {
  DType dtype;
  bool small;
  int64_t width(int64_t full) const { return small ? full / 16 : full; }
  int64_t tokens() const { return small ? 32 : 512; }
  int64_t rows() const { return small ? 4 : 16; }  // of an image
};

// One layer being written: its case, and what layers are made of.
class LayerCase {
  GraphCase case_;

 public:
  LayerCase(const std::string& name, const LayerSize& size)
      : case_("bench/layers/" + std::string(name_of(size.dtype)) + "/" + name, "layer"),
        size(size),
        e(case_.emit()) {}

  const LayerSize size;
  models::Emitter& e;

  ValueId input(const std::string& name, const Shape& shape, double scale = 1) {
    return case_.draw(name, size.dtype, shape, 0, scale);
  }
  // Weights [in, out] that keep the size of activations.
  ValueId weight(const std::string& name, const Shape& shape, int64_t in) {
    return input(name, shape, std::sqrt(3.0 / static_cast<double>(in)));
  }
  // x [tokens, in] W^T + b as PyTorch stores W, [out, in].
  ValueId linear(const std::string& name, ValueId x, int64_t in, int64_t out) {
    const ValueId turned = e.permute(weight(name + ".weight", {out, in}, in), {1, 0});
    return e.call("aten::addmm.default", {{"self", ValueArg{input(name + ".bias", {out})}},
                                          {"mat1", ValueArg{x}},
                                          {"mat2", ValueArg{turned}}});
  }
  ValueId layer_norm(ValueId x, int64_t width) {
    return e
        .call_all("aten::native_layer_norm.default", {{"input", ValueArg{x}},
                                                      {"normalized_shape", IntListArg{{width}, {}}},
                                                      {"weight", ValueArg{input("norm.weight", {width})}},
                                                      {"bias", ValueArg{input("norm.bias", {width})}},
                                                      {"eps", 1e-5}})
        .front();
  }
  ValueId gelu(ValueId x) { return e.call("aten::gelu.default", {{"self", ValueArg{x}}}); }
  ValueId softmax(ValueId x) {
    return e.call("aten::_softmax.default",
                  {{"self", ValueArg{x}}, {"dim", int64_t{-1}}, {"half_to_float", false}});
  }
  ValueId convolution(const std::string& name, ValueId x, const Shape& weight_shape, int64_t padding,
                      int64_t groups) {
    const int64_t in = weight_shape[1] * weight_shape[2] * weight_shape[3];
    const auto both = [](int64_t n) { return IntListArg{{n, n}, {}}; };
    return e.call("aten::convolution.default", {{"input", ValueArg{x}},
                                                {"weight", ValueArg{weight(name, weight_shape, in)}},
                                                {"bias", ValueArg{input(name + ".bias", {weight_shape[0]})}},
                                                {"stride", both(1)},
                                                {"padding", both(padding)},
                                                {"dilation", both(1)},
                                                {"transposed", false},
                                                {"output_padding", both(0)},
                                                {"groups", groups}});
  }
  Case finish(ValueId result) {
    case_.output(result);
    return case_.build();
  }
};

// [tokens, width] as [heads, tokens, depth].
ValueId by_head(LayerCase& l, ValueId x, int64_t heads, int64_t depth) {
  return l.e.permute(l.e.view(x, {l.size.tokens(), heads, depth}), {1, 0, 2});
}
ValueId by_token(LayerCase& l, ValueId x, int64_t width) {
  const ValueId turned = l.e.permute(x, {1, 0, 2});
  return l.e.view(l.e.call("aten::clone.default", {{"self", ValueArg{turned}}}), {l.size.tokens(), width});
}

// Projections, scores, softmax and values one by one; residual and normalisation behind.
Case written_attention(const LayerSize& size) {
  LayerCase l("attention-768", size);
  const int64_t width = size.width(768), heads = size.small ? 3 : 12, depth = width / heads;
  const ValueId x = l.input("x", {size.tokens(), width});
  const ValueId q = by_head(l, l.linear("q", x, width, width), heads, depth);
  const ValueId k = by_head(l, l.linear("k", x, width, width), heads, depth);
  const ValueId v = by_head(l, l.linear("v", x, width, width), heads, depth);
  const ValueId scores = l.e.mul_number(l.e.bmm(q, l.e.permute(k, {0, 2, 1})), 1 / std::sqrt(depth));
  const ValueId mixed = by_token(l, l.e.bmm(l.softmax(scores), v), width);
  return l.finish(l.layer_norm(l.e.add(l.linear("out", mixed, width, width), x), width));
}

Case fused_attention(const LayerSize& size) {
  LayerCase l("attention-2048", size);
  const int64_t width = size.width(2048), heads = size.small ? 4 : 32, depth = width / heads;
  const ValueId x = l.input("x", {size.tokens(), width});
  const auto head = [&](const char* name) {
    return l.e.unsqueeze(by_head(l, l.linear(name, x, width, width), heads, depth), 0);
  };
  const ValueId q = head("q"), k = head("k"), v = head("v");
  const ValueId mixed =
      l.e.call("aten::scaled_dot_product_attention.default",
               {{"query", ValueArg{q}}, {"key", ValueArg{k}}, {"value", ValueArg{v}}, {"is_causal", true}});
  const ValueId tokens = by_token(l, l.e.view(mixed, {heads, size.tokens(), depth}), width);
  return l.finish(l.linear("out", tokens, width, width));
}

Case gelu_mlp(const LayerSize& size) {
  LayerCase l("mlp-1024", size);
  const int64_t width = size.width(1024);
  const ValueId x = l.input("x", {size.tokens(), width});
  const ValueId inner = l.gelu(l.linear("up", x, width, 4 * width));
  return l.finish(l.layer_norm(l.e.add(l.linear("down", inner, 4 * width, width), x), width));
}

Case gated_mlp(const LayerSize& size) {
  LayerCase l("gated-mlp-4096", size);
  const int64_t width = size.width(4096);
  const ValueId x = l.input("x", {size.tokens(), width});
  const ValueId gate = l.e.unary("silu", l.linear("gate", x, width, width));
  return l.finish(l.linear("down", l.e.mul(gate, l.linear("up", x, width, width)), width, width));
}

Case convolution(const LayerSize& size) {
  LayerCase l("convolution-1024", size);
  const int64_t width = size.width(1024);
  const ValueId x = l.input("x", {1, width, size.rows(), size.tokens() / size.rows()});
  return l.finish(l.e.unary("relu", l.convolution("weight", x, {width, width, 3, 3}, 1, 1)));
}

// ConvNeXt's block: a depthwise convolution, normalisation and an MLP over channels.
Case depthwise(const LayerSize& size) {
  LayerCase l("depthwise-768", size);
  const int64_t width = size.width(768), columns = size.tokens() / size.rows();
  const ValueId x = l.input("x", {1, width, size.rows(), columns});
  const ValueId mixed = l.convolution("weight", x, {width, 1, 7, 7}, 3, width);
  const ValueId last =
      l.e.call("aten::clone.default", {{"self", ValueArg{l.e.permute(mixed, {0, 2, 3, 1})}}});
  const ValueId tokens = l.layer_norm(l.e.view(last, {size.tokens(), width}), width);
  const ValueId inner = l.gelu(l.linear("up", tokens, width, 4 * width));
  return l.finish(l.linear("down", inner, 4 * width, width));
}

// Two of eight experts a token; every expert sees all tokens, as exported graphs have it, and the weights of
// those that were not chosen are 0.
Case experts(const LayerSize& size) {
  LayerCase l("experts-1024", size);
  const int64_t width = size.width(1024), inner = 2 * width, count = 8, tokens = size.tokens();
  const ValueId x = l.input("x", {tokens, width});
  const ValueId shares = l.softmax(l.linear("router", x, width, count));
  const std::vector<ValueId> top =
      l.e.call_all("aten::topk.default", {{"self", ValueArg{shares}}, {"k", int64_t{2}}});
  const ValueId chosen = l.e.call("aten::scatter.src", {{"self", ValueArg{l.e.mul_number(shares, 0)}},
                                                        {"dim", int64_t{1}},
                                                        {"index", ValueArg{top[1]}},
                                                        {"src", ValueArg{top[0]}}});
  const ValueId all = l.e.expand(l.e.unsqueeze(x, 0), {count, tokens, width});
  const ValueId hidden = l.e.unary("silu", l.e.bmm(all, l.weight("up", {count, width, inner}, width)));
  const ValueId results = l.e.bmm(hidden, l.weight("down", {count, inner, width}, inner));
  const ValueId share = l.e.unsqueeze(l.e.permute(chosen, {1, 0}), 2);
  return l.finish(l.e.sum(l.e.mul(results, share), {0}));
}

Case linear_attention(const LayerSize& size) {
  LayerCase l("gla-2048", size);
  const int64_t width = size.width(2048), heads = size.small ? 2 : 8, tokens = size.tokens();
  const ValueId x = l.input("x", {tokens, width});
  const auto head = [&](const char* name, int64_t out) {
    return l.e.view(l.linear(name, x, width, out), {1, tokens, heads, out / heads});
  };
  const ValueId q = head("q", width / 2), k = head("k", width / 2), v = head("v", width);
  // log(sigmoid(gate)) / 16
  const ValueId open = l.e.unary("sigmoid", l.e.cast(head("gate", width / 2), DType::f32));
  const ValueId gate = l.e.mul_number(l.e.unary("log", open), 1.0 / 16);
  const ValueId mixed =
      l.e.call_all("assay::gla_chunk.default",
                   {{"q", ValueArg{q}}, {"k", ValueArg{k}}, {"v", ValueArg{v}}, {"g", ValueArg{gate}}})
          .front();
  return l.finish(l.linear("out", l.e.view(mixed, {tokens, width}), width, width));
}

}  // namespace

std::vector<BenchCase> bench_layer_cases() {
  std::vector<BenchCase> cases;
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const auto& layer : {written_attention, fused_attention, gelu_mlp, gated_mlp, convolution, depthwise,
                              experts, linear_attention}) {
      cases.push_back({layer({dtype, false}), layer({dtype, true})});
    }
  }
  return cases;
}

}  // namespace assay::suites
