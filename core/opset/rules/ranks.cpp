// ranks::*: a collective as all ranks of its group see it at once, one input and one result for each, in the
// group's order (core/distributed/join.h makes them from the calls of the ranks). The first dim is the one
// that is gathered and scattered.
#include "core/opset/checks.h"

namespace assay {
namespace {

using namespace rules;

Metas inputs_of_ranks(const OpCall& call) {
  Metas metas;
  for (const int number : call.tensors("inputs")) {
    if (number < 0) fail(call, "an entry of inputs is None; every rank gives a tensor");
    metas.push_back(call.input(number));
  }
  if (metas.empty()) fail(call, "inputs is empty; a group has at least one rank");
  return metas;
}

int64_t root_of(const OpCall& call, std::size_t ranks) {
  const int64_t root = call.integer("root");
  if (root < 0 || root >= static_cast<int64_t>(ranks)) {
    fail(call, "root is {}, outside of the group's {} ranks", root, ranks);
  }
  return root;
}

void require_equal(const OpCall& call, const Metas& metas) {
  for (std::size_t r = 1; r < metas.size(); ++r) {
    if (metas[r] == metas[0]) continue;
    fail(call, "rank {} of the group gives {}{}, rank 0 {}{}; they must be equal", r, name_of(metas[r].dtype),
         to_string(metas[r].shape), name_of(metas[0].dtype), to_string(metas[0].shape));
  }
}

// Equal but for the number of rows.
void require_equal_rows(const OpCall& call, const Metas& metas) {
  for (std::size_t r = 0; r < metas.size(); ++r) {
    const bool good =
        !metas[r].shape.empty() && metas[r].dtype == metas[0].dtype &&
        metas[r].shape.size() == metas[0].shape.size() &&
        std::equal(metas[r].shape.begin() + 1, metas[r].shape.end(), metas[0].shape.begin() + 1);
    if (good) continue;
    fail(call, "rank {} of the group gives {}{}, rank 0 {}{}; they must be equal but for the first size", r,
         name_of(metas[r].dtype), to_string(metas[r].shape), name_of(metas[0].dtype),
         to_string(metas[0].shape));
  }
}

int64_t rows(const OpCall& call, const std::vector<int64_t>& sizes) {
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_add_overflow(total, size, &total)) {
      fail(call, "sizes are {}; they must not be negative or too large", to_string(sizes));
    }
  }
  return total;
}

Metas all_reduce(const OpCall& call) {
  Metas metas = inputs_of_ranks(call);
  require_reduction(call, metas[0].dtype);
  require_equal(call, metas);
  return metas;
}

Metas reduce(const OpCall& call) {
  Metas metas = all_reduce(call);
  root_of(call, metas.size());
  return metas;
}

TensorMeta gathered(const OpCall& call, const Metas& metas) {
  require_equal_rows(call, metas);
  std::vector<int64_t> sizes;
  for (const TensorMeta& meta : metas) sizes.push_back(meta.shape[0]);
  TensorMeta all = metas[0];
  all.shape[0] = rows(call, sizes);
  return all;
}
Metas all_gather(const OpCall& call) {
  const Metas metas = inputs_of_ranks(call);
  return Metas(metas.size(), gathered(call, metas));
}
Metas gather(const OpCall& call) {
  Metas metas = inputs_of_ranks(call);
  const TensorMeta all = gathered(call, metas);
  for (TensorMeta& meta : metas) meta.shape[0] = 0;
  metas[static_cast<std::size_t>(root_of(call, metas.size()))] = all;
  return metas;
}

// Rows of `from` in the blocks of `sizes`, one for each rank.
Metas blocks(const OpCall& call, const TensorMeta& from, std::size_t ranks) {
  const std::vector<int64_t> sizes = call.integers("sizes");
  require_length(call, "sizes", sizes.size(), ranks);
  if (from.shape.empty() || rows(call, sizes) != from.shape[0]) {
    fail(call, "sizes {} must add up to the first size of {}", to_string(sizes), to_string(from.shape));
  }
  Metas metas(ranks, from);
  for (std::size_t r = 0; r < ranks; ++r) metas[r].shape[0] = sizes[r];
  return metas;
}
Metas reduce_scatter(const OpCall& call) {
  const Metas metas = all_reduce(call);
  return blocks(call, metas[0], metas.size());
}
Metas scatter(const OpCall& call) {
  const Metas metas = inputs_of_ranks(call);
  require_equal_rows(call, metas);
  return blocks(call, metas[static_cast<std::size_t>(root_of(call, metas.size()))], metas.size());
}

Metas all_to_all(const OpCall& call) {
  Metas metas = inputs_of_ranks(call);
  require_equal_rows(call, metas);
  const std::size_t n = metas.size();
  const std::vector<int64_t> sizes = call.integers("sizes");  // [from * n + to]
  require_length(call, "sizes", sizes.size(), n * n);
  Metas out = metas;
  for (std::size_t r = 0; r < n; ++r) {
    const auto begin = sizes.begin() + static_cast<std::ptrdiff_t>(r * n);
    const std::vector<int64_t> sent(begin, begin + static_cast<std::ptrdiff_t>(n));
    if (rows(call, sent) != metas[r].shape[0]) {
      fail(call, "rank {} of the group gives {} rows and sends {}", r, metas[r].shape[0], to_string(sent));
    }
    std::vector<int64_t> received;
    for (std::size_t from = 0; from < n; ++from) received.push_back(sizes[from * n + r]);
    out[r].shape[0] = rows(call, received);
  }
  return out;
}

Metas broadcast_root(const OpCall& call) {
  const Metas metas = inputs_of_ranks(call);
  require_equal(call, metas);
  root_of(call, metas.size());
  return metas;
}

// inputs: what is sent, and the buffer that takes it. Results: the sent tensor, and what was received.
Metas send_recv(const OpCall& call) {
  const Metas metas = inputs_of_ranks(call);
  require_length(call, "inputs", metas.size(), 2);
  require_equal(call, metas);
  return metas;
}

}  // namespace

void register_ranks(ShapeTable& table) {
  table.add("ranks::all_gather.default", all_gather);
  table.add("ranks::all_reduce.default", all_reduce);
  table.add("ranks::all_to_all.default", all_to_all);
  table.add("ranks::broadcast.default", broadcast_root);
  table.add("ranks::gather.default", gather);
  table.add("ranks::reduce.default", reduce);
  table.add("ranks::reduce_scatter.default", reduce_scatter);
  table.add("ranks::scatter.default", scatter);
  table.add("ranks::send_recv.default", send_recv);
}

}  // namespace assay
