// Convolution: its gradients are convolutions.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

struct Geometry {
  std::vector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
  std::size_t dims = 2;
  bool transposed = false;
};

ValueId convolve(Tape& t, ValueId input, ValueId weight, const Geometry& geometry,
                 const std::vector<int64_t>& output_padding) {
  return t.call("aten::convolution.default", {{"input", ValueArg{input}},
                                              {"weight", ValueArg{weight}},
                                              {"bias", NoneArg{}},
                                              {"stride", IntListArg{geometry.stride, {}}},
                                              {"padding", IntListArg{geometry.padding, {}}},
                                              {"dilation", IntListArg{geometry.dilation, {}}},
                                              {"transposed", geometry.transposed},
                                              {"output_padding", IntListArg{output_padding, {}}},
                                              {"groups", geometry.groups}});
}

// The other direction over the same weight. A transposed convolution says how many trailing elements of its
// result no window touched.
ValueId input_gradient(Tape& t, ValueId g, ValueId weight, const Geometry& geometry, const Shape& input) {
  Geometry back = geometry;
  back.transposed = !geometry.transposed;
  std::vector<int64_t> rest(geometry.dims, 0);
  for (std::size_t d = 0; back.transposed && d < geometry.dims; ++d) {
    const int64_t out = t.shape(g)[d + 2], kernel = t.shape(weight)[d + 2];
    rest[d] = input[d + 2] - ((out - 1) * geometry.stride[d] - 2 * geometry.padding[d] +
                              geometry.dilation[d] * (kernel - 1) + 1);
  }
  return convolve(t, g, weight, back, rest);
}

// dw[s, b, k] = sum over batch and positions p of small[s, p] large[b, p stride + k dilation - padding]: a
// convolution of `large` by `small` with batch and channels exchanged, stride and dilation too.
ValueId weight_gradient(Tape& t, ValueId large, ValueId small, const Geometry& geometry,
                        const Shape& weight) {
  Geometry cross = geometry;
  cross.transposed = false;
  std::swap(cross.stride, cross.dilation);
  const Shape& big = t.shape(large);
  const int64_t batch = big[0], groups = geometry.groups, in_group = big[1] / groups;
  Shape apart{batch, groups, in_group}, together{in_group, groups * batch};
  std::vector<int64_t> order{2, 1, 0};
  for (std::size_t d = 0; d < geometry.dims; ++d) {
    apart.push_back(big[d + 2]);
    together.push_back(big[d + 2]);
    order.push_back(static_cast<int64_t>(d) + 3);
  }
  const ValueId input = t.view(t.permute(t.view(large, apart), order), together);
  ValueId dw = convolve(t, input, t.transpose(small, 0, 1), cross, std::vector<int64_t>(geometry.dims, 0));
  for (std::size_t d = 0; d < geometry.dims; ++d) {
    dw = t.slice(dw, static_cast<int64_t>(d) + 2, 0, weight[d + 2]);  // windows that the forward left out
  }
  return t.transpose(dw, 0, 1);
}

void convolution(Tape& t, const OpCall& call) {
  const Shape& weight = call.input(call.tensor("weight")).shape;
  Geometry geometry;
  geometry.dims = weight.size() - 2;
  const auto n = static_cast<int>(geometry.dims);
  geometry.stride = call.integers("stride", n);
  geometry.padding = call.integers("padding", n);
  geometry.dilation = call.integers("dilation", n);
  geometry.groups = call.integer("groups");
  geometry.transposed = call.boolean("transposed");
  const ValueId w = t.value(call, "weight");
  const ValueId x = t.value(call, "input"), g = t.grad(call);
  if (t.wants(call, "input")) {
    t.give(call, "input", input_gradient(t, g, w, geometry, t.shape(x)));
  }
  if (t.wants(call, "weight")) {
    const ValueId large = geometry.transposed ? g : x, small = geometry.transposed ? x : g;
    t.give(call, "weight", weight_gradient(t, large, small, geometry, weight));
  }
  if (t.wants(call, "bias")) {
    std::vector<int64_t> dims{0};
    for (std::size_t d = 0; d < geometry.dims; ++d) dims.push_back(static_cast<int64_t>(d) + 2);
    t.give(call, "bias", t.sum(g, dims));
  }
}

}  // namespace

void register_convolution(DerivativeTable& table) { table.add("aten::convolution.default", convolution); }

}  // namespace assay::models
