// Frames between the launcher of real ranks and the process of each (docs/distributed.md, "Real ranks"). They
// go over a socket, in the format of the worker protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/distributed/join.h"
#include "harness/worker/frame.h"

namespace assay {

// What one rank is to run.
struct RankTask {
  std::string case_id;
  int rank = 0;
  std::shared_ptr<const Graph> program;
  std::vector<Tensor> inputs;  // in order of program->inputs
  ProcessGroups groups;
  std::optional<RankFault> fault;
  double timeout_s = 10;  // of one collective
};

struct RankAnswer {
  std::string error;            // "" if the program ended as it should
  bool refused = false;         // the program itself is at fault, and nothing of it had begun
  std::vector<Tensor> outputs;  // parallel to program->outputs; undefined for constants
  // Payload bytes to and from other ranks; nullopt where the library below does not say.
  std::optional<int64_t> sent, received;
};

Frame encode_greeting(int rank, const std::string& token, const std::string& version);
Frame encode(const RankTask& task);
Frame encode(const RankAnswer& answer);
Frame encode_at_node(const std::string& node);  // "progress": before a collective

struct RankGreeting {
  int rank = 0;
  std::string token, version, problem;  // problem: why the process cannot be a rank, ""
};
// Throw Error{malformed_file}.
RankGreeting decode_greeting(const Frame& frame, const std::string& origin);
RankTask decode_rank_task(Frame frame, const std::string& origin);
// True, and the node's name, if it is a "progress" frame.
bool rank_frame_is_progress(const Frame& frame, std::string& node);
RankAnswer decode_rank_answer(Frame frame, const std::string& origin);

// One rank's call as bytes, for checking that all ranks make the same one.
std::string pack_call(const CollectiveCall& call, int64_t number);
CollectiveCall unpack_call(const std::string& bytes, int64_t& number);

}  // namespace assay
