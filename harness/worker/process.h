// A child process that answers frames: started, watched and, if need be, killed.
//
// This is fork and exec by hand rather than Boost.Process v2: the child needs extra descriptors (3 and 4), a
// process group of its own and PR_SET_PDEATHSIG between fork and exec, and the parent needs one poll loop
// over request, reply and noise pipes with two clocks and a memory watch. Boost.Process would provide the
// launch only, at the price of Asio in the build.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/worker/frame.h"
#include "harness/worker/progress_page.h"

namespace assay {

struct ExchangeLimits {
  double run_s = 600;          // all time that is not in phase "compile"
  double compile_s = 600;      // time in phase "compile"
  int64_t resident_bytes = 0;  // of the child; 0: not watched
  int threads = 0;             // of a child that is to be started, see ChildProcess::start
  FrameLimits frames;
};

enum class Outcome {
  replied,
  exited,     // `code` is its exit status
  signalled,  // `code` is the signal that it died of, not sent by us
  run_timeout,
  compile_timeout,
  memory_limit,
  rubbish,  // sent bytes that are no frame; `what` says why
  stopped,  // request_stop()
};

struct Exchange {
  Outcome outcome = Outcome::replied;
  Frame reply;
  std::string type;   // of the reply
  std::string phase;  // last progress
  int node = -1;
  int code = 0;
  std::string what;
  std::string noise;  // what the child printed lately, without addresses, process ids and temporary paths
};

class ChildProcess {
 public:
  ChildProcess() = default;
  ~ChildProcess();  // kills
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Throws Error{io} if the process cannot be created. A program that cannot be executed shows at the first
  // exchange (exit code 127). The child is killed when the calling thread ends: keep it as long as the child.
  // `threads` goes to the child as OMP_NUM_THREADS, unless this process has one; 0: nothing is said.
  void start(const std::vector<std::string>& argv, int threads = 0);
  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // Sends the request and waits for an answer that is not "progress". After any outcome but `replied` the
  // child is dead.
  Exchange exchange(const Frame& request, const ExchangeLimits& limits, const std::string& origin);
  void kill();

  // Seconds that all exchanges have taken together.
  double exchanged_s() const { return exchanged_s_; }

 private:
  void end(Exchange& exchange);  // reaps, classifying how it ended
  pid_t reap(int* status, int flags);
  void read_noise();
  std::string noise_tail() const;

  pid_t pid_ = -1;
  std::string program_;
  int request_ = -1, reply_ = -1, noise_ = -1;
  std::string noise_text_;
  std::optional<ProgressPage> page_;
  double exchanged_s_ = 0;
  std::chrono::steady_clock::time_point next_watch_{};  // of its memory and whether it lives
};

// CPU seconds, user and system, of the child processes that have ended, by the file name of their program.
std::map<std::string, double> ended_children_cpu_s();
double cpu_seconds(const rusage& usage);

// Set by request_stop() (harness/run/run.h): exchanges end with Outcome::stopped.
bool stop_requested();

std::string scrub_noise(std::string text, pid_t pid);

}  // namespace assay
