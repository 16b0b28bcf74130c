// Complex tensors by way of real kernels: what moves, sums or compares elements does it to real and imaginary
// parts.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/number/complex.h"
#include "reference/ops/complex.h"
#include "reference/ops/order.h"
#include "reference/ops/reduce.h"
#include "reference/ops/rows.h"
#include "reference/table.h"

namespace assay::reference {

// Real (0) or imaginary (1) parts. Of real tensors the imaginary part is 0; indices and masks are themselves.
template <class T>
Array<T> part_of(const Array<T>& array, int part, bool is_value) {
  if (array.parts() == 1) {
    Array<T> copy = array;
    if (part == 1 && is_value) {
      std::fill(copy.real.begin(), copy.real.end(), T(0));
      std::fill(copy.integer.begin(), copy.integer.end(), 0);
    }
    return copy;
  }
  auto out = make_array<T>({part_dtype(array.meta.dtype), array.meta.shape});
  for (std::size_t i = 0; i < out.real.size(); ++i)
    out.real[i] = array.real[2 * i + static_cast<std::size_t>(part)];
  return out;
}

template <class T>
Array<T> complex_of_arrays(DType dtype, const Array<T>& re, const Array<T>& im) {
  auto out = make_array<T>({dtype, re.meta.shape});
  for (std::size_t i = 0; i < re.real.size(); ++i) {
    out.real[2 * i] = re.real[i];
    out.real[2 * i + 1] = im.real[i];
    if constexpr (std::is_same_v<T, Bounded>) free_if_infinite(out.real[2 * i], out.real[2 * i + 1]);
  }
  return out;
}

// The call with other operands: `metas` for its inputs, parts for its results. Numbers that are values (not
// alpha and beta, which scale) have the imaginary part 0.
inline OpCall call_of_parts(const OpCall& call, std::vector<TensorMeta> metas, int part) {
  std::vector<NamedArgument> arguments;
  for (const NamedArgument& given : call.arguments()) {
    NamedArgument argument = given;
    if (std::holds_alternative<ValueArg>(given.value)) {
      argument.value = ValueArg{call.tensor(given.name)};
    } else if (std::holds_alternative<ValueListArg>(given.value)) {
      argument.value = ValueListArg{call.tensors(given.name)};
    } else if (const auto* dtype = std::get_if<DTypeArg>(&given.value)) {
      argument.value = DTypeArg{real_part(dtype->dtype)};
    } else if (part == 1 && (given.name == "value" || given.name == "other" || given.name == "src") &&
               call.is_number(given.name)) {
      argument.value = 0.0;
    }
    arguments.push_back(std::move(argument));
  }
  std::vector<TensorMeta> results = call.outputs();
  for (TensorMeta& meta : results) meta.dtype = real_part(meta.dtype);
  return OpCall(call.op(), std::move(metas), arguments, std::move(results));
}

// The real kernel on these operands.
template <class T>
Array<T> of_real_kernel(const OpCall& call, const std::vector<Array<T>>& operands, int part = 0) {
  std::vector<TensorMeta> metas;
  Inputs<T> pointers;
  for (const Array<T>& array : operands) {
    metas.push_back(array.meta);
    pointers.push_back(&array);
  }
  const OpCall real = call_of_parts(call, std::move(metas), part);
  return kernel_table<T>().find(call.op())->kernel(real, pointers).at(0);
}

template <class T>
Array<T> of_part(const OpCall& call, const Inputs<T>& in, int part) {
  static constexpr std::array<std::string_view, 4> shared{"index", "indices", "mask", "condition"};
  std::vector<bool> is_value(in.size(), true);
  for (const std::string_view name : shared) {
    if (call.schema().find(name) == nullptr) continue;
    for (const int i :
         call.schema().find(name)->type.list ? call.tensors(name) : std::vector<int>{call.tensor(name)}) {
      if (i >= 0) is_value[static_cast<std::size_t>(i)] = false;
    }
  }
  std::vector<Array<T>> parts;
  for (std::size_t i = 0; i < in.size(); ++i) parts.push_back(part_of(*in[i], part, is_value[i]));
  return of_real_kernel(call, parts, part);
}

// Copies, sums, means, writes: the parts do not meet.
template <class T>
std::vector<Array<T>> by_parts(const OpCall& call, const Inputs<T>& in) {
  return one(complex_of_arrays(call.output(0).dtype, of_part(call, in, 0), of_part(call, in, 1)));
}
// eq (both parts are equal), ne, isnan, isinf (one of them is).
template <class T, bool Both>
std::vector<Array<T>> truth_of_parts(const OpCall& call, const Inputs<T>& in) {
  Array<T> re = of_part(call, in, 0);
  const Array<T> im = of_part(call, in, 1);
  for (std::size_t i = 0; i < re.integer.size(); ++i) {
    re.integer[i] = Both ? re.integer[i] & im.integer[i] : re.integer[i] | im.integer[i];
  }
  return one(std::move(re));
}
// The variance of complex numbers is that of the real parts plus that of the imaginary ones.
template <class T>
std::vector<Array<T>> complex_var(const OpCall& call, const Inputs<T>& in) {
  Array<T> re = of_part(call, in, 0);
  const Array<T> im = of_part(call, in, 1);
  for (std::size_t i = 0; i < re.real.size(); ++i) re.real[i] = re.real[i] + im.real[i];
  return one(std::move(re));
}
// The norm of the moduli.
template <class T>
std::vector<Array<T>> complex_vector_norm(const OpCall& call, const Inputs<T>& in) {
  auto sizes = make_array<T>({part_dtype(in[0]->meta.dtype), in[0]->meta.shape});
  map(complex_operand(*in[0]).owned, sizes.real, complex_modulus<T>);
  return one(of_real_kernel<T>(call, {std::move(sizes)}));
}
template <class T>
std::vector<Array<T>> complex_prod(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  std::vector<int64_t> dims;
  if (call.schema().find("dim") == nullptr) {
    dims = dims_of(call);
  } else if (in[0]->rank() > 0) {
    dims = {normalise_dim(call.integer("dim"), in[0]->rank(), call)};
  }
  Rows rows;
  const Array<T> re = gathered_rows(part_of(*in[0], 0, true), dims, rows);
  const Array<T> im = gathered_rows(part_of(*in[0], 1, true), dims, rows);
  for (int64_t r = 0; r < rows.count; ++r) {
    ComplexOf<T> z{T(1), T(0)};
    for (int64_t i = r * rows.length; i < (r + 1) * rows.length; ++i) {
      const ComplexOf<T> factor{re.real[at(i)], im.real[at(i)]};
      z = i == r * rows.length ? factor : complex_times(z, factor);
    }
    out.real[at(2 * r)] = z.re;
    out.real[at(2 * r + 1)] = z.im;
  }
  return one(std::move(out));
}
template <class T>
std::vector<Array<T>> complex_silu(const OpCall& call, const Inputs<T>& in) {
  auto x = complex_operand(*in[0]).owned;
  for (ComplexOf<T>& z : x) z = complex_times(z, complex_function(ComplexFunction::sigmoid, z));
  return of_complex(call, x);
}

// [Re a, +-Im a] @ [Re b; Im b], so that all terms of a part are in one sum: a is [.., m, k], b [.., k, n].
template <class T>
Array<T> beside(const Array<T>& left, const Array<T>& right, bool negate_right) {
  Shape shape = left.meta.shape;
  const int64_t k = shape.back(), rows = k == 0 ? 0 : left.count() / k;
  shape.back() = 2 * k;
  auto out = make_array<T>({left.meta.dtype, shape});
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t p = 0; p < k; ++p) {
      out.real[at(2 * r * k + p)] = left.real[at(r * k + p)];
      const T& other = right.real[at(r * k + p)];
      out.real[at((2 * r + 1) * k + p)] = negate_right ? -other : other;
    }
  }
  return out;
}
template <class T>
Array<T> above(const Array<T>& upper, const Array<T>& lower) {
  Shape shape = upper.meta.shape;
  const int64_t n = shape.back(), k = shape[shape.size() - 2];
  const int64_t block = n * k, batch = block == 0 ? 0 : upper.count() / block;
  shape[shape.size() - 2] = 2 * k;
  auto out = make_array<T>({upper.meta.dtype, shape});
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t i = 0; i < block; ++i) {
      out.real[at(2 * b * block + i)] = upper.real[at(b * block + i)];
      out.real[at((2 * b + 1) * block + i)] = lower.real[at(b * block + i)];
    }
  }
  return out;
}
// mm, bmm, addmm, baddbmm.
template <class T>
std::vector<Array<T>> complex_product_of_matrices(const OpCall& call, const Inputs<T>& in) {
  const std::size_t a = in.size() - 2, b = in.size() - 1;  // behind the addend
  std::array<Array<T>, 2> parts;
  for (int part = 0; part < 2; ++part) {
    std::vector<Array<T>> operands;
    if (a == 1) operands.push_back(part_of(*in[0], part, true));
    const Array<T> re = part_of(*in[b], 0, true), im = part_of(*in[b], 1, true);
    operands.push_back(beside(part_of(*in[a], 0, true), part_of(*in[a], 1, true), part == 0));
    operands.push_back(part == 0 ? above(re, im) : above(im, re));
    parts[static_cast<std::size_t>(part)] = of_real_kernel(call, operands);
  }
  return one(complex_of_arrays(call.output(0).dtype, parts[0], parts[1]));
}
// Three real convolutions instead of four (Gauss), as PyTorch does it: p = Re x * Re w, q = Im x * Im w,
// r = (Re x + Im x) * (Re w + Im w); p - q and r - p - q. Its Bound covers that of four.
template <class T>
std::vector<Array<T>> complex_convolution(const OpCall& call, const Inputs<T>& in) {
  const auto sum_of_parts = [](const Array<T>& z) {
    Array<T> sum = part_of(z, 0, true);
    for (std::size_t i = 0; i < sum.real.size(); ++i) sum.real[i] = z.real[2 * i] + z.real[2 * i + 1];
    return sum;
  };
  const auto convolved = [&](const Array<T>& x, const Array<T>& w) {
    std::vector<Array<T>> operands{x, w};
    if (in.size() > 2) operands.push_back(make_array<T>({x.meta.dtype, in[2]->meta.shape}));
    return of_real_kernel(call, operands);
  };
  Array<T> p = convolved(part_of(*in[0], 0, true), part_of(*in[1], 0, true));
  const Array<T> q = convolved(part_of(*in[0], 1, true), part_of(*in[1], 1, true));
  Array<T> r = convolved(sum_of_parts(*in[0]), sum_of_parts(*in[1]));
  const Shape& shape = p.meta.shape;
  const std::size_t channel = shape.size() + 1 - in[1]->meta.shape.size();  // [batch,] channels, spatial dims
  int64_t inner = 1;
  for (std::size_t d = channel + 1; d < shape.size(); ++d) inner *= shape[d];
  for (std::size_t i = 0; i < p.real.size(); ++i) {
    r.real[i] = r.real[i] - p.real[i] - q.real[i];
    p.real[i] = p.real[i] - q.real[i];
    if (in.size() <= 2) continue;
    const auto c = static_cast<std::size_t>(static_cast<int64_t>(i) / inner % shape[channel]);
    p.real[i] = p.real[i] + in[2]->real[2 * c];
    r.real[i] = r.real[i] + in[2]->real[2 * c + 1];
  }
  return one(complex_of_arrays(call.output(0).dtype, p, r));
}

template <class T>
void register_complex_parts(KernelTable<T>& table) {
  using E = Exact<T>;
  Traits logic = exact_traits("PyTorch").jumps();
  if constexpr (std::is_same_v<E, T>) {
    for (const char* overload : {".Tensor", ".Scalar"}) {
      table.add_complex(std::string("aten::eq") + overload, logic, truth_of_parts<T, true>);
      table.add_complex(std::string("aten::ne") + overload, logic, truth_of_parts<T, false>);
    }
    table.add_complex("aten::isnan.default", logic, truth_of_parts<T, false>);
    table.add_complex("aten::isinf.default", logic, truth_of_parts<T, false>);
    // Their kernels ask of each element whether it is 0 in all of its parts.
    for (const auto& [name, kernel] :
         {std::pair<const char*, Kernel<T>>{"logical_and.default", logical_and<T>},
          {"logical_or.default", logical_or<T>},
          {"logical_xor.default", logical_xor<T>},
          {"logical_not.default", logical_not<T>},
          {"any.default", any_of<T, false>},
          {"any.dim", any_of<T, false>},
          {"any.dims", any_of<T, false>},
          {"nonzero.default", nonzero<T>}}) {
      table.add_complex(std::string("aten::") + name, logic, kernel);
    }
    for (const char* name :
         {"copy.default", "where.self", "masked_fill.Scalar", "masked_fill.Tensor", "scatter.value"}) {
      table.add_complex(std::string("aten::") + name, movement_traits(), by_parts<T>);
    }
  }
  for (const char* name : {"sum.dim_IntList", "cumsum.default", "scatter_add.default", "index_put.default"}) {
    table.add_complex(std::string("aten::") + name, sum_traits(), by_parts<T>);
  }
  const Traits functions = function_traits("definition");
  table.add_complex("aten::mean.default", functions, by_parts<T>);
  table.add_complex("aten::mean.dim", functions, by_parts<T>);
  table.add_complex("aten::var.correction", functions, complex_var<T>);
  table.add_complex("aten::var.dim", functions, complex_var<T>);
  table.add_complex("aten::linalg_vector_norm.default", functions, complex_vector_norm<T>);
  table.add_complex("aten::prod.default", functions, complex_prod<T>);
  table.add_complex("aten::prod.dim_int", functions, complex_prod<T>);
  table.add_complex("aten::silu.default", functions, complex_silu<T>);
  for (const char* name : {"mm", "bmm", "addmm", "baddbmm"}) {
    table.add_complex(std::string("aten::") + name + ".default", sum_traits(),
                      complex_product_of_matrices<T>);
  }
  table.add_complex("aten::convolution.default", sum_traits(), complex_convolution<T>);
}

}  // namespace assay::reference
