#include "harness/worker/judge_messages.h"

#include <set>
#include <utility>

#include "core/graph/json.h"
#include "harness/worker/message_fields.h"
#include "harness/worker/messages.h"

namespace assay {
namespace {

PackedMap packed(const Checks& checks) {
  return {{"suite_drawn", checks.suite_drawn},     {"exact_probe", checks.exact_probe},
          {"nan_policy", checks.nan_policy},       {"negative", checks.negative},
          {"expect_error", checks.expect_error},   {"ranks", checks.ranks},
          {"rank_mentions", checks.rank_mentions}, {"descends", checks.descends}};
}

Checks checks_from(const Fields& fields) {
  Checks checks;
  checks.suite_drawn = fields.boolean("suite_drawn");
  checks.exact_probe = fields.boolean("exact_probe");
  checks.nan_policy = fields.boolean("nan_policy");
  checks.negative = fields.boolean("negative");
  checks.expect_error = fields.text("expect_error");
  checks.ranks = static_cast<int>(fields.integer("ranks"));
  checks.rank_mentions = fields.texts("rank_mentions");
  checks.descends = fields.real("descends");
  return checks;
}

// What both requests for a verdict say; `tensors` begins with those of `request`.
PackedMap request_map(const char* type, const JudgeRequest& request, const JudgeTexts& texts,
                      bool contract_is_known, std::vector<Tensor>& tensors) {
  tensors = request.inputs;
  PackedArray expected;
  for (const auto& [name, tensor] : request.expected) {
    expected.push_back(name);
    tensors.push_back(tensor);
  }
  return {{"type", type},
          {"case_id", request.case_id},
          {"graph", texts.graph_json},
          {"inputs", request.inputs.size()},
          {"expected", expected},
          {"expected_source", request.expected_source},
          {"checks", packed(request.checks)},
          {"contract", contract_is_known ? PackedValue(nullptr) : PackedValue(texts.contract_json)},
          {"options", request.options},
          {"mode", request.mode},
          {"seed", request.seed},
          {"backend_is_reference", request.backend_is_reference},
          {"keep_all_nodes", request.keep_all_nodes}};
}

JudgeRequest request_from(const Fields& fields, std::vector<Tensor> tensors, std::optional<Contract>& last) {
  JudgeRequest request;
  request.case_id = fields.text("case_id");
  request.checks = checks_from(fields.object("checks"));
  request.expected_source = fields.text("expected_source");
  if (!fields.absent("contract")) {
    last = Contract::parse(fields.text("contract"), "Contract");
  } else if (!last) {
    fields.fail("contract", "a Contract: no request before this one had any");
  }
  request.contract = *last;
  request.options = fields.text_map("options");
  request.mode = fields.text("mode");
  request.seed = fields.unsigned_integer("seed");
  request.backend_is_reference = fields.boolean("backend_is_reference");
  request.keep_all_nodes = fields.boolean("keep_all_nodes");
  const auto inputs = static_cast<std::size_t>(fields.integer("inputs"));
  const std::vector<std::string> expected = fields.texts("expected");
  if (tensors.size() != inputs + expected.size()) fields.fail("tensors", "inputs and expected outputs");
  for (std::size_t i = 0; i < expected.size(); ++i) request.expected[expected[i]] = tensors[inputs + i];
  tensors.resize(inputs);
  request.inputs = std::move(tensors);
  const std::string text = fields.text("graph");
  request.graph =
      std::make_shared<const Graph>(request.checks.negative ? graph_from_json_unchecked(text, request.case_id)
                                                            : graph_from_json(text, request.case_id));
  return request;
}

}  // namespace

Frame encode_prepare(const JudgeRequest& request, const JudgeTexts& texts, bool contract_is_known) {
  std::vector<Tensor> tensors;
  PackedMap header = request_map("prepare", request, texts, contract_is_known, tensors);
  return make_frame(std::move(header), std::move(tensors));
}

JudgeRequest decode_prepare(Frame frame, const std::string& origin, std::optional<Contract>& last) {
  const Fields fields(header_of(frame, origin), origin + ": prepare");
  return request_from(fields, std::move(frame.tensors), last);
}

Frame encode(const Prepared& prepared) {
  PackedValue refused = nullptr;
  if (prepared.refused) {
    refused = PackedMap{{"code", prepared.refused->code}, {"message", prepared.refused->message}};
  }
  return make_frame({{"type", "prepared"},
                     {"refused", refused},
                     {"values", prepared.chain_names},
                     {"free_nodes", prepared.free_nodes}},
                    prepared.chain);
}

Prepared decode_prepared(Frame frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": prepared");
  Prepared prepared;
  if (!fields.absent("refused")) {
    const Fields refused = fields.object("refused");
    prepared.refused = Prepared::Refusal{refused.text("code"), refused.text("message")};
  }
  prepared.chain_names = fields.texts("values");
  prepared.chain = std::move(frame.tensors);
  if (prepared.chain.size() != prepared.chain_names.size()) fields.fail("values", "one name for each tensor");
  for (const MessageValue entry : fields.array("free_nodes")) {
    if (!entry.is_number_unsigned()) fields.fail("free_nodes", "node numbers");
    prepared.free_nodes.push_back(static_cast<int>(entry.natural()));
  }
  return prepared;
}

Frame encode_judge(const RunResult& result) { return encode_result("judge", result); }

RunResult decode_judge(Frame frame, const std::string& origin) {
  return decode_run_result(std::move(frame), origin);
}

Frame encode_steps(const StepsRequest& request, const JudgeTexts& texts, bool contract_is_known) {
  std::vector<Tensor> tensors;
  PackedMap header = request_map("judge-steps", request.request, texts, contract_is_known, tensors);
  header.set("steps", request.steps);
  header.set("carry", request.carry);
  header.set("observed", request.observed.size());
  header.set("cache_dir", request.cache_dir);
  tensors.insert(tensors.end(), request.observed.begin(), request.observed.end());
  return make_frame(std::move(header), std::move(tensors));
}

StepsRequest decode_steps(Frame frame, const std::string& origin, std::optional<Contract>& last) {
  const Fields fields(header_of(frame, origin), origin + ": judge-steps");
  StepsRequest request;
  request.steps = static_cast<int>(fields.integer("steps"));
  if (request.steps < 1) fields.fail("steps", "a count of steps");
  for (const MessageValue entry : fields.array("carry")) {
    const auto bad = [&] { fields.fail("carry", "pairs of an output's number and an input's name"); };
    if (!entry.is_array() || entry.size() != 2) bad();
    auto item = entry.begin();
    const MessageValue output = *item, input = *++item;
    if (!output.is_number_unsigned() || output.natural() > 0x7fffffff || !input.is_string()) bad();
    request.carry.emplace_back(static_cast<int>(output.natural()), input.text());
  }
  request.cache_dir = fields.text("cache_dir");
  const auto observed = static_cast<std::size_t>(fields.integer("observed"));
  if (observed > frame.tensors.size()) fields.fail("observed", "one tensor for each curve");
  const auto first = frame.tensors.end() - static_cast<std::ptrdiff_t>(observed);
  request.observed.assign(first, frame.tensors.end());
  frame.tensors.erase(first, frame.tensors.end());
  request.request = request_from(fields, std::move(frame.tensors), last);
  for (const auto& [output, name] : request.carry) {
    if (static_cast<std::size_t>(output) >= request.request.graph->outputs.size()) {
      fields.fail("carry", "outputs that the graph has");
    }
  }
  return request;
}

Frame encode(const Verdict& verdict) {
  PackedArray gates;
  for (const auto& [name, gate] : verdict.gates) {
    gates.push_back(PackedMap{{"name", name},
                              {"status", static_cast<int>(gate.status)},
                              {"value", gate.value},
                              {"limit", gate.limit}});
  }
  PackedValue worst = nullptr, bad_node = nullptr;
  if (verdict.worst) {
    worst = PackedMap{{"output", verdict.worst->output}, {"index", verdict.worst->index},
                      {"got", verdict.worst->got},       {"want", verdict.worst->want},
                      {"bound", verdict.worst->bound},   {"ulp", verdict.worst->ulp}};
  }
  if (verdict.first_bad_node) {
    const BadNode& node = *verdict.first_bad_node;
    bad_node =
        PackedMap{{"name", node.name}, {"op", node.op}, {"source", node.source}, {"margin", node.margin}};
  }
  PackedArray nodes;
  for (const NodeRecord& node : verdict.nodes) nodes.push_back(to_json_line(node));
  return make_frame({{"type", "verdict"},
                     {"status", name_of(verdict.status)},
                     {"reason", verdict.reason},
                     {"detail", verdict.detail},
                     {"margin", verdict.margin},
                     {"gates", gates},
                     {"worst", worst},
                     {"first_bad_node", bad_node},
                     {"witness", verdict.witness},
                     {"nodes", nodes}},
                    {});
}

Verdict decode_verdict(const Frame& frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": verdict");
  Verdict verdict;
  const auto status = parse_status(fields.text("status"));
  if (!status) fields.fail("status", "a documented status");
  verdict.status = *status;
  verdict.reason = fields.text("reason");
  if (!is_reason(verdict.reason)) fields.fail("reason", "a documented reason");
  verdict.detail = fields.text("detail");
  verdict.margin = fields.real_opt("margin");
  verdict.gates = make_record().gates;
  for (const MessageValue entry : fields.array("gates")) {
    const Fields gate(entry, origin + ": verdict: gates");
    const auto known = verdict.gates.find(gate.text("name"));
    if (known == verdict.gates.end()) gate.fail("name", "a gate");
    const int64_t last = static_cast<int64_t>(GateStatus::not_applicable);
    known->second = {static_cast<GateStatus>(gate.integer("status", 0, last)), gate.real_opt("value"),
                     gate.real_opt("limit")};
  }
  if (!fields.absent("worst")) {
    const Fields worst = fields.object("worst");
    verdict.worst =
        Worst{worst.text("output"), {}, worst.real("got"), worst.real("want"), worst.real("bound"),
              worst.real_opt("ulp")};
    for (const MessageValue entry : worst.array("index")) {
      if (!entry.is_number_unsigned()) worst.fail("index", "an index");
      verdict.worst->index.push_back(entry.integer());
    }
  }
  if (!fields.absent("first_bad_node")) {
    const Fields node = fields.object("first_bad_node");
    verdict.first_bad_node =
        BadNode{node.text("name"), node.text("op"), node.text("source"), node.real_opt("margin")};
  }
  verdict.witness = fields.text("witness");
  for (const std::string& line : fields.texts("nodes")) {
    verdict.nodes.push_back(node_record_from_json(line, origin + ": verdict"));
  }
  return verdict;
}

}  // namespace assay
