#include "harness/judge/local_pass.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/judge/expected.h"
#include "harness/judge/node_rules.h"

namespace assay {
namespace {

using reference::Wide;

bool is_device(Placement placement) {
  return placement == Placement::device || placement == Placement::device_soft;
}

// The chain's values as what follows reads them.
class Chain {
 public:
  explicit Chain(const LocalRequest& request) : graph_(*request.graph), values_(*request.chain) {
    read_.resize(graph_.values.size());
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : inputs_of(node)) read_[static_cast<std::size_t>(id)] = true;
    }
  }
  // Of a node's outputs; those that no node reads are left empty.
  std::vector<Wide> outputs_of(std::size_t node) const {
    const std::vector<ValueId>& ids = graph_.nodes[node].outputs;
    std::vector<Wide> outputs(ids.size());
    for (std::size_t o = 0; o < ids.size(); ++o) {
      if (ids[o] < 0 || !read_[static_cast<std::size_t>(ids[o])]) continue;
      outputs[o] = Wide::from(values_.at(static_cast<std::size_t>(ids[o])));
    }
    return outputs;
  }

 private:
  const Graph& graph_;
  const std::vector<Tensor>& values_;
  std::vector<bool> read_;
};

NodeQuestion question_of(const LocalRequest& request, const OpCall& call,
                         const std::vector<const Wide*>& inputs, bool metadata) {
  NodeQuestion question;
  question.call = &call;
  question.inputs = inputs;
  question.precision = precision_of(*request.contract, call, request.mode, *request.options);
  question.metadata = metadata;
  question.need_witness = needs_witness(call, request.backend_is_reference, metadata);
  question.exact_probe = request.checks.exact_probe;
  question.suite_drawn = request.checks.suite_drawn && request.graph->nodes.size() == 1;
  return question;
}

// Outputs of a node by the call's numbering: a result that nobody asked for is undefined.
std::vector<Tensor> align(const OpCall& call, const std::vector<Tensor>& got) {
  if (got.size() == call.outputs().size()) return got;
  std::vector<Tensor> aligned(call.outputs().size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < aligned.size() && next < got.size(); ++i) {
    if (call.output_used(static_cast<int>(i))) aligned[i] = got[next++];
  }
  return aligned;
}

std::string_view text_of(Placement placement) {
  switch (placement) {
    case Placement::device:
    case Placement::device_soft:
      return "pass";
    case Placement::fallback:
      return "fallback";
    case Placement::metadata:
      return "metadata";
    case Placement::host_scalar:
      return "host_scalar";
    case Placement::not_run:
      return "not_run";
  }
  return "";
}

// Outputs of the one node that are outputs of the graph too, in the node's numbering.
struct Returned {
  std::vector<Tensor> got;
  std::vector<std::string> names;              // by the graph's keys; empty if the graph does not return it
  std::map<std::size_t, std::size_t> by_file;  // those with an expected file: output of the graph
};

Returned returned_by(const Graph& graph, const OpCall& call, const SingleNode& single) {
  Returned returned;
  returned.got.resize(call.outputs().size());
  returned.names.resize(returned.got.size());
  for (std::size_t o = 0; o < returned.got.size(); ++o) {
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      if (graph.outputs[i].value < 0 || graph.outputs[i].value != call.output_values().at(o)) continue;
      returned.got[o] = single.outputs->at(i);
      returned.names[o] = output_key(graph, i);
      if (single.expected->contains(i)) returned.by_file[o] = i;
    }
  }
  return returned;
}

bool any_named(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return !name.empty(); });
}

NodeVerdict judge_returned(const NodeStandard& standard, Returned returned, const SingleNode& single) {
  NodeVerdict total;
  total.holds_number = standard.holds_number(returned.names);
  for (const auto& [o, i] : returned.by_file) {
    const ExpectedOutput& file = single.expected->at(i);
    raise(total, standard.judge_expected(static_cast<int>(o), returned.got[o], file.value, file.file_roundoff,
                                         returned.names[o]));
  }
  // A file may be partial: what it does not name is judged against the reference.
  for (const auto& [o, i] : returned.by_file) returned.names[o].clear();
  if (any_named(returned.names)) raise(total, standard.judge(returned.got, returned.names));
  return total;
}

// The free pass gave the local pass's bits, so that its verdict is the same.
bool is_equal_run(const Returned& returned, const std::vector<Tensor>& local) {
  if (!returned.by_file.empty() || !any_named(returned.names)) return false;
  for (std::size_t o = 0; o < returned.got.size(); ++o) {
    if (returned.names[o].empty()) continue;
    if (!returned.got[o].defined() || !local.at(o).defined()) return false;
    if (!returned.got[o].bitwise_equal(local[o])) return false;
  }
  return true;
}

class LocalJudge {
 public:
  LocalJudge(const LocalRequest& request, const SingleNode* single)
      : request_(request), graph_(*request.graph), single_(single), chain_(request) {}

  LocalVerdict run() {
    reference::WalkHooks hooks;
    hooks.evaluate = [this](int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
      return evaluate_node(node, call, inputs);
    };
    reference::walk(graph_, *request_.inputs, hooks);
    return std::move(result_);
  }

 private:
  std::vector<Wide> evaluate_node(int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
    const auto at = static_cast<std::size_t>(node);
    const NodeOutcome none;
    const NodeOutcome& outcome = at < request_.run->nodes.size() ? request_.run->nodes[at] : none;
    const bool metadata = outcome.placement == Placement::metadata;
    const bool judged = (is_device(outcome.placement) || metadata) && !outcome.local.empty();
    if (!judged) {
      const bool returns = std::any_of(call.output_values().begin(), call.output_values().end(),
                                       [](ValueId id) { return id >= 0; });
      if (is_device(outcome.placement) && returns) result_.missing.push_back(graph_.nodes[at].name);
      keep(at, outcome, nullptr);
      return chain_.outputs_of(at);
    }
    NodeQuestion question = question_of(request_, call, inputs, metadata);
    question.draws = &draws_;
    const NodeStandard standard(std::move(question));
    const std::vector<Tensor> local = align(call, outcome.local);
    const NodeVerdict verdict = standard.judge(local, names_of(at));
    if (verdict.status == Status::vacuous && verdict.reason == "no_witness") {
      if (std::find(result_.without_witness.begin(), result_.without_witness.end(), call.op()) ==
          result_.without_witness.end()) {
        result_.without_witness.push_back(call.op());
      }
    } else {
      ++result_.judged;
      if (verdict.status != Status::pass && !result_.first_bad_node) {
        const Node& bad = graph_.nodes[at];
        result_.first_bad_node = BadNode{bad.name, bad.op, bad.source.location, verdict.margin};
      }
      raise(result_.total, verdict);
    }
    keep(at, outcome, &verdict);
    if (single_ != nullptr) judge_free_pass(standard, call, local, verdict);
    // What follows reads what local_chain() gave the device, bit for bit.
    return chain_.outputs_of(at);
  }

  // Draws are judged by the history of a pass as well: the free pass's are not those of this one.
  void judge_free_pass(const NodeStandard& standard, const OpCall& call, const std::vector<Tensor>& local,
                       const NodeVerdict& verdict) {
    Returned returned = returned_by(graph_, call, *single_);
    if (is_equal_run(returned, local)) {
      result_.single = verdict;
      result_.single->holds_number = standard.holds_number(returned.names);
    } else if (standard.model().name != "distribution") {
      result_.single = judge_returned(standard, std::move(returned), *single_);
    }
  }

  std::vector<std::string> names_of(std::size_t node) const {
    std::vector<std::string> names;
    for (const ValueId id : graph_.nodes[node].outputs) {
      names.push_back(id < 0 ? std::string() : graph_.values[static_cast<std::size_t>(id)].name);
    }
    return names;
  }

  void keep(std::size_t node, const NodeOutcome& outcome, const NodeVerdict* verdict) {
    const bool failing = verdict && verdict->status != Status::pass;
    if (!failing && !request_.keep_all_nodes) return;
    const Node& source = graph_.nodes[node];
    NodeRecord record;
    record.case_id = request_.case_id;
    record.mode = request_.mode;
    record.name = source.name;
    record.op = source.op;
    record.source = source.source.location;
    record.module_path = source.source.module_path;
    if (!source.outputs.empty() && source.outputs[0] >= 0) {
      const Value& value = graph_.values[static_cast<std::size_t>(source.outputs[0])];
      record.dtype = std::string(name_of(value.dtype));
      record.shape = value.shape;
    }
    record.status = failing ? std::string(name_of(verdict->status)) : std::string(text_of(outcome.placement));
    if (verdict) {
      record.margin = verdict->margin;
      record.worst = verdict->worst;
    }
    if (outcome.placement == Placement::fallback) record.fallback_reason = outcome.reason;
    result_.nodes.push_back(std::move(record));
  }

  const LocalRequest& request_;
  const Graph& graph_;
  const SingleNode* single_;
  Chain chain_;
  LocalVerdict result_;
  DrawHistory draws_;
};

}  // namespace

bool needs_witness(const OpCall& call, bool backend_is_reference, bool metadata) {
  if (metadata) return false;
  if (backend_is_reference) return true;
  return computation_dtype(call) == DType::f64 && reference::error_model(call).name != "exact";
}

LocalVerdict judge_local(const LocalRequest& request, const SingleNode* single) {
  return LocalJudge(request, single).run();
}

NodeVerdict judge_single_node(const LocalRequest& request, const SingleNode& single) {
  NodeVerdict total;
  reference::WalkHooks hooks;
  hooks.evaluate = [&](int node, const OpCall& call, const std::vector<const Wide*>& inputs) {
    const bool metadata =
        !request.run->nodes.empty() && request.run->nodes[0].placement == Placement::metadata;
    const NodeStandard standard(question_of(request, call, inputs, metadata));
    total = judge_returned(standard, returned_by(*request.graph, call, single), single);
    return Chain(request).outputs_of(static_cast<std::size_t>(node));
  };
  reference::walk(*request.graph, *request.inputs, hooks);
  return total;
}

}  // namespace assay
