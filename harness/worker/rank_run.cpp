#include "harness/worker/rank_run.h"

#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace assay {
namespace {

constexpr char kEagerOnly[] = "programs of ranks run in eager mode";

// What the backend counted, by rank of the world; nullopt if it did not count all collectives.
std::optional<Traffic> traffic_of(const JoinedGraph& joined, const Device& device, int world_size) {
  Traffic traffic;
  traffic.sent.assign(static_cast<std::size_t>(world_size), 0);
  traffic.received = traffic.sent;
  std::set<std::string> algorithms;
  for (const Meeting& meeting : joined.meetings) {
    if (meeting.node < 0) continue;
    const Node& node = joined.graph.nodes[static_cast<std::size_t>(meeting.node)];
    const auto found = device.collectives().find(node.name);
    if (found == device.collectives().end() || found->second.sent.size() != meeting.calls.size()) {
      return std::nullopt;
    }
    const CollectiveBytes& bytes = found->second;
    algorithms.insert(bytes.algorithm);
    for (std::size_t p = 0; p < meeting.calls.size(); ++p) {
      const auto rank = static_cast<std::size_t>(meeting.calls[p].rank());
      traffic.sent.at(rank) += bytes.sent[p];
      traffic.received.at(rank) += bytes.received[p];
    }
    if (meeting.moves()) {
      traffic.formula += formula_bytes(OpCall(joined.graph, node), bytes.algorithm) + bytes.staged;
    }
  }
  traffic.algorithm = fmt::format("{}", fmt::join(algorithms, ", "));
  return traffic;
}

std::unique_ptr<DeviceRun> make_joined_run(Device& device, Graph joined, const RunRequest& request,
                                           DeviceRun::Progress progress) {
  validate(joined);
  device.use_ranks(request.ranks->groups.world_size);
  return make_run(device, std::move(joined), request, std::move(progress));
}

}  // namespace

std::unique_ptr<DeviceRun> load_ranks(Device& device, const RunRequest& request,
                                      DeviceRun::Progress progress) {
  if (request.mode != "eager") throw Error(ErrorCode::unsupported, kEagerOnly);
  JoinedGraph joined = join(*request.ranks, request.case_id);
  if (!joined.fits()) throw Error(ErrorCode::invalid_argument, joined.errors.front());
  return make_joined_run(device, std::move(joined.graph), request, std::move(progress));
}

RunResult run_ranks(Device& device, const RunRequest& request, DeviceRun::Progress progress) {
  const RankPrograms& programs = *request.ranks;
  RunResult result;
  if (request.mode != "eager") {
    result.failure = Status::unsupported;
    result.reason = "no_compile_mode";
    result.detail = kEagerOnly;
    return result;
  }
  progress("prepare", -1);
  JoinedGraph joined = join(programs, request.case_id);
  if (!joined.fits()) {
    result.failure = request.negative ? Status::rejected_bad_input : Status::malformed_file;
    result.reason = request.negative ? "refused" : "malformed";
    result.detail = joined.errors.front();
    result.rank_errors = std::move(joined.errors);
    return result;
  }
  result = make_joined_run(device, joined.graph, request, std::move(progress))->run();
  if (!result.failure) result.traffic = traffic_of(joined, device, programs.groups.world_size);
  return result;
}

}  // namespace assay
