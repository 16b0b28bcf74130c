#include "reference/pieces.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reference/distinct.h"

namespace assay::reference {
namespace {

// Beside the functions of one number, in alphabetical order.
constexpr std::array<std::string_view, 17> kOthers = {
    "aten::abs.default",     "aten::add.Tensor",      "aten::atan2.default",    "aten::ceil.default",
    "aten::div.Tensor",      "aten::floor.default",   "aten::hardtanh.default", "aten::leaky_relu.default",
    "aten::maximum.default", "aten::minimum.default", "aten::mul.Tensor",       "aten::neg.default",
    "aten::relu.default",    "aten::round.default",   "aten::sub.Tensor",       "aten::trunc.default",
    "aten::where.self"};

bool is_elementwise(std::string_view op) {
  const auto functions = functions_of_one_number();
  return std::binary_search(functions.begin(), functions.end(), op) ||
         std::binary_search(kOthers.begin(), kOthers.end(), op);
}

template <class V>
std::vector<V> part_of(const std::vector<V>& whole, std::size_t first, std::size_t count) {
  if (whole.empty()) return {};
  const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

template <class V>
void append(std::vector<V>& whole, const std::vector<V>& part, std::size_t elements) {
  if (whole.empty()) whole.reserve(elements);
  whole.insert(whole.end(), part.begin(), part.end());
}

// Of marks that are empty where no element has one; `first` elements came before.
void append_marks(std::vector<uint8_t>& whole, const std::vector<uint8_t>& part, std::size_t first,
                  std::size_t count) {
  if (whole.empty() && part.empty()) return;
  whole.resize(first);
  whole.insert(whole.end(), part.begin(), part.end());
  whole.resize(first + count);
}

}  // namespace

std::vector<std::string_view> elementwise_operators() {
  const auto functions = functions_of_one_number();
  std::vector<std::string_view> all(functions.begin(), functions.end());
  all.insert(all.end(), kOthers.begin(), kOthers.end());
  return all;
}

OpCall call_on(const OpCall& call, std::size_t count) {
  const Shape shape{static_cast<int64_t>(count)};
  std::vector<TensorMeta> inputs;
  for (const TensorMeta& input : call.inputs()) inputs.push_back({input.dtype, shape});
  return OpCall(call.op(), std::move(inputs), call.arguments(), {{call.output(0).dtype, shape}});
}

PiecewiseCall::PiecewiseCall(OpCall whole, OpCall last, std::size_t elements, TensorMeta output)
    : piece_(std::move(whole)), last_(std::move(last)), elements_(elements), output_(std::move(output)) {}

std::optional<PiecewiseCall> PiecewiseCall::of(const OpCall& call, const std::vector<const Wide*>& inputs) {
  if (!is_elementwise(call.op())) return std::nullopt;
  if (call.outputs().size() != 1 || inputs.empty() || is_complex(call.output(0).dtype)) return std::nullopt;
  const bool alike = std::all_of(inputs.begin(), inputs.end(), [&](const Wide* input) {
    return input->meta.shape == call.output(0).shape && !is_complex(input->meta.dtype);
  });
  if (!alike || call.inputs().size() != inputs.size()) return std::nullopt;
  const auto elements = static_cast<std::size_t>(element_count(inputs[0]->meta.shape));
  if (elements <= kPiece) return std::nullopt;
  const std::size_t rest = elements % kPiece;
  return PiecewiseCall(call_on(call, kPiece), call_on(call, rest == 0 ? kPiece : rest), elements,
                       call.output(0));
}

std::vector<BoundedWide> PiecewiseCall::join(const std::vector<const Wide*>& inputs,
                                             const Evaluate& evaluate) const {
  BoundedWide all;
  std::vector<Wide> operands(inputs.size());
  std::vector<const Wide*> pointers;
  for (const Wide& operand : operands) pointers.push_back(&operand);
  for (std::size_t first = 0; first < elements_; first += kPiece) {
    const std::size_t count = std::min(kPiece, elements_ - first);
    const OpCall& call = count == kPiece ? piece_ : last_;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      operands[i].meta = call.input(static_cast<int>(i));
      operands[i].real = part_of(inputs[i]->real, first, count);
      operands[i].integer = part_of(inputs[i]->integer, first, count);
    }
    const std::vector<BoundedWide> results = evaluate(call, pointers);
    const BoundedWide& part = results.at(0);
    append(all.value.real, part.value.real, elements_);
    append(all.value.integer, part.value.integer, elements_);
    append(all.bound, part.bound, elements_);
    append(all.sigma, part.sigma, elements_);
    append_marks(all.value.undefined, part.value.undefined, first, count);
    append_marks(all.special, part.special, first, count);
    all.unmodelled = all.unmodelled || part.unmodelled;
    all.value.meta = {part.value.meta.dtype, output_.shape};
  }
  std::vector<BoundedWide> out;
  out.push_back(std::move(all));
  return out;
}

}  // namespace assay::reference
