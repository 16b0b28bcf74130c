// Defects of indexing: single elements, rows and tiles.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/mutant/families.h"

namespace assay {
namespace {

int64_t elements(const OpCall& call) { return element_count(call.output(0).shape); }

// Position of the number with the largest magnitude (finite ones only).
std::size_t largest(const std::vector<double>& values) {
  std::size_t best = 0;
  double magnitude = -1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && std::fabs(values[i]) > magnitude) {
      magnitude = std::fabs(values[i]);
      best = i;
    }
  }
  return best;
}

// The bytes of output 0, packed.
struct Bytes {
  explicit Bytes(const Tensor& tensor)
      : data(tensor.bytes()), size(size_of(tensor.dtype())), dtype(tensor.dtype()), shape(tensor.shape()) {
    const Tensor packed = tensor.contiguous();
    if (!data.empty()) std::memcpy(data.data(), packed.data(), data.size());
  }
  Tensor tensor() const { return Tensor::from_bytes(dtype, shape, data.data(), data.size()); }
  std::byte* at(int64_t element) { return data.data() + static_cast<std::size_t>(element) * size; }
  int64_t last_dimension() const { return shape.empty() ? 1 : shape.back(); }
  std::vector<std::byte> data;
  std::size_t size;
  DType dtype;
  Shape shape;
};

}  // namespace

void add_element_mutants(std::vector<Mutant>& table) {
  const auto many = [](const OpCall& call) { return !call.outputs().empty() && elements(call) >= 2; };
  const auto many_floats = [](const OpCall& call) {
    return first_output_is_float(call) && elements(call) >= 2;
  };

  table.push_back({"tail_dropped", "the last element is not computed and stays 0", many,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     Bytes bytes(outputs[0]);
                     std::fill(bytes.at(outputs[0].count() - 1), bytes.data.data() + bytes.data.size(),
                               std::byte{0});
                     outputs[0] = bytes.tensor();
                   }});
  table.push_back({"neighbours_swapped", "two adjacent elements change places", many,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     Bytes bytes(outputs[0]);
                     const auto count = outputs[0].count();
                     for (int64_t i = count / 2; i < count / 2 + count - 1; ++i) {
                       const int64_t at = i % (count - 1);  // the first pair that differs, from the middle on
                       if (std::memcmp(bytes.at(at), bytes.at(at + 1), bytes.size) == 0) continue;
                       std::swap_ranges(bytes.at(at), bytes.at(at) + bytes.size, bytes.at(at + 1));
                       break;
                     }
                     outputs[0] = bytes.tensor();
                   }});
  table.push_back({"stale_output", "the kernel does not run: the output holds what was in its buffer",
                   [](const OpCall& call) { return !call.outputs().empty() && elements(call) >= 1; },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     for (Tensor& output : outputs) {
                       if (!output.defined()) continue;
                       Bytes bytes(output);
                       std::fill(bytes.data.begin(), bytes.data.end(), std::byte{0xc7});
                       output = bytes.tensor();
                     }
                   },
                   Effect::result, nullptr, Allowance::none, true});
  table.push_back({"all_zeros", "every element is 0",
                   [](const OpCall& call) { return !call.outputs().empty() && elements(call) >= 1; },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     for (Tensor& output : outputs) {
                       if (output.defined()) output = Tensor(output.dtype(), output.shape());
                     }
                   },
                   Effect::result, nullptr, Allowance::none, true});
  table.push_back({"one_element_scaled", "one element is 3 % too large", many_floats,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     edit_floats(outputs, [](std::vector<double>& v) { v[largest(v)] *= 1.03; });
                   }});
  table.push_back({"one_sign_flipped", "the sign of one element is wrong", many_floats,
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     edit_floats(outputs, [](std::vector<double>& v) { v[largest(v)] *= -1; });
                   }});
  table.push_back({"rows_shifted", "elements of each row are one place too far",
                   [many](const OpCall& call) {
                     return many(call) && !call.output(0).shape.empty() && call.output(0).shape.back() >= 2;
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     Bytes bytes(outputs[0]);
                     const int64_t length = bytes.last_dimension();
                     for (int64_t row = 0; row < outputs[0].count() / length; ++row) {
                       std::byte* begin = bytes.at(row * length);
                       std::byte* end = bytes.at((row + 1) * length);
                       std::rotate(begin, end - static_cast<std::ptrdiff_t>(bytes.size), end);
                     }
                     outputs[0] = bytes.tensor();
                   }});
  table.push_back({"last_row_repeated", "the last row is a copy of the one before",
                   [many](const OpCall& call) {
                     const Shape& shape = call.outputs().empty() ? Shape{} : call.output(0).shape;
                     return many(call) && shape.size() >= 2 && shape.back() >= 1 &&
                            elements(call) / shape.back() >= 2;
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     Bytes bytes(outputs[0]);
                     const int64_t length = bytes.last_dimension(), count = outputs[0].count();
                     std::memcpy(bytes.at(count - length), bytes.at(count - 2 * length),
                                 static_cast<std::size_t>(length) * bytes.size);
                     outputs[0] = bytes.tensor();
                   }});
  table.push_back({"tile_transposed", "the largest square tile of each matrix of the output is transposed",
                   [many](const OpCall& call) {
                     const Shape& shape = call.outputs().empty() ? Shape{} : call.output(0).shape;
                     return many(call) && shape.size() >= 2 &&
                            std::min(shape.back(), shape[shape.size() - 2]) >= 2;
                   },
                   [](const OpCall&, const std::vector<Tensor>&, std::vector<Tensor>& outputs) {
                     Bytes bytes(outputs[0]);
                     const int64_t columns = bytes.shape.back(), rows = bytes.shape[bytes.shape.size() - 2];
                     const int64_t tile = std::min(rows, columns);
                     for (int64_t base = 0; base < outputs[0].count(); base += rows * columns) {
                       for (int64_t i = 0; i < tile; ++i) {
                         for (int64_t j = 0; j < i; ++j) {
                           std::byte* a = bytes.at(base + i * columns + j);
                           std::swap_ranges(a, a + bytes.size, bytes.at(base + j * columns + i));
                         }
                       }
                     }
                     outputs[0] = bytes.tensor();
                   }});
}

}  // namespace assay
