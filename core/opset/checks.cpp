#include "core/opset/checks.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay::rules {

const TensorMeta& meta(const OpCall& call, std::string_view name) { return call.input(call.tensor(name)); }

const TensorMeta* meta_opt(const OpCall& call, std::string_view name) {
  return call.is_none(name) ? nullptr : &meta(call, name);
}

int64_t rank(const TensorMeta& tensor) { return static_cast<int64_t>(tensor.shape.size()); }

int64_t size_at(const TensorMeta& tensor, int64_t dim) {
  if (tensor.shape.empty()) return 1;
  return tensor.shape.at(static_cast<std::size_t>(dim < 0 ? dim + rank(tensor) : dim));
}

bool has_kind(DType dtype, unsigned kinds) {
  if (dtype == DType::boolean) return (kinds & kBool) != 0;
  if (is_integral(dtype)) return (kinds & kInt) != 0;
  if (is_complex(dtype)) return (kinds & kComplex) != 0;
  return (kinds & kFloat) != 0;
}

void require_kind(const OpCall& call, std::string_view name, DType dtype, unsigned kinds) {
  if (has_kind(dtype, kinds)) return;
  std::vector<std::string_view> allowed;
  if ((kinds & kBool) != 0) allowed.push_back("bool");
  if ((kinds & kInt) != 0) allowed.push_back("an integer dtype");
  if ((kinds & kFloat) != 0) allowed.push_back("a float dtype");
  if ((kinds & kComplex) != 0) allowed.push_back("a complex dtype");
  fail(call, "{} has dtype {}; it must be {}", name, name_of(dtype), fmt::join(allowed, " or "));
}

void require_rank(const OpCall& call, std::string_view name, int64_t low, int64_t high) {
  const TensorMeta& tensor = meta(call, name);
  const int64_t r = rank(tensor);
  if (high < 0) high = low;
  if (r >= low && r <= high) return;
  if (low == high) fail(call, "{} has shape {}; it must have {} dims", name, to_string(tensor.shape), low);
  fail(call, "{} has shape {}; it must have {} to {} dims", name, to_string(tensor.shape), low, high);
}

void require_complex_part(const OpCall& call, std::string_view name) {
  const DType dtype = meta(call, name).dtype;
  if (dtype != DType::f32 && dtype != DType::f64)
    fail(call, "{} has dtype {}; complex numbers are made of f32 or f64", name, name_of(dtype));
}

void require_same_dtype(const OpCall& call, std::string_view name, std::string_view like) {
  const DType is = meta(call, name).dtype;
  const DType must = meta(call, like).dtype;
  if (is != must) {
    fail(call, "{} has dtype {}; it must equal the dtype of {}, {}", name, name_of(is), like, name_of(must));
  }
}

void require_shape(const OpCall& call, std::string_view name, const Shape& expected) {
  const Shape& is = meta(call, name).shape;
  if (is != expected)
    fail(call, "{} has shape {}; it must have shape {}", name, to_string(is), to_string(expected));
}

void require_index(const OpCall& call, std::string_view name, bool allow_i32) {
  const DType dtype = meta(call, name).dtype;
  if (dtype == DType::i64 || (allow_i32 && dtype == DType::i32)) return;
  fail(call, "{} has dtype {}; an index must be {}", name, name_of(dtype), allow_i32 ? "i64 or i32" : "i64");
}

void require_sizes(const OpCall& call, std::string_view name, const Shape& sizes) {
  for (const int64_t size : sizes) {
    if (size < 0) fail(call, "{} is {}; sizes cannot be negative", name, to_string(sizes));
  }
}

void require_length(const OpCall& call, std::string_view name, std::size_t given, std::size_t expected) {
  if (given != expected) fail(call, "{} has {} entries; it must have {}", name, given, expected);
}

void require_expands(const OpCall& call, std::string_view name, const Shape& from, const Shape& to) {
  bool fits = from.size() <= to.size();
  for (std::size_t i = 0; fits && i < from.size(); ++i) {
    const int64_t size = from[from.size() - 1 - i];
    fits = size == 1 || size == to[to.size() - 1 - i];
  }
  if (!fits)
    fail(call, "{} has shape {}; it cannot be broadcast to {}", name, to_string(from), to_string(to));
}

void require_word(const OpCall& call, std::string_view name, const std::string& given,
                  std::initializer_list<std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), given) != allowed.end()) return;
  fail(call, "{} is \"{}\"; it must be one of {}", name, given, fmt::join(allowed, ", "));
}

void require_reduction(const OpCall& call, DType dtype) {
  const std::string op = call.string("reduce_op");
  require_word(call, "reduce_op", op, {"sum", "avg", "product", "min", "max", "band", "bor", "bxor"});
  const bool bits = op == "band" || op == "bor" || op == "bxor";
  const unsigned kinds = bits                         ? kIntegral
                         : op == "avg"                ? kInexact
                         : op == "min" || op == "max" ? kNoComplex
                         : op == "product"            ? kReal
                                                      : kNoBool;
  if (!has_kind(dtype, kinds)) fail(call, "reduce_op {} is not defined for dtype {}", op, name_of(dtype));
}

Operands operands(const OpCall& call, std::initializer_list<std::string_view> names) {
  Operands out;
  for (const std::string_view name : names) {
    if (call.is_none(name)) continue;
    if (call.is_number(name)) {
      out.scalars.push_back(call.scalar(name));
      continue;
    }
    out.tensors.push_back(meta(call, name));
    out.shape =
        out.tensors.size() == 1 ? out.tensors[0].shape : broadcast(out.shape, out.tensors.back().shape, call);
  }
  return out;
}

DType inexact(DType dtype) { return is_integral(dtype) ? DType::f32 : dtype; }
DType accumulated(DType dtype) { return is_integral(dtype) ? DType::i64 : dtype; }
DType complex_of(DType real) { return real == DType::f64 || real == DType::c128 ? DType::c128 : DType::c64; }

std::vector<int64_t> reduced_dims(const OpCall& call, const std::vector<int64_t>& dims, int64_t rank) {
  std::vector<int64_t> out;
  if (dims.empty()) {
    for (int64_t d = 0; d < rank; ++d) out.push_back(d);
    return out;
  }
  for (const int64_t dim : dims) {
    const int64_t d = normalise_dim(dim, rank, call);
    if (std::find(out.begin(), out.end(), d) != out.end())
      fail(call, "dim {} appears twice in {}", d, to_string(dims));
    out.push_back(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Shape reduced_shape(const Shape& shape, const std::vector<int64_t>& dims, bool keepdim) {
  Shape out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end()) {
      out.push_back(shape[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

void require_not_empty(const OpCall& call, const Shape& shape, const std::vector<int64_t>& dims) {
  for (const int64_t dim : dims) {
    if (!shape.empty() && shape[static_cast<std::size_t>(dim)] == 0) {
      fail(call, "dim {} of {} has size 0, and this reduction of nothing has no result", dim,
           to_string(shape));
    }
  }
}

Shape inferred_sizes(const OpCall& call, Shape sizes, int64_t count, const Shape& from) {
  const Shape given = sizes;
  int64_t known = 1;
  std::size_t hole = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      if (hole != sizes.size()) fail(call, "sizes {} hold more than one -1", to_string(given));
      hole = i;
    } else if (sizes[i] < 0) {
      fail(call, "sizes {} hold {}; only -1 may be negative", to_string(given), sizes[i]);
    } else if (__builtin_mul_overflow(known, sizes[i], &known)) {
      fail(call, "sizes {} are too large", to_string(given));
    }
  }
  if (hole != sizes.size()) {
    if (known == 0)
      fail(call, "sizes {} leave -1 undetermined, since the others multiply to 0", to_string(given));
    if (count % known == 0) {
      sizes[hole] = count / known;
      return sizes;
    }
  } else if (known == count) {
    return sizes;
  }
  fail(call, "a tensor of shape {} ({} elements) cannot be viewed as {}", to_string(from), count,
       to_string(given));
}

int64_t slice_size(const OpCall& call, int64_t size) {
  const int64_t step = call.integer("step");
  if (step <= 0) fail(call, "step is {}; it must be positive", step);
  const auto clamped = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t start = clamped(call.integer_opt("start").value_or(0));
  const int64_t end = std::max(start, clamped(call.integer_opt("end").value_or(size)));
  return (end - start) / step + ((end - start) % step != 0 ? 1 : 0);
}

int64_t window_count(const OpCall& call, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                     int64_t dilation, bool ceil_mode) {
  constexpr int64_t kLimit = int64_t{1} << 40;
  if (kernel <= 0 || stride <= 0 || dilation <= 0 || padding < 0) {
    fail(call,
         "kernel size {}, stride {} and dilation {} must be positive and padding {} must not be negative",
         kernel, stride, dilation, padding);
  }
  if (size < 0) fail(call, "the windowed size is {}; it cannot be negative", size);
  if (kernel > kLimit || stride > kLimit || dilation > kLimit || padding > kLimit || size > kLimit ||
      (kernel > 1 && dilation > kLimit / (kernel - 1))) {
    fail(call, "kernel size {}, stride {}, dilation {} or padding {} is too large", kernel, stride, dilation,
         padding);
  }
  const int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (span < 0 && !(ceil_mode && span + stride > 0)) {
    fail(call, "the padded input size {} is smaller than the window, {}", size + 2 * padding,
         dilation * (kernel - 1) + 1);
  }
  // Floor division also for a negative span.
  const int64_t shifted = span + (ceil_mode ? stride - 1 : 0);
  int64_t count = (shifted >= 0 ? shifted / stride : -1) + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  return count;
}

}  // namespace assay::rules
