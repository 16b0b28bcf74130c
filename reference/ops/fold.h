// Padding by what lies at the edges, and windows as columns.
#pragma once

#include "reference/number/sums.h"
#include "reference/ops/movement.h"

namespace assay::reference {

// The element that stands at position i of a padded dim, i < 0 and i >= size being padding.
inline int64_t reflected(int64_t i, int64_t size) {
  if (size == 1) return 0;
  i = i < 0 ? -i : i;
  return i < size ? i : 2 * (size - 1) - i;
}
inline int64_t replicated(int64_t i, int64_t size) { return std::clamp<int64_t>(i, 0, size - 1); }

// Padding from the last dim backwards; negative padding crops.
template <class T, int64_t (*Source)(int64_t, int64_t)>
std::vector<Array<T>> edge_pad(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const auto padding = call.integers("padding");
  const Shape &from = in[0]->meta.shape, &to = out.meta.shape;
  const Shape strides = contiguous_strides(from);
  const int64_t parts = out.parts();
  for (int64_t o = 0; o < out.count(); ++o) {
    int64_t rest = o, offset = 0;
    for (std::size_t d = to.size(); d-- > 0;) {
      const std::size_t back = to.size() - 1 - d;
      const int64_t i = rest % to[d];
      const int64_t source = 2 * back < padding.size() ? Source(i - padding[2 * back], from[d]) : i;
      offset += source * strides[d];
      rest /= to[d];
    }
    if (out.is_integral()) {
      out.integer[at(o)] = in[0]->integer[at(offset)];
    } else {
      std::copy_n(in[0]->real.begin() + offset * parts, parts, out.real.begin() + o * parts);
    }
  }
  return one(std::move(out));
}

// Where column element (kernel position, window) lies in a plane; -1 in the padding.
struct Columns {
  Columns(const OpCall& call, const Shape& image)
      : kernel(call.integers("kernel_size", 2)),
        dilation(call.integers("dilation", 2)),
        padding(call.integers("padding", 2)),
        stride(call.integers("stride", 2)),
        size(image.end() - 2, image.end()) {
    for (std::size_t d = 0; d < 2; ++d)
      windows.push_back((size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1);
  }
  int64_t taps() const { return kernel[0] * kernel[1]; }
  int64_t count() const { return windows[0] * windows[1]; }
  int64_t area() const { return size[0] * size[1]; }
  int64_t position(int64_t tap, int64_t window) const {
    const int64_t y = window / windows[1] * stride[0] - padding[0] + tap / kernel[1] * dilation[0];
    const int64_t x = window % windows[1] * stride[1] - padding[1] + tap % kernel[1] * dilation[1];
    return y < 0 || y >= size[0] || x < 0 || x >= size[1] ? -1 : y * size[1] + x;
  }
  std::vector<int64_t> kernel, dilation, padding, stride;
  Shape size, windows;
};

// [N, C, H, W] -> [N, C * kernel, windows].
template <class T>
std::vector<Array<T>> im2col(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Columns columns(call, in[0]->meta.shape);
  const int64_t parts = out.parts();
  for (int64_t o = 0; o < out.count(); ++o) {
    const int64_t row = o / columns.count();
    const int64_t i = columns.position(row % columns.taps(), o % columns.count());
    if (i < 0) continue;
    const int64_t from = row / columns.taps() * columns.area() + i;
    if (out.is_integral()) {
      out.integer[at(o)] = in[0]->integer[at(from)];
    } else {
      std::copy_n(in[0]->real.begin() + from * parts, parts, out.real.begin() + o * parts);
    }
  }
  return one(std::move(out));
}

// The sum of all column elements that lie at a place of the image.
template <class T>
std::vector<Array<T>> col2im(const OpCall& call, const Inputs<T>& in) {
  auto out = make_array<T>(call.output(0));
  const Columns columns(call, out.meta.shape);
  const int64_t parts = out.parts(), planes = columns.area() == 0 ? 0 : out.count() / columns.area();
  std::vector<std::vector<int64_t>> sources(at(columns.area()));
  for (int64_t k = 0; k < columns.taps() * columns.count(); ++k) {
    const int64_t i = columns.position(k / columns.count(), k % columns.count());
    if (i >= 0) sources[at(i)].push_back(k);
  }
  std::vector<T> terms;
  for (int64_t plane = 0; plane < planes; ++plane) {
    const int64_t first = plane * columns.taps() * columns.count();
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::size_t o = at(plane * columns.area()) + i;
      if (out.is_integral()) {  // bool: a sum of ones is one
        for (const int64_t k : sources[i]) out.integer[o] |= in[0]->integer[at(first + k)];
        continue;
      }
      for (int64_t p = 0; p < parts; ++p) {
        terms.clear();
        for (const int64_t k : sources[i]) terms.push_back(in[0]->real[at((first + k) * parts + p)]);
        out.real[o * at(parts) + at(p)] = sum_any_order(terms.data(), static_cast<int64_t>(terms.size()));
      }
    }
  }
  return one(std::move(out));
}

// The elements that fit, in order; what is added is not initialised.
template <class T>
std::vector<Array<T>> resized(const OpCall& call, const Inputs<T>& in) {
  const Array<T>& self = *in[at(call.tensor("self"))];
  auto out = make_array<T>(call.output(0));
  const int64_t kept = std::min(out.count(), self.count()), parts = out.parts();
  if (out.is_integral()) {
    std::copy_n(self.integer.begin(), kept, out.integer.begin());
  } else {
    std::copy_n(self.real.begin(), kept * parts, out.real.begin());
  }
  if (kept < out.count()) {
    out.undefined.assign(at(out.count() * (out.is_integral() ? 1 : parts)), 0);
    std::fill(out.undefined.begin() + kept * (out.is_integral() ? 1 : parts), out.undefined.end(), 1);
  }
  return one(std::move(out));
}

template <class T>
void register_fold(KernelTable<T>& table) {
  using E = Exact<T>;
  const Traits moves = movement_traits();
  for (const char* dims : {"1d", "2d", "3d"}) {
    table.add_exact(std::string("aten::reflection_pad") + dims + ".default", moves, edge_pad<E, reflected>);
    table.add_exact(std::string("aten::replication_pad") + dims + ".default", moves, edge_pad<E, replicated>);
  }
  table.add_exact("aten::im2col.default", moves, im2col<E>);
  Traits sums = sum_traits();
  sums.complex = true;
  table.add("aten::col2im.default", sums, col2im<T>);
  for (const char* name : {"aten::resize.default", "aten::resize_.default", "aten::resize_as.default"})
    table.add_exact(name, moves, resized<E>);
}

}  // namespace assay::reference
