// Defects of plug-ins: what the interface (abi/assay/backend.h) says about arguments, dtypes, layouts and
// buffers and a backend gets wrong, whatever the operator.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <variant>

#include "core/error.h"
#include "core/opset/shapes.h"
#include "harness/mutant/families.h"

namespace assay {
namespace {

using Tensors = std::vector<Tensor>;
using Reading = std::function<std::optional<Argument>(const SchemaArgument&, const Argument&)>;

// What the operator makes of a call, {} if it refuses it.
template <class Evaluate>
Tensors unless_refused(Evaluate&& evaluate) {
  try {
    return evaluate();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::internal) throw;
    return {};
  }
}

// The call on inputs of other dtypes or shapes, with whatever results it then has.
Tensors recompute_on(const OpCall& call, const Tensors& inputs) {
  std::vector<TensorMeta> metas;
  for (const Tensor& input : inputs) metas.push_back({input.dtype(), input.shape()});
  return unless_refused([&]() -> Tensors {
    const auto results = infer(OpCall(call.op(), metas, call.arguments()));
    return results ? recompute(OpCall(call.op(), metas, call.arguments(), *results), inputs) : Tensors();
  });
}

// A mutant that reads arguments: `reading` gives the wrong value of one, nullopt where there is none.
Mutant misreading(std::string name, std::string description, Reading reading) {
  const auto wrong_arguments = [reading](const OpCall& call) {
    std::vector<NamedArgument> wrong;
    for (const NamedArgument& given : call.arguments()) {
      const SchemaArgument* argument = call.schema().find(given.name);
      if (argument == nullptr) continue;
      if (auto value = reading(*argument, given.value)) wrong.push_back({given.name, std::move(*value)});
    }
    return wrong;
  };
  return {std::move(name), std::move(description),
          [wrong_arguments](const OpCall& call) {
            return !call.outputs().empty() && !call.inputs().empty() && !wrong_arguments(call).empty();
          },
          [wrong_arguments](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
            for (const NamedArgument& wrong : wrong_arguments(call)) {
              adopt(call, inputs, outputs,
                    unless_refused([&] { return recompute_with(call, inputs, wrong.name, wrong.value); }));
            }
          }};
}

// A mutant that reads inputs: `edit` changes one in place, false if it leaves it.
Mutant misread_inputs(std::string name, std::string description,
                      std::function<bool(const TensorMeta&)> concerns, std::function<void(Tensor&)> edit) {
  return {std::move(name), std::move(description),
          [concerns](const OpCall& call) {
            return !call.outputs().empty() &&
                   std::any_of(call.inputs().begin(), call.inputs().end(), concerns);
          },
          [concerns, edit](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
            Tensors changed = inputs;
            for (std::size_t i = 0; i < changed.size(); ++i) {
              if (concerns(call.inputs()[i])) edit(changed[i]);
            }
            adopt(call, inputs, outputs, recompute(call, changed));
          }};
}

// A mutant of the bytes of every result that `concerns` names.
Mutant miswritten(std::string name, std::string description, std::function<bool(const TensorMeta&)> concerns,
                  std::function<void(const TensorMeta&, std::vector<std::byte>&)> edit) {
  return {std::move(name), std::move(description),
          [concerns](const OpCall& call) {
            return std::any_of(call.outputs().begin(), call.outputs().end(), concerns);
          },
          [concerns, edit](const OpCall&, const Tensors&, Tensors& outputs) {
            for (Tensor& output : outputs) {
              if (!output.defined()) continue;
              const TensorMeta meta{output.dtype(), output.shape()};
              if (!concerns(meta)) continue;
              std::vector<std::byte> bytes = packed(output);
              edit(meta, bytes);
              output = like(output, bytes);
            }
          }};
}

std::optional<Argument> default_as_zero(const SchemaArgument& argument, const Argument& value) {
  if (!argument.default_value || value != *argument.default_value) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&value); flag != nullptr && *flag) return Argument(false);
  if (const auto* number = std::get_if<int64_t>(&value); number != nullptr && *number != 0)
    return Argument(int64_t{0});
  if (const auto* number = std::get_if<double>(&value); number != nullptr && *number != 0)
    return Argument(0.0);
  return std::nullopt;
}

std::optional<Argument> list_reversed(const SchemaArgument&, const Argument& value) {
  const auto* list = std::get_if<ValueListArg>(&value);
  if (list == nullptr || list->ids.size() < 2) return std::nullopt;
  return Argument(ValueListArg{{list->ids.rbegin(), list->ids.rend()}});
}

std::optional<Argument> none_skipped(const SchemaArgument&, const Argument& value) {
  const auto* list = std::get_if<ValueListArg>(&value);
  if (list == nullptr) return std::nullopt;
  ValueListArg wrong = *list;
  std::stable_partition(wrong.ids.begin(), wrong.ids.end(), [](ValueId id) { return id >= 0; });
  return wrong == *list ? std::nullopt : std::optional<Argument>(wrong);
}

// A list of plain integers through `edit`.
template <class Edit>
std::optional<Argument> list_through(const Argument& value, Edit&& edit) {
  const auto* list = std::get_if<IntListArg>(&value);
  if (list == nullptr || !list->values.empty() || list->ints.empty()) return std::nullopt;
  IntListArg wrong = *list;
  edit(wrong.ints);
  return wrong == *list ? std::nullopt : std::optional<Argument>(wrong);
}

std::optional<Argument> negative_as_zero(const SchemaArgument&, const Argument& value) {
  if (const auto* number = std::get_if<int64_t>(&value))
    return *number < 0 ? std::optional<Argument>(int64_t{0}) : std::nullopt;
  return list_through(value, [](std::vector<int64_t>& ints) {
    for (int64_t& i : ints) i = std::max<int64_t>(i, 0);
  });
}

// The values that arguments of type str have, in groups that stand for each other.
void with_another_string(const OpCall& call, const Tensors& inputs, Tensors& outputs) {
  constexpr std::array<std::string_view, 13> kValues = {"sum",   "mean",     "prod",        "amax", "amin",
                                                        "max",   "min",      "none",        "tanh", "floor",
                                                        "trunc", "top_left", "bottom_right"};
  for (const NamedArgument& given : call.arguments()) {
    const auto* text = std::get_if<std::string>(&given.value);
    if (text == nullptr) continue;
    for (const std::string_view other : kValues) {
      if (other == *text) continue;
      const Tensors wrong = unless_refused(
          [&] { return recompute_with(call, inputs, given.name, Argument(std::string(other))); });
      if (wrong.empty()) continue;
      adopt(call, inputs, outputs, wrong);
      break;
    }
  }
}

bool has_string(const OpCall& call) {
  return !call.outputs().empty() && !call.inputs().empty() &&
         std::any_of(call.arguments().begin(), call.arguments().end(), [](const NamedArgument& given) {
           return std::holds_alternative<std::string>(given.value);
         });
}

// sum(x, dtype=f32) of bf16 numbers that is summed in bf16.
bool widens(const OpCall& call) {
  return first_output_is_float(call) && call.schema().find("dtype") != nullptr && !call.inputs().empty() &&
         call.dtype_opt("dtype").has_value() && is_float(call.input(0).dtype) &&
         float_format(call.input(0).dtype).precision < float_format(call.output(0).dtype).precision;
}

void dtype_at_the_store(const OpCall& call, const Tensors& inputs, Tensors& outputs) {
  std::vector<NamedArgument> arguments = call.arguments();
  for (NamedArgument& given : arguments) {
    if (given.name == "dtype") given.value = NoneArg{};
  }
  const OpCall narrow(call.op(), call.inputs(), arguments);
  const auto results = infer(narrow);
  if (!results || results->at(0).shape != call.output(0).shape) return;
  const Tensors values = recompute(OpCall(call.op(), call.inputs(), arguments, *results), inputs);
  Tensors wrong = outputs;
  wrong[0] = Tensor::from_doubles(outputs[0].dtype(), outputs[0].shape(), values[0].to_doubles());
  adopt(call, inputs, outputs, wrong);
}

void unsigned_as_signed(const OpCall& call, const Tensors& inputs, Tensors& outputs) {
  Tensors changed = inputs;
  for (Tensor& input : changed) {
    if (input.dtype() != DType::u8) continue;
    const std::vector<std::byte> bytes = packed(input);
    input = Tensor::from_bytes(DType::i8, input.shape(), bytes.data(), bytes.size());
  }
  Tensors wrong = recompute_on(call, changed);
  for (Tensor& result : wrong) {
    if (result.dtype() != DType::i8) continue;
    const std::vector<std::byte> bytes = packed(result);
    result = Tensor::from_bytes(DType::u8, result.shape(), bytes.data(), bytes.size());
  }
  adopt(call, inputs, outputs, wrong);
}

// An operand of the result's rank or less that is repeated along some dimension.
bool is_repeated(const Shape& operand, const Shape& result) {
  if (operand == result || operand.size() > result.size() || element_count(operand) < 2) return false;
  for (std::size_t d = 0; d < operand.size(); ++d) {
    const int64_t size = operand[operand.size() - 1 - d];
    if (size != 1 && size != result[result.size() - 1 - d]) return false;
  }
  return true;
}

void broadcast_read_on(const OpCall& call, const Tensors& inputs, Tensors& outputs) {
  Tensors changed = inputs;
  const Shape& shape = outputs[0].shape();
  const auto count = static_cast<std::size_t>(element_count(shape));
  for (Tensor& input : changed) {
    if (!is_repeated(input.shape(), shape)) continue;
    const std::vector<std::byte> bytes = packed(input);
    const std::size_t size = size_of(input.dtype());
    std::vector<std::byte> repeated(count * size);
    for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = bytes[i % bytes.size()];
    input = Tensor::from_bytes(input.dtype(), shape, repeated.data(), repeated.size());
  }
  adopt(call, inputs, outputs, recompute_on(call, changed));
}

// The numbers of two inputs (from the last one on) or outputs (from the first one on) that can be mistaken.
std::optional<std::pair<std::size_t, std::size_t>> last_alike(const std::vector<TensorMeta>& metas) {
  for (std::size_t i = metas.size(); i-- > 1;) {
    if (metas[i] == metas[i - 1] && element_count(metas[i].shape) > 0) return std::pair(i - 1, i);
  }
  return std::nullopt;
}

std::optional<std::string> optional_tensor(const OpCall& call) {
  for (const NamedArgument& given : call.arguments()) {
    const SchemaArgument* argument = call.schema().find(given.name);
    if (argument != nullptr && argument->type.optional && std::holds_alternative<ValueArg>(given.value) &&
        argument->type.base == BaseType::tensor && !argument->type.list)
      return given.name;
  }
  return std::nullopt;
}

void column_major(const TensorMeta& meta, std::vector<std::byte>& bytes) {
  const std::vector<std::byte> right = bytes;
  const std::size_t size = size_of(meta.dtype);
  const Shape strides = contiguous_strides(meta.shape);
  for (std::size_t i = 0; i < right.size() / size; ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t place = 0, step = 1;
    for (std::size_t d = 0; d < meta.shape.size(); ++d) {
      place += rest / strides[d] * step;
      rest %= strides[d];
      step *= meta.shape[d];
    }
    std::memcpy(&bytes[static_cast<std::size_t>(place) * size], &right[i * size], size);
  }
}

constexpr int64_t kPartitions = 128;

int64_t row_length(const TensorMeta& meta) { return meta.shape.size() < 2 ? 1 : meta.shape.back(); }

void repeat_first_tile(const TensorMeta& meta, std::vector<std::byte>& bytes) {
  const auto tile = static_cast<std::size_t>(kPartitions * row_length(meta)) * size_of(meta.dtype);
  for (std::size_t i = tile; i < bytes.size(); ++i) bytes[i] = bytes[i - tile];
}

void add_argument_readings(std::vector<Mutant>& table) {
  table.push_back(misreading("default_read_as_zero",
                             "an argument that the graph leaves out is 0 instead of the schema's default",
                             default_as_zero));
  table.push_back(
      misreading("tensor_list_reversed", "a list of tensors is read from its end", list_reversed));
  table.push_back(misreading("none_skipped", "tensors move up where a list of them has a None before them",
                             none_skipped));
  table.push_back(misreading("booleans_true", "every boolean argument is true",
                             [](const SchemaArgument&, const Argument& value) -> std::optional<Argument> {
                               const bool* flag = std::get_if<bool>(&value);
                               if (flag == nullptr || *flag) return std::nullopt;
                               return Argument(true);
                             }));
  table.push_back(misreading("first_of_list_for_all", "of a list of integers the first one stands for all",
                             [](const SchemaArgument&, const Argument& value) {
                               return list_through(value, [](std::vector<int64_t>& ints) {
                                 std::fill(ints.begin(), ints.end(), ints[0]);
                               });
                             }));
  table.push_back(misreading("int_list_reversed", "a list of integers is read from its end",
                             [](const SchemaArgument&, const Argument& value) {
                               return list_through(value, [](std::vector<int64_t>& ints) {
                                 std::reverse(ints.begin(), ints.end());
                               });
                             }));
  table.push_back(
      misreading("negative_read_as_zero", "negative integers among the arguments are 0", negative_as_zero));
  table.push_back(misreading("number_cut_to_integer", "numbers among the arguments lose their fraction",
                             [](const SchemaArgument&, const Argument& value) -> std::optional<Argument> {
                               const auto* number = std::get_if<double>(&value);
                               if (number == nullptr || std::trunc(*number) == *number ||
                                   !std::isfinite(*number))
                                 return std::nullopt;
                               return Argument(std::trunc(*number));
                             }));
  table.push_back({"other_string", "a string among the arguments is taken for another of its values",
                   has_string, with_another_string});
  table.push_back({"dtype_at_the_store",
                   "the dtype that is asked for is that of the result only, not of the sum", widens,
                   dtype_at_the_store});
  table.push_back(
      {"optional_tensor_ignored", "a tensor that may be None counts as None",
       [](const OpCall& call) { return !call.outputs().empty() && optional_tensor(call).has_value(); },
       [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
         adopt(call, inputs, outputs,
               recompute_with(call, inputs, *optional_tensor(call), Argument(NoneArg{})));
       }});
}

void add_buffer_readings(std::vector<Mutant>& table) {
  table.push_back({"unsigned_as_signed", "bytes from 128 on are read as negative numbers",
                   [](const OpCall& call) {
                     return !call.outputs().empty() &&
                            std::any_of(call.inputs().begin(), call.inputs().end(),
                                        [](const TensorMeta& meta) { return meta.dtype == DType::u8; });
                   },
                   unsigned_as_signed, Effect::result, nullptr, Allowance::order});
  table.push_back(misread_inputs(
      "upper_half_dropped", "of 64-bit integers the lower half is read",
      [](const TensorMeta& meta) { return meta.dtype == DType::i64; },
      [](Tensor& input) {
        std::vector<int64_t> values = input.to_ints();
        for (int64_t& v : values) v = static_cast<int32_t>(v);
        input = Tensor::from_ints(input.dtype(), input.shape(), values);
      }));
  table.push_back(misread_inputs(
      "fp8_range_mixed_up", "fp8 numbers beyond 240 are NaN, as in the format that keeps the exponent for it",
      [](const TensorMeta& meta) { return meta.dtype == DType::f8e4m3fn; },
      [](Tensor& input) {
        std::vector<double> values = input.to_doubles();
        for (double& v : values) v = std::fabs(v) > 240 ? std::nan("") : v;
        input = Tensor::from_doubles(input.dtype(), input.shape(), values);
      }));
  table.push_back(misread_inputs(
      "rank_0_read_as_zero", "a tensor without dimensions counts as 0",
      [](const TensorMeta& meta) { return meta.shape.empty(); },
      [](Tensor& input) { input = Tensor(input.dtype(), input.shape()); }));
  table.push_back({"inputs_exchanged", "of three or more inputs, two that are alike are exchanged",
                   [](const OpCall& call) {
                     return call.inputs().size() >= 3 && !call.outputs().empty() &&
                            last_alike(call.inputs()).has_value();
                   },
                   [](const OpCall& call, const Tensors& inputs, Tensors& outputs) {
                     const auto [a, b] = *last_alike(call.inputs());
                     Tensors changed = inputs;
                     std::swap(changed[a], changed[b]);
                     adopt(call, inputs, outputs, recompute(call, changed));
                   }});
  table.push_back(
      {"broadcast_read_on", "an operand that is to be repeated is read on from its beginning instead",
       [](const OpCall& call) {
         return call.inputs().size() >= 2 && !call.outputs().empty() &&
                std::any_of(call.inputs().begin(), call.inputs().end(), [&](const TensorMeta& meta) {
                  return is_repeated(meta.shape, call.output(0).shape);
                });
       },
       broadcast_read_on});
}

void add_result_writings(std::vector<Mutant>& table) {
  table.push_back(miswritten(
      "true_is_255", "true is stored as 255 instead of 1",
      [](const TensorMeta& meta) { return meta.dtype == DType::boolean; },
      [](const TensorMeta&, std::vector<std::byte>& bytes) {
        for (std::byte& b : bytes) b = b == std::byte{0} ? b : std::byte{255};
      }));
  table.push_back(miswritten(
      "complex_parts_exchanged", "imaginary parts are stored before real parts",
      [](const TensorMeta& meta) { return is_complex(meta.dtype); },
      [](const TensorMeta& meta, std::vector<std::byte>& bytes) {
        const auto part = static_cast<std::ptrdiff_t>(size_of(meta.dtype) / 2);
        for (auto at = bytes.begin(); at != bytes.end(); at += 2 * part)
          std::swap_ranges(at, at + part, at + part);
      }));
  table.push_back(miswritten(
      "column_major_result", "results are stored by columns instead of by rows",
      [](const TensorMeta& meta) {
        return std::count_if(meta.shape.begin(), meta.shape.end(), [](int64_t size) { return size > 1; }) >=
                   2 &&
               element_count(meta.shape) > 0;
      },
      column_major));
  constexpr std::size_t kGranule = 64;
  const auto bytes_of = [](const TensorMeta& meta) {
    return static_cast<std::size_t>(element_count(meta.shape)) * size_of(meta.dtype);
  };
  table.push_back(miswritten(
      "granule_not_copied", "what does not fill 64 bytes at a result's end stays 0",
      [=](const TensorMeta& meta) { return bytes_of(meta) > kGranule && bytes_of(meta) % kGranule != 0; },
      [=](const TensorMeta&, std::vector<std::byte>& bytes) {
        std::fill(bytes.end() - static_cast<std::ptrdiff_t>(bytes.size() % kGranule), bytes.end(),
                  std::byte{0});
      }));
  table.push_back(miswritten(
      "first_tile_repeated", "rows from the 129th on repeat the first 128",
      [](const TensorMeta& meta) { return element_count(meta.shape) > kPartitions * row_length(meta); },
      repeat_first_tile));
  table.push_back({"results_exchanged", "two results that are alike are exchanged",
                   [](const OpCall& call) { return last_alike(call.outputs()).has_value(); },
                   [](const OpCall& call, const Tensors&, Tensors& outputs) {
                     const auto [a, b] = *last_alike(call.outputs());
                     if (outputs[a].defined() && outputs[b].defined()) std::swap(outputs[a], outputs[b]);
                   }});
  Mutant over;
  over.name = "result_over_input";
  over.description = "the result is written over an input of its size";
  over.effect = Effect::inputs;
  over.applies = [](const OpCall& call) {
    return !call.outputs().empty() && element_count(call.output(0).shape) >= 1 &&
           std::find(call.inputs().begin(), call.inputs().end(), call.output(0)) != call.inputs().end();
  };
  over.disturb = [](Execution& e) {
    const auto input = std::find(e.call.inputs().begin(), e.call.inputs().end(), e.call.output(0));
    e.inputs[static_cast<std::size_t>(input - e.call.inputs().begin())] = e.outputs[0];
  };
  table.push_back(std::move(over));
}

}  // namespace

void add_interface_mutants(std::vector<Mutant>& table) {
  add_argument_readings(table);
  add_buffer_readings(table);
  add_result_writings(table);
}

}  // namespace assay
