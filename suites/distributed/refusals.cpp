// Bad calls, which every rank makes alike, and programs that do not fit one another. Every rank must end with
// an error that names what is wrong; none may hang, none may get a result.
#include <functional>

#include <fmt/format.h>

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

const std::string kWorld = "world";
const TensorMeta kMeta{DType::f32, {4, 3}};

IntListArg list(std::vector<int64_t> values) { return {std::move(values), {}}; }

ValueId drawn(RankCase& c, int rank, const TensorMeta& meta = kMeta) {
  return is_integral(meta.dtype) ? c.integers(rank, "x", meta.dtype, meta.shape, -4, 5)
                                 : c.draw(rank, "x", meta.dtype, meta.shape);
}

std::vector<NamedArgument> reduce_arguments(ValueId x, const std::string& op = "sum",
                                            const std::string& group = kWorld) {
  return {{"input", ValueArg{x}}, {"reduce_op", op}, {"group_name", group}};
}

// One call, made by all ranks.
void refuse(int n, const std::string& name, const std::string& op, const TensorMeta& input,
            const TensorMeta& result, std::vector<std::string> mentions,
            const std::function<std::vector<NamedArgument>(ValueId x, int rank)>& arguments,
            const CaseSink& sink) {
  RankCase c(n, "bad/" + name);
  for (int r = 0; r < n; ++r) {
    const ValueId x = drawn(c, r, input);
    c.output(r, c.declared(r, op, arguments(x, r), result));
  }
  sink(c.refused(std::move(mentions)));
}

constexpr const char* kAllReduce = "_c10d_functional::all_reduce.default";
constexpr const char* kBroadcast = "_c10d_functional::broadcast.default";
constexpr const char* kAllGather = "_c10d_functional::all_gather_into_tensor.default";
constexpr const char* kReduceScatter = "_c10d_functional::reduce_scatter_tensor.default";
constexpr const char* kAllToAll = "_c10d_functional::all_to_all_single.default";

// Programs of all ranks, most of them alike: `special` makes that of one rank.
using Program = std::function<void(RankCase& c, int rank)>;
void misfit(int n, const std::string& name, int special_rank, const Program& usual, const Program& special,
            std::vector<std::string> mentions, const CaseSink& sink) {
  RankCase c(n, "faults/" + name);
  for (int r = 0; r < n; ++r) (r == special_rank ? special : usual)(c, r);
  sink(c.refused(std::move(mentions)));
}

void reduce(RankCase& c, int rank, const TensorMeta& meta, const std::string& op = "sum",
            const std::string& line = "") {
  const std::string name = fmt::format("x{}", c.at(rank).graph().inputs.size());
  const ValueId x = is_integral(meta.dtype) ? c.integers(rank, name, meta.dtype, meta.shape, -4, 5)
                                            : c.draw(rank, name, meta.dtype, meta.shape);
  c.output(rank, c.call(rank, kAllReduce, reduce_arguments(x, op), line));
}
void broadcast(RankCase& c, int rank, const TensorMeta& meta, int root) {
  const std::string name = fmt::format("x{}", c.at(rank).graph().inputs.size());
  const ValueId x = c.draw(rank, name, meta.dtype, meta.shape);
  c.output(rank, c.call(rank, kBroadcast,
                        {{"input", ValueArg{x}}, {"src", int64_t{root}}, {"group_name", kWorld}}));
}

}  // namespace

void make_bad_calls(int n, const CaseSink& sink) {
  const auto one = [&](const std::string& name, const std::string& op, const TensorMeta& input,
                       const TensorMeta& result, std::vector<std::string> mentions, auto&& arguments) {
    refuse(n, name, op, input, result, std::move(mentions), arguments, sink);
  };
  const int64_t size = n;
  one("unknown-group", kAllReduce, kMeta, kMeta, {"all_reduce", "unknown group 'nobody'"},
      [](ValueId x, int) { return reduce_arguments(x, "sum", "nobody"); });
  one("root-outside", kBroadcast, kMeta, kMeta, {"broadcast", "src is", "outside"}, [&](ValueId x, int) {
    return std::vector<NamedArgument>{{"input", ValueArg{x}}, {"src", size}, {"group_name", kWorld}};
  });
  one("root-negative", kBroadcast, kMeta, kMeta, {"broadcast", "src is -1", "outside"}, [&](ValueId x, int) {
    return std::vector<NamedArgument>{{"input", ValueArg{x}}, {"src", int64_t{-1}}, {"group_name", kWorld}};
  });
  one("reduce-root-outside", "assay::reduce.default", kMeta, kMeta, {"reduce", "dst is", "outside"},
      [&](ValueId x, int) {
        return std::vector<NamedArgument>{{"input", ValueArg{x}},
                                          {"reduce_op", std::string("sum")},
                                          {"dst", size + 3},
                                          {"group_name", kWorld}};
      });
  one("group-size", kAllGather, kMeta, {DType::f32, {4 * (size + 1), 3}}, {"all_gather", "group_size is"},
      [&](ValueId x, int) {
        return std::vector<NamedArgument>{
            {"input", ValueArg{x}}, {"group_size", size + 1}, {"group_name", kWorld}};
      });
  if (n > 1) {
    one("scatter-indivisible", kReduceScatter, {DType::f32, {4 * size + 1, 3}}, {DType::f32, {4, 3}},
        {"reduce_scatter", "multiple of group_size"}, [&](ValueId x, int) {
          return std::vector<NamedArgument>{{"input", ValueArg{x}},
                                            {"reduce_op", std::string("sum")},
                                            {"group_size", size},
                                            {"group_name", kWorld}};
        });
  }
  const std::vector<int64_t> ones(static_cast<std::size_t>(n), 1);
  one("split-sum", kAllToAll, {DType::f32, {size + 2, 3}}, {DType::f32, {size, 3}},
      {"all_to_all", "input_split_sizes add up to"}, [&](ValueId x, int) {
        return std::vector<NamedArgument>{{"input", ValueArg{x}},
                                          {"output_split_sizes", list(ones)},
                                          {"input_split_sizes", list(ones)},
                                          {"group_name", kWorld}};
      });
  std::vector<int64_t> more = ones;
  more.push_back(0);
  one("split-count", kAllToAll, {DType::f32, {size, 3}}, {DType::f32, {size, 3}}, {"all_to_all", "entries"},
      [&](ValueId x, int) {
        return std::vector<NamedArgument>{{"input", ValueArg{x}},
                                          {"output_split_sizes", list(more)},
                                          {"input_split_sizes", list(more)},
                                          {"group_name", kWorld}};
      });
  std::vector<int64_t> negative = ones;
  negative.front() = -1;
  one("split-negative", kAllToAll, {DType::f32, {size, 3}}, {DType::f32, {size, 3}},
      {"all_to_all", "negative"}, [&](ValueId x, int) {
        return std::vector<NamedArgument>{{"input", ValueArg{x}},
                                          {"output_split_sizes", list(ones)},
                                          {"input_split_sizes", list(negative)},
                                          {"group_name", kWorld}};
      });
  one("gather-sizes", "assay::gather.default", kMeta, {DType::f32, {0, 3}}, {"gather", "sizes"},
      [&](ValueId x, int r) {
        return std::vector<NamedArgument>{{"input", ValueArg{x}},
                                          {"dst", int64_t{0}},
                                          {"sizes", list(ones)},
                                          {"rank", int64_t{r}},
                                          {"group_name", kWorld}};
      });
  one("reduce-op", kAllReduce, kMeta, kMeta, {"all_reduce", "reduce_op"},
      [](ValueId x, int) { return reduce_arguments(x, "median"); });
  one("gather-of-a-scalar", kAllGather, {DType::f32, {}}, {DType::f32, {size}}, {"all_gather", "0-d"},
      [&](ValueId x, int) {
        return std::vector<NamedArgument>{
            {"input", ValueArg{x}}, {"group_size", size}, {"group_name", kWorld}};
      });
  // Groups that are none.
  const auto group = [&](const std::string& name, std::vector<int> members, const std::string& mention) {
    RankCase c(n, "bad/group-" + name);
    c.group("odd", std::move(members));
    for (int r = 0; r < n; ++r) {
      const ValueId x = drawn(c, r);
      c.output(r, c.declared(r, kAllReduce, reduce_arguments(x, "sum", "odd"), kMeta));
    }
    sink(c.refused({"group 'odd'", mention}));
  };
  group("with-a-rank-twice", {0, 0}, "has rank 0 twice");
  group("without-ranks", {}, "has no ranks");
  group("with-a-rank-outside", {0, n}, fmt::format("has rank {}, outside of the world's {} ranks", n, n));
  group("with-a-negative-rank", {-1, 0}, "has rank -1, outside");
  if (n < 2) return;
  RankCase outsider(n, "bad/not-in-group");
  outsider.group("low", {0});
  for (int r = 0; r < n; ++r) {
    const ValueId x = drawn(outsider, r);
    outsider.output(r, outsider.declared(r, kAllReduce, reduce_arguments(x, "sum", "low"), kMeta));
  }
  sink(outsider.refused({"all_reduce", "is not in group 'low'"}));
}

void make_faults(int n, const CaseSink& sink) {
  if (n < 2) return;
  const int bad = n - 1;
  const std::string who = fmt::format("rank {}", bad);
  const auto usual = [](RankCase& c, int r) { reduce(c, r, kMeta); };
  const auto one = [&](const std::string& name, const Program& normal, const Program& special,
                       std::vector<std::string> mentions) {
    misfit(n, name, bad, normal, special, std::move(mentions), sink);
  };
  one("skips-the-call", usual,
      [](RankCase& c, int r) {
        c.output(r, c.at(r).call("aten::relu.default", {{"self", ValueArg{drawn(c, r)}}}));
      },
      {who, "all_reduce", "does not call"});
  one("skips-the-second-call", [](RankCase& c, int r) { reduce(c, r, kMeta), reduce(c, r, kMeta); }, usual,
      {who, "all_reduce", "does not call"});
  one("calls-once-more", usual, [](RankCase& c, int r) { reduce(c, r, kMeta), reduce(c, r, kMeta); },
      {who, "all_reduce", "does not call"});
  one("other-operation", usual, [](RankCase& c, int r) { broadcast(c, r, kMeta, 0); },
      {who, "all_reduce", "broadcast", "differ in operation"});
  one(
      "other-order-of-operations", [](RankCase& c, int r) { reduce(c, r, kMeta), broadcast(c, r, kMeta, 0); },
      [](RankCase& c, int r) { broadcast(c, r, kMeta, 0), reduce(c, r, kMeta); },
      {who, "all_reduce", "broadcast", "differ in operation"});
  // The same call from two lines: nothing but the source tells them apart.
  one(
      "other-order-of-lines",
      [](RankCase& c, int r) {
        reduce(c, r, kMeta, "sum", "train.py:10"), reduce(c, r, kMeta, "sum", "train.py:20");
      },
      [](RankCase& c, int r) {
        reduce(c, r, kMeta, "sum", "train.py:20"), reduce(c, r, kMeta, "sum", "train.py:10");
      },
      {who, "all_reduce", "differ in order"});
  one("other-count", usual,
      [](RankCase& c, int r) {
        reduce(c, r, {DType::f32, {4, 2}});
      },
      {who, "all_reduce", "differ in count"});
  one("other-shape", usual,
      [](RankCase& c, int r) {
        reduce(c, r, {DType::f32, {3, 4}});
      },
      {who, "all_reduce", "differ in shape"});
  one("other-dtype-of-equal-size", usual,
      [](RankCase& c, int r) {
        reduce(c, r, {DType::i32, {4, 3}});
      },
      {who, "all_reduce", "differ in dtype"});
  one("other-dtype", usual,
      [](RankCase& c, int r) {
        reduce(c, r, {DType::bf16, {4, 3}});
      },
      {who, "all_reduce", "differ in dtype"});
  one("other-reduction", usual, [](RankCase& c, int r) { reduce(c, r, kMeta, "max"); },
      {who, "all_reduce", "differ in reduce_op"});
  one(
      "other-root", [](RankCase& c, int r) { broadcast(c, r, kMeta, 0); },
      [](RankCase& c, int r) { broadcast(c, r, kMeta, 1); }, {who, "broadcast", "differ in root"});
  const auto exchange = [n](int64_t sent, int64_t expected) {
    return [n, sent, expected](RankCase& c, int r) {
      const auto count = static_cast<std::size_t>(n);
      const ValueId x = drawn(c, r, {DType::f32, {sent * n, 3}});
      c.output(r, c.call(r, kAllToAll,
                         {{"input", ValueArg{x}},
                          {"output_split_sizes", list(std::vector<int64_t>(count, expected))},
                          {"input_split_sizes", list(std::vector<int64_t>(count, sent))},
                          {"group_name", kWorld}}));
    };
  };
  one("other-split-sizes", exchange(2, 2), exchange(3, 2), {who, "all_to_all", "differ in split sizes"});
  one("other-expectation", exchange(2, 2), exchange(2, 3), {who, "all_to_all", "differ in split sizes"});
  // Nothing for anybody but itself: zeros where the others expect rows.
  one("zero-splits", exchange(2, 2),
      [n](RankCase& c, int r) {
        std::vector<int64_t> sent(static_cast<std::size_t>(n), 0);
        sent[static_cast<std::size_t>(r)] = 2 * n;
        const ValueId x = drawn(c, r, {DType::f32, {2 * n, 3}});
        c.output(r,
                 c.call(r, kAllToAll,
                        {{"input", ValueArg{x}},
                         {"output_split_sizes", list(std::vector<int64_t>(static_cast<std::size_t>(n), 2))},
                         {"input_split_sizes", list(std::move(sent))},
                         {"group_name", kWorld}}));
      },
      {who, "all_to_all", "differ in split sizes"});
  // Two ranks at fault at once: the one that is gone is named.
  {
    RankCase c(n, "faults/dies-while-another-differs");
    for (int r = 0; r < n; ++r) {
      if (r == bad) c.dies(r);
      reduce(c, r, r == 0 ? TensorMeta{DType::i32, {4, 3}} : kMeta);
    }
    sink(c.refused({who, "died"}));
  }
  {
    // In a group of its own, in which the ranks stand in the other order.
    RankCase c(n, "faults/dies-in-a-group");
    std::vector<int> reversed;
    for (int r = n - 1; r >= 0; --r) reversed.push_back(r);
    c.group("reversed", reversed);
    for (int r = 0; r < n; ++r) {
      const ValueId x = drawn(c, r);
      if (r == bad) c.dies(r);
      c.output(r, c.call(r, kAllReduce, reduce_arguments(x, "sum", "reversed")));
    }
    sink(c.refused({who, "died"}));
  }
  one("dies", usual, [](RankCase& c, int r) { c.dies(r), reduce(c, r, kMeta); }, {who, "died"});
  one(
      "dies-between-calls", [](RankCase& c, int r) { reduce(c, r, kMeta), reduce(c, r, kMeta); },
      [](RankCase& c, int r) { reduce(c, r, kMeta), c.dies(r), reduce(c, r, kMeta); }, {who, "died"});
  one("stops", usual, [](RankCase& c, int r) { c.stops(r), reduce(c, r, kMeta); }, {who, "stopped"});
  // Every rank waits in one group before it calls the other, in a circle: none of the calls ends.
  const auto circle = [&](const std::string& name, const std::string& operation, auto&& call) {
    RankCase c(n, "faults/" + name);
    for (int r = 0; r < n; ++r) c.group(fmt::format("pair{}", r), {r, (r + 1) % n});
    for (int r = 0; r < n; ++r) {
      for (const int pair : {r, (r + n - 1) % n}) call(c, r, fmt::format("pair{}", pair));
    }
    sink(c.refused({operation, "does not call"}));
  };
  circle("waits-in-a-circle-of-groups", "all_reduce", [](RankCase& c, int r, const std::string& group) {
    const ValueId x = c.draw(r, "x_" + group, kMeta.dtype, kMeta.shape);
    c.output(r, c.call(r, kAllReduce, reduce_arguments(x, "sum", group)));
  });
  circle("barriers-in-a-circle-of-groups", "barrier",
         [](RankCase& c, int r, const std::string& group) { c.barrier(r, group); });
  one("waits-for-a-message", usual,
      [](RankCase& c, int r) {
        const ValueId buffer = drawn(c, r);
        const ValueId got = c.at(r).call(
            "_c10d_functional::irecv.default",
            {{"tensor", ValueArg{buffer}}, {"src", int64_t{0}}, {"tag", int64_t{0}}, {"group_name", kWorld}});
        c.output(r, c.wait(r, got));
        reduce(c, r, kMeta);
      },
      {who, "waits"});
}

}  // namespace assay::suites
