// Sliding windows over the last dimensions, seen as three: what pooling kernels share. Planes lie on
// partitions; a band of output rows at a time is computed from the part of the planes under its windows.
#pragma once

#include <vector>

#include "backend/kernels/tiles.h"

namespace assay::backend {

// Missing dimensions have size, kernel, stride and dilation 1.
struct Windows {
  // kernel_size, stride, padding and dilation as the call has them.
  Windows(const KernelContext& ctx, const View& in, const View& out, int spatial);

  View x, y;
  int64_t in[3], out[3], kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {},
                         dilation[3] = {1, 1, 1};
  int64_t planes;

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t area_in() const { return in[0] * in[1] * in[2]; }
  int64_t area_out() const { return out[0] * out[1] * out[2]; }
};

// `rows` output rows from `row` on, at one output depth.
struct Band {
  int64_t depth, row, rows;
};
// Bands whose windows and `bytes` bytes an output element fit into SBUF, as far as single rows do.
std::vector<Band> bands(const Windows& w, int64_t bytes);

// Planes first .. first+n-1 under the windows of a band, `outside` outside of the input: [depths, rows,
// columns].
AccessPattern load_band(KernelContext& ctx, const Windows& w, const Band& band, int64_t first, int n,
                        const Scalar& outside);
// What tap `tap` of every window sees: [rows, columns] of the output.
AccessPattern tap_of(const Windows& w, const AccessPattern& tile, const Band& band, int64_t tap);
// Where tap `tap` lies before strides and padding, by dimension.
void tap_offset(const Windows& w, int64_t tap, int64_t (&offset)[3]);
// The band of a tensor of the result's shape; of a constant of one plane with `shared`.
AccessPattern band_of(const Windows& w, DType dtype, int32_t tensor, int64_t offset, const Band& band,
                      int64_t first, int n, bool shared = false);

}  // namespace assay::backend
