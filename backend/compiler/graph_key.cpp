#include "backend/compiler/graph_key.h"

#include <cstdio>
#include <map>
#include <variant>
#include <vector>

#include "core/graph/json.h"
#include "core/opset/classify.h"
#include "core/philox.h"

namespace assay::backend {
namespace {

// %a: every double its own text.
std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

// Texts carry their length, so that no two lists of texts look alike.
void quote(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

void write_meta(DType dtype, const Shape& shape, GraphKey& key) {
  key.text[GraphKey::dtypes] += std::to_string(static_cast<int>(dtype)) + ' ';
  std::string& shapes = key.text[GraphKey::shapes];
  for (const int64_t size : shape) shapes += std::to_string(size) + ',';
  shapes += ' ';
}

class KeyWriter {
 public:
  KeyWriter(const Graph& graph, GraphKey& key) : graph_(graph), key_(key), number_(graph.values.size(), -1) {}

  void write() {
    for (const GraphInput& input : graph_.inputs) {
      if (input.value >= 0) define(input.value);
    }
    key_.structure += ';';
    for (const Node& node : graph_.nodes) write_node(node);
    key_.structure += '>';
    for (const GraphOutput& output : graph_.outputs) read(output.value);
  }

 private:
  void define(ValueId id) {
    if (id < 0) {
      key_.structure += "_ ";
      return;
    }
    const Value& value = graph_.values[static_cast<std::size_t>(id)];
    number_[static_cast<std::size_t>(id)] = next_++;
    key_.structure += value.kind == ValueKind::tensor ? "t " : "s ";
    write_meta(value.dtype, value.shape, key_);
  }

  void read(ValueId id) {
    key_.structure += id < 0 ? "_" : std::to_string(number_[static_cast<std::size_t>(id)]);
    key_.structure += ' ';
  }

  void write_node(const Node& node) {
    key_.structure += node.op;
    key_.structure += '(';
    std::string& arguments = key_.text[GraphKey::arguments];
    for (const NamedArgument& argument : node.arguments) {
      // Devices, layouts and memory formats are without effect.
      if (std::holds_alternative<KeywordArg>(argument.value)) continue;
      key_.structure += argument.name;
      key_.structure += '=';
      arguments += argument.name;
      arguments += '=';
      write_argument(argument);
      arguments += ' ';
    }
    if (is_random_op(node.op)) quote(arguments, node.name);
    key_.structure += ")->";
    for (const ValueId id : node.outputs) define(id);
    key_.structure += ';';
  }

  void write_argument(const NamedArgument& argument) {
    std::string& out = key_.text[GraphKey::arguments];
    const Argument& value = argument.value;
    if (const auto* v = std::get_if<ValueArg>(&value)) {
      read(v->id);
    } else if (const auto* list = std::get_if<ValueListArg>(&value)) {
      key_.structure += '[';
      for (const ValueId id : list->ids) read(id);
      key_.structure += ']';
    } else if (const auto* i = std::get_if<int64_t>(&value)) {
      out += "i" + std::to_string(*i);
    } else if (const auto* f = std::get_if<double>(&value)) {
      out += "f" + exact(*f);
    } else if (const auto* b = std::get_if<bool>(&value)) {
      out += *b ? "true" : "false";
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      if (argument.name == "group_name") {
        out += "group" + std::to_string(groups_.try_emplace(*text, groups_.size()).first->second);
      } else {
        quote(out, *text);
      }
    } else if (const auto* ints = std::get_if<IntListArg>(&value)) {
      out += '[';
      for (const int64_t i : ints->ints) out += std::to_string(i) + ',';
      out += ']';
      for (const ValueId id : ints->values) read(id);
    } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
      out += '[';
      for (const double f : *floats) out += exact(f) + ',';
      out += ']';
    } else if (const auto* bools = std::get_if<std::vector<bool>>(&value)) {
      out += '[';
      for (const bool b : *bools) out += b ? '1' : '0';
      out += ']';
    } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      out += '[';
      for (const std::string& text : *texts) quote(out, text);
      out += ']';
    } else if (const auto* dtype = std::get_if<DTypeArg>(&value)) {
      out += "d" + std::to_string(static_cast<int>(dtype->dtype));
    } else if (const auto* function = std::get_if<GraphArg>(&value)) {
      // Names inside of a function stay: rare, and a miss too many is no mistake.
      quote(out, function->graph ? graph_to_json(*function->graph) : "");
    } else {
      out += "None";
    }
  }

  const Graph& graph_;
  GraphKey& key_;
  std::vector<int> number_;
  int next_ = 0;
  std::map<std::string, std::size_t> groups_;  // by first appearance
};

// Every option that changes Programs.
std::string options_text(Generation target, const CompileOptions& options) {
  std::string out = "target=" + std::to_string(static_cast<int>(target));
  out += " matmult_cast=" + (options.matmult_cast ? std::to_string(static_cast<int>(*options.matmult_cast))
                                                  : std::string("none"));
  out += options.range_reduction ? " range_reduction" : "";
  out += options.trusts_transpose ? " trusts_transpose" : "";
  out += options.integer_downcast ? " integer_downcast" : "";
  out += options.fuse ? " fuse" : "";
  out += " lnc=" + std::to_string(options.lnc);
  return out;
}

}  // namespace

std::string GraphKey::whole() const {
  std::string out;
  quote(out, structure);
  for (const std::string& section : text) quote(out, section);
  return out;
}

GraphKey graph_key(const Graph& graph, Generation target, const CompileOptions& options,
                   std::string_view version) {
  GraphKey key;
  key.structure = "graph ";
  key.text[GraphKey::version] = version;
  key.text[GraphKey::options] = options_text(target, options);
  KeyWriter(graph, key).write();
  for (const Node& node : graph.nodes) {
    if (!is_random_op(node.op)) continue;
    key.text[GraphKey::options] += " seed=" + std::to_string(options.draw_seed);
    break;
  }
  return key;
}

GraphKey node_key(std::string_view op, std::string_view json, std::span<const TensorMeta> inputs,
                  std::string_view stream, Generation target, const CompileOptions& options,
                  std::string_view version) {
  GraphKey key;
  key.structure = "node " + std::string(op);
  key.text[GraphKey::version] = version;
  key.text[GraphKey::options] = options_text(target, options);
  for (const TensorMeta& input : inputs) write_meta(input.dtype, input.shape, key);
  quote(key.text[GraphKey::arguments], json);
  if (!stream.empty()) {
    key.text[GraphKey::options] += " seed=" + std::to_string(options.draw_seed);
    quote(key.text[GraphKey::arguments], stream);
  }
  return key;
}

SectionHashes hashes_of(const GraphKey& key) {
  SectionHashes out{};
  for (std::size_t s = 0; s < out.size(); ++s) out[s] = fnv1a64(key.text[s]);
  return out;
}

std::string_view reason_of_miss(const SectionHashes& now, std::span<const SectionHashes> earlier) {
  static constexpr std::string_view kReasons[] = {"new version", "new option", "new dtype", "new shape",
                                                  "new argument"};
  std::size_t fewest = now.size() + 1;
  std::string_view reason;
  for (const SectionHashes& one : earlier) {
    std::size_t differ = 0, first = now.size();
    for (std::size_t s = now.size(); s-- > 0;) {
      if (now[s] == one[s]) continue;
      ++differ;
      first = s;
    }
    if (differ == 0) return kEvicted;
    if (differ >= fewest) continue;
    fewest = differ;
    reason = kReasons[first];
  }
  return reason;
}

}  // namespace assay::backend
