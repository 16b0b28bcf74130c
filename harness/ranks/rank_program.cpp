#include "harness/ranks/rank_program.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "reference/evaluate.h"

namespace assay {
namespace {

class Program {
 public:
  Program(const RankTask& task, RankTransport& transport,
          const std::function<void(const std::string&)>& at_node)
      : task_(task), graph_(*task.program), transport_(transport), at_node_(at_node) {
    values_.resize(graph_.values.size());
    std::size_t next = 0;
    for (const GraphInput& input : graph_.inputs) {
      if (input.value < 0) continue;
      if (next == task.inputs.size())
        throw Error(ErrorCode::malformed_file, "too few inputs for the program");
      values_[static_cast<std::size_t>(input.value)] = task.inputs[next++];
    }
  }

  std::vector<Tensor> run() {
    check_groups();
    transport_.enter(task_.groups);
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      suffer(static_cast<int>(n));
      if (is_wait(node.op)) {
        set(node.outputs.at(0), value(inputs_of(node).at(0)));
      } else if (is_collective(node.op)) {
        at_node_(node.name);
        collective(node);
      } else {
        compute(node);
      }
    }
    // Also what nobody reads: the others need this rank for it.
    while (!receives_.empty()) take(receives_.front().result);
    for (const auto& [group, calls] : pending_) {
      while (!calls.empty()) complete(calls.front().mine.number, group);
    }
    finish();
    std::vector<Tensor> outputs;
    for (const GraphOutput& output : graph_.outputs) {
      outputs.push_back(output.value < 0 ? Tensor() : value(output.value));
    }
    return outputs;
  }

  bool refused() const { return refused_; }

 private:
  // A collective that this rank has called and that is not complete.
  struct Pending {
    Announcement mine;
    ValueId result = -1;  // -1: a barrier
    Tensor input;
    std::vector<std::optional<CollectiveCall>> heard;  // by position
    std::shared_ptr<RankOperation> operation;          // once all are heard
  };
  struct Receive {
    CollectiveCall call;
    ValueId result = -1;
  };

  void check_groups() {
    try {
      task_.groups.check();
    } catch (const Error& error) {
      refused_ = true;
      throw RankError(error.what());
    }
  }

  void suffer(int node) {
    if (!task_.fault || task_.fault->node != node) return;
    at_node_(graph_.nodes[static_cast<std::size_t>(node)].name);
    if (!task_.fault->stands_still) ::_exit(9);
    ::raise(SIGSTOP);
  }

  void set(ValueId id, Tensor tensor) {
    if (id >= 0) values_.at(static_cast<std::size_t>(id)) = std::move(tensor);
  }

  // Waits for it if it is under way.
  const Tensor& value(ValueId id) {
    if (const auto found = under_way_.find(id); found != under_way_.end()) {
      const auto [group, number] = found->second;
      if (number < 0) {
        take(id);
      } else {
        complete(number, group);
      }
    }
    return values_.at(static_cast<std::size_t>(id));
  }

  void compute(const Node& node) {
    const OpCall call(graph_, node);
    std::vector<reference::Wide> wide;
    for (const ValueId id : call.input_values()) wide.push_back(reference::Wide::from(value(id)));
    std::vector<const reference::Wide*> inputs;
    for (const reference::Wide& input : wide) inputs.push_back(&input);
    const std::vector<reference::Wide> outputs = reference::evaluate(call, inputs);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) set(node.outputs[k], outputs.at(k).rounded());
  }

  void collective(const Node& node) {
    CollectiveCall call;
    try {
      call = collective_call(graph_, node, task_.groups, task_.rank);
    } catch (const Error& error) {
      refused_ = !has_begun_;
      throw RankError(fmt::format("node '{}': {}", node.name, error.what()));
    }
    has_begun_ = true;
    const std::vector<ValueId> reads = inputs_of(node);
    if (call.kind == Collective::send) {
      transport_.send(call, value(reads.at(0)));
      return set(node.outputs.at(0), value(reads.at(0)));
    }
    if (call.kind == Collective::receive) {
      // One that nobody reads is waited for all the same.
      const ValueId result = node.outputs.at(0) >= 0 ? node.outputs[0] : unnamed_--;
      receives_.push_back({call, result});
      under_way_[result] = {call.group, -1};
      return progress();
    }
    Pending made;
    if (!reads.empty()) made.input = value(reads.at(0)).contiguous();
    if (!node.outputs.empty()) made.result = node.outputs[0];
    const bool is_barrier = call.kind == Collective::barrier;
    const std::string group = call.group;
    const int64_t number = numbers_[group]++;
    made.heard.resize(call.members.size());
    made.heard[static_cast<std::size_t>(call.position)] = call;
    if (const auto early = early_.find({group, number}); early != early_.end()) {
      for (const CollectiveCall& other : early->second) {
        made.heard.at(static_cast<std::size_t>(other.position)) = other;
      }
      early_.erase(early);
    }
    made.mine = {std::move(call), number};
    transport_.announce(made.mine);
    if (made.result >= 0) under_way_[made.result] = {group, number};
    pending_[group].push_back(std::move(made));
    if (is_barrier) return complete(number, group);
    progress();
  }

  // --- what goes on while this rank waits

  void progress() {
    listen();
    for (auto& [group, calls] : pending_) {
      while (!calls.empty() && advance(calls.front())) {
        Pending& done = calls.front();
        set(done.result, done.operation->result());
        under_way_.erase(done.result);
        calls.pop_front();
      }
    }
    // Messages go to the calls of their group, peer and tag in the order of these.
    std::set<std::tuple<std::string, int, int64_t>> waiting;
    for (auto receive = receives_.begin(); receive != receives_.end();) {
      const CollectiveCall& call = receive->call;
      std::optional<Tensor> message;
      if (!waiting.contains({call.group, call.peer, call.tag})) message = transport_.receive(call);
      if (!message) {
        waiting.insert({call.group, call.peer, call.tag});
        ++receive;
        continue;
      }
      set(receive->result, std::move(*message));
      under_way_.erase(receive->result);
      receive = receives_.erase(receive);
    }
  }

  // Hears from those that a call, or the end, is waiting for.
  void listen() {
    std::set<int> expected;
    for (const auto& [group, calls] : pending_) {
      if (calls.empty() || calls.front().operation != nullptr) continue;
      for (const int rank : missing(calls.front())) expected.insert(rank);
    }
    if (finishing_) {
      for (int rank = 0; rank < task_.groups.world_size; ++rank) {
        if (rank != task_.rank) expected.insert(rank);
      }
    }
    for (const int rank : expected) {
      while (!ended_.contains(rank)) {
        std::optional<Announcement> heard = transport_.hear(rank);
        if (!heard) break;
        file(rank, std::move(*heard));
      }
    }
  }

  void file(int rank, Announcement heard) {
    if (heard.number < 0) {
      ended_.insert(rank);
      return;
    }
    const std::string group = heard.call.group;
    latest_[rank] =
        fmt::format("rank {} is at {} (call {} of group '{}')", rank, heard.call.text(), heard.number, group);
    if (heard.number >= numbers_[group]) {
      if (finishing_) {
        throw RankError(
            fmt::format("waits for the end of rank {}, which calls {} (call {} of group '{}', node '{}'): "
                        "rank {} does not call it any more",
                        rank, heard.call.text(), heard.number, group, heard.call.node, task_.rank));
      }
      early_[{group, heard.number}].push_back(std::move(heard.call));
      return;
    }
    for (Pending& call : pending_[group]) {
      if (call.mine.number != heard.number) continue;
      call.heard.at(static_cast<std::size_t>(heard.call.position)) = std::move(heard.call);
      return;
    }
  }

  static std::vector<int> missing(const Pending& call) {
    std::vector<int> ranks;
    for (std::size_t p = 0; p < call.heard.size(); ++p) {
      if (!call.heard[p]) ranks.push_back(call.mine.call.members[p]);
    }
    return ranks;
  }

  // True when it is complete.
  bool advance(Pending& call) {
    if (call.operation == nullptr) {
      const std::vector<int> absent = missing(call);
      for (const int rank : absent) {
        if (!ended_.contains(rank)) continue;
        throw RankError(fmt::format("{} for rank {}, which does not call it: rank {} ended its program",
                                    waits_in(call.mine), rank, rank));
      }
      if (!absent.empty()) return false;
      call.operation = transport_.begin(agreed(call), call.mine.call.position, call.input);
    }
    return call.operation->advance();
  }

  static std::vector<CollectiveCall> agreed(const Pending& call) {
    std::vector<CollectiveCall> calls;
    for (const auto& other : call.heard) calls.push_back(*other);
    if (const std::string what = difference(calls); !what.empty()) {
      throw RankError(fmt::format("call {} of group '{}': {}", call.mine.number, call.mine.call.group, what));
    }
    return calls;
  }

  static std::string waits_in(const Announcement& call) {
    return fmt::format("waits in {} (call {} of group '{}', node '{}')", call.call.text(), call.number,
                       call.call.group, call.call.node);
  }

  // --- waiting

  // False when the time is over.
  template <class Done>
  bool wait_until(Done&& done) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration<double>(task_.timeout_s);
    for (int turn = 0;; ++turn) {
      progress();
      if (done()) return true;
      if (Clock::now() > end) return false;
      if (turn % 8 == 0) transport_.check_failures();
      // Ranks are more than cores here: the one that is waited for needs this one's.
      const timespec pause{0, turn < 200 ? 1000 : 200'000};
      ::nanosleep(&pause, nullptr);
    }
  }

  // Waits until the group's call of this number is complete; each of those before it has the whole limit.
  void complete(int64_t number, const std::string& group) {
    std::deque<Pending>& calls = pending_.at(group);
    const auto behind = [&](int64_t n) { return calls.empty() || calls.front().mine.number > n; };
    while (!behind(number)) {
      const int64_t first = calls.front().mine.number;
      if (!wait_until([&] { return behind(first); })) fail_waiting(calls.front());
    }
  }

  [[noreturn]] void fail_waiting(const Pending& call) {
    const std::vector<int> absent = missing(call);
    if (absent.empty()) {
      throw RankError(fmt::format("{} (node '{}') did not end within {} s though all ranks called it",
                                  call.mine.call.text(), call.mine.call.node, task_.timeout_s));
    }
    const auto latest = latest_.find(absent.front());
    throw RankError(fmt::format(
        "{} for rank {}, which does not call it: {} within {} s", waits_in(call.mine),
        fmt::join(absent, ", "),
        latest == latest_.end() ? fmt::format("no word from rank {}", absent.front()) : latest->second,
        task_.timeout_s));
  }

  void take(ValueId id) {
    if (wait_until([&] { return !under_way_.contains(id); })) return;
    const auto receive =
        std::find_if(receives_.begin(), receives_.end(), [&](const Receive& r) { return r.result == id; });
    const CollectiveCall& call = receive->call;
    throw RankError(
        fmt::format("waits in {} from rank {} with tag {} (node '{}'), which does not send it: nothing "
                    "came within {} s",
                    call.text(), call.members[static_cast<std::size_t>(call.peer)], call.tag, call.node,
                    task_.timeout_s));
  }

  // Nobody ends before all have: a rank that still waits learns who does not come.
  void finish() {
    finishing_ = true;
    Announcement end;
    end.call.group = "world";
    end.call.members = task_.groups.members("world");
    end.call.position = task_.rank;
    end.number = -1;
    transport_.announce(end);
    for (const auto& [call, ranks] : early_) {
      file(ranks.front().rank(), {ranks.front(), call.second});  // throws: this rank does not call it
    }
    const auto others = static_cast<std::size_t>(task_.groups.world_size) - 1;
    if (wait_until([&] { return ended_.size() == others; })) return;
    std::vector<int> absent;
    for (int rank = 0; rank < task_.groups.world_size; ++rank) {
      if (rank != task_.rank && !ended_.contains(rank)) absent.push_back(rank);
    }
    throw RankError(
        fmt::format("waits for the end of the programs of rank {}: no word from rank {} within {} s",
                    fmt::join(absent, ", "), absent.front(), task_.timeout_s));
  }

  const RankTask& task_;
  const Graph& graph_;
  RankTransport& transport_;
  const std::function<void(const std::string&)>& at_node_;
  std::vector<Tensor> values_;
  std::map<std::string, int64_t> numbers_;              // of the next call of each group
  std::map<std::string, std::deque<Pending>> pending_;  // by group, in order
  ValueId unnamed_ = -2;                                // the next result that has no value
  std::list<Receive> receives_;                         // in order
  // By value: group and number of the collective; number -1 for a message.
  std::map<ValueId, std::pair<std::string, int64_t>> under_way_;
  // Calls of others that this rank has not made yet, by group and number.
  std::map<std::pair<std::string, int64_t>, std::vector<CollectiveCall>> early_;
  std::map<int, std::string> latest_;  // by rank: the last call that was heard of it
  std::set<int> ended_;
  bool finishing_ = false;
  bool has_begun_ = false;  // some collective
  bool refused_ = false;
};

}  // namespace

RankAnswer run_rank(const RankTask& task, RankTransport& transport,
                    const std::function<void(const std::string& node)>& at_node) {
  RankAnswer answer;
  const auto failed = [&](const std::string& what) {
    answer.error = fmt::format("rank {}: {}", task.rank, what);
    transport.tell_failure(answer.error);
  };
  try {
    Program program(task, transport, at_node);
    try {
      answer.outputs = program.run();
      answer.sent = transport.sent();
      answer.received = transport.received();
    } catch (...) {
      answer.refused = program.refused();
      throw;
    }
  } catch (const OtherRankFailed& error) {
    answer.error = fmt::format("rank {}: stopped, since {}", task.rank, error.what());
  } catch (const std::exception& error) {
    failed(error.what());
  }
  return answer;
}

}  // namespace assay
