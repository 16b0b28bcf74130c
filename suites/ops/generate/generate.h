// Generates the cases of an operator from its facts and its schema.
//
// What is crossed, and what a case's id says ("ops/OP/..."):
//   DTYPE/CALL                       every call in f32, bf16 and f16, some in every other dtype that is taken
//   DTYPE/CALL,KEYWORD=VALUE         keywords off their defaults
//   DTYPE/CALL/edge-CLASS[-ARGUMENT] NaN, infinities, zeros, subnormals, limits, integer extremes
//   DTYPE/CALL/LAYOUT[-ARGUMENT]     arguments that are views: transposed, strided, offset, expanded, ...
//   DTYPE/CALL/probe                 small integers, exact in every order
//   DTYPE-DTYPE/CALL                 promotion between the first two tensors
//   bad/...                          dtypes, dims, shapes, words and indices that must be refused
// A call that the shape rules refuse (a dtype, an alpha) is one that both backends must refuse, with the
// rules' sentence: PyTorch is the witness that it is bad.
//
// Ids are made of facts, never of numbers in a list: adding calls or operators renames nothing.
#pragma once

#include <string>
#include <vector>

#include "harness/case/case.h"
#include "suites/ops/generate/facts.h"
#include "suites/ops/layouts.h"

namespace assay::suites {

// Throws Error{internal} naming the table entry that cannot be read.
void generate_cases(const OpFacts& facts, const CaseSink& sink);

// The one call of `facts` in one dtype, as a case "ops/OP/VARIANT"; with `layout` its tensors are views. What
// the shape rules refuse, and a call after "bad:", is a case of bad input.
Case make_single_case(const OpFacts& facts, DType dtype, const std::string& variant,
                      Layout layout = Layout::contiguous);

// Dtypes of the dtype axis, the most important first.
const std::vector<DType>& case_dtypes();

}  // namespace assay::suites
