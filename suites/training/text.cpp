#include "suites/training/text.h"

#include <vector>

extern "C" const char assay_asset_constitution_begin[], assay_asset_constitution_end[];

namespace assay::suites {

std::string_view training_text() {
  return {assay_asset_constitution_begin,
          static_cast<std::size_t>(assay_asset_constitution_end - assay_asset_constitution_begin)};
}

Tensor text_batches(int64_t count, int64_t batch, int64_t length) {
  const std::string_view text = training_text();
  std::vector<int64_t> symbols;
  for (int64_t n = 0; n < count; ++n) {
    for (int64_t row = 0; row < batch; ++row) {
      const std::size_t start =
          text.size() / static_cast<std::size_t>(batch) * static_cast<std::size_t>(row) +
          static_cast<std::size_t>(n * length);
      for (int64_t i = 0; i <= length; ++i) {
        symbols.push_back(text[(start + static_cast<std::size_t>(i)) % text.size()]);
      }
    }
  }
  return Tensor::from_ints(DType::i64, {count, batch, length + 1}, symbols);
}

}  // namespace assay::suites
