#include "core/distributed/traffic.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/error.h"

namespace assay {
namespace {

int64_t bytes_of(const TensorMeta& meta) {
  return element_count(meta.shape) * static_cast<int64_t>(size_of(meta.dtype));
}

int64_t row_bytes(const TensorMeta& meta) {
  const Shape row(meta.shape.begin() + 1, meta.shape.end());
  return element_count(row) * static_cast<int64_t>(size_of(meta.dtype));
}

std::vector<int64_t> sizes_of(const OpCall& call) { return call.integers("sizes"); }

int64_t sum_of_inputs(const OpCall& call) {
  int64_t sum = 0;
  for (const TensorMeta& meta : call.inputs()) sum += bytes_of(meta);
  return sum;
}

}  // namespace

Block block_of(int64_t count, int ranks, int position) {
  const int64_t size = count / ranks, longer = count % ranks;
  const int64_t begin = position * size + std::min<int64_t>(position, longer);
  return {begin, begin + size + (position < longer ? 1 : 0)};
}

std::vector<Transfer> direct_transfers(const OpCall& call) {
  std::vector<Transfer> transfers;
  const auto n = static_cast<int>(call.inputs().size());
  const TensorMeta& first = call.input(0);
  const auto add = [&](int from, int to, int64_t bytes) {
    if (from != to && bytes > 0) transfers.push_back({from, to, bytes});
  };
  const auto every_pair = [&](auto&& bytes) {
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) add(from, to, bytes(from, to));
    }
  };
  const auto root = [&] { return static_cast<int>(call.integer("root")); };
  const auto size_at = [&](int position) {
    return sizes_of(call)[static_cast<std::size_t>(position)] * row_bytes(first);
  };
  const std::string& op = call.op();
  if (op == "ranks::all_reduce.default") {
    const auto owned = [&](int position) {
      return block_of(element_count(first.shape), n, position).size() *
             static_cast<int64_t>(size_of(first.dtype));
    };
    every_pair([&](int, int to) { return owned(to); });
    every_pair([&](int from, int) { return owned(from); });
  } else if (op == "ranks::reduce.default") {
    for (int from = 0; from < n; ++from) add(from, root(), bytes_of(first));
  } else if (op == "ranks::all_gather.default") {
    every_pair([&](int from, int) { return bytes_of(call.input(from)); });
  } else if (op == "ranks::gather.default") {
    for (int from = 0; from < n; ++from) add(from, root(), bytes_of(call.input(from)));
  } else if (op == "ranks::reduce_scatter.default") {
    every_pair([&](int, int to) { return size_at(to); });
  } else if (op == "ranks::scatter.default") {
    for (int to = 0; to < n; ++to) add(root(), to, size_at(to));
  } else if (op == "ranks::all_to_all.default") {
    every_pair([&](int from, int to) { return size_at(from * n + to); });
  } else if (op == "ranks::broadcast.default") {
    for (int to = 0; to < n; ++to) add(root(), to, bytes_of(first));
  } else if (op == "ranks::send_recv.default") {
    add(0, 1, bytes_of(first));
  } else {
    throw Error(ErrorCode::internal, op + " is no collective of ranks");
  }
  return transfers;
}

int64_t formula_bytes(const OpCall& call, const std::string& algorithm) {
  const std::string& op = call.op();
  const auto n = static_cast<int64_t>(call.inputs().size());
  const int64_t own = bytes_of(call.input(0));
  const auto root = [&] { return static_cast<std::size_t>(call.integer("root")); };
  if (op == "ranks::all_reduce.default") return (algorithm == "mesh_single_step" ? n : 2) * (n - 1) * own;
  if (op == "ranks::reduce.default" || op == "ranks::broadcast.default" ||
      op == "ranks::reduce_scatter.default") {
    return (n - 1) * own;
  }
  if (op == "ranks::all_gather.default") return (n - 1) * sum_of_inputs(call);
  if (op == "ranks::gather.default") return sum_of_inputs(call) - bytes_of(call.inputs()[root()]);
  if (op == "ranks::scatter.default") {
    return bytes_of(call.inputs()[root()]) - sizes_of(call)[root()] * row_bytes(call.input(0));
  }
  if (op == "ranks::all_to_all.default") {
    const std::vector<int64_t> sizes = sizes_of(call);
    int64_t diagonal = 0;
    for (int64_t r = 0; r < n; ++r) diagonal += sizes[static_cast<std::size_t>(r * n + r)];
    return sum_of_inputs(call) - diagonal * row_bytes(call.input(0));
  }
  if (op == "ranks::send_recv.default") return own;
  throw Error(ErrorCode::internal, op + " is no collective of ranks");
}

int64_t formula_bytes(const JoinedGraph& joined) {
  int64_t bytes = 0;
  for (const Meeting& meeting : joined.meetings) {
    if (meeting.node < 0 || !meeting.moves()) continue;
    bytes += formula_bytes(OpCall(joined.graph, joined.graph.nodes[static_cast<std::size_t>(meeting.node)]));
  }
  return bytes;
}

}  // namespace assay
