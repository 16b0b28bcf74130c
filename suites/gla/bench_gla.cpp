#include "suites/gla/bench_gla.h"

#include <algorithm>

#include "suites/gla/gla_case.h"

namespace assay::suites {
namespace {

struct BenchSize {
  int64_t length, heads;
};
constexpr BenchSize kTimed{2048, 8}, kJudged{140, 1};
constexpr int64_t kTimedMatrix = 2560, kJudgedMatrix = 200;

Case attention(DType dtype, bool backward, const BenchSize& size) {
  GlaSpec spec;
  spec.dtype = dtype;
  spec.length = size.length;
  spec.heads = size.heads;
  spec.key = 160;
  spec.value = 320;
  spec.state = spec.state_grad = false;
  GraphCase c("bench/gla/" + dtype_name(dtype) + (backward ? "/forward-backward" : "/forward"),
              "assay::gla_chunk.default");
  const std::vector<NamedArgument> arguments = gla_arguments(c, spec, backward);
  const auto operands = std::find_if(arguments.begin(), arguments.end(),
                                     [](const NamedArgument& argument) { return argument.name == "q"; });
  for (const ValueId id : c.emit().call_all("assay::gla_chunk.default", {operands, arguments.end()})) {
    c.output(id);
  }
  if (backward) {
    for (const ValueId id : c.emit().call_all("assay::gla_chunk_backward.default", arguments)) c.output(id);
  }
  return c.build();
}

Case newton_schulz(DType dtype, int64_t size) {
  GraphCase c("bench/muon/" + dtype_name(dtype) + "/2560x2560", "assay::muon_orthogonalize.default");
  const ValueId x = c.draw("x", dtype, {size, size});
  c.output(c.emit().call("assay::muon_orthogonalize.default", {{"self", ValueArg{x}}}));
  return c.build();
}

}  // namespace

std::vector<BenchCase> bench_gla_cases() {
  std::vector<BenchCase> cases;
  for (const DType dtype : {DType::bf16, DType::f32}) {
    for (const bool backward : {false, true}) {
      cases.push_back({attention(dtype, backward, kTimed), attention(dtype, backward, kJudged)});
    }
  }
  return cases;
}

std::vector<BenchCase> bench_muon_cases() {
  std::vector<BenchCase> cases;
  for (const DType dtype : {DType::bf16, DType::f32}) {
    cases.push_back({newton_schulz(dtype, kTimedMatrix), newton_schulz(dtype, kJudgedMatrix)});
  }
  return cases;
}

}  // namespace assay::suites
