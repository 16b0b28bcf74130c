#include "reference/ops/elementwise.h"

#include "core/opset/shapes.h"

namespace assay::reference {

Shape broadcast_strides(const Shape& shape, const Shape& target) {
  if (shape.size() > target.size()) {
    throw Error(ErrorCode::invalid_argument,
                "a tensor of shape " + to_string(shape) + " does not broadcast to " + to_string(target));
  }
  Shape strides(target.size(), 0);
  const std::size_t shift = target.size() - shape.size();
  int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] != 1) {
      if (shape[d] != target[d + shift]) {
        throw Error(ErrorCode::invalid_argument,
                    "a tensor of shape " + to_string(shape) + " does not broadcast to " + to_string(target));
      }
      strides[d + shift] = step;
    }
    step *= shape[d];
  }
  return strides;
}

RowWalk::RowWalk(const Shape& shape, const Shape* const* strides, std::size_t operands)
    : operands_(operands) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) empty_ = true;
    if (shape[d] == 1) continue;
    bool merge = !sizes_.empty();
    for (std::size_t o = 0; o < operands && merge; ++o)
      merge = steps_[o].back() == (*strides[o])[d] * shape[d];
    if (merge) sizes_.back() *= shape[d];
    if (!merge) sizes_.push_back(shape[d]);
    for (std::size_t o = 0; o < operands; ++o) {
      if (merge) steps_[o].pop_back();
      steps_[o].push_back((*strides[o])[d]);
    }
  }
  length = sizes_.empty() ? 1 : sizes_.back();
  for (std::size_t o = 0; o < operands; ++o) step[o] = sizes_.empty() ? 0 : steps_[o].back();
  index_.assign(sizes_.empty() ? 0 : sizes_.size() - 1, 0);
}

bool RowWalk::next() {
  if (empty_) return false;
  if (!started_) {
    started_ = true;
    return true;
  }
  first += length;
  for (std::size_t d = index_.size(); d-- > 0;) {
    for (std::size_t o = 0; o < operands_; ++o) at[o] += steps_[o][d];
    if (++index_[d] < sizes_[d]) return true;
    for (std::size_t o = 0; o < operands_; ++o) at[o] -= steps_[o][d] * sizes_[d];
    index_[d] = 0;
  }
  return false;
}

DType computation_dtype(const OpCall& call, std::initializer_list<std::string_view> names) {
  std::vector<TensorMeta> tensors;
  std::vector<Scalar> scalars;
  for (const auto name : names) {
    if (const auto i = call.tensor_opt(name)) {
      tensors.push_back(call.input(*i));
    } else if (const auto scalar = call.scalar_opt(name)) {
      scalars.push_back(*scalar);
    }
  }
  return result_type(tensors, scalars);
}

}  // namespace assay::reference
