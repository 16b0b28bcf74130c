// Gradients of convolutions and of pooling.
#include <algorithm>

#include "core/decompose/expression.h"
#include "core/opset/checks.h"

namespace assay {
namespace {

struct Convolution {
  Shape stride, padding, dilation;
  int64_t groups = 1;
  bool transposed = false;
  Shape output_padding;
};

Expression convolve(Expression input, Expression weight, const Convolution& c) {
  return input.with(
      input.rewriter->emit("aten::convolution.default", {{"input", ValueArg{input.id}},
                                                         {"weight", ValueArg{weight.id}},
                                                         {"bias", NoneArg{}},
                                                         {"stride", IntListArg{c.stride, {}}},
                                                         {"padding", IntListArg{c.padding, {}}},
                                                         {"dilation", IntListArg{c.dilation, {}}},
                                                         {"transposed", c.transposed},
                                                         {"output_padding", IntListArg{c.output_padding, {}}},
                                                         {"groups", c.groups}}));
}

// Spatial sizes cut down to those of `like`: where a stride left a rest, a convolution visits positions
// beyond.
Expression cut(Expression x, const Shape& like) {
  for (std::size_t d = 2; d < like.size(); ++d) {
    if (x.shape()[d] > like[d]) x = x.slice(static_cast<int64_t>(d), 0, like[d]);
  }
  return x;
}

// Each input position is reached by the outputs that read it: the convolution turned around.
Expression of_input(Expression g, Expression weight, const Shape& input, Convolution c) {
  if (c.transposed) {
    c.transposed = false;
    c.output_padding.assign(c.stride.size(), 0);
    return cut(convolve(g, weight, c), input);
  }
  c.transposed = true;
  for (std::size_t i = 0; i < c.stride.size(); ++i) {
    const int64_t reached = (g.shape()[i + 2] - 1) * c.stride[i] - 2 * c.padding[i] +
                            c.dilation[i] * (weight.shape()[i + 2] - 1) + 1;
    c.output_padding[i] = input[i + 2] - reached;
  }
  return convolve(g, weight, c);
}

// dw[o, c, k] = sum over batch n and positions p of small[n, o, p] large[n, c, p stride - padding + k
// dilation]: a convolution over positions in which stride and dilation change places, and the batch is summed
// over as channels are. `large` is the input and `small` the gradient; a transposed convolution exchanges
// them.
Expression of_weight(Expression large, Expression small, const Shape& weight, const Convolution& c) {
  const auto spatial = static_cast<int64_t>(c.stride.size());
  const int64_t batch = large.shape()[0], groups = c.groups;
  const int64_t outs = small.shape()[1] / groups, ins = large.shape()[1] / groups;
  // [N, groups * channels, ...] as [channels, groups * N, ...] or [groups * channels, N, ...].
  const auto regrouped = [&](Expression x, int64_t channels, bool channels_first) {
    Shape split{batch, groups, channels},
        joined = channels_first ? Shape{channels, groups * batch} : Shape{groups * channels, batch};
    std::vector<int64_t> order =
        channels_first ? std::vector<int64_t>{2, 1, 0} : std::vector<int64_t>{1, 2, 0};
    for (int64_t d = 0; d < spatial; ++d) {
      const int64_t size = x.shape()[static_cast<std::size_t>(d + 2)];
      split.push_back(size);
      joined.push_back(size);
      order.push_back(d + 3);
    }
    return x.view(split).permute(order).view(joined);
  };
  Convolution swapped{c.dilation, c.padding, c.stride, groups, false, Shape(c.stride.size(), 0)};
  Shape like = weight;
  like[0] = ins;
  like[1] = groups * outs;
  const Expression out =
      cut(convolve(regrouped(large, ins, true), regrouped(small, outs, false), swapped), like);
  std::vector<int64_t> order = every_dim(*out.rewriter, out.id);
  std::swap(order[0], order[1]);
  return out.permute(order);
}

Ids convolution(Rewriter& w, const OpCall& call) {
  const Expression g = given(w, call, "grad_output"), x = given(w, call, "input"),
                   weight = given(w, call, "weight");
  const int spatial = static_cast<int>(x.rank()) - 2;
  Convolution c{call.integers("stride", spatial),   call.integers("padding", spatial),
                call.integers("dilation", spatial), call.integer("groups"),
                call.boolean("transposed"),         call.integers("output_padding", spatial)};
  if (c.output_padding.empty()) c.output_padding.assign(static_cast<std::size_t>(spatial), 0);
  const std::vector<bool> mask = call.booleans("output_mask");
  const auto wanted = [&](int i) { return mask.at(static_cast<std::size_t>(i)) && call.output_used(i); };
  Ids out{-1, -1, -1};
  const bool nothing = g.shape()[0] == 0;
  if (wanted(0)) out[0] = of_input(g, weight, x.shape(), c).id;
  if (wanted(1)) {
    out[1] =
        nothing ? w.full(weight.shape(), int64_t{0}, weight.dtype())
                : (c.transposed ? of_weight(g, x, weight.shape(), c) : of_weight(x, g, weight.shape(), c)).id;
  }
  if (wanted(2)) {
    std::vector<int64_t> dims{0};  // all but the channels
    for (std::size_t d = 2; d < g.shape().size(); ++d) dims.push_back(static_cast<int64_t>(d));
    out[2] = g.sum(dims).id;
  }
  return out;
}

// The last `pooled` dims as an image of one channel: [images, 1, ...].
Expression as_images(Expression x, int pooled) {
  const Shape& shape = x.shape();
  const Shape last(shape.end() - pooled, shape.end());
  Shape out{element_count(Shape(shape.begin(), shape.end() - pooled)), 1};
  out.insert(out.end(), last.begin(), last.end());
  return x.view(out);
}

// Each output's share goes to every element of its window: a transposed convolution with ones. How many
// elements a window has is counted by a convolution of ones.
Ids average_pool(Rewriter& w, const OpCall& call, int pooled) {
  const Expression self = given(w, call, "self");
  const auto n = static_cast<std::size_t>(pooled);
  const Shape kernel = call.integers("kernel_size", pooled);
  const Shape stride = call.integers("stride").empty() ? kernel : call.integers("stride", pooled);
  const Shape padding = call.integers("padding", pooled);
  Expression g = as_images(widened(w, call, "grad_output"), pooled);
  if (element_count(g.shape()) == 0) return {w.full(self.shape(), int64_t{0}, self.dtype())};
  Shape ones_shape{1, 1}, padded{1, 1}, image = as_images(self, pooled).shape();
  bool cut_off = false;  // a window reaches beyond the input
  for (std::size_t d = 0; d < n; ++d) {
    ones_shape.push_back(kernel[d]);
    padded.push_back(image[d + 2] + 2 * padding[d]);
    const int64_t reached = (g.shape()[d + 2] - 1) * stride[d] + kernel[d];
    cut_off = cut_off || reached > padded.back() || (!call.boolean("count_include_pad") && padding[d] > 0);
  }
  const Expression ones = g.filled(ones_shape, 1);
  const Shape zeros(n, 0), one(n, 1);
  if (const auto divisor = call.integer_opt("divisor_override")) {
    g = g / static_cast<double>(*divisor);
  } else if (!cut_off) {
    g = g / static_cast<double>(element_count(kernel));
  } else {
    // Ones where elements count, zeros around them up to where the last window ends.
    const bool pads_count = call.boolean("count_include_pad");
    Shape counted{1, 1}, around;
    for (std::size_t d = 0; d < n; ++d) {
      counted.push_back(pads_count ? padded[d + 2] : image[d + 2]);
      const int64_t before = pads_count ? 0 : padding[d];
      const int64_t end = (g.shape()[d + 2] - 1) * stride[d] + kernel[d];
      around.insert(around.begin(), {before, std::max<int64_t>(0, end - before - counted.back())});
    }
    const Expression present = g.with(assay::padded(w, g.filled(counted, 1).id, around));
    Shape like = g.shape();
    g = g / cut(convolve(present, ones, {stride, zeros, one, 1, false, zeros}), like);
  }
  // Everything that the windows cover, then without the padding and what ceil_mode added, and with what no
  // window reached.
  Expression out = convolve(g, ones, {stride, zeros, one, 1, true, zeros});
  Shape missing;
  for (std::size_t d = 0; d < n; ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    const int64_t covered = out.shape()[d + 2], end = std::min(covered, padding[d] + image[d + 2]);
    if (padding[d] > 0 || end < covered) out = out.slice(dim, padding[d], end);
    missing.insert(missing.begin(), {0, image[d + 2] - out.shape()[d + 2]});
  }
  out = out.with(assay::padded(w, out.id, missing));
  return {out.view(self.shape()).cast(self.dtype()).id};
}

// To the element that was chosen; windows may have chosen the same one.
Ids max_pool(Rewriter& w, const OpCall& call, int pooled) {
  const Expression self = given(w, call, "self");
  const auto flat = [&](Expression x) {
    const Shape& shape = x.shape();
    return x.view({element_count(Shape(shape.begin(), shape.end() - pooled)),
                   element_count(Shape(shape.end() - pooled, shape.end()))});
  };
  const Expression g = flat(widened(w, call, "grad_output"));
  const Shape shape = self.shape();
  const Expression zeros =
      g.filled({g.shape()[0], element_count(Shape(shape.end() - pooled, shape.end()))}, 0);
  const Expression out =
      zeros.with(w.emit("aten::scatter_add.default", {{"self", ValueArg{zeros.id}},
                                                      {"dim", int64_t{1}},
                                                      {"index", ValueArg{flat(given(w, call, "indices")).id}},
                                                      {"src", ValueArg{g.id}}}));
  return {out.view(self.shape()).cast(self.dtype()).id};
}

// Window o covers [floor(o in / out), ceil((o + 1) in / out)). Along each dim every output is divided by its
// window's length and added to the elements there.
Expression adaptive_along(Expression g, int64_t dim, int64_t in) {
  Rewriter& w = *g.rewriter;
  const auto d = static_cast<std::size_t>(dim);
  const int64_t out = g.shape()[d];
  Shape split = g.shape(), joined = g.shape();
  if (in % out == 0) {  // windows of equal length, side by side
    const int64_t length = in / out;
    split.insert(split.begin() + dim + 1, 1);
    Expression each = (g / static_cast<double>(length)).view(split);
    split[d + 1] = length;
    joined[d] = in;
    return each.expand(split).view(joined);
  }
  // Per output `longest` elements, of which the last may lie outside its window.
  const int64_t longest = in / out + 2;
  const Expression o = g.with(w.view(numbers(w, out), {out, 1}));
  const auto over = [&](Expression x) {
    return x.with(
        w.emit("aten::div.Tensor_mode",
               {{"self", ValueArg{x.id}}, {"other", out}, {"rounding_mode", std::string("floor")}}));
  };
  const auto whole = [&](Expression x, int64_t factor, int64_t plus) {
    const Expression scaled = x.combined("aten::mul.Tensor", factor);
    return plus == 0 ? scaled : scaled.combined("aten::add.Tensor", plus);
  };
  const Expression start = over(whole(o, in, 0));
  const Expression end = over(whole(o, in, in + out - 1));  // ceil((o + 1) in / out)
  const Expression length = end - start;
  const Expression position = start + g.with(w.view(numbers(w, longest), {1, longest}));
  const Expression inside = position.combined("aten::lt.Tensor", ValueArg{end.id});
  Shape along(g.shape().size() + 1, 1);
  along[d] = out;
  const Expression divisor = length.cast(g.dtype()).view(along);
  split.insert(split.begin() + dim + 1, 1);
  Expression each = g.view(split) / divisor;
  split[d + 1] = along[d + 1] = longest;
  each = where(inside.view(along), each.expand(split), 0);
  joined[d] = out * longest;
  Shape wide(g.shape().size(), 1), result = g.shape();
  wide[d] = out * longest;
  result[d] = in;
  const Expression index = where(inside, position, 0).view(wide).expand(joined);
  return g.with(w.emit("aten::scatter_add.default", {{"self", ValueArg{g.filled(result, 0).id}},
                                                     {"dim", dim},
                                                     {"index", ValueArg{index.id}},
                                                     {"src", ValueArg{each.view(joined).id}}}));
}

Ids adaptive_average_pool(Rewriter& w, const OpCall& call, int pooled) {
  const Expression self = given(w, call, "self");
  Expression g = widened(w, call, "grad_output");
  if (element_count(g.shape()) == 0) return {w.full(self.shape(), int64_t{0}, self.dtype())};
  for (int64_t d = self.rank() - pooled; d < self.rank(); ++d)
    g = adaptive_along(g, d, self.shape()[static_cast<std::size_t>(d)]);
  return {g.cast(self.dtype()).id};
}

}  // namespace

void register_window_gradients(DecomposeTable& table) {
  using Rule = Ids (*)(Rewriter&, const OpCall&, int);
  const auto add = [&](const char* name, Rule rule, int pooled) {
    table.add(name, [rule, pooled](Rewriter& w, const OpCall& call) { return rule(w, call, pooled); });
  };
  table.add("aten::convolution_backward.default", convolution);
  add("aten::avg_pool2d_backward.default", average_pool, 2);
  add("aten::avg_pool3d_backward.default", average_pool, 3);
  add("aten::max_pool2d_with_indices_backward.default", max_pool, 2);
  add("aten::max_pool3d_with_indices_backward.default", max_pool, 3);
  add("aten::adaptive_max_pool2d_backward.default", max_pool, 2);
  add("aten::adaptive_max_pool3d_backward.default", max_pool, 3);
  add("aten::_adaptive_avg_pool2d_backward.default", adaptive_average_pool, 2);
  add("aten::_adaptive_avg_pool3d_backward.default", adaptive_average_pool, 3);
}

}  // namespace assay
