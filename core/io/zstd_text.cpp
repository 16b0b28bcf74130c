#include "core/io/zstd_text.h"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

#include "core/error.h"

namespace assay {
namespace {

constexpr int kMaxWindowLog = 27;

}  // namespace

void unpack_zstd(std::string_view frame, const std::string& origin, uint64_t limit,
                 const std::function<void(std::string_view)>& use) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::malformed_file, fmt::format("{}: {}", origin, what));
  };
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw Error(ErrorCode::internal, fmt::format("{}: zstd has no memory", origin));
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  ZSTD_inBuffer in{frame.data(), frame.size(), 0};
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  uint64_t total = 0;
  for (;;) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) {
      fail(fmt::format("byte {}: damaged zstd frame: {}", in.pos, ZSTD_getErrorName(left)));
    }
    total += out.pos;
    if (total > limit) fail(fmt::format("unpacks to more than {} bytes, the limit", limit));
    use(std::string_view(chunk).substr(0, out.pos));
    if (left == 0) break;
    if (in.pos == in.size && out.pos < out.size) fail("the zstd frame is cut off");
  }
  if (in.pos != in.size) fail(fmt::format("byte {}: data after the zstd frame", in.pos));
}

}  // namespace assay
