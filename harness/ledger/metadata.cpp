#include "harness/ledger/metadata.h"

#include <algorithm>
#include <array>

namespace assay {

bool is_metadata_operator(std::string_view full_name) {
  // PyTorch returns views for these (torch/_inductor and functorch call them view operators); sorted.
  static constexpr std::array kOperators = std::to_array<std::string_view>({
      "_operator::getitem",
      "aten::_assert_scalar.default",
      "aten::_assert_tensor_metadata.default",
      "aten::_reshape_alias.default",
      "aten::_unsafe_view.default",
      "aten::alias.default",
      "aten::as_strided.default",
      "aten::detach.default",
      "aten::diagonal.default",
      "aten::expand.default",
      "aten::permute.default",
      "aten::reshape.default",
      "aten::select.int",
      "aten::slice.Tensor",
      "aten::split.Tensor",
      "aten::split_with_sizes.default",
      "aten::squeeze.default",
      "aten::squeeze.dim",
      "aten::squeeze.dims",
      "aten::t.default",
      "aten::transpose.int",
      "aten::unfold.default",
      "aten::unsqueeze.default",
      "aten::view.default",
      "aten::view.dtype",
      "aten::view_as_complex.default",
      "aten::view_as_real.default",
  });
  static_assert(std::is_sorted(kOperators.begin(), kOperators.end()));
  return std::binary_search(kOperators.begin(), kOperators.end(), full_name);
}

}  // namespace assay
