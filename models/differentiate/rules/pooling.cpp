// Pooling: averages are linear, dim by dim; maxima send the gradient to where they were found.
#include "models/differentiate/derivatives.h"

namespace assay::models {
namespace {

ValueId integer(Tape& t, const char* op, ValueId a, int64_t b) {
  return t.call(op, {{"self", ValueArg{a}}, {"other", b}});
}
ValueId clamped(Tape& t, ValueId x, const Argument& low, const Argument& high) {
  return t.call("aten::clamp.default", {{"self", ValueArg{x}}, {"min", low}, {"max", high}});
}

// [out, in]: 1 / divisor[o] where start[o] <= j < end[o], else 0. start, end, divisor: i64 [out].
ValueId window_weights(Tape& t, ValueId start, ValueId end, ValueId divisor, int64_t in, DType dtype) {
  const ValueId j = t.unsqueeze(t.numbers(in), 0);
  const ValueId after = t.compare("ge", j, t.unsqueeze(start, 1));
  const ValueId before = t.compare("lt", j, t.unsqueeze(end, 1));
  const ValueId inside =
      t.call("aten::logical_and.default", {{"self", ValueArg{after}}, {"other", ValueArg{before}}});
  return t.div(t.cast(inside, dtype), t.unsqueeze(t.cast(divisor, dtype), 1));
}

void average(Tape& t, const OpCall& call, int dims) {
  const std::vector<int64_t> kernel = call.integers("kernel_size", dims);
  std::vector<int64_t> stride = call.integers("stride");
  if (stride.empty()) stride = kernel;
  if (stride.size() == 1) stride.resize(static_cast<std::size_t>(dims), stride[0]);
  const std::vector<int64_t> padding = call.integers("padding", dims);
  const bool with_padding = call.boolean("count_include_pad");
  const bool has_override =
      call.schema().find("divisor_override") != nullptr && !call.is_none("divisor_override");
  const Shape& input = call.input(0).shape;
  const Shape& output = call.output(0).shape;
  ValueId g = t.grad(call);
  if (has_override) g = t.mul_number(g, 1 / static_cast<double>(call.integer("divisor_override")));
  for (std::size_t d = 0; d < static_cast<std::size_t>(dims); ++d) {
    const std::size_t at = input.size() - static_cast<std::size_t>(dims) + d;
    const int64_t in = input[at];
    ValueId start = integer(t, "aten::mul.Tensor", t.numbers(output[at]), stride[d]);
    start = integer(t, "aten::sub.Tensor", start, padding[d]);
    ValueId end = integer(t, "aten::add.Tensor", start, kernel[d]);
    end = clamped(t, end, NoneArg{}, in + padding[d]);
    ValueId divisor = t.sub(end, start);
    if (!with_padding) {
      divisor = t.sub(clamped(t, end, NoneArg{}, in), clamped(t, start, int64_t{0}, NoneArg{}));
    }
    if (has_override) divisor = clamped(t, divisor, int64_t{1}, int64_t{1});
    const ValueId weights = window_weights(t, start, end, divisor, in, call.input(0).dtype);
    g = t.along(g, weights, static_cast<int64_t>(at));
  }
  t.give(call, "self", g);
}

// Window i is [floor(i in / out), ceil((i + 1) in / out)).
void adaptive(Tape& t, const OpCall& call, std::size_t dims) {
  const Shape& input = call.input(0).shape;
  const Shape& output = call.output(0).shape;
  ValueId g = t.grad(call);
  for (std::size_t at = input.size() - dims; at < input.size(); ++at) {
    const int64_t in = input[at], out = output[at];
    const auto floor_of = [&](ValueId x) {
      return t.call("aten::div.Tensor_mode",
                    {{"self", ValueArg{x}}, {"other", out}, {"rounding_mode", std::string("floor")}});
    };
    const ValueId scaled = integer(t, "aten::mul.Tensor", t.numbers(out), in);
    const ValueId start = floor_of(scaled);
    const ValueId end = floor_of(integer(t, "aten::add.Tensor", scaled, in + out - 1));
    g = t.along(g, window_weights(t, start, end, t.sub(end, start), in, call.input(0).dtype),
                static_cast<int64_t>(at));
  }
  t.give(call, "self", g);
}

// Indices count within a plane.
void maximum(Tape& t, const OpCall& call, std::size_t dims) {
  const Shape& input = call.input(0).shape;
  Shape planes(input.begin(), input.end() - static_cast<std::ptrdiff_t>(dims)), outputs = planes;
  int64_t in = 1, out = 1;
  for (std::size_t d = input.size() - dims; d < input.size(); ++d) {
    in *= input[d];
    out *= call.output(0).shape[d];
  }
  planes.push_back(in);
  outputs.push_back(out);
  const ValueId sums =
      t.call("aten::scatter_add.default", {{"self", ValueArg{t.full(planes, 0, call.input(0).dtype)}},
                                           {"dim", int64_t{-1}},
                                           {"index", ValueArg{t.view(t.result(call, 1), outputs)}},
                                           {"src", ValueArg{t.view(t.grad(call), outputs)}}});
  t.give(call, "self", t.view(sums, input));
}

// Each element was put where its index says.
void unpool(Tape& t, const OpCall& call, std::size_t dims) {
  const Shape& input = call.input(0).shape;
  Shape planes(input.begin(), input.end() - static_cast<std::ptrdiff_t>(dims)), outputs = planes;
  int64_t in = 1, out = 1;
  for (std::size_t d = input.size() - dims; d < input.size(); ++d) {
    in *= input[d];
    out *= call.output(0).shape[d];
  }
  planes.push_back(in);
  outputs.push_back(out);
  const ValueId taken =
      t.call("aten::gather.default", {{"self", ValueArg{t.view(t.grad(call), outputs)}},
                                      {"dim", int64_t{-1}},
                                      {"index", ValueArg{t.view(t.value(call, "indices"), planes)}}});
  t.give(call, "self", t.view(taken, input));
}

}  // namespace

void register_pooling(DerivativeTable& table) {
  table.add("aten::avg_pool1d.default", [](Tape& t, const OpCall& call) { average(t, call, 1); });
  table.add("aten::avg_pool2d.default", [](Tape& t, const OpCall& call) { average(t, call, 2); });
  table.add("aten::avg_pool3d.default", [](Tape& t, const OpCall& call) { average(t, call, 3); });
  for (const char* op : {"adaptive_avg_pool2d", "_adaptive_avg_pool2d"}) {
    table.add(std::string("aten::") + op + ".default",
              [](Tape& t, const OpCall& call) { adaptive(t, call, 2); });
  }
  table.add("aten::_adaptive_avg_pool3d.default", [](Tape& t, const OpCall& call) { adaptive(t, call, 3); });
  for (const char* op : {"max_pool2d_with_indices", "adaptive_max_pool2d", "fractional_max_pool2d"}) {
    table.add(std::string("aten::") + op + ".default",
              [](Tape& t, const OpCall& call) { maximum(t, call, 2); });
  }
  for (const char* op : {"max_pool3d_with_indices", "adaptive_max_pool3d", "fractional_max_pool3d"}) {
    table.add(std::string("aten::") + op + ".default",
              [](Tape& t, const OpCall& call) { maximum(t, call, 3); });
  }
  table.add("aten::max_unpool2d.default", [](Tape& t, const OpCall& call) { unpool(t, call, 2); });
  table.add("aten::max_unpool3d.default", [](Tape& t, const OpCall& call) { unpool(t, call, 3); });
}

}  // namespace assay::models
