#include "harness/worker/progress_page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "harness/worker/process.h"

namespace assay {
namespace {

Exchange ask_shell(const std::string& script) {
  ChildProcess child;
  child.start({"/bin/sh", "-c", script});
  ExchangeLimits limits;
  limits.run_s = 20;
  return child.exchange(make_frame({{"type", "x"}}, {}), limits, "test");
}

TEST(ProgressPage, BothSidesSeeOnePlace) {
  ProgressPage mine;
  EXPECT_FALSE(mine.get().has_value());
  auto theirs = ProgressPage::given(mine.descriptor());
  ASSERT_TRUE(theirs.has_value());
  theirs->put("local", 70'000);
  ASSERT_TRUE(mine.get().has_value());
  EXPECT_EQ(mine.get()->phase, "local");
  EXPECT_EQ(mine.get()->node, 70'000);
  theirs->put("repeat", -1);
  EXPECT_EQ(mine.get()->phase, "repeat");
  EXPECT_EQ(mine.get()->node, -1);
  theirs->put("no such phase", 3);
  EXPECT_EQ(mine.get()->phase, "repeat");
  mine.clear();
  EXPECT_FALSE(theirs->get().has_value());
}

TEST(ProgressPage, OtherDescriptorsAreNone) {
  EXPECT_FALSE(ProgressPage::given(-1).has_value());
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  EXPECT_FALSE(ProgressPage::given(fds[0]).has_value());
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(ftruncate(fileno(file), 4096), 0);
  EXPECT_FALSE(ProgressPage::given(fileno(file)).has_value());
  std::fclose(file);
  close(fds[0]);
  close(fds[1]);
}

// A worker that writes whatever it likes into its page.
TEST(ProgressPage, WhatIsNoPlaceIsIgnored) {
  const Exchange exchange =
      ask_shell("head -c 4096 /dev/zero | tr '\\0' '\\377' 1<>/dev/fd/5 >&5; kill -SEGV $$");
  EXPECT_EQ(exchange.outcome, Outcome::signalled);
  EXPECT_EQ(exchange.phase, "");
  EXPECT_EQ(exchange.node, -1);
}

// A worker that takes the memory away.
TEST(ProgressPage, CannotBeTakenAway) {
  const Exchange exchange = ask_shell("exec python3 -c 'import os; os.ftruncate(5, 0)'");
  EXPECT_EQ(exchange.outcome, Outcome::exited);
  EXPECT_EQ(exchange.code, 1) << exchange.noise;  // PermissionError
  EXPECT_FALSE(ProgressPage().get().has_value());
}

// The place survives however the process ends.
TEST(ProgressPage, TellsWhereAProcessDied) {
  // Phase 4 is compile, of node 2: a little-endian word.
  const Exchange exchange =
      ask_shell("printf '\\002\\000\\000\\000\\004\\000\\000\\000' 1<>/dev/fd/5 >&5; kill -KILL $$");
  EXPECT_EQ(exchange.outcome, Outcome::signalled);
  EXPECT_EQ(exchange.phase, "compile");
  EXPECT_EQ(exchange.node, 2);
}

}  // namespace
}  // namespace assay
