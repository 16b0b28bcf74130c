#include "harness/worker/process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "harness/run/run.h"

namespace assay {
namespace {

using testing::HasSubstr;

Frame request() { return make_frame({{"type", "x"}}, {}); }

ExchangeLimits short_limits() {
  ExchangeLimits limits;
  limits.run_s = 5;
  limits.compile_s = 5;
  return limits;
}

Exchange ask_shell(const std::string& script, ExchangeLimits limits = short_limits()) {
  ChildProcess child;
  child.start({"/bin/sh", "-c", script});
  Exchange exchange = child.exchange(request(), limits, "test");
  EXPECT_EQ(child.running(), exchange.outcome == Outcome::replied);
  return exchange;
}

// {"type": "y", "tensors": []} as printf's octal escapes: a header of 17 bytes, and one that claims 22.
const char* const kReply = R"(printf '\021\000\000\000\000\000\000\000\202\244type\241y\247tensors\220' >&4)";
const char* const kTorn = R"(printf '\026\000\000\000\000\000\000\000\202\244type\241y\247tensors\220' >&4)";

TEST(Process, Answers) {
  const Exchange exchange = ask_shell(std::string(kReply) + "; sleep 5");
  ASSERT_EQ(exchange.outcome, Outcome::replied) << exchange.what << exchange.noise;
  EXPECT_EQ(exchange.type, "y");
}

TEST(Process, ExitAndSignalAreToldApart) {
  Exchange exchange = ask_shell("echo last words >&2; exit 7");
  EXPECT_EQ(exchange.outcome, Outcome::exited);
  EXPECT_EQ(exchange.code, 7);
  EXPECT_THAT(exchange.noise, HasSubstr("last words"));
  exchange = ask_shell("kill -SEGV $$");
  EXPECT_EQ(exchange.outcome, Outcome::signalled);
  EXPECT_EQ(exchange.code, SIGSEGV);
  exchange = ask_shell("exec /no/such/program");
  EXPECT_EQ(exchange.outcome, Outcome::exited);
}

TEST(Process, AProgramThatDoesNotExistShowsAtTheFirstExchange) {
  ChildProcess child;
  child.start({"/no/such/program"});
  const Exchange exchange = child.exchange(request(), short_limits(), "test");
  EXPECT_EQ(exchange.outcome, Outcome::exited);
  EXPECT_EQ(exchange.code, 127);
}

TEST(Process, HangsEndAtTheLimit) {
  ExchangeLimits limits = short_limits();
  limits.run_s = 0.2;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_shell("sleep 100", limits).outcome, Outcome::run_timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

TEST(Process, StoppedProcessesEndAtTheLimit) {
  ExchangeLimits limits = short_limits();
  limits.run_s = 0.2;
  EXPECT_EQ(ask_shell("kill -STOP $$", limits).outcome, Outcome::run_timeout);
}

TEST(Process, CompilingHasALimitOfItsOwn) {
  // progress: {"type": "progress", "phase": "compile", "node": 3, "tensors": []}
  const std::string progress =
      R"(printf '\054\000\000\000\000\000\000\000\204\244type\250progress\245phase\247compile\244node\003\247tensors\220' >&4;)";
  ExchangeLimits limits = short_limits();
  limits.compile_s = 0.2;
  const Exchange exchange = ask_shell(progress + "sleep 100", limits);
  EXPECT_EQ(exchange.outcome, Outcome::compile_timeout) << exchange.what;
  EXPECT_EQ(exchange.phase, "compile");
  EXPECT_EQ(exchange.node, 3);
}

TEST(Process, RubbishIsNoFrame) {
  EXPECT_EQ(ask_shell("echo hello, this is rubbish >&4; sleep 100").outcome, Outcome::rubbish);
  EXPECT_EQ(ask_shell(R"(printf '\100\000\000\000\000\000\000\000\202' >&4)").outcome, Outcome::rubbish);
  EXPECT_EQ(ask_shell(std::string(kTorn) + "; sleep 0.2; exit 0").outcome, Outcome::rubbish);
}

// An answer with something behind it is none: the next request's answer would begin with that.
TEST(Process, NothingFollowsTheAnswer) {
  const Exchange exchange = ask_shell("{ " + std::string(kReply).substr(0, std::string(kReply).size() - 4) +
                                      "; printf x; } | cat >&4; sleep 5");
  EXPECT_EQ(exchange.outcome, Outcome::rubbish) << exchange.type;
}

TEST(Process, ThreadsAreSaidUnlessTheUserDid) {
  ChildProcess child;
  child.start({"/bin/sh", "-c", "echo threads=$OMP_NUM_THREADS >&2; exit 1"}, 3);
  const char* own = std::getenv("OMP_NUM_THREADS");
  EXPECT_THAT(child.exchange(request(), short_limits(), "test").noise,
              HasSubstr(own == nullptr ? "threads=3" : std::string("threads=") + own));
}

TEST(Process, MuchNoiseNeitherBlocksNorGrows) {
  const Exchange exchange = ask_shell("head -c 3000000 /dev/zero | tr '\\0' 'x'; exit 1");
  EXPECT_EQ(exchange.outcome, Outcome::exited);
  EXPECT_EQ(exchange.noise.size(), 4096U);
}

TEST(Process, MemoryIsWatched) {
  ExchangeLimits limits = short_limits();
  limits.resident_bytes = int64_t{64} << 20;
  const Exchange exchange =
      ask_shell("exec python3 -c 'x = []\nwhile True: x.append(bytes(1 << 20))'", limits);
  EXPECT_EQ(exchange.outcome, Outcome::memory_limit) << exchange.noise;
}

TEST(Process, ABigRequestToADeadProcess) {
  ChildProcess child;
  child.start({"/bin/sh", "-c", "exit 0"});
  const Frame big = make_frame({{"type", "x"}}, {Tensor(DType::u8, {4 << 20})});
  EXPECT_EQ(child.exchange(big, short_limits(), "test").outcome, Outcome::exited);
}

TEST(Process, GrandchildrenThatKeepThePipeDoNotHoldUs) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ask_shell("sleep 60 & exit 3").outcome, Outcome::exited);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(3));
}

TEST(Process, StopEndsAnExchange) {
  std::thread stopper([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    request_stop();
  });
  EXPECT_EQ(ask_shell("sleep 100").outcome, Outcome::stopped);
  stopper.join();
  clear_stop();
}

TEST(Process, ChildrenDieWithTheirParent) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    ChildProcess child;
    child.start({"/bin/sleep", "100"});
    const pid_t pid = child.pid();
    [[maybe_unused]] const ssize_t n = write(fds[1], &pid, sizeof pid);
    raise(SIGKILL);
  }
  pid_t child = 0;
  ASSERT_EQ(read(fds[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  waitpid(parent, nullptr, 0);
  bool gone = false;
  for (int i = 0; i < 100 && !gone; ++i) {
    std::ifstream file("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    std::getline(file, text);
    gone =
        text.empty() || text.find(") Z ") != std::string::npos;  // no process, or a zombie nobody has reaped
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_TRUE(gone);
  close(fds[0]);
  close(fds[1]);
}

TEST(Noise, HoldsNothingThatDiffersBetweenRuns) {
  EXPECT_EQ(scrub_noise("at 0x7ffe12 in /tmp/x/y: process 123 of 1234", 123),
            "at 0x.. in <path>: process <pid> of 1234");
}

}  // namespace
}  // namespace assay
