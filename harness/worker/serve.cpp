#include "harness/worker/serve.h"

#include <map>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/graph/json.h"
#include "harness/mutant/mutant.h"
#include "harness/worker/abi_test.h"
#include "harness/worker/answer_requests.h"
#include "harness/worker/device_run.h"
#include "harness/worker/message_fields.h"
#include "harness/worker/progress_page.h"
#include "harness/worker/rank_run.h"

namespace assay {
namespace {

std::string code_text(assay_code code) {
  switch (code) {
    case ASSAY_INVALID_ARGUMENT:
      return "invalid_argument";
    case ASSAY_UNSUPPORTED:
      return "unsupported";
    case ASSAY_OUT_OF_MEMORY:
      return "out_of_memory";
    case ASSAY_COMPILE_ERROR:
      return "compile_error";
    case ASSAY_EXECUTION_ERROR:
      return "execution_error";
    case ASSAY_INTERNAL:
      break;
  }
  return "internal";
}

std::string code_text(ErrorCode code) {
  return code == ErrorCode::internal      ? "internal"
         : code == ErrorCode::unsupported ? "unsupported"
                                          : "invalid_argument";
}

class Server {
 public:
  Server(int replies, std::string plugin)
      : replies_(replies), path_(std::move(plugin)), page_(ProgressPage::given()) {}

  Frame answer(Frame request) {
    try {
      return dispatch(std::move(request));
    } catch (const PluginError& error) {
      return encode(WireError{code_text(error.code()), reason_text(error.reason()), error.what()});
    } catch (const RunFailure& failure) {
      return encode(WireError{"unsupported", failure.reason, failure.detail});
    } catch (const Error& error) {
      return encode(WireError{code_text(error.code()), "", error.what()});
    } catch (const std::bad_alloc&) {
      return encode(WireError{"out_of_memory", "device_memory", "the worker could not allocate host memory"});
    } catch (const std::exception& error) {
      return encode(WireError{"internal", "", error.what()});
    }
  }

 private:
  Frame dispatch(Frame request) {
    const std::string type = type_of(request, kRequestOrigin);
    if (type == "hello") return hello(request);
    if (type == "abi-check") return abi_check(request);
    if (device_ == nullptr) throw Error(ErrorCode::invalid_argument, "the first request must be hello");
    if (type == "run") return run(std::move(request));
    if (type == "supports") return supports(request);
    if (type == "load") return load(std::move(request));
    if (type == "measure") return measure(request);
    if (type == "profile") return profile(request);
    if (type == "unload") {
      sessions_.erase(decode_session_request(request, kRequestOrigin));
      return encode_unloaded();
    }
    throw Error(ErrorCode::invalid_argument, "unknown request '" + type + "'");
  }

  Frame hello(const Frame& request) {
    const HelloRequest wanted = decode_hello_request(request, kRequestOrigin);
    sessions_.clear();
    device_.reset();
    if (plugin_ == nullptr) plugin_ = Plugin::load(path_);
    device_ = std::make_unique<Device>(plugin_, wanted);
    return encode(device_->info());
  }

  Frame abi_check(const Frame& request) {
    const Fields fields(header_of(request, kRequestOrigin), kRequestOrigin);
    const AbiCheck check = run_abi_check(path_, fields.text("name"));
    return make_frame({{"type", "abi-checked"}, {"passed", check.passed}, {"detail", check.detail}}, {});
  }

  DeviceRun::Progress progress() {
    return [this](const char* phase, int node) {
      if (page_) {
        page_->put(phase, node);
      } else {
        write_frame(replies_, encode_progress(phase, node));
      }
    };
  }

  std::unique_ptr<DeviceRun> start(const RunRequest& request) {
    if (request.ranks) return load_ranks(*device_, request, progress());
    device_->use_ranks(1);
    if (!request.mutant.empty() && (find_mutant(request.mutant) == nullptr || request.mode != "eager")) {
      throw Error(ErrorCode::unsupported,
                  "cannot plant the defect " + request.mutant + " in mode " + request.mode);
    }
    Graph graph = request.negative ? graph_from_json_unchecked(request.graph_json, request.case_id)
                                   : graph_from_json(request.graph_json, request.case_id);
    return make_run(*device_, std::move(graph), request, progress());
  }

  Frame run(Frame frame) {
    const RunRequest request = decode_run_request(std::move(frame), kRequestOrigin);
    if (request.ranks) return encode(run_ranks(*device_, request, progress()));
    return encode(start(request)->run());
  }

  Frame supports(const Frame& request) {
    std::vector<NodeSupport> answers;
    for (const std::string& json : decode_supports_request(request, kRequestOrigin)) {
      const Graph graph = graph_from_json_unchecked(json, "node");
      if (graph.nodes.size() != 1)
        throw Error(ErrorCode::invalid_argument, "supports takes graphs of one node");
      try {
        answers.push_back(device_->supports(NodeHandle(graph, graph.nodes[0])));
      } catch (const PluginError& error) {
        answers.push_back({false, 0, reason_text(error.reason()), error.what()});
      }
    }
    return encode(answers);
  }

  Frame load(Frame frame) {
    Session session;
    session.request = std::make_unique<RunRequest>(decode_run_request(std::move(frame), kRequestOrigin));
    session.run = start(*session.request);
    session.run->load();
    session.run->pass(true);
    LoadReply reply{next_session_, session.run->phases(), session.run->compiles()};
    sessions_[next_session_++] = std::move(session);
    return encode(reply);
  }

  Frame measure(const Frame& request) {
    int64_t id = 0;
    int iterations = 0;
    decode_measure_request(request, kRequestOrigin, id, iterations);
    const auto session = sessions_.find(id);
    if (session == sessions_.end()) throw Error(ErrorCode::invalid_argument, "no such session");
    const auto before = device_->totals();
    MeasureReply reply;
    double fallback_seconds = 0;  // the device waits for the host meanwhile
    for (int i = 0; i < iterations; ++i) {
      const DeviceRun::Pass pass = session->second.run->pass(false);
      reply.seconds += pass.seconds;
      reply.fallbacks += pass.ledger.fallback_count();
      fallback_seconds += pass.ledger.fallback_seconds();
    }
    const auto after = device_->totals();
    if (before && after) {
      reply.device_seconds = after->device_seconds - before->device_seconds + fallback_seconds;
      reply.cycles = static_cast<int64_t>(after->cycles - before->cycles);
    }
    return encode(reply);
  }

  Frame profile(const Frame& request) {
    const auto session = sessions_.find(decode_session_request(request, kRequestOrigin));
    if (session == sessions_.end()) throw Error(ErrorCode::invalid_argument, "no such session");
    ProfileReply reply;
    device_->start_profile();
    reply.host = session->second.run->watched_pass();
    reply.events = device_->finish_profile();
    // The profile is of the first rank.
    std::erase_if(reply.host, [this](const HostSpan& span) { return device_->rank_for(span.name) != 0; });
    return encode(reply);
  }

  struct Session {
    std::unique_ptr<RunRequest> request;
    std::unique_ptr<DeviceRun> run;
  };

  int replies_;
  std::string path_;
  std::optional<ProgressPage> page_;
  std::shared_ptr<const Plugin> plugin_;
  std::unique_ptr<Device> device_;
  std::map<int64_t, Session> sessions_;
  int64_t next_session_ = 1;
};

}  // namespace

int serve_plugin(int requests, int replies, const std::string& plugin) {
  Server server(replies, plugin);
  return answer_requests(requests, replies, "assay-worker",
                         [&](Frame request) { return server.answer(std::move(request)); });
}

}  // namespace assay
