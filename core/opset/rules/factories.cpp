// Tensors from numbers.
#include "core/opset/checks.h"
#include "core/opset/number_checks.h"

#include <cmath>

namespace assay {
namespace {

using namespace rules;

DType dtype_or(const OpCall& call, DType otherwise) { return call.dtype_opt("dtype").value_or(otherwise); }

DType dtype_of(const Scalar& scalar) {
  return scalar.kind == Scalar::Kind::floating  ? DType::f32
         : scalar.kind == Scalar::Kind::integer ? DType::i64
                                                : DType::boolean;
}

// Scalar::to<int64_t> truncates; beyond int64_t PyTorch refuses.
int64_t truncated(const OpCall& call, std::string_view name) {
  const Scalar scalar = call.scalar(name);
  if (scalar.kind != Scalar::Kind::floating) return scalar.i;
  if (!(scalar.f > -0x1p63 && scalar.f < 0x1p63)) fail(call, "{} is {}, which no i64 holds", name, scalar.f);
  return static_cast<int64_t>(scalar.f);
}

// Length as arange_out computes it (aten/src/ATen/native/RangeFactories.cpp): in integers for i64, else in
// double.
Metas arange(const OpCall& call) {
  const bool starts = call.schema().find("start") != nullptr;
  const bool steps = call.schema().find("step") != nullptr;
  const Scalar start = starts ? call.scalar("start") : Scalar{};
  const Scalar end = call.scalar("end");
  const Scalar step = steps ? call.scalar("step") : Scalar{Scalar::Kind::integer, 1, 1};
  const auto floats = [](const Scalar& scalar) { return scalar.kind == Scalar::Kind::floating; };
  const DType dtype = dtype_or(call, floats(start) || floats(end) || floats(step) ? DType::f32 : DType::i64);
  require_kind(call, "dtype", dtype, kReal);
  const double from = start.as_double();
  const double to = end.as_double();
  const double by = step.as_double();
  if (!std::isfinite(from) || !std::isfinite(to)) fail(call, "start {} and end {} must be finite", from, to);
  if (!(by > 0) && !(by < 0)) fail(call, "step is {}; it must not be zero", by);
  if ((by > 0 && to < from) || (by < 0 && to > from)) {
    fail(call, "start {}, end {} and step {} contradict each other: the step leads away from the end", from,
         to, by);
  }
  if (dtype == DType::i64) {
    const int64_t first = starts ? truncated(call, "start") : 0;
    const int64_t last = truncated(call, "end");
    const int64_t stride = steps ? truncated(call, "step") : 1;
    if (stride == 0) fail(call, "step is {}, which is 0 as an i64", by);
    int64_t span = 0;
    if (__builtin_sub_overflow(last, first, &span) ||
        __builtin_add_overflow(span, stride - (stride > 0 ? 1 : -1), &span)) {
      fail(call, "start {} and end {} are too far apart", from, to);
    }
    return {{dtype, {span / stride}}};
  }
  const double length = std::ceil((to - from) / by);
  if (!(length >= 0 && length < 0x1p62))
    fail(call, "the result would have {} elements, which is too large", length);
  return {{dtype, {static_cast<int64_t>(length)}}};
}

Shape sizes_of(const OpCall& call) {
  const Shape sizes = call.integers("size");
  require_sizes(call, "size", sizes);
  return sizes;
}

Metas full(const OpCall& call) {
  const DType dtype = dtype_or(call, dtype_of(call.scalar("fill_value")));
  require_number(call, "fill_value", dtype);
  return {{dtype, sizes_of(call)}};
}
Metas of_size(const OpCall& call) { return {{dtype_or(call, DType::f32), sizes_of(call)}}; }
Metas random_of_size(const OpCall& call) {
  const Metas out = of_size(call);
  require_kind(call, "dtype", out[0].dtype, kInexact);
  return out;
}
Metas like(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  return {{dtype_or(call, self.dtype), self.shape}};
}
Metas full_like(const OpCall& call) {
  Metas out = like(call);
  require_number(call, "fill_value", out[0].dtype);
  return out;
}
Metas new_of_size(const OpCall& call) { return {{dtype_or(call, meta(call, "self").dtype), sizes_of(call)}}; }
Metas random_like(const OpCall& call) {
  const Metas out = like(call);
  require_kind(call, "dtype", out[0].dtype, kInexact);
  return out;
}
Metas empty_strided(const OpCall& call) {
  require_length(call, "stride", call.integers("stride").size(), call.integers("size").size());
  require_sizes(call, "stride", call.integers("stride"));
  return of_size(call);
}
Metas empty_permuted(const OpCall& call) {
  const Shape sizes = sizes_of(call);
  const std::vector<int64_t> layout = call.integers("physical_layout");
  require_length(call, "physical_layout", layout.size(), sizes.size());
  if (!layout.empty()) reduced_dims(call, layout, static_cast<int64_t>(sizes.size()));
  return of_size(call);
}
Metas scalar_tensor(const OpCall& call) {
  const DType dtype = dtype_or(call, DType::f32);
  // 16-bit floats are rounded instead, to infinity if need be.
  if (dtype != DType::bf16 && dtype != DType::f16) require_number(call, "s", dtype);
  return {{dtype, {}}};
}
Metas randperm(const OpCall& call) {
  const int64_t n = call.integer("n");
  if (n < 0) fail(call, "n is {}; it cannot be negative", n);
  const DType dtype = dtype_or(call, DType::i64);
  require_kind(call, "dtype", dtype, kReal);
  if (is_integral(dtype) && n - 1 > int_max(dtype))
    fail(call, "n is {}; dtype {} cannot hold {}", n, name_of(dtype), n - 1);
  return {{dtype, {n}}};
}

}  // namespace

void register_factories(ShapeTable& table) {
  table.add("aten::arange.start_step", arange);
  table.add("aten::arange.start", arange);
  table.add("aten::arange.default", arange);
  table.add("aten::new_full.default", [](const OpCall& call) {
    Metas out = new_of_size(call);
    require_number(call, "fill_value", out[0].dtype);
    return out;
  });
  table.add("aten::new_ones.default", new_of_size);
  table.add("aten::new_zeros.default", new_of_size);
  table.add("aten::empty_like.default", like);
  table.add("aten::full.default", full);
  table.add("aten::full_like.default", full_like);
  table.add("aten::zeros.default", of_size);
  table.add("aten::ones.default", of_size);
  table.add("aten::zeros_like.default", like);
  table.add("aten::ones_like.default", like);
  table.add("aten::empty.memory_format", of_size);
  table.add("aten::empty_strided.default", empty_strided);
  table.add("aten::empty_permuted.default", empty_permuted);
  table.add("aten::rand.default", random_of_size);
  table.add("aten::randn.default", random_of_size);
  table.add("aten::randn_like.default", random_like);
  table.add("aten::randperm.default", randperm);
  table.add("aten::scalar_tensor.default", scalar_tensor);
}

}  // namespace assay
