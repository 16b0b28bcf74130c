// Operators whose results share memory with an argument, and how a write to such a result reaches it.
#pragma once

#include <cstddef>
#include <optional>

#include "core/graph/graph.h"

namespace assay {

enum class Sharing {
  none,      // results have memory of their own
  certain,   // views
  possible,  // reshape, contiguous, to: a view or a copy, depending on strides that graphs do not carry
};
Sharing sharing_of(const Graph& graph, const Node& node);

// The tensor that the node views; -1 if none is given.
ValueId viewed_by(const Node& node);

// A node, without name and outputs, that gives `viewed`, where what output number `output` of the node `view`
// shows of it is replaced by `changed`: slice_scatter for a slice, the inverse permutation, ... nullopt where
// no operator does it (as_strided, expand) or it cannot be known (Sharing::possible).
std::optional<Node> written_back(const Graph& graph, const Node& view, std::size_t output, ValueId viewed,
                                 ValueId changed);

}  // namespace assay
