// 0-d tensors beside tensors of a coarser float: PyTorch computes in the coarser dtype.
#pragma once

#include <cmath>
#include <deque>
#include <type_traits>

#include "reference/number/bounded.h"
#include "reference/table.h"

namespace assay::reference {

// The inputs of a call, of which 0-d floats that are finer than `compute` may count as that dtype holds them.
template <class T>
class PromotedInputs {
 public:
  PromotedInputs(const Inputs<T>& in, DType compute) : inputs_(in) {
    if constexpr (std::is_same_v<T, Bounded>) {
      for (const Array<T>*& input : inputs_) {
        if (!input->meta.shape.empty() || !is_float(input->meta.dtype) || !is_float(compute)) continue;
        if (float_format(input->meta.dtype).precision <= float_format(compute).precision) continue;
        Array<T> held = *input;
        Bounded& x = held.real[0];
        if (std::isfinite(x.value)) x.bound += std::fabs(x.value - round_to(compute, x.value));
        owned_.push_back(std::move(held));
        input = &owned_.back();
      }
    }
  }
  const Inputs<T>& get() const { return inputs_; }

 private:
  Inputs<T> inputs_;
  std::deque<Array<T>> owned_;
};

}  // namespace assay::reference
