// Composite matrix products and convolutions.
#include <algorithm>

#include "core/decompose/decompose.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

using Ids = std::vector<ValueId>;

ValueId mm(Rewriter& w, ValueId a, ValueId b) {
  return w.emit("aten::mm.default", {{"self", ValueArg{a}}, {"mat2", ValueArg{b}}});
}

// input [..., K], weight [N, K] (or [K]), bias [N]: input @ weight^T + bias.
Ids linear(Rewriter& w, const OpCall& call) {
  const ValueId input = value_of(call, "input");
  const ValueId weight = value_of(call, "weight");
  const auto bias = value_of_opt(call, "bias");
  const Shape from = w.shape(input);
  if (w.shape(weight).size() != 2 || from.empty()) return {};
  const int64_t k = from.back();
  const int64_t rows =
      element_count(from) == 0 ? element_count(Shape(from.begin(), from.end() - 1)) : element_count(from) / k;
  const ValueId flat = from.size() == 2 ? input : w.view(input, {rows, k});
  const ValueId turned = w.permute(weight, {1, 0});
  const ValueId product =
      bias ? w.emit("aten::addmm.default",
                    {{"self", ValueArg{*bias}}, {"mat1", ValueArg{flat}}, {"mat2", ValueArg{turned}}})
           : mm(w, flat, turned);
  return {from.size() == 2 ? product : w.view(product, call.output(0).shape)};
}

// torch.matmul by ranks (PyTorch documentation).
Ids matmul(Rewriter& w, const OpCall& call) {
  ValueId a = value_of(call, "self");
  ValueId b = value_of(call, "other");
  const Shape& result = call.output(0).shape;
  // Vectors become matrices; the declared result tells the shape without the added size.
  if (w.shape(a).size() == 1) a = w.view(a, {1, w.shape(a)[0]});
  if (w.shape(b).size() == 1) b = w.view(b, {w.shape(b)[0], 1});
  const Shape left = w.shape(a);
  const Shape right = w.shape(b);
  const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
  ValueId product = 0;
  if (left.size() == 2 && right.size() == 2) {
    product = mm(w, a, b);
  } else if (right.size() == 2) {
    product = mm(w, w.view(a, {element_count(Shape(left.begin(), left.end() - 1)), k}), b);
  } else {
    const Shape batch =
        broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2), call);
    const int64_t batches = element_count(batch);
    const auto flat = [&](ValueId x, int64_t rows, int64_t columns) {
      Shape wide = batch;
      wide.insert(wide.end(), {rows, columns});
      if (w.shape(x) != wide) x = w.emit("aten::clone.default", {{"self", ValueArg{w.expand(x, wide)}}});
      return w.view(x, {batches, rows, columns});
    };
    product =
        w.emit("aten::bmm.default", {{"self", ValueArg{flat(a, m, k)}}, {"mat2", ValueArg{flat(b, k, n)}}});
  }
  return {w.shape(product) == result ? product : w.view(product, result)};
}

// beta * self + alpha * batch1 @ batch2; self is not read for beta 0.
Ids baddbmm(Rewriter& w, const OpCall& call) {
  ValueId product =
      w.emit("aten::bmm.default", {{"self", passed_on(call, "batch1")}, {"mat2", passed_on(call, "batch2")}});
  const Scalar alpha = call.scalar("alpha"), beta = call.scalar("beta");
  if (alpha.as_double() != 1)
    product = w.emit("aten::mul.Scalar", {{"self", ValueArg{product}}, {"other", passed_on(call, "alpha")}});
  if (beta.as_double() == 0) return {product};
  ValueId self = value_of(call, "self");
  if (beta.as_double() != 1)
    self = w.emit("aten::mul.Scalar", {{"self", ValueArg{self}}, {"other", passed_on(call, "beta")}});
  return {w.emit("aten::add.Tensor", {{"self", ValueArg{self}}, {"other", ValueArg{product}}})};
}

Ids convolution(Rewriter& w, const OpCall& call, int spatial) {
  ValueId input = value_of(call, "input");
  // Without a batch: one is added, and taken off again.
  const bool single = static_cast<int>(w.shape(input).size()) == spatial + 1;
  if (single) input = w.emit("aten::unsqueeze.default", {{"self", ValueArg{input}}, {"dim", int64_t{0}}});
  const auto dilation = call.integers("dilation", spatial);
  const Shape& weight = w.shape(value_of(call, "weight"));
  std::vector<int64_t> padding(static_cast<std::size_t>(spatial), 0);
  if (call.schema().overload != "padding") {
    padding = call.integers("padding", spatial);
  } else if (call.string("padding") == "same") {
    // What does not halve goes to the end (PyTorch documentation).
    std::vector<int64_t> extra(2 * static_cast<std::size_t>(spatial), 0);
    bool uneven = false;
    for (int d = 0; d < spatial; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const int64_t total = dilation[i] * (weight[i + 2] - 1);
      padding[i] = total / 2;
      extra[2 * static_cast<std::size_t>(spatial - 1 - d) + 1] = total % 2;
      uneven = uneven || total % 2 != 0;
    }
    if (uneven)
      input = w.emit("aten::constant_pad_nd.default",
                     {{"self", ValueArg{input}}, {"pad", IntListArg{extra, {}}}});
  }
  const ValueId result =
      w.emit("aten::convolution.default",
             {{"input", ValueArg{input}},
              {"weight", passed_on(call, "weight")},
              {"bias", passed_on(call, "bias")},
              {"stride", IntListArg{call.integers("stride", spatial), {}}},
              {"padding", IntListArg{padding, {}}},
              {"dilation", IntListArg{dilation, {}}},
              {"transposed", false},
              {"output_padding", IntListArg{std::vector<int64_t>(static_cast<std::size_t>(spatial), 0), {}}},
              {"groups", passed_on(call, "groups")}});
  return {single ? w.view(result, call.output(0).shape) : result};
}

}  // namespace

void register_products(DecomposeTable& table) {
  table.add("aten::linear.default", linear);
  table.add("aten::matmul.default", matmul);
  table.add("aten::baddbmm.default", baddbmm);
  for (const char* op : {"aten::conv1d.default", "aten::conv1d.padding"}) {
    table.add(op, [](Rewriter& w, const OpCall& call) { return convolution(w, call, 1); });
  }
  for (const char* op : {"aten::conv2d.default", "aten::conv2d.padding"}) {
    table.add(op, [](Rewriter& w, const OpCall& call) { return convolution(w, call, 2); });
  }
}

}  // namespace assay
