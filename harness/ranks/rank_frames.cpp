#include "harness/ranks/rank_frames.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "core/graph/json.h"
#include "harness/worker/message_fields.h"
#include "harness/worker/rank_messages.h"

namespace assay {

Frame encode_greeting(int rank, const std::string& token, const std::string& version) {
  return make_frame(
      {{"type", "rank"}, {"rank", rank}, {"token", token}, {"version", version}, {"problem", ""}}, {});
}

RankGreeting decode_greeting(const Frame& frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": greeting");
  return {static_cast<int>(fields.integer("rank", 0, kMaxRanks)), fields.text("token"),
          fields.text("version"), fields.text_or("problem", "")};
}

// One rank's part of a job is a job of programs of which the others are empty: the same members as in "run".
Frame encode(const RankTask& task) {
  RankPrograms programs;
  programs.graphs = {task.program};
  programs.groups = task.groups;
  if (task.fault) programs.faults = {*task.fault};
  return make_frame({{"type", "task"},
                     {"case_id", task.case_id},
                     {"rank", task.rank},
                     {"world_size", task.groups.world_size},
                     {"timeout", task.timeout_s},
                     {"ranks", packed(programs)}},
                    task.inputs);
}

RankTask decode_rank_task(Frame frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": task");
  RankTask task;
  task.case_id = fields.text("case_id");
  RankPrograms programs = rank_programs_from(fields.object("ranks"));
  if (programs.graphs.size() != 1) fields.fail("ranks", "one program");
  task.program = programs.graphs.front();
  task.groups = std::move(programs.groups);
  task.groups.world_size = static_cast<int>(fields.integer("world_size", 1, kMaxRanks));
  task.rank = static_cast<int>(fields.integer("rank", 0, task.groups.world_size - 1));
  if (!programs.faults.empty()) task.fault = programs.faults.front();
  task.timeout_s = fields.real("timeout");
  task.inputs = std::move(frame.tensors);
  return task;
}

Frame encode(const RankAnswer& answer) {
  PackedArray outputs;
  std::vector<Tensor> tensors;
  for (const Tensor& output : answer.outputs) {
    outputs.push_back(output.defined());
    if (output.defined()) tensors.push_back(output);
  }
  return make_frame({{"type", "answer"},
                     {"error", answer.error},
                     {"refused", answer.refused},
                     {"outputs", outputs},
                     {"sent", answer.sent},
                     {"received", answer.received}},
                    std::move(tensors));
}

RankAnswer decode_rank_answer(Frame frame, const std::string& origin) {
  const Fields fields(header_of(frame, origin), origin + ": answer");
  RankAnswer answer;
  answer.error = fields.text("error");
  answer.refused = fields.boolean("refused");
  std::size_t next = 0;
  for (const MessageValue entry : fields.array("outputs")) {
    if (!entry.is_boolean()) fields.fail("outputs", "booleans");
    const bool given = entry.boolean();
    if (given && next == frame.tensors.size()) fields.fail("outputs", "as many tensors as are announced");
    answer.outputs.push_back(given ? frame.tensors[next++] : Tensor());
  }
  if (next != frame.tensors.size()) fields.fail("outputs", "as many tensors as are announced");
  if (!fields.absent("sent")) answer.sent = fields.integer("sent");
  if (!fields.absent("received")) answer.received = fields.integer("received");
  return answer;
}

bool rank_frame_is_progress(const Frame& frame, std::string& node) {
  const MessageValue header = header_of(frame, "rank");
  if (header.find("type")->text() != "progress") return false;
  node = Fields(header, "rank: progress").text("node");
  return true;
}

Frame encode_at_node(const std::string& node) {
  return make_frame({{"type", "progress"}, {"node", node}}, {});
}

std::string pack_call(const CollectiveCall& call, int64_t number) {
  const nlohmann::json json{{"kind", static_cast<int>(call.kind)},
                            {"node", call.node},
                            {"group", call.group},
                            {"members", call.members},
                            {"position", call.position},
                            {"dtype", static_cast<int>(call.input.dtype)},
                            {"shape", call.input.shape},
                            {"reduce_op", call.reduce_op},
                            {"root", call.root},
                            {"peer", call.peer},
                            {"tag", call.tag},
                            {"line", call.line},
                            {"lines", call.lines},
                            {"sizes", call.sizes},
                            {"received", call.received},
                            {"number", number}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

CollectiveCall unpack_call(const std::string& bytes, int64_t& number) {
  const nlohmann::json json = nlohmann::json::parse(bytes);
  CollectiveCall call;
  call.kind = static_cast<Collective>(json.at("kind").get<int>());
  call.node = json.at("node").get<std::string>();
  call.group = json.at("group").get<std::string>();
  call.members = json.at("members").get<std::vector<int>>();
  call.position = json.at("position").get<int>();
  call.input = {static_cast<DType>(json.at("dtype").get<int>()), json.at("shape").get<Shape>()};
  call.reduce_op = json.at("reduce_op").get<std::string>();
  call.root = json.at("root").get<int>();
  call.peer = json.at("peer").get<int>();
  call.tag = json.at("tag").get<int64_t>();
  call.line = json.at("line").get<std::string>();
  call.lines = json.at("lines").get<std::vector<std::string>>();
  call.sizes = json.at("sizes").get<std::vector<int64_t>>();
  call.received = json.at("received").get<std::vector<int64_t>>();
  number = json.at("number").get<int64_t>();
  return call;
}

}  // namespace assay
