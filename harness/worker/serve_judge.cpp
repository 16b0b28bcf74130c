// The judge's process: hosts Judge behind frames, so that a crash of it costs one case.
#include <new>
#include <optional>
#include <utility>

#include "core/error.h"
#include "harness/worker/answer_requests.h"
#include "harness/worker/judge_messages.h"
#include "harness/worker/judge_session.h"
#include "harness/worker/messages.h"

namespace assay {
namespace {

class JudgeServer {
 public:
  Frame answer(Frame request) {
    try {
      const std::string type = type_of(request, kRequestOrigin);
      if (type == "prepare") return prepare(std::move(request));
      if (type == "judge") return judge(std::move(request));
      if (type == "judge-steps") {
        return encode(judge_steps(decode_steps(std::move(request), kRequestOrigin, contract_)));
      }
      throw Error(ErrorCode::invalid_argument, "unknown request '" + type + "'");
    } catch (const Error& error) {
      return encode(WireError{wire_code(error.code()), "", error.what()});
    } catch (const std::bad_alloc&) {
      return encode(WireError{"out_of_memory", "device_memory", "the judge could not allocate memory"});
    } catch (const std::exception& error) {
      return encode(WireError{"internal", "", error.what()});
    }
  }

 private:
  Frame prepare(Frame frame) {
    return encode(session_.prepare(decode_prepare(std::move(frame), kRequestOrigin, contract_)));
  }

  Frame judge(Frame frame) { return encode(session_.judge(decode_judge(std::move(frame), kRequestOrigin))); }

  std::optional<Contract> contract_;  // read last: nearly all requests have the same one
  JudgeSession session_;
};

}  // namespace

int serve_judge(int requests, int replies) {
  JudgeServer server;
  return answer_requests(requests, replies, "assay-judge",
                         [&](Frame request) { return server.answer(std::move(request)); });
}

}  // namespace assay
