// Element comparison: one tensor that a backend returned against what is right.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/contract/contract.h"
#include "core/tensor.h"
#include "harness/record/record.h"
#include "reference/evaluate.h"

namespace assay {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a comparison found. `margin` is the largest |got - want| / Bound: 0 where the error is 0, infinite
// where the error is not 0 and the Bound is, and infinite for a NaN, an infinity or a signed zero that should
// not be there.
struct Comparison {
  int64_t compared = 0;    // numbers looked at (a complex element counts twice)
  int64_t beyond = 0;      // |got - want| > Bound
  int64_t nan = 0;         // NaN where a number is right, or the reverse
  int64_t special = 0;     // wrong infinity, wrong sign of zero
  int64_t unmodelled = 0;  // want is finite, but the error model gives no Bound (NaN) for the element
  double margin = 0;
  std::optional<Worst>
      worst;  // element of the largest margin, the first among equals; nullopt if nothing was compared
  bool ok() const { return beyond == 0 && nan == 0 && special == 0; }
};

struct CompareRule {
  std::string output;                             // name that `worst` carries
  bool zero_sign = true;                          // -0 and +0 differ
  const std::vector<uint8_t>* special = nullptr;  // reference::Special bits by number; null or empty: none
  bool flush = false;  // results below the smallest normal number may be a zero of either sign
};

// Exact: equal values bit for bit, except that all NaNs are equal (and zeros, without `zero_sign`). Shapes
// and dtypes must have been compared before (Error{internal} otherwise).
Comparison compare_exact(const Tensor& got, const Tensor& want, const CompareRule& rule);

// |got - want| <= bound for every number. `want` is the unrounded fp64 value and `bound` holds one entry for
// each entry of want.real (reference/evaluate.h: rounding to the output's dtype is inside). An infinite Bound
// accepts any bits (early overflow, undefined_but_alive); a NaN Bound means that there is none, and the
// element counts in `unmodelled`. A finite want whose Bound reaches past the largest finite number of the
// dtype may overflow. Integral dtypes are compared exactly.
Comparison compare_bounded(const Tensor& got, const reference::Wide& want, const std::vector<double>& bound,
                           const CompareRule& rule);

// Every element is a value of its dtype: a bool is a byte of 0 or 1. True for what is undefined.
bool holds_values(const Tensor& tensor);

// nullopt if equal; else "shape_mismatch", "dtype_mismatch" or "missing_output" with a sentence.
struct MetaMismatch {
  std::string reason, detail;
};
std::optional<MetaMismatch> compare_meta(const Tensor& got, DType dtype, const Shape& shape,
                                         const std::string& output);

// The status and reason that a failed comparison gives. NaN first, then errors, then special values.
struct Finding {
  Status status = Status::pass;
  std::string reason;
};
Finding finding_of(const Comparison& comparison);
// "output 0 [1, 3]: got 1.5, want 1.25 +- 0.001 (31 ulp); 7 of 128 elements are wrong".
std::string describe(const Comparison& comparison);

// |got - want| in units in the last place of `want` in the dtype; nullopt for integral dtypes and non-finite
// numbers.
std::optional<double> ulp_distance(DType dtype, double got, double want);

// Position of number `flat` of a tensor, row-major; complex parts are the last entry.
std::vector<int64_t> index_of(const Shape& shape, int64_t flat, bool complex);

// Joins the findings of several tensors: counts add, the larger margin stays (the first among equals).
void merge(Comparison& into, const Comparison& other);

}  // namespace assay
