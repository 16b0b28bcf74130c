// Programs of ranks over a transport in memory: what is under way together, and what ranks say that wait for
// nothing. One thread a rank.
#include "harness/ranks/rank_program.h"

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/graph/builder.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Network {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::deque<Announcement>> announcements;           // from, to
  std::map<std::pair<int, int>, std::deque<std::pair<int64_t, Tensor>>> messages;  // from, to: tag and tensor
  std::map<std::pair<std::string, int64_t>, std::vector<Tensor>> given;  // by group and how many before it
  std::map<int, std::deque<std::string>> failures;                       // by rank that is told
};

// A sum over the ranks, which is there when all have begun it.
class Sum : public RankOperation {
 public:
  Sum(Network& network, std::pair<std::string, int64_t> meeting, std::size_t ranks)
      : network_(network), meeting_(std::move(meeting)), ranks_(ranks) {}
  bool advance() override {
    const std::scoped_lock lock(network_.mutex);
    const std::vector<Tensor>& given = network_.given[meeting_];
    if (given.size() < ranks_) return false;
    std::vector<double> sum = given[0].to_doubles();
    for (std::size_t r = 1; r < ranks_; ++r) {
      const std::vector<double> other = given[r].to_doubles();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    }
    result_ = Tensor::from_doubles(given[0].dtype(), given[0].shape(), sum);
    return true;
  }
  Tensor result() const override { return result_; }

 private:
  Network& network_;
  std::pair<std::string, int64_t> meeting_;
  std::size_t ranks_;
  Tensor result_;
};

class Memory : public RankTransport {
 public:
  Memory(Network& network, int rank, int world_size)
      : network_(network), rank_(rank), world_size_(world_size) {}
  void enter(const ProcessGroups&) override {}
  void announce(const Announcement& mine) override {
    const std::scoped_lock lock(network_.mutex);
    for (const int member : mine.call.members) {
      if (member != rank_) network_.announcements[{rank_, member}].push_back(mine);
    }
  }
  std::optional<Announcement> hear(int rank) override {
    const std::scoped_lock lock(network_.mutex);
    auto& from = network_.announcements[{rank, rank_}];
    if (from.empty()) return std::nullopt;
    Announcement heard = std::move(from.front());
    from.pop_front();
    return heard;
  }
  void check_failures() override {
    const std::scoped_lock lock(network_.mutex);
    auto& told = network_.failures[rank_];
    if (!told.empty()) throw OtherRankFailed(told.front());
  }
  std::shared_ptr<RankOperation> begin(const std::vector<CollectiveCall>& calls, int position,
                                       const Tensor& input) override {
    const CollectiveCall& call = calls.at(static_cast<std::size_t>(position));
    const std::scoped_lock lock(network_.mutex);
    const std::pair<std::string, int64_t> meeting{call.group, begun_[call.group]++};
    network_.given[meeting].push_back(input);
    return std::make_shared<Sum>(network_, meeting, calls.size());
  }
  void send(const CollectiveCall& call, const Tensor& tensor) override {
    const std::scoped_lock lock(network_.mutex);
    network_.messages[{rank_, call.members.at(static_cast<std::size_t>(call.peer))}].emplace_back(call.tag,
                                                                                                  tensor);
  }
  std::optional<Tensor> receive(const CollectiveCall& call) override {
    const std::scoped_lock lock(network_.mutex);
    auto& from = network_.messages[{call.members.at(static_cast<std::size_t>(call.peer)), rank_}];
    for (auto message = from.begin(); message != from.end(); ++message) {
      if (message->first != call.tag) continue;
      Tensor tensor = std::move(message->second);
      from.erase(message);
      return tensor;
    }
    return std::nullopt;
  }
  void tell_failure(const std::string& error) noexcept override {
    const std::scoped_lock lock(network_.mutex);
    for (int rank = 0; rank < world_size_; ++rank) {
      if (rank != rank_) network_.failures[rank].push_back(error);
    }
  }
  std::optional<int64_t> sent() const override { return 0; }
  std::optional<int64_t> received() const override { return 0; }

 private:
  Network& network_;
  int rank_, world_size_;
  std::map<std::string, int64_t> begun_;
};

// One value a rank, rank + 1, which it reduces over groups.
class Builder {
 public:
  explicit Builder(int rank) : graph_(fmt::format("program of rank {}", rank)) {
    x_ = graph_.input("x", DType::f32, {1});
  }
  ValueId begin(const std::string& group) {
    return graph_.call("_c10d_functional::all_reduce.default",
                       {{"input", ValueArg{x_}}, {"reduce_op", std::string("sum")}, {"group_name", group}});
  }
  ValueId receive(int from, int64_t tag) {
    return graph_.call("_c10d_functional::irecv.default", {{"tensor", ValueArg{x_}},
                                                           {"src", int64_t{from}},
                                                           {"tag", tag},
                                                           {"group_name", std::string("world")}});
  }
  void send(ValueId value, int to, int64_t tag) {
    graph_.call("_c10d_functional::isend.default", {{"tensor", ValueArg{value}},
                                                    {"dst", int64_t{to}},
                                                    {"tag", tag},
                                                    {"group_name", std::string("world")}});
  }
  void barrier(const std::string& group) { graph_.node("assay::barrier.default", {{"group_name", group}}); }
  ValueId negative(ValueId value) { return graph_.call("aten::neg.default", {{"self", ValueArg{value}}}); }
  void wait(ValueId value) {
    graph_.output(graph_.call("_c10d_functional::wait_tensor.default", {{"tensor", ValueArg{value}}}));
  }
  ValueId x() const { return x_; }
  std::shared_ptr<const Graph> build() { return std::make_shared<const Graph>(graph_.build()); }

 private:
  GraphBuilder graph_;
  ValueId x_ = -1;
};

// As exports have it: a result that nobody reads has no value.
std::shared_ptr<const Graph> without_unread_results(const Graph& graph) {
  auto out = std::make_shared<Graph>(graph);
  std::set<ValueId> read;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : inputs_of(node)) read.insert(id);
  }
  for (const GraphOutput& output : graph.outputs) read.insert(output.value);
  for (Node& node : out->nodes) {
    for (ValueId& id : node.outputs) id = read.contains(id) ? id : -1;
  }
  return out;
}

std::vector<RankAnswer> run_all(std::vector<Builder>& programs, ProcessGroups groups, double timeout_s) {
  const auto ranks = programs.size();
  groups.world_size = static_cast<int>(ranks);
  Network network;
  std::vector<RankAnswer> answers(ranks);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      RankTask task;
      task.rank = static_cast<int>(r);
      task.program = without_unread_results(*programs[r].build());
      task.groups = groups;
      task.timeout_s = timeout_s;
      task.inputs = {Tensor::from_doubles(DType::f32, {1}, std::vector<double>{static_cast<double>(r) + 1})};
      Memory transport(network, task.rank, static_cast<int>(ranks));
      answers[r] = run_rank(task, transport, [](const std::string&) {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return answers;
}
std::vector<Builder> builders(int ranks) {
  std::vector<Builder> all;
  for (int r = 0; r < ranks; ++r) all.emplace_back(r);
  return all;
}
double number(const RankAnswer& answer, std::size_t output) {
  EXPECT_EQ(answer.error, "");
  return answer.outputs.size() <= output ? 0 : answer.outputs[output].to_doubles().at(0);
}

constexpr double kLong = 60, kShort = 0.2;

ProcessGroups circle(int ranks) {
  ProcessGroups groups;
  for (int r = 0; r < ranks; ++r) groups.groups[fmt::format("pair{}", r)] = {r, (r + 1) % ranks};
  return groups;
}

TEST(RankProgram, CallsInACircleOfGroupsAreUnderWayTogether) {
  std::vector<Builder> programs = builders(3);
  for (int r = 0; r < 3; ++r) {
    Builder& b = programs[static_cast<std::size_t>(r)];
    const ValueId right = b.begin(fmt::format("pair{}", r)),
                  left = b.begin(fmt::format("pair{}", (r + 2) % 3));
    b.wait(right);
    b.wait(left);
  }
  const std::vector<RankAnswer> answers = run_all(programs, circle(3), kLong);
  EXPECT_EQ(number(answers[0], 0), 3);  // 1 + 2
  EXPECT_EQ(number(answers[0], 1), 4);  // 3 + 1
  EXPECT_EQ(number(answers[1], 0), 5);
  EXPECT_EQ(number(answers[2], 1), 5);
}

TEST(RankProgram, ResultsAreReadInAnyOrderAndByAnyNode) {
  std::vector<Builder> programs = builders(2);
  for (Builder& b : programs) {
    const ValueId first = b.begin("world");
    b.begin("world");  // nobody reads it
    const ValueId third = b.begin("world");
    b.wait(b.negative(third));
    b.wait(first);
  }
  const std::vector<RankAnswer> answers = run_all(programs, {}, kLong);
  for (const RankAnswer& answer : answers) {
    EXPECT_EQ(number(answer, 0), -3);
    EXPECT_EQ(number(answer, 1), 3);
  }
}

TEST(RankProgram, MessagesBelongToTheirCallsInOrderWhicheverIsReadFirst) {
  std::vector<Builder> programs = builders(2);
  const ValueId one = programs[0].receive(1, 7), two = programs[0].receive(1, 7);
  programs[0].wait(two);
  programs[0].wait(one);
  programs[1].send(programs[1].x(), 0, 7);
  programs[1].send(programs[1].negative(programs[1].x()), 0, 7);
  const std::vector<RankAnswer> answers = run_all(programs, {}, kLong);
  EXPECT_EQ(number(answers[0], 0), -2);
  EXPECT_EQ(number(answers[0], 1), 2);
}

TEST(RankProgram, MessagesThatNobodyReadsAreReceivedAllTheSame) {
  std::vector<Builder> programs = builders(2);
  programs[0].receive(1, 7);
  programs[0].receive(1, 8);
  programs[0].wait(programs[0].receive(1, 7));
  for (const int64_t tag : {7, 8, 7}) programs[1].send(programs[1].x(), 0, tag);
  EXPECT_EQ(number(run_all(programs, {}, kLong)[0], 0), 2);
  // Only one comes: both ranks wait for as long, and the first to give up says why.
  programs = builders(2);
  programs[0].receive(1, 7);
  programs[0].receive(1, 7);
  programs[1].send(programs[1].x(), 0, 7);
  EXPECT_THAT(
      run_all(programs, {}, kShort)[0].error,
      testing::AnyOf(HasSubstr("nothing came within"), HasSubstr("waits for the end of the programs")));
}

TEST(RankProgram, ACollectiveGoesOnWhileItsRankWaitsForAMessage) {
  std::vector<Builder> programs = builders(2);
  const ValueId sum = programs[0].begin("world");
  programs[0].wait(programs[0].receive(1, 0));
  programs[0].wait(sum);
  const ValueId other = programs[1].begin("world");
  programs[1].send(other, 0, 0);
  const std::vector<RankAnswer> answers = run_all(programs, {}, kLong);
  EXPECT_EQ(number(answers[0], 0), 3);
  EXPECT_EQ(number(answers[0], 1), 3);
}

TEST(RankProgram, BarriersInACircleEndWithTheLimit) {
  std::vector<Builder> programs = builders(3);
  for (int r = 0; r < 3; ++r) {
    programs[static_cast<std::size_t>(r)].barrier(fmt::format("pair{}", r));
    programs[static_cast<std::size_t>(r)].barrier(fmt::format("pair{}", (r + 2) % 3));
  }
  for (const RankAnswer& answer : run_all(programs, circle(3), kShort)) {
    EXPECT_THAT(answer.error,
                AllOf(HasSubstr("barrier"), HasSubstr("does not call it"), HasSubstr("within")));
  }
}

TEST(RankProgram, ARankThatEndsIsNotWaitedFor) {
  std::vector<Builder> programs = builders(3);
  for (const std::size_t r : {0u, 1u}) programs[r].wait(programs[r].begin("world"));
  for (const RankAnswer& answer : run_all(programs, {}, kLong)) {
    EXPECT_THAT(answer.error, AllOf(HasSubstr("rank 2"), HasSubstr("does not call it")));
  }
}

// It has called what nobody else calls, and not waited.
TEST(RankProgram, ACallThatOthersDoNotMakeIsFoundAtTheEnd) {
  std::vector<Builder> programs = builders(3);
  programs[1].begin("world");
  for (const RankAnswer& answer : run_all(programs, {}, kLong)) {
    EXPECT_THAT(answer.error, AllOf(HasSubstr("rank 1"), HasSubstr("does not call it")));
  }
}

TEST(RankProgram, OnlyAProgramThatBeganNothingIsRefused) {
  std::vector<Builder> programs = builders(2);
  for (Builder& b : programs) b.begin("nobody");
  for (const RankAnswer& answer : run_all(programs, {}, kLong)) {
    EXPECT_THAT(answer.error, HasSubstr("unknown group 'nobody'"));
    EXPECT_TRUE(answer.refused);
  }
  programs = builders(2);
  for (Builder& b : programs) {
    b.begin("world");
    b.begin("nobody");
  }
  for (const RankAnswer& answer : run_all(programs, {}, kLong)) EXPECT_FALSE(answer.refused) << answer.error;
}

}  // namespace
}  // namespace assay
