// Tensors out of numbers.
#pragma once

#include "core/opset/number_checks.h"
#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

template <class T>
Array<T> filled(const TensorMeta& meta, const Scalar& value) {
  auto out = make_array<T>(meta);
  if (out.is_integral()) {
    out.integer.assign(out.integer.size(), wrapped(meta.dtype, converted_to_integer(value, meta.dtype)));
  } else {
    const auto parts = static_cast<std::size_t>(out.parts());
    for (std::size_t i = 0; i < out.real.size(); i += parts) out.real[i] = T(value.as_double());
  }
  return out;
}

template <class T>
std::vector<Array<T>> full(const OpCall& call, const Inputs<T>&) {
  return one(filled<T>(call.output(0), call.scalar("fill_value")));
}
template <class T>
std::vector<Array<T>> scalar_tensor(const OpCall& call, const Inputs<T>&) {
  return one(filled<T>(call.output(0), call.scalar("s")));
}
template <class T, int64_t Value>
std::vector<Array<T>> constant_fill(const OpCall& call, const Inputs<T>&) {
  Scalar value;
  value.i = Value;
  value.f = static_cast<double>(Value);
  return one(filled<T>(call.output(0), value));
}
template <class T>
std::vector<Array<T>> fill_scalar(const OpCall& call, const Inputs<T>&) {
  return one(filled<T>(call.output(0), call.scalar("value")));
}

// Contents are undefined; zeros here.
template <class T>
std::vector<Array<T>> empty(const OpCall& call, const Inputs<T>&) {
  auto out = make_array<T>(call.output(0));
  out.undefined.assign(std::max(out.real.size(), out.integer.size()), 1);
  return one(std::move(out));
}

// start + i * step; the length is the declared one (the shape rule decides it in fp64, as PyTorch does).
template <class T>
std::vector<Array<T>> arange(const OpCall& call, const Inputs<T>&) {
  auto out = make_array<T>(call.output(0));
  const Scalar start = call.scalar("start"), step = call.scalar("step");
  if (out.is_integral()) {
    const int64_t first = start.kind == Scalar::Kind::floating ? static_cast<int64_t>(start.f) : start.i;
    const int64_t by = step.kind == Scalar::Kind::floating ? static_cast<int64_t>(step.f) : step.i;
    for (std::size_t i = 0; i < out.integer.size(); ++i) {
      out.integer[i] = wrapped(out.meta.dtype, first + static_cast<int64_t>(i) * by);
    }
  } else {
    for (std::size_t i = 0; i < out.real.size(); ++i) {
      out.real[i] =
          i == 0 ? constant<T>(start.as_double())
                 : constant<T>(start.as_double()) + constant<T>(step.as_double()) * T(static_cast<double>(i));
    }
  }
  return one(std::move(out));
}

template <class T>
void register_create(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits traits = movement_traits();
  table.add_exact("aten::full.default", traits, full<E>);
  table.add_exact("aten::full_like.default", traits, full<E>);
  table.add_exact("aten::scalar_tensor.default", traits, scalar_tensor<E>);
  table.add_exact("aten::zeros.default", traits, constant_fill<E, 0>);
  table.add_exact("aten::zeros_like.default", traits, constant_fill<E, 0>);
  table.add_exact("aten::ones.default", traits, constant_fill<E, 1>);
  table.add_exact("aten::ones_like.default", traits, constant_fill<E, 1>);
  table.add_exact("aten::fill.Scalar", traits, fill_scalar<E>);
  table.add("aten::arange.start_step", function_traits("PyTorch"), arange<T>);
  traits.model.name = "undefined_but_alive";
  table.add_exact("aten::empty.memory_format", traits, empty<E>);
  table.add_exact("aten::empty_permuted.default", traits, empty<E>);
  table.add_exact("aten::empty_strided.default", traits, empty<E>);
}

}  // namespace assay::reference
