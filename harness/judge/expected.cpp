#include "harness/judge/expected.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"

namespace assay {
namespace {

constexpr int64_t kGoldenSlice = 512;  // SLICE of sweeps/export/golden.py

// What sweeps/export/golden.py takes of `count` elements: every (count / 512)-th, 512 at most.
std::vector<int64_t> golden_positions(int64_t count) {
  const int64_t stride = count <= kGoldenSlice ? 1 : count / kGoldenSlice;
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < count && static_cast<int64_t>(positions.size()) < kGoldenSlice; i += stride) {
    positions.push_back(i);
  }
  return positions;
}

[[noreturn]] void malformed(const std::string& source, const std::string& key, const std::string& what) {
  throw Error(ErrorCode::malformed_file, fmt::format("{}: tensor \"{}\": {}", source, key, what));
}

// The file's numbers under the graph's dtype and the given shape.
reference::Wide widen(const Tensor& tensor, DType dtype, const Shape& shape) {
  reference::Wide wide;
  wide.meta = {dtype, shape};
  if (is_integral(dtype)) {
    wide.integer = tensor.to_ints();
  } else {
    wide.real = tensor.to_doubles();
  }
  return wide;
}

bool is_integer_tensor_of_floats(const Tensor& tensor, std::vector<int64_t>& out) {
  if (is_integral(tensor.dtype())) return false;
  for (const double v : tensor.to_doubles()) {
    if (!(v >= -0x1p53 && v <= 0x1p53) || v != static_cast<double>(static_cast<int64_t>(v))) return false;
    out.push_back(static_cast<int64_t>(v));
  }
  return true;
}

ExpectedOutput read_one(const Value& value, const Tensor& tensor, const std::string& key,
                        const std::string& source) {
  ExpectedOutput out;
  Shape shape = value.shape;
  const bool real_view = is_complex(value.dtype) && !is_complex(tensor.dtype());
  Shape file_shape = shape;
  if (real_view) file_shape.push_back(2);
  const int64_t numbers = element_count(file_shape);
  if (tensor.shape() != file_shape) {
    const std::vector<int64_t> positions = golden_positions(numbers);
    const bool slice = source.starts_with("golden:") && tensor.rank() == 1 &&
                       tensor.count() == static_cast<int64_t>(positions.size()) && !is_complex(value.dtype);
    if (!slice) {
      malformed(source, key,
                fmt::format("has shape {}, the graph's output has {}{}", to_string(tensor.shape()),
                            to_string(file_shape), real_view ? " (complex as real and imaginary)" : ""));
    }
    out.positions = positions;
    shape = {tensor.count()};
  }
  if (is_integral(value.dtype)) {
    out.value.meta = {value.dtype, shape};
    if (is_integral(tensor.dtype())) {
      out.value.integer = tensor.to_ints();
    } else if (!is_integer_tensor_of_floats(tensor, out.value.integer)) {
      malformed(source, key,
                fmt::format("is {} and holds values that are no integers, the graph's output is {}",
                            name_of(tensor.dtype()), name_of(value.dtype)));
    }
    return out;
  }
  if (is_integral(tensor.dtype())) {
    malformed(source, key,
              fmt::format("is {}, the graph's output is {}", name_of(tensor.dtype()), name_of(value.dtype)));
  }
  if (is_complex(tensor.dtype()) && !is_complex(value.dtype)) {
    malformed(source, key, fmt::format("is complex, the graph's output is {}", name_of(value.dtype)));
  }
  out.value = widen(tensor, value.dtype, shape);
  out.file_roundoff = float_format(tensor.dtype()).unit_roundoff();
  return out;
}

}  // namespace

std::string output_key(const Graph& graph, std::size_t i) {
  const GraphOutput& output = graph.outputs.at(i);
  switch (output.kind) {
    case OutputKind::buffer_mutation:
      return "buffer:" + output.target;
    case OutputKind::user_input_mutation:
      return "input:" + output.target;
    case OutputKind::user:
      break;
  }
  const auto number =
      std::count_if(graph.outputs.begin(), graph.outputs.begin() + static_cast<std::ptrdiff_t>(i),
                    [](const GraphOutput& o) { return o.kind == OutputKind::user; });
  return std::to_string(number);
}

std::vector<std::optional<ExpectedOutput>> match_expected(const Graph& graph,
                                                          const std::map<std::string, Tensor>& expected,
                                                          const std::string& source) {
  std::vector<std::optional<ExpectedOutput>> matched(graph.outputs.size());
  std::map<std::string, std::size_t> names;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) names.emplace(output_key(graph, i), i);
  for (const auto& [key, tensor] : expected) {
    const auto found = names.find(key);
    if (found == names.end()) {
      std::vector<std::string> known;
      for (const auto& [name, i] : names) known.push_back("\"" + name + "\"");
      malformed(source, key, fmt::format("the graph has no such output; it has {}", fmt::join(known, ", ")));
    }
    const GraphOutput& output = graph.outputs[found->second];
    if (output.value < 0 ||
        graph.values.at(static_cast<std::size_t>(output.value)).kind != ValueKind::tensor) {
      malformed(source, key, "the graph's output is no tensor");
    }
    matched[found->second] =
        read_one(graph.values[static_cast<std::size_t>(output.value)], tensor, key, source);
  }
  return matched;
}

Tensor take(const Tensor& tensor, const std::vector<int64_t>& positions) {
  if (positions.empty()) return tensor;
  const Tensor packed = tensor.contiguous();
  const std::size_t size = size_of(packed.dtype());
  std::vector<std::byte> bytes(positions.size() * size);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::byte* from = packed.data() + static_cast<std::size_t>(positions[i]) * size;
    std::copy(from, from + size, bytes.data() + i * size);
  }
  return Tensor::from_bytes(packed.dtype(), {static_cast<int64_t>(positions.size())}, bytes.data(),
                            bytes.size());
}

reference::Wide take(const reference::Wide& tensor, const std::vector<int64_t>& positions) {
  if (positions.empty()) return tensor;
  reference::Wide out;
  out.meta = {tensor.meta.dtype, {static_cast<int64_t>(positions.size())}};
  for (const int64_t position : positions) {
    const auto at = static_cast<std::size_t>(position);
    if (!tensor.integer.empty()) out.integer.push_back(tensor.integer[at]);
    if (!tensor.real.empty()) out.real.push_back(tensor.real[at]);
  }
  return out;
}

}  // namespace assay
