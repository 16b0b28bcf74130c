#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/distributed/join.h"
#include "core/distributed/plain_collectives.h"
#include "core/distributed/traffic.h"
#include "core/error.h"
#include "core/graph/builder.h"
#include "core/opset/shapes.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr const char* kAllReduce = "_c10d_functional::all_reduce.default";

struct Program {
  explicit Program(const Shape& shape = {4, 3}, DType dtype = DType::f32) : builder("p") {
    x = builder.input("x", dtype, shape);
  }
  Program& reduce(const std::string& op = "sum", const std::string& group = "world",
                  const std::string& line = "") {
    const ValueId y =
        builder
            .node(kAllReduce, {{"input", ValueArg{x}}, {"reduce_op", op}, {"group_name", group}}, {line, ""})
            .at(0);
    builder.output(builder.call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{y}}}));
    return *this;
  }
  Program& broadcast(int64_t src) {
    builder.output(
        builder.call("_c10d_functional::broadcast.default",
                     {{"input", ValueArg{x}}, {"src", src}, {"group_name", std::string("world")}}));
    return *this;
  }
  GraphBuilder builder;
  ValueId x;
};

RankPrograms programs(int n, const std::function<void(Program&, int)>& make) {
  RankPrograms out;
  out.groups.world_size = n;
  for (int r = 0; r < n; ++r) {
    Program program;
    make(program, r);
    out.graphs.push_back(std::make_shared<const Graph>(program.builder.build()));
  }
  return out;
}

// In place: whoever reads the tensor afterwards reads the result.
TEST(PlainCollectives, InPlaceCallsAreFunctionalOnes) {
  const auto in_place = [](Program& p, int) {
    const ValueId y = p.builder.call(
        "_c10d_functional::all_reduce_.default",
        {{"input", ValueArg{p.x}}, {"reduce_op", std::string("sum")}, {"group_name", std::string("world")}});
    p.builder.call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{y}}});
    p.builder.output(p.builder.call("aten::neg.default", {{"self", ValueArg{p.x}}}));
  };
  const JoinedGraph joined = join(programs(2, in_place), "case");
  ASSERT_TRUE(joined.fits()) << joined.errors.front();
  validate(joined.graph);
  ASSERT_EQ(joined.graph.nodes.size(), 3u);
  EXPECT_EQ(joined.graph.nodes[0].op, "ranks::all_reduce.default");
  for (const std::size_t reader : {1U, 2U}) {
    const Node& node = joined.graph.nodes[reader];
    EXPECT_EQ(inputs_of(node).at(0),
              joined.graph.nodes[0].outputs.at(static_cast<std::size_t>(rank_of(node.name))));
  }
}

TEST(PlainCollectives, CoalescedCallsAreOneForEachTensor) {
  Program p;
  const ValueId y = p.builder.input("y", DType::f32, {2});
  const std::vector<ValueId> both = p.builder.node("_c10d_functional::all_reduce_coalesced_.default",
                                                   {{"inputs", ValueListArg{{p.x, y}}},
                                                    {"reduce_op", std::string("sum")},
                                                    {"group_name", std::string("world")}});
  p.builder.output(p.builder.call("aten::neg.default", {{"self", ValueArg{y}}}));
  p.builder.output(both[0]);
  const auto given = std::make_shared<const Graph>(p.builder.build());
  const PlainProgram plain = plain_collectives(given);
  validate(*plain.graph);
  EXPECT_EQ(plain.node_at,
            (std::vector<int>{0, 2, 3}));  // where faults before a node, or at the end, are now
  ASSERT_EQ(plain.graph->nodes.size(), 3u);
  EXPECT_EQ(plain.graph->nodes[1].op, "_c10d_functional::all_reduce.default");
  EXPECT_EQ(inputs_of(plain.graph->nodes[2]), plain.graph->nodes[1].outputs);
  EXPECT_EQ(plain_collectives(plain.graph).graph, plain.graph);  // nothing is left to replace
  // Without its list a call stays what it is, and is refused by name.
  Program bad;
  bad.builder.declared_node("_c10d_functional::all_reduce_coalesced.default",
                            {{"reduce_op", std::string("sum")}, {"group_name", std::string("world")}},
                            {{DType::f32, {4, 3}}});
  RankPrograms one;
  one.graphs = {std::make_shared<const Graph>(bad.builder.build_unchecked())};
  EXPECT_THAT(join(one, "case").errors, testing::ElementsAre(HasSubstr("all_reduce_coalesced")));
}

TEST(Join, MakesOneNodeOfOneCollective) {
  const JoinedGraph joined = join(programs(3, [](Program& p, int) { p.reduce(); }), "case");
  ASSERT_TRUE(joined.fits()) << joined.errors.front();
  ASSERT_EQ(joined.graph.nodes.size(), 1u);
  EXPECT_EQ(joined.graph.nodes[0].op, "ranks::all_reduce.default");
  EXPECT_EQ(joined.graph.inputs.size(), 3u);
  EXPECT_EQ(joined.graph.outputs.size(), 3u);
  EXPECT_EQ(joined.graph.inputs[1].target, "r1_x");
  EXPECT_EQ(rank_of(joined.graph.values[static_cast<std::size_t>(joined.graph.outputs[2].value)].name), 2);
  EXPECT_NO_THROW(validate(joined.graph));
  EXPECT_EQ(formula_bytes(joined), 2 * 2 * 4 * 3 * 4);
}

struct Misfit {
  const char* name;
  std::function<void(Program&, int)> make;
  std::vector<std::string> mentions;
};

// Every rank's error names the rank that differs, the operation and the difference.
TEST(Join, NamesWhatDoesNotFit) {
  const std::vector<Misfit> misfits{
      {"skips",
       [](Program& p, int r) { r == 2 ? p.builder.output(p.x) : void(p.reduce()); },
       {"rank 2", "all_reduce", "does not call", "ended its program after 0 calls"}},
      {"operation",
       [](Program& p, int r) { r == 2 ? p.broadcast(0) : p.reduce(); },
       {"rank 2", "differ in operation", "broadcast", "all_reduce"}},
      {"reduction",
       [](Program& p, int r) { p.reduce(r == 2 ? "max" : "sum"); },
       {"rank 2", "differ in reduce_op"}},
      {"root", [](Program& p, int r) { p.broadcast(r == 2 ? 1 : 0); }, {"rank 2", "differ in root"}},
      {"shape",
       [](Program& p, int r) {
         if (r == 2) p = Program({3, 4});
         p.reduce();
       },
       {"rank 2", "differ in shape"}},
      {"count",
       [](Program& p, int r) {
         if (r == 2) p = Program({4, 2});
         p.reduce();
       },
       {"rank 2", "differ in count"}},
      {"dtype",
       [](Program& p, int r) {
         if (r == 2) p = Program({4, 3}, DType::i32);
         p.reduce();
       },
       {"rank 2", "differ in dtype", "i32"}},
      {"lines",
       [](Program& p, int r) {
         p.reduce("sum", "world", r == 2 ? "b.py:2" : "b.py:1")
             .reduce("sum", "world", r == 2 ? "b.py:1" : "b.py:2");
       },
       {"rank 2", "differ in order", "b.py:1", "b.py:2"}},
      {"group", [](Program& p, int) { p.reduce("sum", "nobody"); }, {"unknown group 'nobody'", "world"}},
      {"root outside", [](Program& p, int) { p.broadcast(3); }, {"src is 3", "3 ranks"}},
  };
  for (const Misfit& misfit : misfits) {
    const JoinedGraph joined = join(programs(3, misfit.make), "case");
    ASSERT_EQ(joined.errors.size(), 3u) << misfit.name;
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_THAT(joined.errors[r], testing::StartsWith("rank " + std::to_string(r) + ": ")) << misfit.name;
      for (const std::string& mention : misfit.mentions) {
        EXPECT_THAT(joined.errors[r], HasSubstr(mention)) << misfit.name << ", rank " << r;
      }
    }
  }
}

TEST(Join, RanksThatEndOrStand) {
  for (const bool stands : {false, true}) {
    RankPrograms p = programs(3, [](Program& q, int) { q.reduce(); });
    p.faults = {{1, stands, 0}};
    const JoinedGraph joined = join(p, "case");
    ASSERT_EQ(joined.errors.size(), 3u);
    for (const std::string& error : joined.errors) {
      EXPECT_THAT(error, HasSubstr(stands ? "rank 1 stopped" : "rank 1 died"));
      EXPECT_THAT(error, HasSubstr("all_reduce"));
    }
  }
}

// Nobody waits before everything is posted: calls in crossed groups meet.
TEST(Join, GroupsMeetInTheirOwnOrder) {
  RankPrograms p;
  p.groups.world_size = 3;
  p.groups.groups = {{"a", {0, 1}}, {"b", {2, 1}}};
  const auto member = [&](const std::vector<std::string>& groups) {
    Program program;
    std::vector<ValueId> posted;
    for (const std::string& group : groups) {
      posted.push_back(program.builder.call(
          kAllReduce,
          {{"input", ValueArg{program.x}}, {"reduce_op", std::string("sum")}, {"group_name", group}}));
    }
    for (const ValueId id : posted) {
      program.builder.output(
          program.builder.call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{id}}}));
    }
    p.graphs.push_back(std::make_shared<const Graph>(program.builder.build()));
  };
  member({"a"});
  member({"b", "a"});
  member({"b"});
  const JoinedGraph joined = join(p, "case");
  ASSERT_TRUE(joined.fits()) << joined.errors.front();
  EXPECT_EQ(joined.meetings.size(), 2u);
  // Positions, not ranks: rank 2 is first in group b.
  for (const Meeting& meeting : joined.meetings) {
    if (meeting.calls[0].group == "b") {
      EXPECT_EQ(meeting.calls[0].rank(), 2);
    }
  }
}

TEST(Groups, AreChecked) {
  RankPrograms p = programs(2, [](Program& q, int) { q.reduce(); });
  for (const std::vector<int>& bad : {std::vector<int>{}, {2}, {-1}, {0, 0}}) {
    p.groups.groups = {{"g", bad}};
    const JoinedGraph joined = join(p, "case");
    EXPECT_FALSE(joined.fits());
    EXPECT_EQ(joined.errors.size(), 2u);  // every rank makes all groups
  }
  p.groups.groups.clear();
  p.graphs.pop_back();
  EXPECT_THROW(join(p, "case"), Error);
}

// The direct algorithm moves what the closed form says, on every rank what its block needs.
TEST(Traffic, TransfersAddUpToTheFormula) {
  const auto metas = [](const std::vector<int64_t>& rows) {
    std::vector<TensorMeta> out;
    for (const int64_t r : rows) out.push_back({DType::bf16, {r, 5}});
    return out;
  };
  const auto call = [](const std::string& op, std::vector<TensorMeta> inputs,
                       std::vector<NamedArgument> more) {
    ValueListArg ids;
    for (std::size_t i = 0; i < inputs.size(); ++i) ids.ids.push_back(static_cast<ValueId>(i));
    more.insert(more.begin(), {"inputs", ids});
    return OpCall("ranks::" + op + ".default", std::move(inputs), more);
  };
  const IntListArg sizes{{3, 0, 4}, {}};
  const IntListArg matrix{{1, 2, 0, 0, 0, 3, 2, 2, 2}, {}};
  const std::vector<OpCall> calls{
      call("all_reduce", metas({7, 7, 7}), {{"reduce_op", std::string("sum")}}),
      call("reduce", metas({7, 7, 7}), {{"reduce_op", std::string("sum")}, {"root", int64_t{1}}}),
      call("reduce_scatter", metas({7, 7, 7}), {{"reduce_op", std::string("sum")}, {"sizes", sizes}}),
      call("all_gather", metas({3, 0, 4}), {}),
      call("gather", metas({3, 0, 4}), {{"root", int64_t{2}}}),
      call("scatter", metas({0, 0, 7}), {{"root", int64_t{2}}, {"sizes", sizes}}),
      call("all_to_all", metas({3, 3, 6}), {{"sizes", matrix}}),
      call("broadcast", metas({7, 7, 7}), {{"root", int64_t{0}}}),
      call("send_recv", metas({7, 7}), {}),
  };
  for (const OpCall& c : calls) {
    ASSERT_TRUE(infer(c)) << c.op();
    int64_t moved = 0;
    for (const Transfer& transfer : direct_transfers(c)) {
      EXPECT_NE(transfer.from, transfer.to);
      moved += transfer.bytes;
    }
    EXPECT_EQ(moved, formula_bytes(c)) << c.op();
    EXPECT_GT(moved, 0) << c.op();
  }
}

TEST(Traffic, BlocksCoverTheRow) {
  for (const int64_t count : {0, 1, 5, 7, 64}) {
    int64_t next = 0;
    for (int p = 0; p < 5; ++p) {
      const Block block = block_of(count, 5, p);
      EXPECT_EQ(block.begin, next);
      next = block.end;
    }
    EXPECT_EQ(next, count);
  }
}

}  // namespace
}  // namespace assay
