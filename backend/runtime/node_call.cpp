#include "backend/runtime/node_call.h"

#include <string>
#include <utility>
#include <vector>

namespace assay::backend {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw plugin::Failure(ASSAY_INVALID_ARGUMENT, message);
}

TensorMeta meta_of(const plugin::Meta& meta) {
  return {static_cast<DType>(meta.dtype), Shape(meta.sizes.begin(), meta.sizes.end())};
}

class ArgumentReader {
 public:
  ArgumentReader(const assay_argument& argument, std::size_t inputs)
      : a_(argument), name_(argument.name != nullptr ? argument.name : ""), inputs_(inputs) {}

  Argument read() const {
    switch (a_.kind) {
      case ASSAY_ARG_NONE:
        return NoneArg{};
      case ASSAY_ARG_TENSOR:
        return ValueArg{input(integer(0))};
      case ASSAY_ARG_TENSOR_LIST: {
        ValueListArg out;
        for (std::size_t i = 0; i < a_.count; ++i) {
          out.ids.push_back(integer(i) == -1 ? -1 : input(integer(i)));
        }
        return out;
      }
      case ASSAY_ARG_INT:
        return integer(0);
      case ASSAY_ARG_INT_LIST: {
        IntListArg out;
        for (std::size_t i = 0; i < a_.count; ++i) out.ints.push_back(integer(i));
        return out;
      }
      case ASSAY_ARG_FLOAT:
        return real(0);
      case ASSAY_ARG_FLOAT_LIST: {
        std::vector<double> out;
        for (std::size_t i = 0; i < a_.count; ++i) out.push_back(real(i));
        return out;
      }
      case ASSAY_ARG_BOOL:
        return integer(0) != 0;
      case ASSAY_ARG_BOOL_LIST: {
        std::vector<bool> out;
        for (std::size_t i = 0; i < a_.count; ++i) out.push_back(integer(i) != 0);
        return out;
      }
      case ASSAY_ARG_STRING:
        return text();
      case ASSAY_ARG_DTYPE: {
        const auto dtype = static_cast<DType>(integer(0));
        if (!is_valid(dtype))
          refuse("argument " + name_ + ": " + std::to_string(integer(0)) + " is no dtype");
        return DTypeArg{dtype};
      }
      case ASSAY_ARG_KEYWORD:
        return KeywordArg{name_, text()};
      default:
        refuse("argument " + name_ + ": kind " + std::to_string(a_.kind) + " is no assay_argument_kind");
    }
  }

 private:
  int64_t integer(std::size_t i) const {
    if (a_.ints == nullptr || i >= a_.count) refuse("argument " + name_ + ": no integers");
    return a_.ints[i];
  }
  double real(std::size_t i) const {
    if (a_.floats == nullptr || i >= a_.count) refuse("argument " + name_ + ": no numbers");
    return a_.floats[i];
  }
  std::string text() const { return a_.text != nullptr ? a_.text : ""; }
  ValueId input(int64_t number) const {
    if (number < 0 || static_cast<std::size_t>(number) >= inputs_) {
      refuse("argument " + name_ + ": input " + std::to_string(number) + " of " + std::to_string(inputs_));
    }
    return static_cast<ValueId>(number);
  }

  const assay_argument& a_;
  std::string name_;
  std::size_t inputs_;
};

}  // namespace

std::vector<TensorMeta> input_metas(const plugin::NodeView& node) {
  std::vector<TensorMeta> inputs;
  for (std::size_t i = 0; i < node.input_count(); ++i) inputs.push_back(meta_of(node.input(i)));
  return inputs;
}

OpCall read_call(const plugin::NodeView& node) {
  std::vector<TensorMeta> inputs = input_metas(node), outputs;
  for (std::size_t i = 0; i < node.output_count(); ++i) outputs.push_back(meta_of(node.output(i)));
  std::vector<NamedArgument> arguments;
  for (std::size_t i = 0; i < node.argument_count(); ++i) {
    const assay_argument argument = node.argument(i);
    arguments.push_back(
        {argument.name != nullptr ? argument.name : "", ArgumentReader(argument, inputs.size()).read()});
  }
  return OpCall(node.op(), std::move(inputs), arguments, std::move(outputs));
}

}  // namespace assay::backend
