// Elementwise operators over large operands of one shape, a piece at a time: what is made on the way stays in
// the cache and takes no new memory.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/opset/call.h"
#include "reference/array.h"
#include "reference/evaluate.h"

namespace assay::reference {

// A call in pieces of kPiece elements, the last one shorter.
class PiecewiseCall {
 public:
  static constexpr std::size_t kPiece = 8192;

  // nullopt where the operator is not among elementwise_operators(), where shapes or numbers of a complex
  // dtype must be told apart, and where it is one piece.
  static std::optional<PiecewiseCall> of(const OpCall& call, const std::vector<const Wide*>& inputs);

  // The results of every piece, joined. `evaluate` gives those of a call on given operands, as
  // evaluate_bounded does.
  using Evaluate = std::function<std::vector<BoundedWide>(const OpCall&, const std::vector<const Wide*>&)>;
  std::vector<BoundedWide> join(const std::vector<const Wide*>& inputs, const Evaluate& evaluate) const;

 private:
  PiecewiseCall(OpCall whole, OpCall last, std::size_t elements, TensorMeta output);

  OpCall piece_, last_;
  std::size_t elements_;
  TensorMeta output_;
};

// Operators whose result's elements are functions of the operands' elements at the same place: those of one
// number (distinct.h) among them.
std::vector<std::string_view> elementwise_operators();

// The call of an elementwise operator on `count` elements in a row.
OpCall call_on(const OpCall& call, std::size_t count);

}  // namespace assay::reference
