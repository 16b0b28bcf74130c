// Fourier transforms.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

std::vector<int64_t> transformed_dims(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  const std::vector<int64_t> dims = call.integers("dim");
  if (dims.empty()) return {};
  reduced_dims(call, dims, rank(self));  // distinct and in range
  std::vector<int64_t> out;
  for (const int64_t dim : dims) out.push_back(normalise_dim(dim, rank(self), call));
  for (const int64_t dim : out) {
    if (size_at(self, dim) < 1)
      fail(call, "self has shape {}; dim {} must not be empty", to_string(self.shape), dim);
  }
  return out;
}

Metas fft_c2c(const OpCall& call) {
  require_kind(call, "self", meta(call, "self").dtype, kComplex);
  transformed_dims(call);
  return {meta(call, "self")};
}
Metas fft_r2c(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  require_complex_part(call, "self");
  const std::vector<int64_t> dims = transformed_dims(call);
  if (dims.empty() || self.shape.empty()) fail(call, "dim is empty; it must name at least one dim");
  int64_t& last = self.shape[static_cast<std::size_t>(dims.back())];
  if (call.boolean("onesided")) last = last / 2 + 1;
  self.dtype = complex_of(self.dtype);
  return {self};
}
Metas fft_c2r(const OpCall& call) {
  TensorMeta self = meta(call, "self");
  require_kind(call, "self", self.dtype, kComplex);
  const std::vector<int64_t> dims = transformed_dims(call);
  if (dims.empty() || self.shape.empty()) fail(call, "dim is empty; it must name at least one dim");
  const int64_t last = call.integer("last_dim_size");
  if (last < 1) fail(call, "last_dim_size is {}; it must be positive", last);
  self.shape[static_cast<std::size_t>(dims.back())] = last;
  self.dtype = part_dtype(self.dtype);
  return {self};
}

}  // namespace

void register_spatial(ShapeTable& table) {
  table.add("aten::_fft_c2c.default", fft_c2c);
  table.add("aten::_fft_r2c.default", fft_r2c);
  table.add("aten::_fft_c2r.default", fft_c2r);
}

}  // namespace assay
