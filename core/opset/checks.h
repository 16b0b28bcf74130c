// Checks and small computations that shape rules share. Every sentence starts with the operator, names the
// argument, says what it is and what it must be.
#pragma once

#include <fmt/core.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/opset/call.h"
#include "core/opset/shapes.h"

namespace assay::rules {

using Metas = std::vector<TensorMeta>;

template <typename... Args>
[[noreturn]] void fail(const OpCall& call, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::invalid_argument,
              call.op() + ": " + fmt::format(format, std::forward<Args>(args)...));
}

// The meta of a required tensor argument; of an optional one, nullptr for None. A number is refused.
const TensorMeta& meta(const OpCall& call, std::string_view name);
const TensorMeta* meta_opt(const OpCall& call, std::string_view name);
int64_t rank(const TensorMeta& tensor);
// A dim, already counted from the front, as an index.
inline std::size_t at(int64_t dim) { return static_cast<std::size_t>(dim); }
// Size of a dim that may be negative; 1 for a 0-d tensor, whose dims are -1 and 0.
int64_t size_at(const TensorMeta& tensor, int64_t dim);

// Kinds of dtype an argument may have.
enum Kinds : unsigned {
  kBool = 1,
  kInt = 2,
  kFloat = 4,
  kComplex = 8,
  kReal = kInt | kFloat,
  kNoBool = kInt | kFloat | kComplex,
  kNoComplex = kBool | kInt | kFloat,
  kIntegral = kBool | kInt,
  kInexact = kFloat | kComplex,
  kAny = kBool | kInt | kFloat | kComplex
};
bool has_kind(DType dtype, unsigned kinds);
void require_kind(const OpCall& call, std::string_view name, DType dtype, unsigned kinds);
void require_rank(const OpCall& call, std::string_view name, int64_t low, int64_t high = -1);
// f32 or f64: what complex numbers are made of.
void require_complex_part(const OpCall& call, std::string_view name);
// `name` must have the dtype of `like`.
void require_same_dtype(const OpCall& call, std::string_view name, std::string_view like);
void require_shape(const OpCall& call, std::string_view name, const Shape& expected);
// i64, or also i32 where PyTorch takes it.
void require_index(const OpCall& call, std::string_view name, bool allow_i32 = true);
void require_sizes(const OpCall& call, std::string_view name, const Shape& sizes);  // none is negative
void require_length(const OpCall& call, std::string_view name, std::size_t given, std::size_t expected);
// `from` broadcasts to exactly `to`.
void require_expands(const OpCall& call, std::string_view name, const Shape& from, const Shape& to);
// One of the given words.
void require_word(const OpCall& call, std::string_view name, const std::string& given,
                  std::initializer_list<std::string_view> allowed);

// `reduce_op` of a collective and what it is defined for: avg needs fractions, min and max an order, band,
// bor and bxor bits; bool has those three, min and max.
void require_reduction(const OpCall& call, DType dtype);

// Tensors and numbers given for the named arguments (None is left out), and the broadcast shape of the
// tensors.
struct Operands {
  Metas tensors;
  std::vector<Scalar> scalars;
  Shape shape;
  DType type() const { return result_type(tensors, scalars); }
};
Operands operands(const OpCall& call, std::initializer_list<std::string_view> names);

// Result of a function that computes in floating point: integers and bools become f32, PyTorch's default
// dtype.
DType inexact(DType dtype);
// Sums and products of integers and bools are i64.
DType accumulated(DType dtype);
DType complex_of(DType real);  // f64 -> c128, else c64

// Dims normalised, checked to be distinct. Empty gives all dims.
std::vector<int64_t> reduced_dims(const OpCall& call, const std::vector<int64_t>& dims, int64_t rank);
Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& dims, bool keepdim);
// Throws if a reduced dim has size 0: a maximum of nothing does not exist.
void require_not_empty(const OpCall& call, const Shape& shape, const std::vector<int64_t>& dims);

// Sizes with at most one -1 replaced so that they hold `count` elements.
Shape inferred_sizes(const OpCall& call, Shape sizes, int64_t count, const Shape& from);
// Size of slice.Tensor's dim.
int64_t slice_size(const OpCall& call, int64_t size);

// Checked output size of a sliding window: floor or ceil of (size + 2 padding - dilation (kernel - 1) - 1) /
// stride + 1; with ceil the last window must start inside the input or its left padding (pooling_output_shape
// in aten/src/ATen/native/Pool.h).
int64_t window_count(const OpCall& call, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode);

}  // namespace assay::rules
