// Assertions and operators that give host scalars.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

Metas assert_metadata(const OpCall& call) {
  const TensorMeta& a = meta(call, "a");
  const std::optional<std::vector<int64_t>> size = call.integers_opt("size");
  if (size && *size != a.shape) {
    fail(call, "a has shape {}; the graph asserts {}", to_string(a.shape), to_string(*size));
  }
  const std::optional<DType> dtype = call.dtype_opt("dtype");
  if (dtype && *dtype != a.dtype) {
    fail(call, "a has dtype {}; the graph asserts {}", name_of(a.dtype), name_of(*dtype));
  }
  return {};  // strides are not checked: tensors are logically contiguous
}

Metas assert_scalar(const OpCall& call) {
  call.scalar("self");
  return {};
}

Metas local_scalar(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (element_count(self.shape) != 1) {
    fail(call, "self has shape {}; it must have exactly one element", to_string(self.shape));
  }
  const DType dtype = self.dtype == DType::boolean ? DType::boolean
                      : is_integral(self.dtype)    ? DType::i64
                      : is_complex(self.dtype)     ? DType::c128
                                                   : DType::f64;
  return {{dtype, {}}};
}

Metas symbolic_size(const OpCall& call) {
  const TensorMeta& self = meta(call, "self");
  if (self.shape.empty()) fail(call, "self is a 0-d tensor; it must have at least 1 dim");
  normalise_dim(call.integer("dim"), rank(self), call);
  return {{DType::i64, {}}};
}
Metas symbolic_integer(const OpCall& call) {
  meta(call, "self");
  return {{DType::i64, {}}};
}
Metas symbolic_boolean(const OpCall& call) {
  meta(call, "self");
  return {{DType::boolean, {}}};
}

}  // namespace

void register_scalars(ShapeTable& table) {
  table.add("aten::_assert_tensor_metadata.default", assert_metadata);
  table.add("aten::_assert_scalar.default", assert_scalar);
  table.add("aten::_local_scalar_dense.default", local_scalar);
  table.add("aten::sym_size.int", symbolic_size);
  table.add("aten::sym_stride.int", symbolic_size);
  table.add("aten::sym_numel.default", symbolic_integer);
  table.add("aten::sym_storage_offset.default", symbolic_integer);
  table.add("aten::sym_is_contiguous.default", symbolic_boolean);
}

}  // namespace assay
