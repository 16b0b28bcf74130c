// Composite matrix products and convolutions.
#include <algorithm>

#include "core/decompose/shorthands.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

// [1, ...] as [...].
ValueId without_first(Rewriter& w, ValueId x) {
  const Shape shape = w.shape(x);
  return w.view(x, Shape(shape.begin() + 1, shape.end()));
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
    for (int d = 0; d < spatial; ++d) {
      const auto i = static_cast<std::size_t>(d);
      const int64_t total = dilation[i] * (weight[i + 2] - 1);
      padding[i] = total / 2;
      extra[2 * static_cast<std::size_t>(spatial - 1 - d) + 1] = total % 2;
    }
    input = padded(w, input, extra);
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
  if (!single) return {result};
  return {without_first(w, result)};
}

ValueId column(Rewriter& w, ValueId vector) { return w.view(vector, {element_count(w.shape(vector)), 1}); }
ValueId row(Rewriter& w, ValueId vector) { return w.view(vector, {1, element_count(w.shape(vector))}); }

// self [m] by other [n]: [m, n]. Each element is one product, so an elementwise one is exact about it.
ValueId outer_product(Rewriter& w, ValueId a, ValueId b) { return mul(w, column(w, a), ValueArg{row(w, b)}); }

Ids outer(Rewriter& w, const OpCall& call) {
  return {outer_product(w, value_of(call, "self"), value_of(call, "vec2"))};
}

Ids dot(Rewriter& w, const OpCall& call) {
  const ValueId product = mm(w, row(w, value_of(call, "self")), column(w, value_of(call, "tensor")));
  return {w.view(product, {})};
}

ValueId matrix_vector(Rewriter& w, ValueId matrix, ValueId vector) {
  return w.view(mm(w, matrix, column(w, vector)), {w.shape(matrix).at(0)});
}
Ids mv(Rewriter& w, const OpCall& call) {
  return {matrix_vector(w, value_of(call, "self"), value_of(call, "vec"))};
}

// The last dims contracted: matmul with other turned.
Ids inner(Rewriter& w, const OpCall& call) {
  const ValueId a = value_of(call, "self"), b = value_of(call, "other");
  const Shape left = w.shape(a), right = w.shape(b);
  if (left.empty() || right.empty()) return {mul(w, a, ValueArg{b})};
  const int64_t k = left.back(), m = element_count(Shape(left.begin(), left.end() - 1)),
                n = element_count(Shape(right.begin(), right.end() - 1));
  const ValueId product = mm(w, w.view(a, {m, k}), turned(w, w.view(b, {n, right.back()})));
  Shape result(left.begin(), left.end() - 1);
  result.insert(result.end(), right.begin(), right.end() - 1);
  return {w.view(product, result)};
}

// beta * self + alpha * product; self is not read for beta 0.
ValueId plus_self(Rewriter& w, const OpCall& call, ValueId product) {
  if (call.scalar("alpha").as_double() != 1)
    product = w.emit("aten::mul.Scalar", {{"self", ValueArg{product}}, {"other", passed_on(call, "alpha")}});
  const double beta = call.scalar("beta").as_double();
  if (beta == 0) return product;
  ValueId self = value_of(call, "self");
  if (beta != 1)
    self = w.emit("aten::mul.Scalar", {{"self", ValueArg{self}}, {"other", passed_on(call, "beta")}});
  return add(w, self, ValueArg{product});
}

Ids baddbmm(Rewriter& w, const OpCall& call) {
  return {plus_self(w, call,
                    w.emit("aten::bmm.default",
                           {{"self", passed_on(call, "batch1")}, {"mat2", passed_on(call, "batch2")}}))};
}
Ids addmv(Rewriter& w, const OpCall& call) {
  return {plus_self(w, call, matrix_vector(w, value_of(call, "mat"), value_of(call, "vec")))};
}
Ids addr(Rewriter& w, const OpCall& call) {
  return {plus_self(w, call, outer_product(w, value_of(call, "vec1"), value_of(call, "vec2")))};
}
Ids addbmm(Rewriter& w, const OpCall& call) {
  const ValueId products =
      w.emit("aten::bmm.default", {{"self", passed_on(call, "batch1")}, {"mat2", passed_on(call, "batch2")}});
  return {plus_self(w, call, sum(w, products, {0}))};
}

Ids transposed_convolution(Rewriter& w, const OpCall& call, int spatial) {
  ValueId input = value_of(call, "input");
  const bool single = static_cast<int>(w.shape(input).size()) == spatial + 1;
  if (single) input = unsqueeze(w, input, 0);
  const auto list = [&](const char* name) { return IntListArg{call.integers(name, spatial), {}}; };
  ValueId result = w.emit("aten::convolution.default", {{"input", ValueArg{input}},
                                                        {"weight", passed_on(call, "weight")},
                                                        {"bias", passed_on(call, "bias")},
                                                        {"stride", list("stride")},
                                                        {"padding", list("padding")},
                                                        {"dilation", list("dilation")},
                                                        {"transposed", true},
                                                        {"output_padding", list("output_padding")},
                                                        {"groups", passed_on(call, "groups")}});
  if (single) result = without_first(w, result);
  return {result};
}

}  // namespace

void register_products(DecomposeTable& table) {
  table.add("aten::linear.default", linear);
  table.add("aten::matmul.default", matmul);
  table.add("aten::baddbmm.default", baddbmm);
  table.add("aten::outer.default", outer);
  table.add("aten::dot.default", dot);
  table.add("aten::mv.default", mv);
  table.add("aten::inner.default", inner);
  table.add("aten::addmv.default", addmv);
  table.add("aten::addr.default", addr);
  table.add("aten::addbmm.default", addbmm);
  for (const char* op : {"aten::conv3d.default", "aten::conv3d.padding"}) {
    table.add(op, [](Rewriter& w, const OpCall& call) { return convolution(w, call, 3); });
  }
  table.add("aten::conv_transpose1d.default",
            [](Rewriter& w, const OpCall& call) { return transposed_convolution(w, call, 1); });
  table.add("aten::conv_transpose3d.input",
            [](Rewriter& w, const OpCall& call) { return transposed_convolution(w, call, 3); });
  table.add("aten::conv_transpose2d.input",
            [](Rewriter& w, const OpCall& call) { return transposed_convolution(w, call, 2); });
  for (const char* op : {"aten::conv1d.default", "aten::conv1d.padding"}) {
    table.add(op, [](Rewriter& w, const OpCall& call) { return convolution(w, call, 1); });
  }
  for (const char* op : {"aten::conv2d.default", "aten::conv2d.padding"}) {
    table.add(op, [](Rewriter& w, const OpCall& call) { return convolution(w, call, 2); });
  }
}

}  // namespace assay
