// Comparisons, logic and bits: exact. A number is compared in the tensor's dtype, as PyTorch promotes it.
#pragma once

#include <cmath>
#include <numeric>

#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

template <class T, class F>
std::vector<Array<T>> compare(const OpCall& call, const Inputs<T>& in, F f) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = computation_dtype(call, {"self", "other"});
  if (is_integral(dtype)) {
    zip(out.meta.shape, integer_argument(call, in, "self", dtype), integer_argument(call, in, "other", dtype),
        out.integer, [&](int64_t a, int64_t b) { return static_cast<int64_t>(f(a, b)); });
  } else {
    zip(out.meta.shape, held_argument(call, in, "self", dtype), held_argument(call, in, "other", dtype),
        out.integer, [&](const T& a, const T& b) { return static_cast<int64_t>(f(a, b)); });
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> eq(const OpCall& call, const Inputs<T>& in) {
  return compare<T>(call, in, [](const auto& a, const auto& b) { return a == b; });
}
template <class T>
std::vector<Array<T>> ne(const OpCall& call, const Inputs<T>& in) {
  return compare<T>(call, in, [](const auto& a, const auto& b) { return !(a == b); });
}
template <class T>
std::vector<Array<T>> lt(const OpCall& call, const Inputs<T>& in) {
  return compare<T>(call, in, [](const auto& a, const auto& b) { return a < b; });
}
template <class T>
std::vector<Array<T>> le(const OpCall& call, const Inputs<T>& in) {
  return compare<T>(call, in, [](const auto& a, const auto& b) { return a <= b; });
}
template <class T>
std::vector<Array<T>> gt(const OpCall& call, const Inputs<T>& in) {
  return compare<T>(call, in, [](const auto& a, const auto& b) { return b < a; });
}
template <class T>
std::vector<Array<T>> ge(const OpCall& call, const Inputs<T>& in) {
  return compare<T>(call, in, [](const auto& a, const auto& b) { return b <= a; });
}

template <class T, class F>
std::vector<Array<T>> bitwise(const OpCall& call, const Inputs<T>& in, F f) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = out.meta.dtype;
  zip(out.meta.shape, integer_argument(call, in, "self", dtype), integer_argument(call, in, "other", dtype),
      out.integer, [&](int64_t a, int64_t b) { return wrapped(dtype, f(a, b)); });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> bitwise_and(const OpCall& call, const Inputs<T>& in) {
  return bitwise<T>(call, in, [](int64_t a, int64_t b) { return a & b; });
}
template <class T>
std::vector<Array<T>> bitwise_or(const OpCall& call, const Inputs<T>& in) {
  return bitwise<T>(call, in, [](int64_t a, int64_t b) { return a | b; });
}
template <class T>
std::vector<Array<T>> bitwise_xor(const OpCall& call, const Inputs<T>& in) {
  return bitwise<T>(call, in, [](int64_t a, int64_t b) { return a ^ b; });
}
// Of magnitudes; the lowest number's wraps round to itself, as its negation does.
inline int64_t greatest_common_divisor(int64_t a, int64_t b) {
  const auto magnitude = [](int64_t v) {
    return v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
  };
  return static_cast<int64_t>(std::gcd(magnitude(a), magnitude(b)));
}
template <class T>
std::vector<Array<T>> gcd(const OpCall& call, const Inputs<T>& in) {
  return bitwise<T>(call, in, greatest_common_divisor);
}
template <class T>
std::vector<Array<T>> lcm(const OpCall& call, const Inputs<T>& in) {
  return bitwise<T>(call, in, [](int64_t a, int64_t b) {
    const int64_t divisor = greatest_common_divisor(a, b);
    if (divisor == 0) return int64_t{0};
    const auto product = static_cast<int64_t>(static_cast<uint64_t>(a / divisor) * static_cast<uint64_t>(b));
    return product < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(product)) : product;
  });
}
template <class T>
std::vector<Array<T>> bitwise_not(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const DType dtype = out.meta.dtype;
  map(in[0]->integer, out.integer,
      [&](int64_t a) { return dtype == DType::boolean ? static_cast<int64_t>(a == 0) : wrapped(dtype, ~a); });
  return one(std::move(out));
}

// Truth of each element: not zero (NaN is true).
template <class T>
std::vector<int64_t> truth(const Array<T>& array) {
  std::vector<int64_t> out(static_cast<std::size_t>(array.count()));
  if (array.is_integral()) {
    map(array.integer, out, [](int64_t v) { return static_cast<int64_t>(v != 0); });
  } else {
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto parts = static_cast<std::size_t>(array.parts());
      for (std::size_t p = 0; p < parts; ++p) out[i] |= !(array.real[i * parts + p] == T(0));
    }
  }
  return out;
}
template <class T, class F>
std::vector<Array<T>> logical(const OpCall& call, const Inputs<T>& in, F f) {
  auto out = make_array<T>(call.output(0));
  zip(out.meta.shape, owned_operand(in[0]->meta.shape, truth(*in[0])),
      owned_operand(in[1]->meta.shape, truth(*in[1])), out.integer, f);
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> logical_and(const OpCall& call, const Inputs<T>& in) {
  return logical<T>(call, in, [](int64_t a, int64_t b) { return a & b; });
}
template <class T>
std::vector<Array<T>> logical_or(const OpCall& call, const Inputs<T>& in) {
  return logical<T>(call, in, [](int64_t a, int64_t b) { return a | b; });
}
template <class T>
std::vector<Array<T>> logical_xor(const OpCall& call, const Inputs<T>& in) {
  return logical<T>(call, in, [](int64_t a, int64_t b) { return a ^ b; });
}
template <class T>
std::vector<Array<T>> logical_not(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  map(truth(*in[0]), out.integer, [](int64_t v) { return 1 - v; });
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> isnan(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  map(in[0]->real, out.integer, [](const T& v) { return static_cast<int64_t>(!(v == v)); });
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> isinf(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  map(in[0]->real, out.integer, [](const T& v) { return static_cast<int64_t>(v == v && !(v - v == v - v)); });
  return one(std::move(out));
}

template <class T>
void register_compare(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits exact = exact_traits("IEEE 754");
  struct Comparison {
    const char* name;
    Kernel<E> kernel;
  };
  for (const auto& [name, kernel] :
       {Comparison{"eq", eq<E>}, {"ne", ne<E>}, {"lt", lt<E>}, {"le", le<E>}, {"gt", gt<E>}, {"ge", ge<E>}}) {
    for (const char* overload : {".Tensor", ".Scalar"}) {
      table.add_exact(std::string("aten::") + name + overload, exact.jumps(), kernel);
    }
  }
  for (const auto& [name, kernel] : {Comparison{"bitwise_and", bitwise_and<E>},
                                     {"bitwise_or", bitwise_or<E>},
                                     {"bitwise_xor", bitwise_xor<E>}}) {
    for (const char* overload : {".Tensor", ".Scalar"}) {
      table.add_exact(std::string("aten::") + name + overload, exact, kernel);
    }
  }
  table.add_exact("aten::gcd.default", exact, gcd<E>);
  table.add_exact("aten::lcm.default", exact, lcm<E>);
  table.add_exact("aten::bitwise_not.default", exact, bitwise_not<E>);
  table.add_exact("aten::logical_and.default", exact.jumps(), logical_and<E>);
  table.add_exact("aten::logical_or.default", exact.jumps(), logical_or<E>);
  table.add_exact("aten::logical_xor.default", exact.jumps(), logical_xor<E>);
  table.add_exact("aten::logical_not.default", exact.jumps(), logical_not<E>);
  table.add_exact("aten::isnan.default", exact.jumps(), isnan<E>);
  table.add_exact("aten::isinf.default", exact.jumps(), isinf<E>);
}

}  // namespace assay::reference
