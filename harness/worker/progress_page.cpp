#include "harness/worker/progress_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kPhases{"prepare", "local", "free", "compile", "repeat"};
constexpr std::size_t kBytes = 4096;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace

bool ProgressPage::map() {
  void* page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (page == MAP_FAILED) return false;
  word_ = static_cast<std::atomic<uint64_t>*>(page);
  return true;
}

ProgressPage::ProgressPage() {
  const int low = ::memfd_create("assay-progress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // Above the numbers that a child's ends are given, as its pipes are.
  fd_ = low < 0 ? -1 : ::fcntl(low, F_DUPFD_CLOEXEC, 10);
  const int error = errno;
  if (low >= 0) ::close(low);
  errno = error;
  // A worker that shrank it would kill this process at its next look.
  const bool whole =
      fd_ >= 0 && ::ftruncate(fd_, kBytes) == 0 && ::fcntl(fd_, F_ADD_SEALS, kSeals) == 0 && map();
  if (!whole) {
    const std::string why = std::strerror(errno);
    if (fd_ >= 0) ::close(fd_);
    throw Error(ErrorCode::io, fmt::format("cannot share a page with a worker: {}", why));
  }
}

std::optional<ProgressPage> ProgressPage::given(int fd) {
  struct stat status {};
  // Whatever else the descriptor is has not these seals.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(fd, &status) != 0 ||
      status.st_size != static_cast<off_t>(kBytes)) {
    return std::nullopt;
  }
  ProgressPage page(::fcntl(fd, F_DUPFD_CLOEXEC, 10));
  if (page.fd_ < 0 || !page.map()) return std::nullopt;
  return page;
}

ProgressPage::~ProgressPage() {
  if (word_ != nullptr) ::munmap(word_, kBytes);
  if (fd_ >= 0) ::close(fd_);
}

ProgressPage::ProgressPage(ProgressPage&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), word_(std::exchange(other.word_, nullptr)) {}

void ProgressPage::put(std::string_view phase, int node) {
  const auto known = std::find(kPhases.begin(), kPhases.end(), phase);
  if (known == kPhases.end()) return;
  const auto number = static_cast<uint64_t>(known - kPhases.begin()) + 1;
  word_->store(number << 32 | static_cast<uint32_t>(node), std::memory_order_relaxed);
}

std::optional<ProgressPage::Place> ProgressPage::get() const {
  const uint64_t word = word_->load(std::memory_order_relaxed);
  const uint64_t number = word >> 32;
  if (number == 0 || number > kPhases.size()) return std::nullopt;
  return Place{kPhases[number - 1], static_cast<int>(static_cast<uint32_t>(word))};
}

}  // namespace assay
