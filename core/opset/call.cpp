#include "core/opset/call.h"

#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

namespace assay {
namespace {

// Sums of a few sizes and products with small factors stay within int64_t.
constexpr int64_t kMaxSize = int64_t{1} << 48;

const Schema* schema_of(const std::string& op) {
  const Schema* schema = find_schema(op);
  if (schema == nullptr) {
    throw Error(ErrorCode::unknown_operator, fmt::format("no schema describes operator {}", op));
  }
  return schema;
}

Argument to_argument(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::integer:
      return scalar.i;
    case Scalar::Kind::floating:
      return scalar.f;
    case Scalar::Kind::boolean:
      return scalar.i != 0;
  }
  return scalar.i;
}

std::optional<Scalar> to_scalar(const Argument& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) {
    return Scalar{Scalar::Kind::integer, *i, static_cast<double>(*i)};
  }
  if (const auto* f = std::get_if<double>(&value)) return Scalar{Scalar::Kind::floating, 0, *f};
  if (const auto* b = std::get_if<bool>(&value))
    return Scalar{Scalar::Kind::boolean, *b ? 1 : 0, *b ? 1.0 : 0.0};
  return std::nullopt;
}

TensorMeta meta_of(const Value& value) {
  switch (value.kind) {
    case ValueKind::tensor:
      return {value.dtype, value.shape};
    case ValueKind::symbolic_int:
      return {DType::i64, {}};
    case ValueKind::symbolic_float:
      return {DType::f64, {}};
    case ValueKind::symbolic_bool:
      return {DType::boolean, {}};
  }
  return {};
}

// Turns the node's ValueIds into input numbers and symbolic scalars into numbers.
class NodeReader {
 public:
  NodeReader(const Graph& graph, const Node& node, const std::vector<Scalar>* symbolic)
      : graph_(graph), node_(node), symbolic_(symbolic) {}

  std::vector<NamedArgument> arguments() {
    std::vector<NamedArgument> out;
    out.reserve(node_.arguments.size());
    for (const NamedArgument& argument : node_.arguments) {
      out.push_back({argument.name, translate(argument)});
    }
    return out;
  }

  std::vector<TensorMeta> inputs;
  std::vector<ValueId> input_values;

 private:
  const Value& value(ValueId id, const std::string& argument) const {
    if (id < 0 || static_cast<std::size_t>(id) >= graph_.values.size()) {
      throw Error(ErrorCode::internal,
                  fmt::format("{}: argument {} refers to value {}, the graph has {} values", node_.op,
                              argument, id, graph_.values.size()));
    }
    return graph_.values[static_cast<std::size_t>(id)];
  }

  ValueId number(ValueId id, const std::string& argument) {
    const Value& read = value(id, argument);
    if (read.kind != ValueKind::tensor) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{}: argument {} must be a list of tensors, {} is a symbolic scalar", node_.op,
                              argument, read.name));
    }
    inputs.push_back(meta_of(read));
    input_values.push_back(id);
    return static_cast<ValueId>(inputs.size() - 1);
  }

  Scalar symbol(ValueId id, const std::string& argument) const {
    const Value& read = value(id, argument);
    if (read.kind == ValueKind::tensor) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: argument {} must be a number, {} is a tensor",
                                                           node_.op, argument, read.name));
    }
    if (symbolic_ == nullptr || static_cast<std::size_t>(id) >= symbolic_->size()) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}: argument {} is the symbolic scalar {}, whose value is not known here",
                              node_.op, argument, read.name));
    }
    return (*symbolic_)[static_cast<std::size_t>(id)];
  }

  Argument translate(const NamedArgument& argument) {
    if (const auto* one = std::get_if<ValueArg>(&argument.value)) {
      if (value(one->id, argument.name).kind == ValueKind::tensor)
        return ValueArg{number(one->id, argument.name)};
      return to_argument(symbol(one->id, argument.name));
    }
    if (const auto* list = std::get_if<ValueListArg>(&argument.value)) {
      ValueListArg out = *list;
      for (ValueId& id : out.ids) {
        if (id >= 0) id = number(id, argument.name);
      }
      return out;
    }
    if (const auto* ints = std::get_if<IntListArg>(&argument.value)) {
      IntListArg out{ints->ints, {}};
      for (std::size_t i = 0; i < ints->values.size() && i < out.ints.size(); ++i) {
        if (ints->values[i] >= 0) out.ints[i] = symbol(ints->values[i], argument.name).as_int();
      }
      return out;
    }
    return argument.value;
  }

  const Graph& graph_;
  const Node& node_;
  const std::vector<Scalar>* symbolic_;
};

}  // namespace

int64_t Scalar::as_int() const {
  if (kind != Kind::floating) return i;
  // 2^63 is the first double beyond int64_t.
  if (!(f >= -0x1p63 && f < 0x1p63) || f != std::trunc(f)) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} cannot be used as an integer", f));
  }
  return static_cast<int64_t>(f);
}

OpCall::OpCall(const Graph& graph, const Node& node, const std::vector<Scalar>* symbolic)
    : schema_(schema_of(node.op)), op_(node.op), node_name_(node.name), output_values_(node.outputs) {
  NodeReader reader(graph, node, symbolic);
  const std::vector<NamedArgument> given = reader.arguments();
  inputs_ = std::move(reader.inputs);
  input_values_ = std::move(reader.input_values);
  for (const ValueId id : node.outputs) {
    outputs_.push_back(id >= 0 && static_cast<std::size_t>(id) < graph.values.size()
                           ? meta_of(graph.values[static_cast<std::size_t>(id)])
                           : TensorMeta{});
  }
  resolve(given);
}

OpCall::OpCall(std::string op, std::vector<TensorMeta> inputs, const std::vector<NamedArgument>& arguments,
               std::vector<TensorMeta> outputs)
    : schema_(schema_of(op)), op_(std::move(op)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) input_values_.push_back(static_cast<ValueId>(i));
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    output_values_.push_back(static_cast<ValueId>(inputs_.size() + i));
  }
  resolve(arguments);
}

void OpCall::resolve(const std::vector<NamedArgument>& given) {
  for (const TensorMeta& meta : inputs_) {
    for (const int64_t size : meta.shape) {
      if (size < 0) {
        throw Error(ErrorCode::unsupported,
                    fmt::format("{}: an input has shape {}, whose symbolic sizes were not specialised", op_,
                                to_string(meta.shape)));
      }
      if (size > kMaxSize) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("{}: an input has shape {}; no size may pass 2^48", op_, to_string(meta.shape)));
      }
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (schema_->find(given[i].name) == nullptr) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: there is no argument {}; the schema is {}",
                                                           op_, given[i].name, schema_->text));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (given[i].name == given[j].name) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{}: argument {} was given twice", op_, given[i].name));
      }
    }
  }
  const auto check_number = [&](ValueId id, const std::string& name) {
    if (id >= static_cast<ValueId>(inputs_.size())) {
      throw Error(ErrorCode::internal,
                  fmt::format("{}: argument {} refers to input {} of {}", op_, name, id, inputs_.size()));
    }
  };
  resolved_.reserve(schema_->arguments.size());
  for (const SchemaArgument& argument : schema_->arguments) {
    const NamedArgument* found = nullptr;
    for (const NamedArgument& candidate : given) {
      if (candidate.name == argument.name) found = &candidate;
    }
    if (found == nullptr && !argument.default_value) {
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: argument {} is missing; the schema is {}",
                                                           op_, argument.name, schema_->text));
    }
    const Argument& value = found != nullptr ? found->value : *argument.default_value;
    if (found != nullptr) {
      check_argument(*schema_, argument, value);
      if (argument.type.base != BaseType::tensor && std::holds_alternative<ValueArg>(value)) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}: argument {} must be {}, a tensor was given",
                                                             op_, argument.name, to_string(argument.type)));
      }
    }
    if (const auto* one = std::get_if<ValueArg>(&value)) {
      check_number(one->id, argument.name);
      tensor_index_.push_back({argument.name, {one->id}});
    } else if (const auto* list = std::get_if<ValueListArg>(&value)) {
      std::vector<int> numbers;
      for (const ValueId id : list->ids) {
        check_number(id, argument.name);
        numbers.push_back(id);
      }
      tensor_index_.push_back({argument.name, std::move(numbers)});
    }
    resolved_.push_back({argument.name, value});
  }
}

const Argument& OpCall::argument(std::string_view name) const {
  for (const NamedArgument& argument : resolved_) {
    if (argument.name == name) return argument.value;
  }
  throw Error(ErrorCode::internal,
              fmt::format("{} has no argument {}; its schema is {}", op_, name, schema_->text));
}

void OpCall::wrong_kind(std::string_view name, std::string_view expected) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("{}: argument {} must be {}, {} was given", op_, name,
                                                       expected, to_string(argument(name))));
}

bool OpCall::is_number(std::string_view name) const { return to_scalar(argument(name)).has_value(); }
bool OpCall::is_none(std::string_view name) const { return std::holds_alternative<NoneArg>(argument(name)); }

int OpCall::tensor(std::string_view name) const {
  if (!std::holds_alternative<ValueArg>(argument(name))) wrong_kind(name, "a tensor");
  return std::get<ValueArg>(argument(name)).id;
}

std::optional<int> OpCall::tensor_opt(std::string_view name) const {
  if (is_none(name) || is_number(name)) return std::nullopt;
  return tensor(name);
}

std::vector<int> OpCall::tensors(std::string_view name) const {
  for (const auto& [argument, numbers] : tensor_index_) {
    if (argument == name) return numbers;
  }
  const auto* empty = std::get_if<IntListArg>(&argument(name));
  if (empty == nullptr || !empty->ints.empty()) wrong_kind(name, "a list of tensors");
  return {};
}

Scalar OpCall::scalar(std::string_view name) const {
  const std::optional<Scalar> value = to_scalar(argument(name));
  if (!value) wrong_kind(name, "a number");
  return *value;
}

std::optional<Scalar> OpCall::scalar_opt(std::string_view name) const {
  if (is_none(name)) return std::nullopt;
  return scalar(name);
}

int64_t OpCall::integer(std::string_view name) const {
  const auto* value = std::get_if<int64_t>(&argument(name));
  if (value == nullptr) wrong_kind(name, "an integer");
  return *value;
}

std::optional<int64_t> OpCall::integer_opt(std::string_view name) const {
  if (is_none(name)) return std::nullopt;
  return integer(name);
}

double OpCall::floating(std::string_view name) const { return scalar(name).as_double(); }

bool OpCall::boolean(std::string_view name) const {
  const auto* value = std::get_if<bool>(&argument(name));
  if (value == nullptr) wrong_kind(name, "True or False");
  return *value;
}

std::vector<int64_t> OpCall::integers(std::string_view name, int expand) const {
  const Argument& value = argument(name);
  if (const auto* one = std::get_if<int64_t>(&value)) {
    const SchemaArgument* declared = schema_->find(name);
    const int64_t count = expand > 0 ? expand : declared->type.fixed_size.value_or(1);
    return std::vector<int64_t>(static_cast<std::size_t>(count), *one);
  }
  const auto* list = std::get_if<IntListArg>(&value);
  if (list == nullptr) wrong_kind(name, "a list of integers");
  if (expand > 0 && list->ints.size() == 1) {
    return std::vector<int64_t>(static_cast<std::size_t>(expand), list->ints[0]);
  }
  return list->ints;
}

std::optional<std::vector<int64_t>> OpCall::integers_opt(std::string_view name) const {
  if (is_none(name)) return std::nullopt;
  return integers(name);
}

std::optional<std::vector<double>> OpCall::floats_opt(std::string_view name) const {
  const Argument& value = argument(name);
  if (std::holds_alternative<NoneArg>(value)) return std::nullopt;
  if (const auto* ints = std::get_if<IntListArg>(&value))
    return std::vector<double>(ints->ints.begin(), ints->ints.end());
  const auto* list = std::get_if<std::vector<double>>(&value);
  if (list == nullptr) wrong_kind(name, "a list of numbers");
  return *list;
}

std::vector<bool> OpCall::booleans(std::string_view name) const {
  const Argument& value = argument(name);
  if (const auto* list = std::get_if<std::vector<bool>>(&value)) return *list;
  const auto* empty = std::get_if<IntListArg>(&value);
  if (empty == nullptr || !empty->ints.empty()) wrong_kind(name, "a list of booleans");
  return {};
}

std::string OpCall::string(std::string_view name) const {
  const auto* value = std::get_if<std::string>(&argument(name));
  if (value == nullptr) wrong_kind(name, "a string");
  return *value;
}

std::optional<std::string> OpCall::string_opt(std::string_view name) const {
  if (is_none(name)) return std::nullopt;
  return string(name);
}

std::optional<DType> OpCall::dtype_opt(std::string_view name) const {
  if (is_none(name)) return std::nullopt;
  const auto* value = std::get_if<DTypeArg>(&argument(name));
  if (value == nullptr) wrong_kind(name, "a dtype");
  return value->dtype;
}

const Graph* OpCall::graph_opt(std::string_view name) const {
  if (is_none(name)) return nullptr;
  const auto* value = std::get_if<GraphArg>(&argument(name));
  if (value == nullptr) wrong_kind(name, "a graph");
  return value->graph.get();
}

int64_t normalise_dim(int64_t dim, int64_t rank, const OpCall& call) {
  const int64_t range = rank == 0 ? 1 : rank;
  if (dim < -range || dim >= range) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: dim {} is out of range; it must be within [{}, {}] for a tensor of rank {}",
                            call.op(), dim, -range, range - 1, rank));
  }
  return dim < 0 ? dim + range : dim;
}

}  // namespace assay
