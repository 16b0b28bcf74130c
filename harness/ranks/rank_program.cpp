#include "harness/ranks/rank_program.h"

#include <signal.h>
#include <unistd.h>

#include <map>
#include <utility>

#include <fmt/format.h>

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
    while (!receives_.empty()) value(receives_.begin()->first);
    finish();
    std::vector<Tensor> outputs;
    for (const GraphOutput& output : graph_.outputs) {
      outputs.push_back(output.value < 0 ? Tensor() : value(output.value));
    }
    return outputs;
  }

 private:
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

  // A message is taken from the transport when somebody reads it.
  const Tensor& value(ValueId id) {
    Tensor& tensor = values_.at(static_cast<std::size_t>(id));
    if (const auto pending = receives_.find(id); pending != receives_.end()) {
      const CollectiveCall call = pending->second;
      receives_.erase(pending);
      tensor = transport_.receive(call);
    }
    return tensor;
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
      refused_ = true;
      throw RankError(fmt::format("node '{}': {}", node.name, error.what()));
    }
    const std::vector<ValueId> reads = inputs_of(node);
    if (call.kind == Collective::send) {
      transport_.send(call, value(reads.at(0)));
      return set(node.outputs.at(0), value(reads.at(0)));
    }
    if (call.kind == Collective::receive) {
      receives_[node.outputs.at(0)] = call;
      return;
    }
    const int64_t number = numbers_[call.group]++;
    const std::vector<CollectiveCall> calls = agree({call, number});
    const Tensor input = reads.empty() ? Tensor() : value(reads.at(0)).contiguous();
    Tensor result = transport_.collective(calls, call.position, input);
    if (!node.outputs.empty()) set(node.outputs[0], std::move(result));
  }

  std::vector<CollectiveCall> agree(const Announcement& mine) {
    const std::vector<Announcement> all = transport_.meet(mine);
    std::vector<CollectiveCall> calls;
    for (const Announcement& other : all) {
      if (other.number < 0) {
        throw RankError(
            fmt::format("waits in {} (call {} of group '{}', node '{}') for rank {}, which does not "
                        "call it: rank {} ended its program",
                        mine.call.text(), mine.number, mine.call.group, mine.call.node, other.call.rank(),
                        other.call.rank()));
      }
      if (other.call.group != mine.call.group || other.number != mine.number) {
        throw RankError(
            fmt::format("rank {} and rank {} differ in order: rank {} is at {} (call {} of group '{}'), "
                        "rank {} at {} (call {} of group '{}')",
                        other.call.rank(), task_.rank, other.call.rank(), other.call.text(), other.number,
                        other.call.group, task_.rank, mine.call.text(), mine.number, mine.call.group));
      }
      calls.push_back(other.call);
    }
    if (const std::string what = difference(calls); !what.empty()) {
      throw RankError(fmt::format("call {} of group '{}': {}", mine.number, mine.call.group, what));
    }
    return calls;
  }

  // Nobody ends before all have: a rank that still waits learns who does not come.
  void finish() {
    Announcement end;
    end.call.group = "world";
    end.call.members = task_.groups.members("world");
    end.call.position = task_.rank;
    end.number = -1;
    for (const Announcement& other : transport_.meet(end)) {
      if (other.number < 0) continue;
      throw RankError(fmt::format(
          "waits for the end of rank {}, which calls {} (call {} of group '{}', node '{}'): "
          "rank {} does not call it any more",
          other.call.rank(), other.call.text(), other.number, other.call.group, other.call.node, task_.rank));
    }
  }

 public:
  bool refused() const { return refused_; }

 private:
  const RankTask& task_;
  const Graph& graph_;
  RankTransport& transport_;
  const std::function<void(const std::string&)>& at_node_;
  std::vector<Tensor> values_;
  std::map<ValueId, CollectiveCall> receives_;  // posted, not read yet
  std::map<std::string, int64_t> numbers_;      // of the next call of each group
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
