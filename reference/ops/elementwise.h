// Loops over broadcast operands, and operands in the type in which an operator computes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/opset/call.h"
#include "reference/array.h"
#include "reference/number/functions.h"

namespace assay::reference {

// Strides, in elements, with which a contiguous tensor of `shape` is read as if it had `target`'s shape.
Shape broadcast_strides(const Shape& shape, const Shape& target);

// Visits the elements of a shape in row-major order, run by run: output elements first .. first + length - 1,
// operand o at at[o] + j * step[o]. Neighbouring dims that all operands cross alike are one dim. At most
// three operands.
class RowWalk {
 public:
  RowWalk(const Shape& shape, const Shape* const* strides, std::size_t operands);
  bool next();
  int64_t first = 0, length = 0;
  std::array<int64_t, 3> at{}, step{};

 private:
  std::size_t operands_;
  Shape sizes_, index_;
  std::array<Shape, 3> steps_;
  bool started_ = false, empty_ = false;
};

template <std::size_t N, class Row>
void for_each_row(const Shape& shape, const std::array<Shape, N>& strides, Row&& row) {
  std::array<const Shape*, N> pointers{};
  for (std::size_t o = 0; o < N; ++o) pointers[o] = &strides[o];
  RowWalk walk(shape, pointers.data(), N);
  while (walk.next()) row(walk.first, walk.at, walk.step, walk.length);
}

// out[i] = f(a[i]).
template <class A, class R, class F>
void map(const std::vector<A>& a, std::vector<R>& out, F&& f) {
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = f(a[i]);
}

// An integer modulo 2^w of its dtype, sign extended; booleans become 0 or 1.
inline int64_t wrapped(DType dtype, int64_t v) {
  switch (dtype) {
    case DType::boolean:
      return v != 0;
    case DType::u8:
      return static_cast<uint8_t>(v);
    case DType::i8:
      return static_cast<int8_t>(v);
    case DType::i16:
      return static_cast<int16_t>(v);
    case DType::i32:
      return static_cast<int32_t>(v);
    default:
      return v;
  }
}

// A number where integers are computed: floats lose their fraction, as PyTorch converts them; the rules
// refuse those that the dtype cannot hold.
inline int64_t integer_of(const Scalar& number, DType compute) {
  if (number.kind != Scalar::Kind::floating) return number.as_int();
  if (compute == DType::boolean) return number.f != 0;
  return std::fabs(number.f) < 0x1p63 ? static_cast<int64_t>(number.f) : 0;
}

// Numbers of an operand: the input's own, or converted ones.
template <class V>
struct Operand {
  Shape shape;
  const V* data = nullptr;
  std::vector<V> owned;
};

template <class V>
Operand<V> owned_operand(Shape shape, std::vector<V> values) {
  Operand<V> operand{std::move(shape), nullptr, std::move(values)};
  operand.data = operand.owned.data();
  return operand;
}

// A tensor's values as numbers of the computation dtype. Integers and finer floats are first rounded to it,
// as PyTorch's type promotion does; in fp64 evaluation only precision is widened, so nothing rounds there.
// 0-d floats beside tensors of a coarser dtype count in `intermediate` or as that dtype holds them: PyTorch
// has kernels of both kinds.
template <class T>
Operand<T> real_operand(const Array<T>& array, DType compute) {
  if (array.is_integral()) {
    std::vector<T> values(array.integer.size());
    map(array.integer, values, [](int64_t i) { return constant<T>(static_cast<double>(i)); });
    return owned_operand(array.meta.shape, std::move(values));
  }
  if (float_format(array.meta.dtype).precision > float_format(compute).precision &&
      !std::is_same_v<T, double>) {
    std::vector<T> values(array.real.size());
    map(array.real, values, [](const T& x) { return rounded_constant(x); });
    if constexpr (std::is_same_v<T, Bounded>) {
      if (array.meta.shape.empty() && std::isfinite(values[0].value))
        values[0].bound += std::fabs(values[0].value - round_to(compute, values[0].value));
    }
    return owned_operand(array.meta.shape, std::move(values));
  }
  return {array.meta.shape, array.real.data(), {}};
}

// Integral values as the dtype in which they are computed holds them; throws for float arrays.
template <class T>
Operand<int64_t> integer_operand(const Array<T>& array, DType compute) {
  if (!array.is_integral()) throw Error(ErrorCode::internal, "a float tensor where integers are computed");
  const auto holds = [&](int64_t v) { return wrapped(compute, v) == v; };
  if (std::all_of(array.integer.begin(), array.integer.end(), holds))
    return {array.meta.shape, array.integer.data(), {}};
  std::vector<int64_t> values(array.integer.size());
  map(array.integer, values, [&](int64_t v) { return wrapped(compute, v); });
  return owned_operand(array.meta.shape, std::move(values));
}

// The operand behind argument `name`, which may be a tensor or a number.
template <class T>
Operand<T> real_argument(const OpCall& call, const Inputs<T>& inputs, std::string_view name, DType compute) {
  if (const auto i = call.tensor_opt(name))
    return real_operand(*inputs[static_cast<std::size_t>(*i)], compute);
  return owned_operand<T>({}, {constant<T>(call.scalar(name).as_double())});
}
template <class T>
Operand<int64_t> integer_argument(const OpCall& call, const Inputs<T>& inputs, std::string_view name,
                                  DType compute) {
  if (const auto i = call.tensor_opt(name))
    return integer_operand(*inputs[static_cast<std::size_t>(*i)], compute);
  return owned_operand<int64_t>({}, {wrapped(compute, integer_of(call.scalar(name), compute))});
}

// Where an operator jumps (remainders, comparisons), an operand that is finer than the dtype in which PyTorch
// computes counts as that dtype holds it: a number like 0.1, an integer, a 0-d tensor.
template <class T>
Operand<T> held_argument(const OpCall& call, const Inputs<T>& in, std::string_view name, DType compute) {
  const auto i = call.tensor_opt(name);
  const Array<T>* array = i ? in[static_cast<std::size_t>(*i)] : nullptr;
  const auto held = [&](double v) { return T(round_to(compute, v)); };
  if (array == nullptr) return owned_operand<T>({}, {held(call.scalar(name).as_double())});
  std::vector<T> values;
  if (array->is_integral()) {
    values.resize(array->integer.size());
    map(array->integer, values, [&](int64_t v) { return held(static_cast<double>(v)); });
  } else if (float_format(array->meta.dtype).precision > float_format(compute).precision) {
    values.resize(array->real.size());
    map(array->real, values, [&](const T& v) { return held(static_cast<double>(plain(v))); });
  } else {
    return {array->meta.shape, array->real.data(), {}};
  }
  return owned_operand(array->meta.shape, std::move(values));
}

// PyTorch's computation dtype of an operation between the named arguments (tensors or numbers).
DType computation_dtype(const OpCall& call, std::initializer_list<std::string_view> names);

// out[i] = f(a[i], b[i]), broadcast to `shape`.
template <class A, class B, class R, class F>
void zip(const Shape& shape, const Operand<A>& a, const Operand<B>& b, std::vector<R>& out, F&& f) {
  for_each_row<2>(shape, {broadcast_strides(a.shape, shape), broadcast_strides(b.shape, shape)},
                  [&](int64_t first, const auto& at, const auto& step, int64_t length) {
                    const A* x = a.data + at[0];
                    const B* y = b.data + at[1];
                    R* to = out.data() + first;
                    for (int64_t j = 0; j < length; ++j) to[j] = f(x[j * step[0]], y[j * step[1]]);
                  });
}
template <class A, class B, class C, class R, class F>
void zip3(const Shape& shape, const Operand<A>& a, const Operand<B>& b, const Operand<C>& c,
          std::vector<R>& out, F&& f) {
  for_each_row<3>(shape,
                  {broadcast_strides(a.shape, shape), broadcast_strides(b.shape, shape),
                   broadcast_strides(c.shape, shape)},
                  [&](int64_t first, const auto& at, const auto& step, int64_t length) {
                    for (int64_t j = 0; j < length; ++j) {
                      out[static_cast<std::size_t>(first + j)] =
                          f(a.data[at[0] + j * step[0]], b.data[at[1] + j * step[1]],
                            c.data[at[2] + j * step[2]]);
                    }
                  });
}

template <class T>
std::vector<Array<T>> one(Array<T> array) {
  std::vector<Array<T>> result;
  result.push_back(std::move(array));
  return result;
}

}  // namespace assay::reference
