#include "harness/ranks/rank_job.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "harness/ranks/rank_socket.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// After the first rank is gone, the others have this long to say what they met.
constexpr double kAfterDeathSeconds = 3;

double seconds_until(Clock::time_point end) {
  return std::chrono::duration<double>(end - Clock::now()).count();
}
Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string random_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

// Group leader, output into `noise`, dead when this process is.
pid_t spawn(const std::vector<std::string>& argv, int noise) {
  std::vector<char*> pointers;
  for (const std::string& argument : argv) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw Error(ErrorCode::io, "fork failed");
  if (pid != 0) return pid;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, 0);
  ::dup2(noise, 1);
  ::dup2(noise, 2);
  ::execvp(pointers[0], pointers.data());
  ::_exit(127);
}

}  // namespace

RankJob::~RankJob() { end(); }

void RankJob::start(int ranks, const std::string& address,
                    const std::function<JobCommand(int port, const std::string& token)>& command,
                    double timeout_s) {
  end();
  token_ = random_token();
  int port = 0;
  listener_ = listen_for_ranks(address, port);
  int noise[2];
  if (::pipe2(noise, O_CLOEXEC | O_NONBLOCK) != 0) throw Error(ErrorCode::io, "no pipe");
  noise_fd_ = noise[0];
  noise_.clear();
  connections_ = std::vector<Connection>(static_cast<std::size_t>(ranks));
  try {
    const JobCommand job = command(port, token_);
    if (!job.argv.empty()) process_ = spawn(job.argv, noise[1]);
    group_ = job.group;
    ::close(std::exchange(noise[1], -1));
    accept_ranks(timeout_s);
  } catch (...) {
    if (noise[1] >= 0) ::close(noise[1]);
    end();
    throw;
  }
}

void RankJob::notice_ends() {
  if (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) != 0) process_ = 0;
  if (group_ > 0 && ::kill(-group_, 0) != 0) group_ = 0;
}

void RankJob::accept_ranks(double timeout_s) {
  const Clock::time_point deadline = after(timeout_s);
  int missing = ranks();
  while (missing > 0) {
    read_noise();
    notice_ends();
    const bool ended = !running();
    if (ended || seconds_until(deadline) <= 0) {
      throw Error(ErrorCode::io, fmt::format("{} of {} ranks did not come up{}; they printed: {}", missing,
                                             ranks(), ended ? ": their processes ended" : "", noise()));
    }
    pollfd listening{listener_, POLLIN, 0};
    ::poll(&listening, 1, 100);
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    // Whoever connects has a moment to greet, and is no rank without the token.
    const timeval patience{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    try {
      Frame frame;
      if (read_frame(fd, {uint64_t{1} << 16, 0}, "rank", frame)) {
        const RankGreeting greeting = decode_greeting(frame, "rank");
        if (!greeting.problem.empty()) throw Error(ErrorCode::unsupported, greeting.problem);
        if (greeting.token == token_ && greeting.rank < ranks() &&
            connections_[static_cast<std::size_t>(greeting.rank)].fd < 0) {
          connections_[static_cast<std::size_t>(greeting.rank)].fd = fd;
          const timeval forever{0, 0};
          ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
          version_ = greeting.version;
          --missing;
          continue;
        }
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) {
        ::close(fd);
        throw;
      }
    }
    ::close(fd);
  }
}

void RankJob::read_noise() {
  char buffer[4096];
  for (ssize_t n = 0; noise_fd_ >= 0 && (n = ::read(noise_fd_, buffer, sizeof buffer)) > 0;) {
    noise_.append(buffer, static_cast<std::size_t>(n));
    if (noise_.size() > 4096) noise_.erase(0, noise_.size() - 4096);
  }
}

std::string RankJob::noise() {
  read_noise();
  return noise_;
}

void RankJob::poll_once(int milliseconds, const std::function<void(int rank, Frame frame)>& on_frame,
                        const std::function<void(int rank)>& on_gone) {
  std::vector<pollfd> fds;
  std::vector<int> rank_of;
  for (int r = 0; r < ranks(); ++r) {
    const int fd = connections_[static_cast<std::size_t>(r)].fd;
    if (fd < 0) continue;
    fds.push_back({fd, POLLIN, 0});
    rank_of.push_back(r);
  }
  if (::poll(fds.data(), fds.size(), milliseconds) <= 0) return;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    if (fds[i].revents == 0) continue;
    const int rank = rank_of[i];
    Connection& connection = connections_[static_cast<std::size_t>(rank)];
    const std::span<std::byte> wanted = connection.reader.wanted();
    const ssize_t n = ::recv(connection.fd, wanted.data(), wanted.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    bool gone = n <= 0;
    if (!gone) {
      try {
        connection.reader.advance(static_cast<std::size_t>(n));
        if (connection.reader.complete()) on_frame(rank, connection.reader.take());
      } catch (const Error&) {
        gone = true;  // rubbish
      }
    }
    if (!gone) continue;
    ::close(connection.fd);
    connection.fd = -1;
    on_gone(rank);
  }
}

std::vector<RankOutcome> RankJob::run(const std::vector<RankTask>& tasks, double timeout_s) {
  std::vector<RankOutcome> outcomes(connections_.size());
  int gone = 0;
  Clock::time_point deadline = Clock::time_point::max();
  const auto on_gone = [&](int rank) {
    RankOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    outcome.gone = true;
    outcome.gone_order = ++gone;
    deadline = std::min(deadline, after(kAfterDeathSeconds));
  };
  const auto on_frame = [&](int rank, Frame frame) {
    RankOutcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    if (rank_frame_is_progress(frame, outcome.at_node)) return;
    outcome.answer = decode_rank_answer(std::move(frame), fmt::format("rank {}", rank));
    outcome.answered = true;
    if (!outcome.answer.error.empty()) deadline = std::min(deadline, after(timeout_s));
  };
  for (std::size_t r = 0; r < tasks.size(); ++r) {
    try {
      write_frame(connections_.at(r).fd, encode(tasks[r]));
    } catch (const Error&) {
      // Its connection is found to be over below.
    }
  }
  const auto open = [](const RankOutcome& outcome) { return !outcome.answered && !outcome.gone; };
  while (std::any_of(outcomes.begin(), outcomes.end(), open) && seconds_until(deadline) > 0) {
    poll_once(100, on_frame, on_gone);
    read_noise();
  }
  return outcomes;
}

void RankJob::end() {
  for (Connection& connection : connections_) {
    if (connection.fd >= 0) ::close(connection.fd);
  }
  connections_.clear();
  if (listener_ >= 0) ::close(std::exchange(listener_, -1));
  const auto reap = [&](double patience_s) {
    const Clock::time_point deadline = after(patience_s);
    for (;;) {
      notice_ends();
      read_noise();  // a full pipe would keep them
      if (!running() || seconds_until(deadline) <= 0) return;
      const timespec pause{0, 5'000'000};
      ::nanosleep(&pause, nullptr);
    }
  };
  const auto send = [&](int signal) {
    for (const pid_t group : {process_, group_}) {
      if (group > 0) ::kill(-group, signal);
    }
  };
  // Ranks end when their connection does; a stopped one does not, nor what waits for it.
  reap(0.3);
  send(SIGTERM);
  if (running()) reap(2);
  send(SIGKILL);
  if (running()) reap(5);
  process_ = group_ = 0;
  if (noise_fd_ >= 0) ::close(std::exchange(noise_fd_, -1));
}

}  // namespace assay
