#include "backend/isa/access_pattern.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace assay::backend {
namespace {

[[noreturn]] void fail(const AccessPattern& pattern, const std::string& what) {
  throw std::out_of_range(what + " of access pattern " + to_string(pattern));
}

void check_dim(const AccessPattern& pattern, int dim) {
  if (dim < 0 || dim >= pattern.rank) fail(pattern, "no dimension " + std::to_string(dim));
}

int64_t element_bytes(const AccessPattern& pattern) { return static_cast<int64_t>(size_of(pattern.dtype)); }

void set_sizes(AccessPattern& pattern, Sizes sizes) {
  if (sizes.size() > kMaxRank) {
    throw std::out_of_range("an access pattern has at most " + std::to_string(kMaxRank) +
                            " free dimensions, not " + std::to_string(sizes.size()));
  }
  pattern.rank = static_cast<uint8_t>(sizes.size());
  int64_t stride = 1;
  for (std::size_t k = sizes.size(); k-- > 0;) {
    if (sizes[k] < 0 || sizes[k] > std::numeric_limits<int32_t>::max()) {
      throw std::out_of_range("size " + std::to_string(sizes[k]) +
                              " of an access pattern is not in [0, 2^31)");
    }
    pattern.sizes[k] = static_cast<int32_t>(sizes[k]);
    pattern.strides[k] = stride;
    stride *= std::max<int64_t>(sizes[k], 1);
  }
}

}  // namespace

int64_t AccessPattern::free_elements() const {
  int64_t count = 1;
  for (int k = 0; k < rank; ++k) count *= sizes[static_cast<std::size_t>(k)];
  return count;
}

bool AccessPattern::is_contiguous() const {
  int64_t expected = 1;
  for (std::size_t k = rank; k-- > 0;) {
    if (sizes[k] != 1 && strides[k] != expected) return false;
    expected *= sizes[k];
  }
  return true;
}

AccessPattern::Extent AccessPattern::extent() const {
  if (elements() == 0) return {offset, offset};
  int64_t low = 0, high = 0;
  const auto add = [&](int64_t size, int64_t stride) {
    const int64_t reach = (size - 1) * stride;
    (reach < 0 ? low : high) += reach;
  };
  for (std::size_t k = 0; k < rank; ++k) add(sizes[k], strides[k]);
  if (space == Space::hbm) add(partitions, partition_stride);
  const int64_t bytes = element_bytes(*this);
  return {offset + low * bytes, offset + (high + 1) * bytes};
}

bool AccessPattern::is_dense() const {
  std::array<std::pair<int64_t, int64_t>, kMaxRank + 1> dims;  // |stride|, size
  std::size_t n = 0;
  const auto add = [&](int64_t size, int64_t stride) {
    if (size != 1 && stride != 0) dims[n++] = {stride < 0 ? -stride : stride, size};
  };
  for (std::size_t k = 0; k < rank; ++k) add(sizes[k], strides[k]);
  if (space == Space::hbm) add(partitions, partition_stride);
  // Of at most six: a heap sort, since std::sort's large case makes g++ 12 warn of an overrun that cannot
  // happen.
  const auto end = dims.begin() + static_cast<std::ptrdiff_t>(n);
  std::partial_sort(dims.begin(), end, end);
  int64_t reach = 1;  // elements that the smaller strides cover without a hole
  for (std::size_t k = 0; k < n; ++k) {
    if (dims[k].first > reach) return false;
    reach += dims[k].first * (dims[k].second - 1);
  }
  return true;
}

AccessPattern AccessPattern::partition_slice(int start, int count) const {
  if (start < 0 || count < 0 || start + count > partitions) {
    fail(*this, "no partitions [" + std::to_string(start) + ", " + std::to_string(start + count) + ")");
  }
  AccessPattern out = *this;
  out.partitions = count;
  if (space == Space::hbm) {
    out.offset += start * partition_stride * element_bytes(*this);
  } else {
    out.partition_start += start;
  }
  return out;
}

AccessPattern AccessPattern::slice(int dim, int64_t start, int64_t size, int64_t step) const {
  check_dim(*this, dim);
  const auto k = static_cast<std::size_t>(dim);
  const int64_t last = start + (size - 1) * step;
  if (size < 0 || (size > 0 && (start < 0 || start >= sizes[k] || last < 0 || last >= sizes[k]))) {
    fail(*this, "no slice [" + std::to_string(start) + ":+" + std::to_string(size) + ":" +
                    std::to_string(step) + "] in dimension " + std::to_string(dim));
  }
  AccessPattern out = *this;
  out.offset += start * strides[k] * element_bytes(*this);
  out.sizes[k] = static_cast<int32_t>(size);
  out.strides[k] = strides[k] * step;
  return out;
}

AccessPattern AccessPattern::select(int dim, int64_t index) const {
  AccessPattern out = slice(dim, index, 1);
  for (int k = dim; k + 1 < rank; ++k) {
    out.sizes[static_cast<std::size_t>(k)] = out.sizes[static_cast<std::size_t>(k + 1)];
    out.strides[static_cast<std::size_t>(k)] = out.strides[static_cast<std::size_t>(k + 1)];
  }
  --out.rank;
  out.sizes[out.rank] = 0;
  out.strides[out.rank] = 0;
  return out;
}

AccessPattern AccessPattern::permuted(std::initializer_list<int> order) const {
  if (order.size() != rank) fail(*this, "a permutation of another rank");
  AccessPattern out = *this;
  std::size_t k = 0;
  unsigned seen = 0;
  for (int from : order) {
    check_dim(*this, from);
    if (seen & (1u << from)) fail(*this, "a repeated dimension in a permutation");
    seen |= 1u << from;
    out.sizes[k] = sizes[static_cast<std::size_t>(from)];
    out.strides[k] = strides[static_cast<std::size_t>(from)];
    ++k;
  }
  return out;
}

AccessPattern AccessPattern::broadcast(int dim, int64_t size) const {
  check_dim(*this, dim);
  const auto k = static_cast<std::size_t>(dim);
  if (sizes[k] != 1 || size < 0 || size > std::numeric_limits<int32_t>::max()) {
    fail(*this, "no broadcast of dimension " + std::to_string(dim) + " to " + std::to_string(size));
  }
  AccessPattern out = *this;
  out.sizes[k] = static_cast<int32_t>(size);
  out.strides[k] = 0;
  return out;
}

AccessPattern AccessPattern::unsqueezed(int dim, int64_t size) const {
  if (dim < 0 || dim > rank || rank == kMaxRank || size < 0 || size > std::numeric_limits<int32_t>::max()) {
    fail(*this, "no new dimension " + std::to_string(dim));
  }
  AccessPattern out = *this;
  for (int k = rank; k > dim; --k) {
    out.sizes[static_cast<std::size_t>(k)] = sizes[static_cast<std::size_t>(k - 1)];
    out.strides[static_cast<std::size_t>(k)] = strides[static_cast<std::size_t>(k - 1)];
  }
  out.sizes[static_cast<std::size_t>(dim)] = static_cast<int32_t>(size);
  out.strides[static_cast<std::size_t>(dim)] = 0;
  ++out.rank;
  return out;
}

AccessPattern AccessPattern::reshaped(Sizes new_sizes) const {
  if (!is_contiguous()) fail(*this, "no reshape");
  AccessPattern out = *this;
  out.sizes = {};
  out.strides = {};
  set_sizes(out, new_sizes);
  if (out.free_elements() != free_elements()) fail(*this, "a reshape to another number of elements");
  return out;
}

AccessPattern AccessPattern::reinterpreted(DType to) const {
  const int64_t from_bytes = element_bytes(*this), to_bytes = static_cast<int64_t>(size_of(to));
  AccessPattern out = *this;
  out.dtype = to;
  if (from_bytes == to_bytes) return out;
  if (rank == 0) fail(*this, "no reinterpretation without a free dimension");
  const auto last = static_cast<std::size_t>(rank - 1);
  const auto rescale = [&](int64_t stride) {
    if (stride * from_bytes % to_bytes != 0) fail(*this, "a stride that the other dtype cannot express");
    return stride * from_bytes / to_bytes;
  };
  if (sizes[last] != 1 && strides[last] != 1) fail(*this, "no reinterpretation of a strided last dimension");
  if (sizes[last] * from_bytes % to_bytes != 0)
    fail(*this, "a last dimension that the other dtype cannot divide");
  out.sizes[last] = static_cast<int32_t>(sizes[last] * from_bytes / to_bytes);
  out.strides[last] = 1;
  for (std::size_t k = 0; k < last; ++k) out.strides[k] = rescale(strides[k]);
  out.partition_stride = rescale(partition_stride);
  return out;
}

AccessPattern sbuf_tile(DType dtype, int partition_start, int partitions, int64_t offset, Sizes sizes) {
  AccessPattern out;
  out.space = Space::sbuf;
  out.dtype = dtype;
  out.partition_start = partition_start;
  out.partitions = partitions;
  out.offset = offset;
  set_sizes(out, sizes);
  return out;
}

AccessPattern psum_tile(DType dtype, int partition_start, int partitions, int bank, Sizes sizes,
                        int64_t offset_in_bank) {
  AccessPattern out =
      sbuf_tile(dtype, partition_start, partitions, bank * kPsumBankBytes + offset_in_bank, sizes);
  out.space = Space::psum;
  return out;
}

AccessPattern hbm_tile(DType dtype, int32_t tensor, int64_t offset, int partitions, int64_t partition_stride,
                       Sizes sizes, std::span<const int64_t> strides) {
  AccessPattern out;
  out.space = Space::hbm;
  out.dtype = dtype;
  out.partitions = partitions;
  out.tensor = tensor;
  out.partition_stride = partition_stride;
  out.offset = offset * static_cast<int64_t>(size_of(dtype));
  set_sizes(out, sizes);
  if (strides.size() != sizes.size()) throw std::out_of_range("an access pattern needs one stride a size");
  std::copy(strides.begin(), strides.end(), out.strides.begin());
  return out;
}

std::string to_string(const AccessPattern& p) {
  std::string out;
  switch (p.space) {
    case Space::none:
      return "(none)";
    case Space::sbuf:
      out = "sbuf";
      break;
    case Space::psum:
      out = "psum";
      break;
    case Space::hbm:
      out = "hbm#" + std::to_string(p.tensor);
      break;
  }
  if (p.space == Space::hbm) {
    out += "[byte " + std::to_string(p.offset) + "] " + std::string(name_of(p.dtype)) + " [" +
           std::to_string(p.partitions) + ":" + std::to_string(p.partition_stride) + "]";
  } else {
    out += "[" + std::to_string(p.partition_start) + ":" + std::to_string(p.partition_start + p.partitions) +
           ", byte " + std::to_string(p.offset) + "] " + std::string(name_of(p.dtype));
  }
  out += " [";
  for (std::size_t k = 0; k < p.rank && k < kMaxRank; ++k) {
    out += (k ? ", " : "") + std::to_string(p.sizes[k]) + ":" + std::to_string(p.strides[k]);
  }
  return out + "]";
}

}  // namespace assay::backend
