// Frames from a hostile worker: whatever the bytes, an Error or a frame that can be read, never a crash.
#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "harness/worker/judge_messages.h"
#include "harness/worker/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    FrameReader reader({1 << 20, 1 << 20}, "fuzz");
    while (size > 0) {
      const auto space = reader.wanted();
      const std::size_t n = std::min(size, space.size());
      std::memcpy(space.data(), data, n);
      reader.advance(n);
      data += n;
      size -= n;
      if (!reader.complete()) continue;
      const Frame frame = reader.take();
      for (int decoder = 0; decoder < 8; ++decoder) {
        try {
          if (decoder == 0) decode_run_result(frame, "fuzz");
          if (decoder == 1) decode_backend_info(frame, "fuzz");
          if (decoder == 2) decode_error(frame, "fuzz");
          if (decoder == 3) decode_supports(frame, "fuzz");
          if (decoder == 4) decode_prepared(frame, "fuzz");
          if (decoder == 5) decode_verdict(frame, "fuzz");
          if (decoder == 6) decode_run_request(frame, "fuzz");
          if (decoder == 7) decode_measure(frame, "fuzz");
        } catch (const Error&) {
        }
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
