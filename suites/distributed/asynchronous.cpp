// Collectives that are under way together: a rank goes on until it reads a result, so programs whose ranks
// call in another order than others, or in a circle of groups, end where nobody waits too early.
#include <fmt/format.h>

#include "suites/distributed/families.h"

namespace assay::suites {
namespace {

ValueId begin_all_reduce(RankCase& c, int rank, ValueId x, const std::string& group) {
  return c.at(rank).call("_c10d_functional::all_reduce.default",
                         {{"input", ValueArg{x}}, {"reduce_op", std::string("sum")}, {"group_name", group}});
}

// Every kind of collective, of two ranks; x has two rows.
struct Operation {
  const char* name;
  const char* op;
  std::vector<NamedArgument> (*arguments)(int position);
};
const IntListArg kOnes{{1, 1}, {}}, kTwos{{2, 2}, {}};
const Operation kOperations[] = {
    {"all_reduce", "_c10d_functional::all_reduce.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"reduce_op", std::string("sum")}};
     }},
    {"all_gather", "_c10d_functional::all_gather_into_tensor.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"group_size", int64_t{2}}};
     }},
    {"all_gather_v", "assay::all_gather_v.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"sizes", kTwos}};
     }},
    {"reduce_scatter", "_c10d_functional::reduce_scatter_tensor.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"reduce_op", std::string("sum")}, {"group_size", int64_t{2}}};
     }},
    {"reduce_scatter_v", "assay::reduce_scatter_v.default",
     [](int position) -> std::vector<NamedArgument> {
       return {{"reduce_op", std::string("sum")}, {"sizes", kOnes}, {"rank", int64_t{position}}};
     }},
    {"all_to_all", "_c10d_functional::all_to_all_single.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"output_split_sizes", kOnes}, {"input_split_sizes", kOnes}};
     }},
    {"broadcast", "_c10d_functional::broadcast.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"src", int64_t{1}}};
     }},
    {"reduce", "assay::reduce.default",
     [](int) -> std::vector<NamedArgument> {
       return {{"reduce_op", std::string("sum")}, {"dst", int64_t{1}}};
     }},
    {"gather", "assay::gather.default",
     [](int position) -> std::vector<NamedArgument> {
       return {{"dst", int64_t{1}}, {"sizes", kTwos}, {"rank", int64_t{position}}};
     }},
    {"scatter", "assay::scatter.default", [](int position) -> std::vector<NamedArgument> {
       return {{"src", int64_t{1}}, {"sizes", kOnes}, {"rank", int64_t{position}}};
     }}};

// A circle of pairs: every rank calls the pair with the rank on its right first, then the one with the rank
// on its left, and waits for both. A rank that waited in its first call would wait for ever.
void circles(int n, const CaseSink& sink) {
  for (const Operation& operation : kOperations) {
    RankCase c(n, fmt::format("asynchronous/circle/{}", operation.name));
    for (int r = 0; r < n; ++r) c.group(fmt::format("pair{}", r), {r, (r + 1) % n});
    for (int r = 0; r < n; ++r) {
      std::vector<ValueId> begun;
      for (const int position : {0, 1}) {
        const int pair = (r + n - position) % n;
        std::vector<NamedArgument> arguments = operation.arguments(position);
        const ValueId x = c.integers(r, fmt::format("x{}", position), DType::f32, {2, 3}, -4, 5);
        arguments.insert(arguments.begin(), {"input", ValueArg{x}});
        arguments.push_back({"group_name", fmt::format("pair{}", pair)});
        begun.push_back(c.at(r).call(operation.op, std::move(arguments)));
      }
      for (const ValueId id : begun) c.output(r, c.wait(r, id));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
}

void orders(int n, const CaseSink& sink) {
  {
    // Two groups of all ranks, called in one order by even ranks and in the other by odd ones.
    RankCase c(n, "asynchronous/other-order-of-groups");
    for (const char* group : {"one", "two"}) c.group(group, c.members("world"));
    for (int r = 0; r < n; ++r) {
      const ValueId x = c.integers(r, "x", DType::f32, {5}, -4, 5),
                    y = c.integers(r, "y", DType::bf16, {3}, -4, 5);
      ValueId one = -1, two = -1;
      if (r % 2 == 0) one = begin_all_reduce(c, r, x, "one");
      two = begin_all_reduce(c, r, y, "two");
      if (r % 2 != 0) one = begin_all_reduce(c, r, x, "one");
      c.output(r, c.wait(r, one));
      c.output(r, c.wait(r, two));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  {
    // Many under way in one group, of several kinds, waited for last first; some of them in a group of the
    // same ranks.
    RankCase c(n, "asynchronous/many");
    c.group("again", c.members("world"));
    for (int r = 0; r < n; ++r) {
      std::vector<ValueId> begun;
      for (int k = 0; k < 6; ++k) {
        const ValueId x = c.integers(r, fmt::format("x{}", k), DType::f32, {k + 1, 2}, -4, 5);
        const std::string group = k % 3 == 0 ? "again" : "world";
        if (k % 2 == 0) {
          begun.push_back(begin_all_reduce(c, r, x, group));
        } else {
          begun.push_back(
              c.at(r).call("_c10d_functional::all_gather_into_tensor.default",
                           {{"input", ValueArg{x}}, {"group_size", int64_t{n}}, {"group_name", group}}));
        }
      }
      for (std::size_t k = begun.size(); k-- > 0;) c.output(r, c.wait(r, begun[k]));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
  if (n < 2) return;
  {
    // Rank 0 waits for a message that is sent when a collective is complete which rank 0 has begun, too.
    RankCase c(n, "asynchronous/goes-on-while-waiting-for-a-message");
    for (int r = 0; r < n; ++r) {
      const ValueId sum = begin_all_reduce(c, r, c.integers(r, "x", DType::f32, {4}, -4, 5), "world");
      if (r == 0) {
        const ValueId buffer = c.fixed(r, "buffer", Tensor(DType::f32, {4}));
        const ValueId got =
            c.at(r).call("_c10d_functional::irecv.default", {{"tensor", ValueArg{buffer}},
                                                             {"src", int64_t{n - 1}},
                                                             {"tag", int64_t{0}},
                                                             {"group_name", std::string("world")}});
        c.output(r, c.wait(r, got));
      }
      const ValueId read = c.wait(r, sum);
      c.output(r, read);
      if (r != n - 1) continue;
      c.wait(r, c.at(r).call("_c10d_functional::isend.default", {{"tensor", ValueArg{read}},
                                                                 {"dst", int64_t{0}},
                                                                 {"tag", int64_t{0}},
                                                                 {"group_name", std::string("world")}}));
    }
    c.checks().exact_probe = true;
    sink(c.build());
  }
}

}  // namespace

void make_asynchronous(int n, const CaseSink& sink) {
  if (n >= 2) circles(n, sink);
  orders(n, sink);
}

}  // namespace assay::suites
