// Facts about operators, from which the suite's cases are generated: one line an operator, no case by hand.
//
// How to add an operator: append one line to a table in suites/ops/facts/*.cpp (a new file there is picked up
// by its name: NAME.cpp defines `void register_NAME(FactTable&)`), for example
//
//   {"aten::exp.default", "@pointwise", {0, 8}},
//   {"aten::add.Tensor", "@pointwise", {0, 4}, kRounded16, "alpha=2 | alpha=0 | alpha=-0.5"},
//   {"aten::gather.default", "self[5,7] dim=1 index[5,3]=0..7 | self[6] dim=0 index[4]=0..6"},
//
// The fields are: the operator; calls, separated by '|' (generate/call_text.h has the grammar, and the lists
// of calls that @pointwise, @dims and @shapes stand for); where floats are drawn (center, scale); flags; and
// keyword values to try beside the defaults, separated by '|'. Boolean keywords, `dtype`, `alpha` and `beta`
// are tried by themselves. A call is bad input where the shape rules refuse it; write calls that must be
// refused after "bad:".
//
// What the generator crosses is described in generate/generate.h. `assay list cases` shows the result, and
// the test suites/ops/generate/generate_test.cpp fails for an operator of the reference that has no facts.
#pragma once

#include <string>
#include <vector>

namespace assay::suites {

// Floats are drawn uniformly from center ± scale, integers from the whole numbers therein (bools from both).
struct Domain {
  double center = 0;
  double scale = 4;
};

enum FactFlags : unsigned {
  // The kernel's own RMS class applies to drawn inputs: calls whose result has 256 to 4,096 elements are
  // judged by the statistical gates.
  kDrawn = 1,
  // Correctly rounded on an fp32 unit: 16-bit results are compared bit for bit (NUMERICS, exact probes).
  kRounded16 = 2,
  // Small integers give exact results in any order of evaluation (sums, products of small numbers).
  kExactOnIntegers = 4,
  // PyTorch has kernels for 8-bit floats: data movement, casts, comparisons with NaN.
  kFloat8 = 8,
  // No edge values in the inputs: what they give is undefined or pointless (random draws, uninitialised).
  kNoEdges = 16,
  // The result's elements depend on nothing but shapes: no layouts, no edge values.
  kNoValues = 32,
  // Defined by its decomposition (core/decompose): the case's graph holds the parts, which are what backends
  // run.
  kParts = 64,
  // What it does depends on how a tensor lies in memory, which is no part of its value (resize): no layouts.
  kNoLayouts = 128,
};

struct OpFacts {
  const char* op;
  const char* calls;
  Domain domain = {};
  unsigned flags = 0;
  const char* keywords = "";
  // For the dtype axis: only these ("f32 bf16"), where neither the schema nor the shape rules know better and
  // PyTorch's documentation does. "" tries every dtype that the shape rules take.
  const char* dtypes = "";
};

// The dtypes that PyTorch computes most float operators in.
inline constexpr const char* kFloatDTypes = "f32 bf16 f16 f64";

// Table that suites/ops/facts/*.cpp fill (cmake assay_registry).
class FactTable {
 public:
  template <std::size_t N>
  void add(const OpFacts (&facts)[N]) {
    facts_.insert(facts_.end(), facts, facts + N);
  }
  const std::vector<OpFacts>& facts() const { return facts_; }

 private:
  std::vector<OpFacts> facts_;
};

// Every entry of suites/ops/facts/*.cpp.
const FactTable& op_facts();

}  // namespace assay::suites
