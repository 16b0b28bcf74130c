#include "core/distributed/join.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/distributed/plain_collectives.h"
#include "core/error.h"

namespace assay {
namespace {

struct Posted {
  CollectiveCall call;
  const Node* node = nullptr;
};

// The k-th call of a group, as far as its ranks have come.
struct Pending {
  std::vector<std::optional<Posted>> calls;  // by position
  int64_t number = 0;
};

class Joining {
 public:
  Joining(const RankPrograms& programs, const std::string& id)
      : programs_(plain_collectives(programs)),
        ranks_(programs.graphs.size()),
        states_(ranks_),
        own_error_(ranks_) {
    check();
    result_.graph.id = id;
    for (std::size_t r = 0; r < ranks_; ++r) enter(static_cast<int>(r));
  }

  Graph inputs() { return std::move(result_.graph); }

  JoinedGraph run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t r = 0; r < ranks_; ++r) moved |= advance(static_cast<int>(r));
    }
    report_unmet();
    if (std::any_of(own_error_.begin(), own_error_.end(), [](const auto& e) { return !e.empty(); })) {
      result_.errors = own_error_;
      spread_errors(result_.errors);
      return std::move(result_);
    }
    for (std::size_t r = 0; r < ranks_; ++r) leave(static_cast<int>(r));
    return std::move(result_);
  }

 private:
  using MeetingKey = std::pair<std::string, int64_t>;  // group and number of the call
  struct State {
    std::size_t next = 0;                  // node
    bool stopped = false;                  // failed or by a fault
    std::vector<ValueId> joined;           // by value of the rank's graph; -1: not there yet
    std::map<std::string, int64_t> calls;  // of each group
    std::optional<MeetingKey> barrier;     // the last one; nobody goes on before all have called it
  };

  void check() {
    ProcessGroups world;
    world.world_size = programs_.groups.world_size;
    world.check();
    try {
      programs_.groups.check();
    } catch (const Error& error) {
      // Every rank makes all groups, and none of them this one.
      for (std::size_t r = 0; r < ranks_; ++r) fail(static_cast<int>(r), error.what());
    }
    if (ranks_ != static_cast<std::size_t>(programs_.groups.world_size)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} programs for a world of {} ranks", ranks_, programs_.groups.world_size));
    }
    for (const auto& graph : programs_.graphs) {
      if (graph == nullptr) throw Error(ErrorCode::invalid_argument, "a rank has no program");
      if (graph->has_symbols())
        throw Error(ErrorCode::unsupported, "programs of ranks have plain sizes only");
    }
  }

  const Graph& graph_of(int rank) const { return *programs_.graphs[static_cast<std::size_t>(rank)]; }
  State& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }
  ValueId& joined(int rank, ValueId id) { return state(rank).joined.at(static_cast<std::size_t>(id)); }

  ValueId add_value(int rank, ValueId id) {
    Value value = graph_of(rank).values.at(static_cast<std::size_t>(id));
    value.name = name_at_rank(rank, value.name);
    value.producer = -1;
    result_.graph.values.push_back(std::move(value));
    return joined(rank, id) = static_cast<ValueId>(result_.graph.values.size()) - 1;
  }

  void enter(int rank) {
    state(rank).joined.assign(graph_of(rank).values.size(), -1);
    for (GraphInput input : graph_of(rank).inputs) {
      if (input.value >= 0) input.value = add_value(rank, input.value);
      input.target = name_at_rank(rank, input.target);
      result_.graph.inputs.push_back(std::move(input));
    }
  }

  void leave(int rank) {
    for (GraphOutput output : graph_of(rank).outputs) {
      if (output.value >= 0) output.value = joined(rank, output.value);
      if (output.kind != OutputKind::user) output.target = name_at_rank(rank, output.target);
      result_.graph.outputs.push_back(std::move(output));
    }
  }

  void fail(int rank, const std::string& what) {
    state(rank).stopped = true;
    std::string& error = own_error_[static_cast<std::size_t>(rank)];
    if (error.empty()) error = fmt::format("rank {}: {}", rank, what);
  }

  // A node of the joined graph whose outputs are the given ones.
  int append(Node node, const std::vector<ValueId>& outputs) {
    const auto number = static_cast<int>(result_.graph.nodes.size());
    node.outputs = outputs;
    for (const ValueId id : outputs) {
      if (id >= 0) result_.graph.values[static_cast<std::size_t>(id)].producer = number;
    }
    result_.graph.nodes.push_back(std::move(node));
    return number;
  }

  // Runs a rank until it has to wait, fails or ends; true if it came further.
  bool advance(int rank) {
    State& s = state(rank);
    const Graph& graph = graph_of(rank);
    bool moved = false;
    while (!s.stopped && s.next < graph.nodes.size() && !stands_at_barrier(s)) {
      const Node& node = graph.nodes[s.next];
      if (at_fault(rank, node)) return true;
      for (const ValueId id : inputs_of(node)) {
        if (joined(rank, id) < 0) return moved;
      }
      if (is_wait(node.op)) {
        if (node.outputs.at(0) >= 0) joined(rank, node.outputs[0]) = joined(rank, inputs_of(node).at(0));
      } else if (is_collective(node.op)) {
        post(rank, node);
      } else {
        copy(rank, node);
      }
      if (!s.stopped) ++s.next;
      moved = true;
    }
    return moved;
  }

  bool stands_at_barrier(const State& s) const { return s.barrier && pending_.contains(*s.barrier); }

  bool at_fault(int rank, const Node& node) {
    for (const RankFault& fault : programs_.faults) {
      if (fault.rank != rank || fault.node != static_cast<int>(state(rank).next)) continue;
      fail(rank, fmt::format("rank {} {} before node '{}' ({})", rank,
                             fault.stands_still ? "stopped" : "died", node.name, node.op));
      return true;
    }
    return false;
  }

  void copy(int rank, const Node& node) {
    Node made = node;
    made.name = name_at_rank(rank, node.name);
    for (NamedArgument& argument : made.arguments) {
      visit_values(argument.value, [&](ValueId& id) { id = id < 0 ? id : joined(rank, id); });
    }
    std::vector<ValueId> outputs;
    for (const ValueId id : node.outputs) outputs.push_back(id < 0 ? -1 : add_value(rank, id));
    append(std::move(made), outputs);
  }

  void post(int rank, const Node& node) {
    CollectiveCall call;
    try {
      call = collective_call(graph_of(rank), node, programs_.groups, rank);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      return fail(rank, fmt::format("node '{}': {}", node.name, error.what()));
    }
    Posted posted{std::move(call), &node};
    if (posted.call.kind == Collective::send || posted.call.kind == Collective::receive) {
      return post_to_peer(std::move(posted));
    }
    const std::string group = posted.call.group;
    const int64_t number = state(rank).calls[group]++;
    Pending& pending = pending_[{group, number}];
    pending.number = number;
    pending.calls.resize(posted.call.members.size());
    if (posted.call.kind == Collective::barrier) state(rank).barrier = MeetingKey{group, number};
    const auto position = static_cast<std::size_t>(posted.call.position);
    pending.calls[position] = std::move(posted);
    if (std::all_of(pending.calls.begin(), pending.calls.end(),
                    [](const auto& c) { return c.has_value(); })) {
      const Pending met = std::move(pending);
      pending_.erase({group, number});
      meet(met);
    }
  }

  void post_to_peer(Posted posted) {
    const CollectiveCall& call = posted.call;
    const bool sends = call.kind == Collective::send;
    const int peer = call.members[static_cast<std::size_t>(call.peer)];
    const Channel channel{call.group, sends ? call.rank() : peer, sends ? peer : call.rank(), call.tag};
    auto& mine = sends ? sends_[channel] : receives_[channel];
    auto& others = sends ? receives_[channel] : sends_[channel];
    if (others.empty()) {
      mine.push_back(std::move(posted));
      return;
    }
    const Posted other = std::move(others.front());
    others.pop_front();
    const Posted& send = sends ? posted : other;
    const Posted& receive = sends ? other : posted;
    if (const std::string what = difference(send.call, receive.call); !what.empty()) {
      fail(send.call.rank(), what);
      return fail(receive.call.rank(), what);
    }
    emit({send, receive}, "ranks::send_recv.default", {});
  }

  void meet(const Pending& pending) {
    std::vector<Posted> posted;
    std::vector<CollectiveCall> calls;
    for (const auto& call : pending.calls) {
      posted.push_back(*call);
      calls.push_back(call->call);
    }
    if (const std::string what = difference(calls); !what.empty()) {
      for (const CollectiveCall& call : calls) {
        fail(call.rank(), fmt::format("call {} of group '{}': {}", pending.number, call.group, what));
      }
      return;
    }
    const CollectiveCall& first = calls.front();
    if (first.kind == Collective::barrier) {
      result_.meetings.push_back({std::move(calls), -1});
      return;
    }
    std::vector<NamedArgument> arguments;
    const auto add = [&](const char* name, Argument value) { arguments.push_back({name, std::move(value)}); };
    if (!first.reduce_op.empty()) add("reduce_op", first.reduce_op);
    if (first.root >= 0) add("root", static_cast<int64_t>(first.root));
    if (first.kind == Collective::all_to_all) {
      std::vector<int64_t> matrix;
      for (const CollectiveCall& call : calls)
        matrix.insert(matrix.end(), call.sizes.begin(), call.sizes.end());
      add("sizes", IntListArg{std::move(matrix), {}});
    } else if (first.kind == Collective::scatter || first.kind == Collective::reduce_scatter) {
      std::vector<int64_t> sizes = first.sizes;
      if (sizes.empty()) sizes.assign(calls.size(), first.input.shape.at(0) / first.ranks());
      add("sizes", IntListArg{std::move(sizes), {}});
    }
    try {
      emit(posted, fmt::format("ranks::{}.default", name_of(first.kind)), std::move(arguments));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) throw;
      for (const CollectiveCall& call : calls) fail(call.rank(), error.what());
    }
  }

  void emit(const std::vector<Posted>& posted, const std::string& op, std::vector<NamedArgument> arguments) {
    Node node;
    node.name = fmt::format("c{}_{}", result_.meetings.size(), posted.front().node->name);
    node.op = op;
    node.source = posted.front().node->source;
    ValueListArg inputs;
    for (const Posted& p : posted) inputs.ids.push_back(joined(p.call.rank(), inputs_of(*p.node).at(0)));
    node.arguments.push_back({"inputs", std::move(inputs)});
    for (NamedArgument& argument : arguments) node.arguments.push_back(std::move(argument));
    std::vector<ValueId> outputs;
    Meeting meeting;
    for (const Posted& p : posted) {
      const ValueId id = p.node->outputs.at(0);
      outputs.push_back(id < 0 ? -1 : add_value(p.call.rank(), id));
      meeting.calls.push_back(p.call);
    }
    meeting.node = append(std::move(node), outputs);
    result_.meetings.push_back(std::move(meeting));
  }

  // What a rank that did not come to a meeting does instead.
  std::string whereabouts(int rank, const std::string& group) {
    const State& s = state(rank);
    if (!own_error_[static_cast<std::size_t>(rank)].empty()) {
      const std::string& error = own_error_[static_cast<std::size_t>(rank)];
      return error.substr(error.find(": ") + 2);
    }
    const auto calls = s.calls.find(group);
    const int64_t made = calls == s.calls.end() ? 0 : calls->second;
    if (stands_at_barrier(s)) {
      return fmt::format("rank {} waits at node '{}' after {} calls of the group", rank,
                         graph_of(rank).nodes[s.next - 1].name, made);
    }
    if (s.next >= graph_of(rank).nodes.size()) {
      return fmt::format("rank {} ended its program after {} calls of the group", rank, made);
    }
    const Node& node = graph_of(rank).nodes[s.next];
    std::string source;
    for (const ValueId id : inputs_of(node)) {
      if (joined(rank, id) >= 0) continue;
      const int32_t producer = graph_of(rank).values[static_cast<std::size_t>(id)].producer;
      source =
          fmt::format(" for the result of {}", graph_of(rank).nodes[static_cast<std::size_t>(producer)].op);
      break;
    }
    return fmt::format("rank {} waits at node '{}'{} after {} calls of the group", rank, node.name, source,
                       made);
  }

  void report_unmet() {
    std::vector<std::pair<int, std::string>> found;
    for (const auto& [key, pending] : pending_) {
      std::string missing, where;
      const auto posted = std::find_if(pending.calls.begin(), pending.calls.end(),
                                       [](const auto& call) { return call.has_value(); });
      for (std::size_t p = 0; p < pending.calls.size(); ++p) {
        if (pending.calls[p]) continue;
        const int rank = (*posted)->call.members[p];
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
        if (where.empty()) where = whereabouts(rank, key.first);
      }
      for (const auto& call : pending.calls) {
        if (!call) continue;
        found.emplace_back(
            call->call.rank(),
            fmt::format("waits in {} (call {} of group '{}', node '{}') for rank {}, which does "
                        "not call it: {}",
                        call->call.text(), pending.number, key.first, call->node->name, missing, where));
      }
    }
    for (const bool sends : {true, false}) {
      for (const auto& [channel, waiting] : sends ? sends_ : receives_) {
        for (const Posted& p : waiting) {
          const int peer = p.call.members[static_cast<std::size_t>(p.call.peer)];
          found.emplace_back(
              p.call.rank(),
              fmt::format("waits in {} {} rank {} with tag {} (node '{}'), which does not {}: {}",
                          p.call.text(), sends ? "to" : "from", peer, p.call.tag, p.node->name,
                          sends ? "receive it" : "send it", whereabouts(peer, p.call.group)));
        }
      }
    }
    for (const auto& [rank, what] : found) fail(rank, what);
  }

  using Channel = std::tuple<std::string, int, int, int64_t>;  // group, from, to, tag

  const RankPrograms programs_;  // in plain collectives
  std::size_t ranks_;
  std::vector<State> states_;
  std::vector<std::string> own_error_;
  std::map<MeetingKey, Pending> pending_;
  std::map<Channel, std::deque<Posted>> sends_, receives_;
  JoinedGraph result_;
};

}  // namespace

void spread_errors(std::vector<std::string>& errors) {
  const auto first =
      std::find_if(errors.begin(), errors.end(), [](const auto& error) { return !error.empty(); });
  if (first == errors.end()) return;
  const std::string cause = *first;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    if (errors[r].empty()) errors[r] = fmt::format("rank {}: stopped, since {}", r, cause);
  }
}

int rank_of(const std::string& name) {
  int rank = -1;
  if (name.size() < 3 || name[0] != 'r') return -1;
  const auto parsed = std::from_chars(name.data() + 1, name.data() + name.size(), rank);
  return parsed.ec == std::errc() && *parsed.ptr == '_' ? rank : -1;
}

bool is_joined_collective(std::string_view op) { return op.starts_with("ranks::"); }

std::string name_at_rank(int rank, const std::string& name) { return fmt::format("r{}_{}", rank, name); }

JoinedGraph join(const RankPrograms& programs, const std::string& id) { return Joining(programs, id).run(); }

Graph inputs_of_ranks(const RankPrograms& programs, const std::string& id) {
  return Joining(programs, id).inputs();
}

}  // namespace assay
