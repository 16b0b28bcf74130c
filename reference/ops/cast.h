// Changes of dtype. Casts to floats round once; a float that an integer dtype cannot hold is undefined
// (C99 6.3.1.4).
#pragma once

#include <cmath>

#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

template <class T>
Array<T> converted(const Array<T>& in, const TensorMeta& meta) {
  auto out = make_array<T>(meta);
  if (out.is_integral() && in.is_integral()) {
    map(in.integer, out.integer, [&](int64_t v) { return wrapped(meta.dtype, v); });
  } else if (!out.is_integral() && in.is_integral()) {
    const auto parts = static_cast<std::size_t>(out.parts());
    for (std::size_t i = 0; i < in.integer.size(); ++i)
      out.real[i * parts] = T(static_cast<double>(in.integer[i]));
  } else if (!out.is_integral()) {
    if (in.parts() == out.parts()) {
      out.real = in.real;
    } else {
      // Real to complex: imaginary part 0. Complex to real drops it.
      const auto from = static_cast<std::size_t>(in.parts()), to = static_cast<std::size_t>(out.parts());
      for (std::size_t i = 0; i * to < out.real.size(); ++i) out.real[i * to] = in.real[i * from];
    }
  } else if (meta.dtype == DType::boolean) {
    const auto parts = static_cast<std::size_t>(in.parts());
    for (std::size_t i = 0; i < out.integer.size(); ++i) {
      for (std::size_t p = 0; p < parts; ++p) out.integer[i] |= !(in.real[i * parts + p] == T(0));
    }
  } else {
    const auto parts = static_cast<std::size_t>(in.parts());
    const double lo = static_cast<double>(int_min(meta.dtype)) - (meta.dtype == DType::i64 ? 0 : 1);
    const double hi = static_cast<double>(int_max(meta.dtype)) + (meta.dtype == DType::i64 ? 0 : 1);
    for (std::size_t i = 0; i < out.integer.size(); ++i) {
      const double v = static_cast<double>(in.real[i * parts]);
      // For i64, hi is 2^63, itself out of range, and lo is -2^63, in range.
      const bool inside = v < hi && (meta.dtype == DType::i64 ? v >= lo : v > lo);
      if (inside) {
        out.integer[i] = static_cast<int64_t>(v);
      } else {
        if (out.undefined.empty()) out.undefined.assign(out.integer.size(), 0);
        out.undefined[i] = 1;
      }
    }
  }
  return out;
}

template <class T>
std::vector<Array<T>> cast(const OpCall& call, const Inputs<T>& in) {
  return one(converted(*in[0], call.output(0)));
}

// copy(self, src): src, broadcast and converted to self's dtype.
template <class T>
std::vector<Array<T>> copy(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& src = *in[static_cast<std::size_t>(call.tensor("src"))];
  const Array<T> values = converted(src, {call.output(0).dtype, src.meta.shape});
  auto out = make_array<T>(call.output(0));
  const auto strides = broadcast_strides(src.meta.shape, out.meta.shape);
  for_each_row<1>(out.meta.shape, {strides},
                  [&](int64_t first, const auto& at, const auto& step, int64_t length) {
                    for (int64_t j = 0; j < length; ++j) {
                      const auto to = static_cast<std::size_t>(first + j),
                                 from = static_cast<std::size_t>(at[0] + j * step[0]);
                      if (out.is_integral()) {
                        out.integer[to] = values.integer[from];
                      } else {
                        out.real[to] = values.real[from];
                      }
                    }
                  });
  return one(std::move(out));
}

template <class T>
void register_cast(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits traits = exact_traits("IEEE 754");
  traits.cast = true;
  traits.complex = true;
  traits.model.correctly_rounded_class = true;
  traits.model.discontinuous = true;  // to integers
  table.add_exact("aten::_to_copy.default", traits, cast<E>);
  table.add_exact("aten::to.dtype", traits, cast<E>);
  traits.complex = false;
  table.add_exact("aten::copy.default", traits, copy<E>);
}

}  // namespace assay::reference
