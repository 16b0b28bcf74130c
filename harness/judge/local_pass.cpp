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

std::vector<Wide> rounded_once(const std::vector<Wide>& outputs) {
  std::vector<Wide> rounded;
  rounded.reserve(outputs.size());
  for (const Wide& output : outputs) {
    rounded.push_back(is_integral(output.meta.dtype) ? output : Wide::from(output.rounded()));
  }
  return rounded;
}

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

class LocalJudge {
 public:
  explicit LocalJudge(const LocalRequest& request) : request_(request), graph_(*request.graph) {}

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
      return rounded_once(reference::evaluate(call, inputs));
    }
    NodeQuestion question = question_of(request_, call, inputs, metadata);
    question.draws = &draws_;
    const NodeStandard standard(std::move(question));
    const NodeVerdict verdict = standard.judge(align(call, outcome.local), names_of(at));
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
    // The chain comes from the plain evaluation, bit for bit as local_chain() gave it to the device.
    return rounded_once(reference::evaluate(call, inputs));
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
  LocalVerdict result_;
  DrawHistory draws_;
};

}  // namespace

bool needs_witness(const OpCall& call, bool backend_is_reference, bool metadata) {
  if (metadata) return false;
  if (backend_is_reference) return true;
  return computation_dtype(call) == DType::f64 && reference::error_model(call).name != "exact";
}

LocalVerdict judge_local(const LocalRequest& request) { return LocalJudge(request).run(); }

NodeVerdict judge_single_node(const LocalRequest& request, const std::vector<Tensor>& outputs,
                              const std::map<std::size_t, ExpectedOutput>& expected) {
  const Graph& graph = *request.graph;
  NodeVerdict total;
  reference::WalkHooks hooks;
  hooks.evaluate = [&](int, const OpCall& call, const std::vector<const Wide*>& inputs) {
    const bool metadata =
        !request.run->nodes.empty() && request.run->nodes[0].placement == Placement::metadata;
    const NodeStandard standard(question_of(request, call, inputs, metadata));
    std::vector<Tensor> got(call.outputs().size());
    std::vector<std::string> names(got.size());
    std::map<std::size_t, std::size_t> by_file;  // output of the node -> output of the graph
    for (std::size_t o = 0; o < got.size(); ++o) {
      for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        if (graph.outputs[i].value < 0 || graph.outputs[i].value != call.output_values().at(o)) continue;
        got[o] = outputs.at(i);
        names[o] = output_key(graph, i);
        if (expected.contains(i)) by_file[o] = i;
      }
    }
    for (const auto& [o, i] : by_file) {
      const ExpectedOutput& file = expected.at(i);
      raise(total,
            standard.judge_expected(static_cast<int>(o), got[o], file.value, file.file_roundoff, names[o]));
    }
    // A file may be partial: what it does not name is judged against the reference.
    for (const auto& [o, i] : by_file) names[o].clear();
    if (std::any_of(names.begin(), names.end(), [](const std::string& name) { return !name.empty(); })) {
      raise(total, standard.judge(got, names));
    }
    return rounded_once(reference::evaluate(call, inputs));
  };
  reference::walk(graph, *request.inputs, hooks);
  return total;
}

}  // namespace assay
