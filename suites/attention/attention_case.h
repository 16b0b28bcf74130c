// Makes cases of the attention operators that PyTorch has: one node each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/tensor.h"
#include "harness/case/case.h"
#include "suites/ops/op_case.h"

namespace assay::suites {

enum class MaskKind {
  none,
  causal,         // is_causal
  boolean,        // some keys closed
  boolean_dead,   // and every third query sees nothing
  additive,       // a drawn bias
  additive_dead,  // -infinity at some keys, for every third query at all
  lowest,         // the most negative finite number where transformers writes it instead of -infinity
  nan             // a NaN in every second row
};
std::string name_of(MaskKind kind);

struct SdpaSpec {
  std::string op = "aten::scaled_dot_product_attention.default";
  std::string name;  // after dtype in the id
  DType dtype = DType::f32;
  Shape query, key, value;
  MaskKind mask = MaskKind::none;
  std::optional<TensorSpec> given_mask;
  std::vector<NamedArgument> arguments;  // beside tensors and is_causal
  double spread = 1.5;                   // of query and key
};

// [L, S] of query and key, as `kind` describes it; not for `none` and `causal`.
TensorSpec mask_of(MaskKind kind, DType dtype, int64_t rows, int64_t keys);

// "attention/sdpa/f32/NAME" for the plain operator; the others' own names stand in place of "sdpa".
OpCase sdpa_call(const SdpaSpec& spec);
// The case under its place in the suite `attention`.
Case in_attention(Case c, const std::string& id);
std::string id_of(const SdpaSpec& spec);

// Makers, one a file.
void make_sdpa_cases(const CaseSink& sink);
void make_regression_cases(const CaseSink& sink);
void make_refused_cases(const CaseSink& sink);
void make_flex_cases(const CaseSink& sink);

}  // namespace assay::suites
