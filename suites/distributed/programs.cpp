// Programs of several collectives: process groups, identities between collectives, computing between them.
#include <algorithm>

#include <fmt/format.h>

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

ValueId all_reduce(RankCase& c, int rank, ValueId x, const std::string& group) {
  return c.call(rank, "_c10d_functional::all_reduce.default",
                {{"input", ValueArg{x}}, {"reduce_op", std::string("sum")}, {"group_name", group}});
}
ValueId all_gather(RankCase& c, int rank, ValueId x, const std::string& group) {
  const auto size = static_cast<int64_t>(c.members(group).size());
  return c.call(rank, "_c10d_functional::all_gather_into_tensor.default",
                {{"input", ValueArg{x}}, {"group_size", size}, {"group_name", group}});
}
ValueId reduce_scatter(RankCase& c, int rank, ValueId x, const std::string& group) {
  const auto size = static_cast<int64_t>(c.members(group).size());
  return c.call(rank, "_c10d_functional::reduce_scatter_tensor.default",
                {{"input", ValueArg{x}},
                 {"reduce_op", std::string("sum")},
                 {"group_size", size},
                 {"group_name", group}});
}
ValueId permute(RankCase& c, int rank, ValueId x, std::vector<int64_t> dims) {
  return c.at(rank).call("aten::permute.default",
                         {{"self", ValueArg{x}}, {"dims", IntListArg{std::move(dims), {}}}});
}

// The groups that rank `rank` is in, in the order in which they are given.
using Groups = std::vector<std::pair<std::string, std::vector<int>>>;
bool is_in(const std::vector<int>& members, int rank) {
  return std::find(members.begin(), members.end(), rank) != members.end();
}

void with_groups(int n, const std::string& name, const Groups& groups, const CaseSink& sink) {
  RankCase c(n, "groups/" + name);
  for (const auto& [group, members] : groups) c.group(group, members);
  for (int r = 0; r < n; ++r) {
    const ValueId x = c.integers(r, "x", DType::f32, {6, 2}, -4, 5);
    bool any = false;
    for (const auto& [group, members] : groups) {
      if (!is_in(members, r)) continue;
      c.output(r, all_reduce(c, r, x, group));
      c.output(r, all_gather(c, r, x, group));
      any = true;
    }
    if (!any) c.output(r, c.at(r).call("aten::relu.default", {{"self", ValueArg{x}}}));
  }
  c.checks().exact_probe = true;
  sink(c.build());
}

void groups(int n, const CaseSink& sink) {
  std::vector<int> even, odd, low, high, reversed, single{n - 1};
  for (int r = 0; r < n; ++r) {
    (r % 2 == 0 ? even : odd).push_back(r);
    (r < (n + 1) / 2 ? low : high).push_back(r);
    reversed.insert(reversed.begin(), r);
  }
  with_groups(n, "single", {{"last", single}}, sink);
  with_groups(n, "reversed", {{"back", reversed}}, sink);
  if (n < 2) return;
  with_groups(n, "halves", {{"low", low}, {"high", high}}, sink);
  with_groups(n, "strided", {{"even", even}, {"odd", odd}}, sink);
  with_groups(n, "one-half", {{"low", low}}, sink);
  // A mesh of two axes: every rank is in a row and a column.
  with_groups(n, "mesh", {{"low", low}, {"high", high}, {"even", even}, {"odd", odd}}, sink);
  // A chain of overlapping pairs, called from both ends.
  Groups chain;
  for (int r = 0; r + 1 < n; ++r) chain.push_back({fmt::format("pair{}", r), {r, r + 1}});
  with_groups(n, "chain", chain, sink);
}

void identities(int n, const CaseSink& sink) {
  {
    // reduce_scatter and all_gather make an all_reduce.
    RankCase c(n, "programs/reduce-scatter-all-gather");
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.integers(r, "x", DType::f32, {2 * n, 3}, -3, 4);
      c.output(r, all_gather(c, r, reduce_scatter(c, r, x, "world"), "world"));
      c.output(r, all_reduce(c, r, x, "world"));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    // A collective of a transposed tensor, and of a result that another one gave.
    RankCase c(n, fmt::format("programs/{}/transposed-chain", name_of(dtype)));
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.draw(r, "x", dtype, {5, 7});
      const ValueId sum = all_reduce(c, r, permute(c, r, x, {1, 0}), "world");
      c.output(r, all_gather(c, r, permute(c, r, sum, {1, 0}), "world"));
    }
    sink(c.build());
  }
  {
    // Tensor parallelism in one product: every rank has a slice of the inner dimension.
    RankCase c(n, "programs/row-parallel-product");
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.draw(r, "x", DType::f32, {8, 16}), w = c.draw(r, "w", DType::f32, {16, 12});
      const ValueId part = c.at(r).call("aten::mm.default", {{"self", ValueArg{x}}, {"mat2", ValueArg{w}}});
      c.output(r, all_reduce(c, r, part, "world"));
    }
    sink(c.build());
  }
  {
    // Barriers of all and of a part, around a collective.
    RankCase c(n, "programs/barriers");
    c.group("first", {0});
    for (int r = 0; r < n; ++r) {
      c.barrier(r);
      if (r == 0) c.barrier(r, "first");
      const ValueId x = c.integers(r, "x", DType::i32, {9}, -100, 100);
      c.output(r, all_reduce(c, r, x, "world"));
      c.barrier(r);
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  {
    // Asynchronous: many posted, then all waited for, last first.
    RankCase c(n, "programs/posted-together");
    for (int r = 0; r < n; ++r) {
      std::vector<ValueId> posted;
      for (int k = 0; k < 5; ++k) {
        const ValueId x = c.integers(r, fmt::format("x{}", k), DType::f32, {k + 1}, -4, 5);
        posted.push_back(
            c.at(r).call("_c10d_functional::all_reduce.default", {{"input", ValueArg{x}},
                                                                  {"reduce_op", std::string("sum")},
                                                                  {"group_name", std::string("world")}}));
      }
      for (std::size_t k = posted.size(); k-- > 0;) {
        c.output(r, c.wait(r, posted[k]));
      }
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  {
    // A result that nobody waits for, and one that is waited for again and again.
    RankCase c(n, "programs/never-waited-and-waited-twice");
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.integers(r, "x", DType::f32, {5}, -4, 5),
                    y = c.integers(r, "y", DType::f32, {5}, -4, 5);
      c.at(r).call(
          "_c10d_functional::all_reduce.default",
          {{"input", ValueArg{x}}, {"reduce_op", std::string("sum")}, {"group_name", std::string("world")}});
      ValueId sum = all_reduce(c, r, y, "world");
      for (int k = 0; k < 2; ++k) {
        sum = c.wait(r, sum);
      }
      c.output(r, sum);
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  {
    // Groups of the same ranks under two names, one of them turned round, called in turn.
    RankCase c(n, "programs/groups-of-the-same-ranks");
    std::vector<int> forward, back;
    for (int r = 0; r < n; ++r) forward.push_back(r), back.insert(back.begin(), r);
    c.group("forward", forward);
    c.group("back", back);
    for (int r = 0; r < n; ++r) {
      ValueId x = c.integers(r, "x", DType::i32, {2}, -4, 5);
      for (const char* group : {"forward", "back", "world", "back", "forward"})
        c.output(r, all_gather(c, r, x, group));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  {
    // Nothing to move, in every way.
    RankCase c(n, "programs/without-elements");
    for (int r = 0; r < n; ++r) {
      const ValueId rows = c.integers(r, "rows", DType::bf16, {0, 3}, -4, 5);
      const ValueId columns = c.integers(r, "columns", DType::bf16, {2 * n, 0}, -4, 5);
      for (const ValueId x : {rows, columns}) {
        c.output(r, all_reduce(c, r, x, "world"));
        c.output(r, all_gather(c, r, x, "world"));
        c.output(r, reduce_scatter(c, r, x, "world"));
      }
      c.barrier(r);
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
}

// On both sides of 32 KiB, 1 MiB and 56 MiB, as nccl-tests count bytes, where a device may change its
// algorithm.
void regimes(int n, const CaseSink& sink) {
  if (n < 2 || n > 8) return;
  constexpr int64_t kElements = (int64_t{1} << 20) / 4;
  const int64_t rows = (kElements + n - 1) / n;
  const auto at_size = [&](const std::string& operation, const std::string& size, const Shape& shape,
                           auto&& call) {
    RankCase c(n, fmt::format("regimes/{}/{}", operation, size));
    for (int r = 0; r < n; ++r) c.output(r, call(c, r, c.integers(r, "x", DType::f32, shape, -4, 5)));
    c.checks().exact_probe = true;
    sink(c.build());
  };
  const auto reduced = [](RankCase& c, int r, ValueId x) { return all_reduce(c, r, x, "world"); };
  at_size("all_reduce", "to-32-KiB", {1 << 13}, reduced);
  at_size("all_reduce", "above-32-KiB", {(1 << 13) + 1}, reduced);
  if (n == 2) {
    // Enough is enough: 56 MiB a rank.
    const auto gathered = [](RankCase& c, int r, ValueId x) { return all_gather(c, r, x, "world"); };
    constexpr int64_t kLarge = (int64_t{56} << 20) / 4;
    at_size("all_reduce", "to-56-MiB", {kLarge}, reduced);
    at_size("all_reduce", "above-56-MiB", {kLarge + 1}, reduced);
    at_size("all_gather", "to-56-MiB", {kLarge / 2}, gathered);
    at_size("all_gather", "above-56-MiB", {kLarge / 2 + 1}, gathered);
  }
  for (const bool at : {false, true}) {
    const auto one = [&](const std::string& operation, const Shape& shape, auto&& call) {
      at_size(operation, at ? "from-1-MiB" : "below-1-MiB", shape, call);
    };
    const int64_t part = at ? rows : rows - 1, whole = at ? kElements : kElements - 1;
    one("all_reduce", {whole}, reduced);
    one("all_gather", {part}, [](RankCase& c, int r, ValueId x) { return all_gather(c, r, x, "world"); });
    one("reduce_scatter", {part * n},
        [](RankCase& c, int r, ValueId x) { return reduce_scatter(c, r, x, "world"); });
    one("broadcast", {whole}, [&](RankCase& c, int r, ValueId x) {
      return c.call(r, "_c10d_functional::broadcast.default",
                    {{"input", ValueArg{x}}, {"src", int64_t{n - 1}}, {"group_name", std::string("world")}});
    });
    one("reduce", {whole}, [&](RankCase& c, int r, ValueId x) {
      return c.call(r, "assay::reduce.default",
                    {{"input", ValueArg{x}},
                     {"reduce_op", std::string("sum")},
                     {"dst", int64_t{n - 1}},
                     {"group_name", std::string("world")}});
    });
  }
}

}  // namespace

void make_programs(int n, const CaseSink& sink) {
  groups(n, sink);
  identities(n, sink);
  regimes(n, sink);
}

}  // namespace assay::suites
