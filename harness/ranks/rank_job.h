// A job of real ranks: started, given tasks, watched, and ended. Started by a launcher process (mpirun) or
// forked by somebody else (harness/ranks/rank_nursery.h); every rank connects back by a socket.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/ranks/rank_frames.h"

namespace assay {

// How to start ranks: a command line, or the process group in which they run already.
struct JobCommand {
  std::vector<std::string> argv;
  pid_t group = 0;
};

// What became of one rank.
struct RankOutcome {
  bool answered = false;
  RankAnswer answer;
  bool gone = false;    // the process ended, or its connection did
  int gone_order = 0;   // among those that are gone
  std::string at_node;  // last collective that it was about to call, ""
};

class RankJob {
 public:
  RankJob() = default;
  ~RankJob();
  RankJob(const RankJob&) = delete;
  RankJob& operator=(const RankJob&) = delete;

  // Ranks connect to `address`, "0.0.0.0" if some are on other machines; `command` gets the port and the
  // token. Waits for all ranks to greet. Throws Error{io} with what the processes printed if they do not
  // within `timeout_s`.
  void start(int ranks, const std::string& address,
             const std::function<JobCommand(int port, const std::string& token)>& command, double timeout_s);
  bool running() const { return process_ > 0 || group_ > 0; }
  int ranks() const { return static_cast<int>(connections_.size()); }
  const std::string& version() const { return version_; }

  // Sends every rank its task and waits until all have answered or are gone; once one has answered with an
  // error, `timeout_s` more, and once one is gone, a moment. Ranks that did neither are left as they are: end
  // the job then. Programs without an error take what time they need.
  std::vector<RankOutcome> run(const std::vector<RankTask>& tasks, double timeout_s);
  // Ends all processes, politely first.
  void end();
  // What the processes printed lately.
  std::string noise();

 private:
  void poll_once(int milliseconds, const std::function<void(int rank, Frame frame)>& on_frame,
                 const std::function<void(int rank)>& on_gone);
  void accept_ranks(double timeout_s);
  void read_noise();
  void notice_ends();  // of processes

  struct Connection {
    int fd = -1;
    FrameReader reader{FrameLimits{}, "rank"};
  };
  pid_t process_ = 0;                    // a child, which leads a group
  pid_t group_ = 0;                      // of processes that are no children
  std::vector<Connection> connections_;  // by rank
  int listener_ = -1, noise_fd_ = -1;
  std::string token_, version_, noise_;
};

}  // namespace assay
