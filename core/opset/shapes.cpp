#include "core/opset/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace assay {

// Generated: calls register_NAME of every core/opset/rules/NAME.cpp.
void register_shape_rules(ShapeTable& table);

void ShapeTable::add(const std::string& full_name, ShapeRule rule) {
  if (find_schema(full_name) == nullptr) {
    throw Error(ErrorCode::internal, "a shape rule is registered for " + full_name + ", which has no schema");
  }
  if (!rules_.emplace(full_name, std::move(rule)).second) {
    throw Error(ErrorCode::internal, "two shape rules are registered for " + full_name);
  }
}

const ShapeRule* ShapeTable::find(const std::string& full_name) const {
  const auto found = rules_.find(full_name);
  return found == rules_.end() ? nullptr : &found->second;
}

std::vector<std::string> ShapeTable::names() const {
  std::vector<std::string> out;
  for (const auto& [name, rule] : rules_) out.push_back(name);
  return out;
}

const ShapeTable& shape_rules() {
  static const ShapeTable table = [] {
    ShapeTable out;
    register_shape_rules(out);
    return out;
  }();
  return table;
}

std::optional<std::vector<TensorMeta>> infer(const OpCall& call) {
  const ShapeRule* rule = shape_rules().find(call.op());
  if (rule == nullptr) return std::nullopt;
  std::vector<TensorMeta> out;
  try {
    out = (*rule)(call);
  } catch (const Error& error) {
    // What the tensor and dtype functions throw does not name the operator.
    if (std::string_view(error.what()).starts_with(call.op() + ": ")) throw;
    throw Error(error.code(), call.op() + ": " + error.what());
  }
  for (const TensorMeta& meta : out) {
    // A rule gives -1 where the size depends on data.
    if (std::any_of(meta.shape.begin(), meta.shape.end(), [](int64_t size) { return size < 0; }))
      return std::nullopt;
    try {
      element_count(meta.shape);
    } catch (const Error&) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: the result would have shape {}, which is too large", call.op(),
                              to_string(meta.shape)));
    }
  }
  return out;
}

Shape broadcast(const Shape& a, const Shape& b, const OpCall& call) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw Error(
          ErrorCode::invalid_argument,
          fmt::format(
              "{}: shapes {} and {} cannot be broadcast: sizes {} and {} at dim -{} differ and neither is 1",
              call.op(), to_string(a), to_string(b), x, y, i + 1));
    }
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

namespace {

std::optional<DType> promote(std::optional<DType> a, std::optional<DType> b) {
  if (!a) return b;
  if (!b) return a;
  return *a == *b ? *a : promote_types(*a, *b);
}

// c10's combine_categories: a lower rank (0-d tensor, Scalar) counts only if its category is higher.
std::optional<DType> combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (is_complex(*higher)) return higher;
  if (is_float(*higher)) {
    if (!is_complex(*lower)) return higher;
    return *higher == DType::f64 ? DType::c128 : DType::c64;
  }
  if (*higher == DType::boolean || !is_integral(*lower)) return promote(higher, lower);
  return higher;
}

}  // namespace

DType result_type(const std::vector<TensorMeta>& tensors, const std::vector<Scalar>& scalars) {
  std::optional<DType> dimensioned;
  std::optional<DType> zero_dim;
  std::optional<DType> number;
  for (const TensorMeta& tensor : tensors) {
    std::optional<DType>& rank = tensor.shape.empty() ? zero_dim : dimensioned;
    rank = promote(rank, tensor.dtype);
  }
  for (const Scalar& scalar : scalars) {
    number = promote(number, scalar.kind == Scalar::Kind::floating  ? DType::f32
                             : scalar.kind == Scalar::Kind::integer ? DType::i64
                                                                    : DType::boolean);
  }
  return combine(dimensioned, combine(zero_dim, number)).value_or(DType::f32);
}

}  // namespace assay
