#include "harness/worker/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <regex>
#include <span>
#include <thread>

#include "core/error.h"
#include "harness/run/run.h"
#include "harness/worker/life_time.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kNoiseKept = 4096;
constexpr int kTickMs = 20;
constexpr int kPipeBytes = 1 << 20;

std::atomic<bool> stop_flag{false};

std::mutex ended_mutex;
std::map<std::string, double>& ended_cpu_s() {
  static std::map<std::string, double> seconds;
  return seconds;
}

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno)));
}

struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) fail("cannot create a pipe");
    // Above the numbers that the child's ends are given, so that one dup2 cannot close another's source.
    read = ::fcntl(fds[0], F_DUPFD_CLOEXEC, 10);
    write = ::fcntl(fds[1], F_DUPFD_CLOEXEC, 10);
    ::close(fds[0]);
    ::close(fds[1]);
    if (read < 0 || write < 0) fail("cannot create a pipe");
  }
};

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// This process's environment, and for mimalloc that a child keeps memory that it freed for a second before
// the system gets it back: its next case takes it again, and faults of zeroed pages were a seventh of all
// time.
std::vector<std::string> child_environment(int threads) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  // 2.0's name and that of 2.1.
  for (const char* name : {"MIMALLOC_DECOMMIT_DELAY", "MIMALLOC_PURGE_DELAY"}) {
    if (std::getenv(name) == nullptr) variables.push_back(std::string(name) + "=1000");
  }
  // What children that run at once have to share cores by; PyTorch's, OpenMP's and the simulation's threads.
  if (threads > 0 && std::getenv("OMP_NUM_THREADS") == nullptr) {
    variables.push_back(fmt::format("OMP_NUM_THREADS={}", threads));
  }
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Only async-signal-safe calls: other threads of the parent may have held any lock at the fork.
[[noreturn]] void become(char* const* argv, char** environment, int request, int reply, int noise, int page,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(125);  // the parent died before the line above
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(noise, 1);
  ::dup2(noise, 2);
  ::dup2(request, 3);
  ::dup2(reply, 4);
  ::dup2(page, ProgressPage::kDescriptor);
  ::close_range(ProgressPage::kDescriptor + 1, UINT_MAX, 0);
  environ = environment;
  ::execvp(argv[0], argv);
  const char message[] = "cannot execute the program\n";
  [[maybe_unused]] const ssize_t n = ::write(2, message, sizeof(message) - 1);
  ::_exit(127);
}

void note_progress(const MessageValue& header, Exchange& exchange) {
  const auto phase = header.find("phase"), node = header.find("node");
  if (phase) exchange.phase = phase->text();
  if (node) exchange.node = static_cast<int>(node->integer());
}

int64_t resident_bytes(pid_t pid) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/statm", static_cast<int>(pid));
  std::FILE* file = std::fopen(path, "re");
  if (file == nullptr) return 0;
  long long total = 0, resident = 0;
  const int read = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * ::sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

void request_stop() { stop_flag.store(true); }
void clear_stop() { stop_flag.store(false); }
double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::map<std::string, double> ended_children_cpu_s() {
  const std::lock_guard lock(ended_mutex);
  return ended_cpu_s();
}

bool stop_requested() { return stop_flag.load(); }

std::string scrub_noise(std::string text, pid_t pid) {
  if (text.empty()) return text;
  static const std::regex address("0x[0-9a-fA-F]+");
  static const std::regex path("/(tmp|var/tmp|proc|run)/[^\\s:'\")]*");
  text = std::regex_replace(text, address, "0x..");
  text = std::regex_replace(text, path, "<path>");
  if (pid > 0) text = std::regex_replace(text, std::regex("\\b" + std::to_string(pid) + "\\b"), "<pid>");
  return text;
}

ChildProcess::~ChildProcess() { kill(); }

void ChildProcess::start(const std::vector<std::string>& argv, int threads) {
  kill();
  // A worker that dies while a request is written must be an error here, not the end of this process.
  static const bool ignored = [] { return ::signal(SIGPIPE, SIG_IGN) != SIG_ERR; }();
  if (!ignored) fail("cannot ignore SIGPIPE");
  std::vector<std::string> texts = argv, variables = child_environment(threads);
  const std::vector<char*> arguments = pointers_to(texts);
  std::vector<char*> environment = pointers_to(variables);
  page_.emplace();
  Pipe request, reply, noise;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) fail("cannot fork");
  if (pid == 0) {
    become(arguments.data(), environment.data(), request.read, reply.write, noise.write, page_->descriptor(),
           parent);
  }
  ::setpgid(pid, pid);  // in both, so that a kill right now finds the group
  ::close(request.read);
  ::close(reply.write);
  ::close(noise.write);
  pid_ = pid;
  program_ = argv.empty() ? std::string() : argv.front();
  request_ = request.write;
  reply_ = reply.read;
  noise_ = noise.read;
  noise_text_.clear();
  for (const int fd : {request_, reply_, noise_}) set_nonblocking(fd);
  // A tensor should not wake the other side for every 64 KiB. Best effort: the system limits the sum.
  for (const int fd : {request_, reply_}) ::fcntl(fd, F_SETPIPE_SZ, kPipeBytes);
}

pid_t ChildProcess::reap(int* status, int flags) {
  rusage usage{};
  const pid_t reaped = ::wait4(pid_, status, flags, &usage);
  if (reaped == pid_) {
    const std::lock_guard lock(ended_mutex);
    ended_cpu_s()[program_.substr(program_.rfind('/') + 1)] += cpu_seconds(usage);
  }
  return reaped;
}

void ChildProcess::kill() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (reap(nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  close_fd(request_);
  close_fd(reply_);
  close_fd(noise_);
}

void ChildProcess::read_noise() {
  char buffer[4096];
  while (noise_ >= 0) {
    const ssize_t n = ::read(noise_, buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return close_fd(noise_);
    noise_text_.append(buffer, static_cast<std::size_t>(n));
    if (noise_text_.size() > 2 * kNoiseKept) noise_text_.erase(0, noise_text_.size() - kNoiseKept);
  }
}

std::string ChildProcess::noise_tail() const {
  std::string text = noise_text_;
  if (text.size() > kNoiseKept) text.erase(0, text.size() - kNoiseKept);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return scrub_noise(std::move(text), pid_);
}

void ChildProcess::end(Exchange& exchange) {
  // The reply pipe is closed or the process is gone. Give it a moment to end by itself; then it is ended.
  int status = 0;
  pid_t reaped = 0;
  for (int i = 0; i < 100 && reaped == 0; ++i) {
    reaped = reap(&status, WNOHANG);
    if (reaped == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  read_noise();
  exchange.noise = noise_tail();
  if (reaped == pid_ && WIFSIGNALED(status)) {
    exchange.outcome = Outcome::signalled;
    exchange.code = WTERMSIG(status);
  } else {
    exchange.outcome = Outcome::exited;
    exchange.code = reaped == pid_ && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
  if (reaped == pid_) {
    ::kill(-pid_, SIGKILL);  // grandchildren
    pid_ = -1;
  }
  kill();
}

Exchange ChildProcess::exchange(const Frame& request, const ExchangeLimits& limits,
                                const std::string& origin) {
  Exchange result;
  const LifeTime timed(exchanged_s_);
  if (pid_ <= 0) throw Error(ErrorCode::internal, origin + ": the process is not running");
  FrameWriter writer(request);
  FrameReader reader(limits.frames, origin);
  double run_left = limits.run_s, compile_left = limits.compile_s;
  auto last = Clock::now();
  const auto give_up = [&](Outcome outcome) {
    read_noise();
    result.outcome = outcome;
    result.noise = noise_tail();
    kill();
    return result;
  };

  page_->clear();
  const auto look = [&] {
    if (const auto place = page_->get()) {
      result.phase = place->phase;
      result.node = place->node;
    }
  };

  std::array<std::byte, kReadBytes> buffer;
  bool gone = false;  // what it had written before is still read: one more look
  while (true) {
    const bool last_look = gone;
    pollfd fds[3];
    fds[0] = {reply_, POLLIN, 0};
    fds[1] = {noise_, POLLIN, 0};  // a negative descriptor is skipped
    fds[2] = {gone || writer.pending().empty() ? -1 : request_, POLLOUT, 0};
    ::poll(fds, 3, kTickMs);

    const auto now = Clock::now();
    look();
    (result.phase == "compile" ? compile_left : run_left) -=
        std::chrono::duration<double>(now - last).count();
    last = now;
    if (stop_requested()) return give_up(Outcome::stopped);

    if (fds[1].revents != 0) read_noise();
    if (fds[2].revents != 0) {
      if (writer.write_to(request_) < 0 && errno != EAGAIN && errno != EINTR) gone = true;
    }
    bool ended = false;
    while (fds[0].revents != 0) {
      try {
        const ReadBytes got = read_some(reply_, reader, buffer);
        if (got.count < 0 && errno == EINTR) continue;
        if (got.count < 0 && errno == EAGAIN) break;
        if (got.count <= 0) {
          ended = true;
          break;
        }
        // Of several frames in the buffer only the last may be the answer.
        std::span<const std::byte> rest = got.buffered;
        do {
          rest = feed(reader, rest);
          if (!reader.complete()) break;
          Frame frame = reader.take();
          const MessageValue header = header_of(frame, origin);
          result.type = header.find("type")->text();
          if (result.type == "progress") {
            note_progress(header, result);
            continue;
          }
          if (!writer.pending().empty())
            throw Error(ErrorCode::malformed_file, origin + ": answered before the request was sent");
          if (!rest.empty()) throw Error(ErrorCode::malformed_file, origin + ": bytes follow the answer");
          result.reply = std::move(frame);
          result.noise = noise_tail();
          return result;
        } while (!rest.empty());
      } catch (const std::exception& error) {
        result.what = error.what();
        return give_up(Outcome::rubbish);
      }
    }
    if (ended || last_look) {
      end(result);
      if (!reader.empty() && result.outcome == Outcome::exited) {
        result.outcome = Outcome::rubbish;
        result.what = origin + ": the frame ends too early";
      }
      return result;
    }
    if (compile_left < 0) return give_up(Outcome::compile_timeout);
    if (run_left < 0) return give_up(Outcome::run_timeout);
    if (now >= next_watch_) {
      next_watch_ = now + std::chrono::milliseconds(kTickMs);
      if (limits.resident_bytes > 0 && resident_bytes(pid_) > limits.resident_bytes) {
        return give_up(Outcome::memory_limit);
      }
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_ && (fds[0].revents & POLLIN) == 0) {
        gone = true;  // while something else holds its end of the pipe open
      }
    }
  }
}

}  // namespace assay
