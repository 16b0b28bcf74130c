// Arguments of a graph node, as PyTorch's exported graphs carry them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/dtype.h"

namespace assay {

using ValueId = int32_t;  // index into Graph::values; -1 is None inside a tensor list

struct NoneArg {
  bool operator==(const NoneArg&) const = default;
};
// A tensor, or a symbolic integer / float / bool produced by another node.
struct ValueArg {
  ValueId id = -1;
  bool operator==(const ValueArg&) const = default;
};
struct ValueListArg {  // Tensor[] and Tensor?[]
  std::vector<ValueId> ids;
  bool operator==(const ValueListArg&) const = default;
};
// int[] in which some entries may be produced by nodes (SymInt[]): `values[i]` >= 0 overrides `ints[i]`.
struct IntListArg {
  std::vector<int64_t> ints;
  std::vector<ValueId> values;  // empty if all are plain
  bool operator==(const IntListArg&) const = default;
};
struct DTypeArg {
  DType dtype;
  bool operator==(const DTypeArg&) const = default;
};
// device, layout and memory_format keywords: kept for writing, without effect on results (tensors are
// contiguous).
struct KeywordArg {
  std::string kind;  // "device", "layout", "memory_format"
  std::string text;  // JSON text of the value
  bool operator==(const KeywordArg&) const = default;
};

struct Graph;
// A function that a higher-order operator calls (score_mod of flex_attention): a graph of its own, which
// reads no value of the graph around it. Its user inputs and outputs are parameters and results.
struct GraphArg {
  std::string name;
  std::shared_ptr<const Graph> graph;
  bool operator==(const GraphArg& other) const;  // by content
};

using Argument = std::variant<NoneArg, ValueArg, ValueListArg, int64_t, double, bool, std::string, IntListArg,
                              std::vector<double>, std::vector<bool>, std::vector<std::string>, DTypeArg,
                              KeywordArg, GraphArg>;

std::string to_string(const Argument& argument);

}  // namespace assay
