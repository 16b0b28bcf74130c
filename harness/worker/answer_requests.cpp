#include "harness/worker/answer_requests.h"

#include <cstdio>
#include <exception>
#include <utility>

namespace assay {
namespace {

constexpr FrameLimits kRequestLimits{uint64_t{256} << 20, uint64_t{1} << 40};  // the orchestrator is trusted

}  // namespace

int answer_requests(int requests, int replies, const char* program,
                    const std::function<Frame(Frame)>& answer) {
  try {
    Frame request;
    while (read_frame(requests, kRequestLimits, kRequestOrigin, request)) {
      write_frame(replies, answer(std::move(request)));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace assay
