#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/bench/bench.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

BenchRow row(const std::string& id, const std::string& mode, double seconds, double peer) {
  BenchRow r;
  r.id = id;
  r.mode = mode;
  r.seconds = {seconds, seconds};
  r.peer_seconds = {peer, peer};
  r.ratio = paired_ratio(r.seconds, r.peer_seconds);
  return r;
}

BenchResult result_of(const std::string& peer, std::vector<BenchRow> rows) {
  BenchResult result;
  result.backend = "a";
  result.peer = peer;
  result.rows = std::move(rows);
  return result;
}

TEST(BenchText, OneModeHasOneMean) {
  const std::string text = bench_text(result_of("b", {row("x", "eager", 1, 2), row("y", "eager", 8, 1)}));
  EXPECT_THAT(text, HasSubstr("geometric mean of the ratios (below 1: a is faster): 2.000\n"));
  EXPECT_THAT(text, Not(HasSubstr("compiled on")));
}

TEST(BenchText, ModesAreNotMixed) {
  BenchRow failed;
  failed.id = "z";
  failed.mode = "compile";
  failed.not_timed = "fail_bound on a";
  const std::string text = bench_text(result_of(
      "b", {row("x", "eager", 1, 2), row("x", "compile", 1, 0.5), row("y", "compile", 1, 0.5), failed}));
  EXPECT_THAT(text, HasSubstr("geometric mean of the ratios, eager (below 1: a is faster): 0.500\n"));
  EXPECT_THAT(text, HasSubstr("geometric mean of the ratios, compile (below 1: a is faster): 2.000\n"));
  EXPECT_THAT(text, HasSubstr("compiled on a against eager on b, geometric mean: 0.500\n"));
}

TEST(BenchText, WithoutAPeerThereIsNoMean) {
  BenchRow r;
  r.id = "x";
  r.mode = "eager";
  r.seconds = {1, 1};
  EXPECT_THAT(bench_text(result_of("", {r})), Not(HasSubstr("geometric mean")));
}

}  // namespace
}  // namespace assay
