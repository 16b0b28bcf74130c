// Fourier transforms: _fft_c2c, _fft_r2c and _fft_c2r, over any dims, with PyTorch's three normalisations.
#pragma once

#include <cmath>

#include "reference/number/fourier.h"
#include "reference/ops/elementwise.h"
#include "reference/table.h"

namespace assay::reference {

template <class T>
struct ComplexTensor {
  Shape shape;
  std::vector<ComplexOf<T>> values;
};

// Replaces each line along `dim` by f(line), all of one length.
template <class T, class F>
ComplexTensor<T> along(const ComplexTensor<T>& x, std::size_t dim, F&& f) {
  int64_t inner = 1, outer = 1;
  for (std::size_t d = 0; d < x.shape.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : x.shape[d];
  const int64_t n = x.shape[dim];
  ComplexTensor<T> out{x.shape, {}};
  std::vector<ComplexOf<T>> line(static_cast<std::size_t>(n));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t k = 0; k < n; ++k) {
        line[static_cast<std::size_t>(k)] = x.values[static_cast<std::size_t>((o * n + k) * inner + i)];
      }
      const std::vector<ComplexOf<T>> result = f(line);
      const auto length = static_cast<int64_t>(result.size());
      if (out.values.empty()) {
        out.shape[dim] = length;
        out.values.resize(static_cast<std::size_t>(outer * length * inner));
      }
      for (int64_t k = 0; k < length; ++k) {
        out.values[static_cast<std::size_t>((o * length + k) * inner + i)] =
            result[static_cast<std::size_t>(k)];
      }
    }
  }
  return out;
}

inline std::vector<std::size_t> transformed_dims(const OpCall& call) {
  const auto rank = static_cast<int64_t>(call.input(0).shape.size());
  std::vector<std::size_t> dims;
  for (const int64_t dim : call.integers("dim"))
    dims.push_back(static_cast<std::size_t>(normalise_dim(dim, rank, call)));
  return dims;
}

template <class T>
ComplexTensor<T> tensor_of(const Array<T>& array) {
  ComplexTensor<T> x{array.meta.shape, std::vector<ComplexOf<T>>(static_cast<std::size_t>(array.count()))};
  const auto parts = static_cast<std::size_t>(array.parts());
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    x.values[i].re = array.real[i * parts];
    if (parts == 2) x.values[i].im = array.real[i * parts + 1];
  }
  return x;
}

// Normalisation 1 divides by the root of the number of points, 2 by the number, once.
template <class T>
std::vector<Array<T>> scaled_result(const OpCall& call, const ComplexTensor<T>& x,
                                    const std::vector<std::size_t>& dims, const Shape& points) {
  auto out = make_array<T>(call.output(0));
  double count = 1;
  for (const std::size_t dim : dims) count *= static_cast<double>(points[dim]);
  const int64_t normalization = call.integer("normalization");
  const double factor = normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(count) : 1 / count;
  const auto parts = static_cast<std::size_t>(out.parts());
  for (std::size_t i = 0; i < out.real.size(); ++i) {
    const ComplexOf<T>& z = x.values[i / parts];
    const T part = i % parts == 1 ? z.im : z.re;
    out.real[i] = normalization == 0 ? part : part * constant<T>(factor);
  }
  return one(std::move(out));
}

template <class T>
std::vector<Array<T>> fft_c2c(const OpCall& call, const Inputs<T>& in) {
  const int sign = call.boolean("forward") ? -1 : 1;
  const auto dims = transformed_dims(call);
  auto x = tensor_of(*in[0]);
  if (x.values.empty()) return one(make_array<T>(call.output(0)));
  for (const std::size_t dim : dims) x = along(x, dim, [&](const auto& line) { return fourier(line, sign); });
  return scaled_result(call, x, dims, x.shape);
}

// The last of `dim` has half of the frequencies where onesided.
template <class T>
std::vector<Array<T>> fft_r2c(const OpCall& call, const Inputs<T>& in) {
  const auto dims = transformed_dims(call);
  auto x = tensor_of(*in[0]);
  if (x.values.empty()) return one(make_array<T>(call.output(0)));
  const Shape points = x.shape;
  const bool half = call.boolean("onesided");
  for (std::size_t d = dims.size(); d-- > 0;) {
    x = along(x, dims[d], [&](const auto& line) {
      auto result = fourier(line, -1);
      if (half && d + 1 == dims.size()) result.resize(line.size() / 2 + 1);
      return result;
    });
  }
  return scaled_result(call, x, dims, points);
}

// The last of `dim` holds the first half of a Hermitian spectrum; what is beyond it is not read, and the
// imaginary part of its first number (and of the middle one) counts for nothing.
template <class T>
std::vector<Array<T>> fft_c2r(const OpCall& call, const Inputs<T>& in) {
  const auto dims = transformed_dims(call);
  auto x = tensor_of(*in[0]);
  if (x.values.empty() || call.output(0).shape.empty()) return one(make_array<T>(call.output(0)));
  for (std::size_t d = 0; d + 1 < dims.size(); ++d)
    x = along(x, dims[d], [](const auto& line) { return fourier(line, 1); });
  const auto n = static_cast<std::size_t>(call.integer("last_dim_size"));
  x = along(x, dims.back(), [&](const std::vector<ComplexOf<T>>& line) {
    std::vector<ComplexOf<T>> whole(n);
    for (std::size_t k = 0; k <= n / 2 && k < line.size(); ++k) {
      whole[k] = line[k];
      const std::size_t mirrored = (n - k) % n;
      if (mirrored == k) {
        whole[k].im = T(0);
      } else {
        whole[mirrored] = {line[k].re, -line[k].im};
      }
    }
    return fourier(whole, 1);
  });
  return scaled_result(call, x, dims, x.shape);
}

template <class T>
void register_fft(KernelTable<T>& table) {
  Traits traits = function_traits("definition");
  traits.complex = true;
  table.add("aten::_fft_c2c.default", traits, fft_c2c<T>);
  table.add("aten::_fft_r2c.default", traits, fft_r2c<T>);
  table.add("aten::_fft_c2r.default", traits, fft_c2r<T>);
}

}  // namespace assay::reference
