#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

namespace assay::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct State {
  bool terminal = isatty(STDERR_FILENO) != 0;
  bool drawn = false;
  Clock::time_point last{};
};

std::string failure_line(const Record& record) {
  std::string line = std::string(name_of(record.status)) + "  " + record.id + " (" + record.mode + ")";
  if (!record.detail.empty()) line += ": " + record.detail;
  return line;
}

void draw(const Progress& p, State& state) {
  constexpr int kWidth = 30;
  const int filled = p.total > 0 ? static_cast<int>(kWidth * p.done / p.total) : kWidth;
  const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                          std::string(static_cast<std::size_t>(kWidth - filled), '.');
  std::fprintf(stderr, "\r\033[K[%s] %lld/%lld  %lld passed, %lld failed, %lld skipped", bar.c_str(),
               static_cast<long long>(p.done), static_cast<long long>(p.total),
               static_cast<long long>(p.passed), static_cast<long long>(p.failed),
               static_cast<long long>(p.skipped));
  if (p.done == p.total) std::fputc('\n', stderr);
  std::fflush(stderr);
  state.drawn = p.done != p.total;
}

}  // namespace

ProgressCallback make_progress(bool quiet) {
  if (quiet) return {};
  auto state = std::make_shared<State>();
  return [state](const Progress& p) {
    const auto now = Clock::now();
    if (p.last && is_failure(p.last->status)) {
      if (state->drawn) std::fputs("\r\033[K", stderr);
      std::fprintf(stderr, "%s\n", failure_line(*p.last).c_str());
    }
    const auto interval = std::chrono::milliseconds(state->terminal ? 100 : 5000);
    if (p.done != p.total && now - state->last < interval) return;
    state->last = now;
    if (state->terminal) {
      draw(p, *state);
    } else {
      std::fprintf(stderr, "%lld/%lld  %lld failed\n", static_cast<long long>(p.done),
                   static_cast<long long>(p.total), static_cast<long long>(p.failed));
    }
  };
}

}  // namespace assay::cli
