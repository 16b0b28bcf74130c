#include "harness/ranks/gloo_traffic.h"

#include <algorithm>

#include "core/distributed/traffic.h"
#include "core/dtype.h"

namespace assay {
namespace {

constexpr int64_t kLargestSegment = 1 << 20;  // ReduceOptions::kMaxSegmentSize of gloo/reduce.h

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return quotient_up(a, b) * b; }

}  // namespace

int64_t gloo_reduce_bytes(int64_t elements, int64_t item, int ranks, int root) {
  const int64_t total = elements * item, n = ranks;
  if (total == 0 || n < 2) return 0;
  const int64_t largest = item * std::max<int64_t>(1, kLargestSegment / item);
  const int64_t segment = round_up(std::min(quotient_up(total, 2 * n), largest), item);
  const int64_t segments = round_up(std::max(quotient_up(total, segment), 2 * n), n);
  const int64_t of_rank = segments / n;
  const auto length = [&](int64_t begin, int64_t size) {
    return std::clamp<int64_t>(total - begin, 0, size);
  };
  int64_t bytes = total - length(root * of_rank * segment, of_rank * segment);
  for (int64_t rank = 0; rank < n; ++rank) {
    for (int64_t i = 0; i + 2 < segments; ++i) {
      bytes += length(((rank + 1) * of_rank + i) % segments * segment, segment);
    }
  }
  return bytes;
}

int64_t gloo_formula_bytes(const JoinedGraph& joined) {
  int64_t bytes = 0;
  for (const Meeting& meeting : joined.meetings) {
    if (meeting.node < 0 || !meeting.moves()) continue;
    const CollectiveCall& call = meeting.calls.front();
    const int64_t fewest =
        formula_bytes(OpCall(joined.graph, joined.graph.nodes[static_cast<std::size_t>(meeting.node)]));
    if (call.kind == Collective::reduce) {
      // PyTorch gives gloo the parts of complex numbers.
      const std::size_t part = size_of(real_part(call.input.dtype)), parts = size_of(call.input.dtype) / part;
      bytes += gloo_reduce_bytes(element_count(call.input.shape) * static_cast<int64_t>(parts),
                                 static_cast<int64_t>(part), call.ranks(), call.root);
    } else {
      bytes += call.kind == Collective::reduce_scatter ? 2 * fewest : fewest;
    }
  }
  return bytes;
}

}  // namespace assay
