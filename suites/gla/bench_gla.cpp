#include "suites/gla/bench_gla.h"

#include "suites/gla/gla_case.h"

namespace assay::suites {
namespace {

struct BenchSize {
  int64_t length, heads;
};
constexpr BenchSize kTimed{2048, 8}, kJudged{140, 1};
constexpr int64_t kTimedMatrix = 2560, kJudgedMatrix = 200;

// Gates as a log-sigmoid over the normaliser 16 gives them.
Case attention(DType dtype, bool backward, const BenchSize& size) {
  const Shape keys{1, size.length, size.heads, 160}, values{1, size.length, size.heads, 320};
  GraphCase c("bench/gla/" + dtype_name(dtype) + (backward ? "/forward-backward" : "/forward"),
              "assay::gla_chunk.default");
  const ValueId grad = backward ? c.draw("grad_output", dtype, values) : -1;
  const ValueId q = c.draw("q", dtype, keys), k = c.draw("k", dtype, keys), v = c.draw("v", dtype, values),
                g = c.draw("g", DType::f32, keys, -0.04, 0.04);
  const std::vector<NamedArgument> operands{
      {"q", ValueArg{q}}, {"k", ValueArg{k}}, {"v", ValueArg{v}}, {"g", ValueArg{g}}};
  for (const ValueId id : c.emit().call_all("assay::gla_chunk.default", operands)) c.output(id);
  if (backward) {
    std::vector<NamedArgument> arguments{{"grad_output", ValueArg{grad}}, {"grad_final_state", NoneArg{}}};
    arguments.insert(arguments.end(), operands.begin(), operands.end());
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
