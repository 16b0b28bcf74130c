// Functions of one number over 16-bit and 8-bit tensors: a large tensor holds few different numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "reference/array.h"

namespace assay::reference {

// A call whose operand lists each number of the original one's operand once.
struct DistinctCall {
  OpCall call;               // operand and result of shape [values.count()]
  Wide values;               // in order of their first element
  std::vector<uint16_t> at;  // for each element of the original operand, its place in `values`
  TensorMeta output;         // of the original call

  template <class V>
  std::vector<V> spread(const std::vector<V>& of_values) const {
    std::vector<V> out;
    if (of_values.empty()) return out;
    out.reserve(at.size());
    for (const uint16_t place : at) out.push_back(of_values[place]);
    return out;
  }
};

// Operators of one tensor whose elements are functions of its elements and cost more than a search.
std::span<const std::string_view> functions_of_one_number();

// nullopt where it would not pay, where the operator is no function of single numbers, and where an element
// is no number of its dtype (unrounded values of an earlier node).
std::optional<DistinctCall> distinct_call(const OpCall& call, const std::vector<const Wide*>& inputs);

}  // namespace assay::reference
