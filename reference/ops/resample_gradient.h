// Gradients of resampling: each input element gathers what the outputs that read it had of it, with the
// weights of the forward operators (reference/ops/resample.h).
#pragma once

#include "reference/ops/resample.h"

namespace assay::reference {

// Weights of one dim turned around: for each input index the output indices that read it. `taps_of(dim, i)`
// are those of output index i.
template <class T, class TapsOf>
std::vector<Taps<T>> turned_taps(const ResizedDim& dim, TapsOf&& taps_of) {
  std::vector<Taps<T>> turned(at(dim.in));
  for (int64_t o = 0; o < dim.out; ++o) {
    const Taps<T> taps = taps_of(dim, o);
    for (std::size_t k = 0; k < taps.index.size(); ++k) turned[at(taps.index[k])].add(o, taps.weight[k]);
  }
  return turned;
}

// grad_output [N, C, out...] to [N, C, in...].
template <class T, class TapsOf>
std::vector<Array<T>> resample_gradient(const OpCall& call, const Inputs<T>& in, TapsOf&& taps_of) {
  auto out = make_array<T>(call.output(0));
  std::vector<ResizedDim> dims = resized_dims(call), turned_dims = dims;
  std::vector<std::vector<Taps<T>>> taps;
  std::vector<int64_t> sizes;
  for (ResizedDim& dim : dims) {
    std::swap(dim.in, dim.out);  // of the forward operator
    sizes.push_back(dim.out);
    taps.push_back(turned_taps<T>(dim, taps_of));
  }
  std::vector<const Taps<T>*> here(dims.size());
  std::vector<T> values, weights;
  for_each_resized(turned_dims, planes_of(out.meta.shape),
                   [&](int64_t i, int64_t first, const std::vector<int64_t>& at_dim) {
                     for (std::size_t d = 0; d < dims.size(); ++d) here[d] = &taps[d][at(at_dim[d])];
                     out.real[at(i)] = weighted(here, sizes, in[0]->real.data() + first, values, weights);
                   });
  return one(std::move(out));
}

// Where a position may fall to either side of a whole number, either element may have been read.
template <class T>
Taps<T> nearest_taps(const ResizedDim& dim, int64_t i) {
  const Nearest chosen = nearest(dim, i, false);
  Taps<T> taps;
  taps.add(chosen.index, T(1));
  if constexpr (std::is_same_v<T, Bounded>) {
    if (chosen.other != chosen.index) {
      taps.weight[0].bound = 1;
      taps.add(chosen.other, {0, 1, 0});
    }
  }
  return taps;
}

template <class T>
std::vector<Array<T>> upsample_nearest_gradient(const OpCall& call, const Inputs<T>& in) {
  return resample_gradient(call, in, nearest_taps<T>);
}
template <class T>
std::vector<Array<T>> upsample_linear_gradient(const OpCall& call, const Inputs<T>& in) {
  const bool align = call.boolean("align_corners");
  return resample_gradient(call, in,
                           [&](const ResizedDim& dim, int64_t i) { return linear_taps<T>(dim, i, align); });
}
template <class T>
std::vector<Array<T>> upsample_cubic_gradient(const OpCall& call, const Inputs<T>& in) {
  const bool align = call.boolean("align_corners");
  return resample_gradient(call, in,
                           [&](const ResizedDim& dim, int64_t i) { return cubic_taps<T>(dim, i, align); });
}

// d(x_0 ... x_j) / dx_k is the product of the others up to j: right where an element is 0 as well.
template <class T>
std::vector<Array<T>> cumprod_gradient(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const std::vector<T>&g = in[at(call.tensor("grad"))]->real, &x = in[at(call.tensor("input"))]->real;
  const int64_t rank = out.rank();
  const Axis axis = axis_of(out.meta.shape, rank == 0 ? 0 : normalise_dim(call.integer("dim"), rank, call));
  std::vector<T> terms;
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t i = 0; i < axis.inner; ++i) {
      T before(1);
      for (int64_t k = 0; k < axis.size; ++k) {
        T product = before;
        terms.clear();
        for (int64_t j = k; j < axis.size; ++j) {
          if (j > k) product = product * x[at(axis.at(o, j, i))];
          terms.push_back(g[at(axis.at(o, j, i))] * product);
        }
        out.real[at(axis.at(o, k, i))] = sum_any_order(terms.data(), static_cast<int64_t>(terms.size()));
        before = before * x[at(axis.at(o, k, i))];
      }
    }
  }
  return one(std::move(out));
}

template <class T>
void register_resample_gradient(KernelTable<T>& table) {
  const Traits traits = function_traits("PyTorch");
  for (const char* dims : {"1d", "2d", "3d"}) {
    table.add(std::string("aten::upsample_nearest") + dims + "_backward.default", traits.jumps(),
              upsample_nearest_gradient<T>);
  }
  table.add("aten::upsample_linear1d_backward.default", traits, upsample_linear_gradient<T>);
  table.add("aten::upsample_bilinear2d_backward.default", traits, upsample_linear_gradient<T>);
  table.add("aten::upsample_trilinear3d_backward.default", traits, upsample_linear_gradient<T>);
  table.add("aten::upsample_bicubic2d_backward.default", traits, upsample_cubic_gradient<T>);
  table.add("aten::cumprod_backward.default", function_traits("derivative"), cumprod_gradient<T>);
}

}  // namespace assay::reference
