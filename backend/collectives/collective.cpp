#include "backend/collectives/collective.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace assay::backend {
namespace {

constexpr std::string_view kOps[] = {"all_reduce",     "reduce",  "broadcast",  "all_gather", "gather",
                                     "reduce_scatter", "scatter", "all_to_all", "permute",    "barrier"};
constexpr std::string_view kReductions[] = {"sum", "avg", "min", "max", "product"};

// What counts[] holds.
enum class Counts : uint8_t { none, one, ranks, pairs_of_ranks };
Counts counts_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::reduce:
    case CollectiveOp::broadcast:
    case CollectiveOp::permute:
      return Counts::one;
    case CollectiveOp::all_gather:
    case CollectiveOp::gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::scatter:
      return Counts::ranks;
    case CollectiveOp::all_to_all:
      return Counts::pairs_of_ranks;
    case CollectiveOp::barrier:
      break;
  }
  return Counts::none;
}

int64_t total(const std::vector<int64_t>& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) sum += count;
  return sum;
}

[[noreturn]] void fail(const Collective& c, const std::string& what) {
  throw Error(ErrorCode::invalid_argument,
              std::string(name_of(c.op)) + " of " + std::to_string(c.ranks) + " ranks: " + what);
}

void validate_pairs(const Collective& c) {
  std::vector<bool> sends(static_cast<std::size_t>(c.ranks)), receives(sends);
  for (const auto& [source, target] : c.pairs) {
    const std::string pair = std::to_string(source) + " to " + std::to_string(target);
    if (source < 0 || source >= c.ranks || target < 0 || target >= c.ranks) fail(c, "no pair " + pair);
    if (sends[static_cast<std::size_t>(source)] || receives[static_cast<std::size_t>(target)]) {
      fail(c, "rank " + pair + ": one of them sends or receives twice");
    }
    sends[static_cast<std::size_t>(source)] = receives[static_cast<std::size_t>(target)] = true;
  }
}

}  // namespace

std::string_view name_of(CollectiveOp op) { return kOps[static_cast<std::size_t>(op)]; }
std::string_view name_of(Reduction reduction) { return kReductions[static_cast<std::size_t>(reduction)]; }

Reduction parse_reduction(std::string_view name) {
  for (std::size_t k = 0; k < std::size(kReductions); ++k) {
    if (name == kReductions[k]) return static_cast<Reduction>(k);
  }
  const bool bits = name == "band" || name == "bor" || name == "bxor";
  throw Error(bits ? ErrorCode::unsupported : ErrorCode::invalid_argument,
              "reduction \"" + std::string(name) + "\"" +
                  (bits ? " is not one of the device's" : " is unknown") +
                  "; use one of sum, avg, min, max, product");
}

bool Collective::reduces() const {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce || op == CollectiveOp::reduce_scatter;
}
bool Collective::rooted() const {
  return op == CollectiveOp::reduce || op == CollectiveOp::broadcast || op == CollectiveOp::gather ||
         op == CollectiveOp::scatter;
}

int64_t Collective::input_count(int rank) const {
  const auto r = static_cast<std::size_t>(rank), n = static_cast<std::size_t>(ranks);
  switch (op) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::reduce:
      return counts[0];
    case CollectiveOp::broadcast:
      return rank == root ? counts[0] : 0;
    case CollectiveOp::all_gather:
    case CollectiveOp::gather:
      return counts[r];
    case CollectiveOp::reduce_scatter:
      return total(counts);
    case CollectiveOp::scatter:
      return rank == root ? total(counts) : 0;
    case CollectiveOp::all_to_all: {
      int64_t sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += counts[r * n + k];
      return sum;
    }
    case CollectiveOp::permute:
      return std::any_of(pairs.begin(), pairs.end(), [&](auto p) { return p.first == rank; }) ? counts[0] : 0;
    case CollectiveOp::barrier:
      break;
  }
  return 0;
}

int64_t Collective::output_count(int rank) const {
  const auto r = static_cast<std::size_t>(rank), n = static_cast<std::size_t>(ranks);
  switch (op) {
    case CollectiveOp::all_reduce:
    case CollectiveOp::broadcast:
      return counts[0];
    case CollectiveOp::reduce:
      return rank == root ? counts[0] : 0;
    case CollectiveOp::all_gather:
      return total(counts);
    case CollectiveOp::gather:
      return rank == root ? total(counts) : 0;
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::scatter:
      return counts[r];
    case CollectiveOp::all_to_all: {
      int64_t sum = 0;
      for (std::size_t k = 0; k < n; ++k) sum += counts[k * n + r];
      return sum;
    }
    case CollectiveOp::permute:
      return std::any_of(pairs.begin(), pairs.end(), [&](auto p) { return p.second == rank; }) ? counts[0]
                                                                                               : 0;
    case CollectiveOp::barrier:
      break;
  }
  return 0;
}

int64_t Collective::size_bytes() const {
  int64_t elements = 0;
  switch (counts_of(op)) {
    case Counts::none:
      break;
    case Counts::one:
      elements = counts[0];
      break;
    case Counts::ranks:
      elements = total(counts);
      break;
    case Counts::pairs_of_ranks:
      for (int r = 0; r < ranks; ++r) elements = std::max({elements, input_count(r), output_count(r)});
      break;
  }
  return elements * static_cast<int64_t>(size_of(dtype));
}

double Collective::bus_factor() const {
  switch (op) {
    case CollectiveOp::all_reduce:
      return 2.0 * (ranks - 1) / ranks;
    case CollectiveOp::all_gather:
    case CollectiveOp::gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::scatter:
    case CollectiveOp::all_to_all:
      return 1.0 * (ranks - 1) / ranks;
    case CollectiveOp::reduce:
    case CollectiveOp::broadcast:
    case CollectiveOp::permute:
    case CollectiveOp::barrier:
      break;
  }
  return 1;
}

void Collective::validate() const {
  if (ranks < 1) fail(*this, "at least 1 is needed");
  if (!is_valid(dtype))
    fail(*this, "dtype number " + std::to_string(static_cast<int>(dtype)) + " is unknown");
  const auto n = static_cast<std::size_t>(ranks);
  std::size_t needed = 0;
  switch (counts_of(op)) {
    case Counts::none:
      break;
    case Counts::one:
      needed = 1;
      break;
    case Counts::ranks:
      needed = n;
      break;
    case Counts::pairs_of_ranks:
      needed = n * n;
      break;
  }
  if (counts.size() != needed) {
    fail(*this, "it has " + std::to_string(counts.size()) + " counts; it needs " + std::to_string(needed));
  }
  int64_t sum = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (counts[k] < 0) {
      fail(*this,
           "count " + std::to_string(k) + " is " + std::to_string(counts[k]) + "; it must be 0 or more");
    }
    if (__builtin_add_overflow(sum, counts[k], &sum) || sum > (int64_t{1} << 56) / ranks) {
      fail(*this, "its counts add up to more than can be addressed");
    }
  }
  if (rooted() && (root < 0 || root >= ranks)) {
    fail(*this, "root is " + std::to_string(root) + "; it must be 0 to " + std::to_string(ranks - 1));
  }
  if (op == CollectiveOp::permute) {
    validate_pairs(*this);
  } else if (!pairs.empty()) {
    fail(*this, "only permute has pairs");
  }
  if (!reduces()) return;
  if (reduction == Reduction::avg && is_integral(dtype)) {
    fail(*this, "avg of " + std::string(name_of(dtype)) + " is not defined; use sum and divide");
  }
  if (dtype == DType::f64 || is_complex(dtype)) {
    throw Error(ErrorCode::unsupported, std::string(name_of(op)) +
                                            ": the device has no datapath that reduces " +
                                            std::string(name_of(dtype)));
  }
}

Collective equal_parts(CollectiveOp op, int ranks, DType dtype, int64_t n, Reduction reduction, int root) {
  Collective out;
  out.op = op;
  out.ranks = ranks;
  out.dtype = dtype;
  out.reduction = reduction;
  out.root = root;
  const auto size = static_cast<std::size_t>(std::max(ranks, 0));
  switch (counts_of(op)) {
    case Counts::none:
      break;
    case Counts::one:
      out.counts = {n};
      break;
    case Counts::ranks:
      out.counts.assign(size, n);
      break;
    case Counts::pairs_of_ranks:
      out.counts.assign(size * size, n);
      break;
  }
  if (op == CollectiveOp::permute) {
    for (int r = 0; r < ranks; ++r) out.pairs.emplace_back(r, (r + 1) % ranks);
  }
  return out;
}

}  // namespace assay::backend
